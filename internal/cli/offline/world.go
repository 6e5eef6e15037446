/*
Copyright 2026 The Kausality Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package offline

import (
	"context"
	"iter"
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/webhook/admission"
)

// World is a cluster in which requests are judged one by one.
type World struct {
	// Kinds that are served.
	Kinds *Kinds
	// Policies that are active.
	Policies *policy.Index
	// Objects that exist.
	Objects []*unstructured.Unstructured
	// GlassBreakers are users who may break the glass.
	GlassBreakers sets.Set[string]
}

// gatherer returns the operator's, for one request.
func (w *World) gatherer(records *records) *admission.Gatherer {
	active := &policy.Active{}
	active.Set(w.Policies)
	return &admission.Gatherer{
		Policies:          active,
		Objects:           objects{w},
		Namespaces:        objects{w},
		Records:           records,
		Notices:           records,
		Kinds:             w.Kinds,
		Pods:              objects{w},
		Access:            w,
		Gates:             noGates{},
		OperatorNamespace: operatorNamespace,
		Platform:          decision.DefaultPlatform,
	}
}

// noGates has no kinds with gates: what is asked offline is about objects in the
// cluster.
type noGates struct{}

// Gate implements admission.Gates.
func (noGates) Gate(context.Context, schema.GroupVersionKind) (gate.Driver, gate.Kind, bool) {
	return nil, gate.Kind{}, false
}

// IsSystem implements admission.Gates.
func (noGates) IsSystem(policy.Requester) bool { return false }

// IsComposer implements admission.Gates.
func (noGates) IsComposer(policy.Requester) bool { return false }

const operatorNamespace = "kausality-system"

// MayBreakGlass implements admission.Access.
func (w *World) MayBreakGlass(_ context.Context, user authenticationv1.UserInfo, _ []string) (bool, error) {
	return w.GlassBreakers.Has(user.Username), nil
}

// Find returns the object of a kind, and nil where there is none.
func (w *World) Find(kind schema.GroupKind, key types.NamespacedName) *unstructured.Unstructured {
	for _, obj := range w.Objects {
		if obj.GroupVersionKind().GroupKind() == kind && obj.GetNamespace() == key.Namespace && obj.GetName() == key.Name {
			return obj
		}
	}
	return nil
}

// objects are those of a World, to read.
type objects struct{ *World }

// Get implements admission.Objects.
func (o objects) Get(_ context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if obj := o.Find(gvk.GroupKind(), key); obj != nil {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

// Live implements admission.Objects.
func (o objects) Live(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	return o.Get(ctx, gvk, key)
}

// LiveIn implements admission.Objects.
func (o objects) LiveIn(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	return o.Get(ctx, gvk, key)
}

// Ignores implements admission.Objects: there are no records.
func (objects) Ignores(context.Context, *unstructured.Unstructured, lineage.Ref) bool { return false }

// ByUID implements admission.Objects.
func (o objects) ByUID(_ context.Context, uid types.UID) (*unstructured.Unstructured, error) {
	for _, obj := range o.Objects {
		if obj.GetUID() == uid {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "objects with the UID"}, string(uid))
}

// Names implements admission.Objects.
func (o objects) Names(gvk schema.GroupVersionKind, namespace string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, obj := range o.Objects {
			if obj.GroupVersionKind().GroupKind() == gvk.GroupKind() && obj.GetNamespace() == namespace && !yield(obj.GetName()) {
				return
			}
		}
	}
}

// List implements admission.Objects.
func (o objects) List(_ context.Context, gvk schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		for _, obj := range o.Objects {
			if obj.GroupVersionKind().GroupKind() == gvk.GroupKind() && !yield(obj, nil) {
				return
			}
		}
	}
}

// ListLive implements admission.Objects.
func (o objects) ListLive(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for obj, err := range o.List(ctx, gvk) {
		if err != nil {
			return nil, err
		}
		if namespace == "" || obj.GetNamespace() == namespace {
			out = append(out, obj)
		}
	}
	return out, nil
}

// Behind implements admission.Objects.
func (o objects) Behind(schema.GroupVersionKind) bool { return false }

// Labels implements scope.Namespaces. Like any namespace, one that nobody has
// described has its name as a label.
func (o objects) Labels(_ context.Context, name string) map[string]string {
	labels := map[string]string{corev1.LabelMetadataName: name}
	if obj := o.Find(namespaceKind, types.NamespacedName{Name: name}); obj != nil {
		maps.Copy(labels, obj.GetLabels())
	}
	return labels
}

// Alive implements admission.Pods.
func (o objects) Alive(_ context.Context, holder *unstructured.Unstructured) (sets.Set[string], error) {
	alive := sets.New[string]()
	for _, obj := range o.Objects {
		phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
		ended := slices.Contains([]string{string(corev1.PodSucceeded), string(corev1.PodFailed)}, phase)
		if obj.GetKind() == "Pod" && metav1.IsControlledBy(obj, holder) && obj.GetDeletionTimestamp() == nil && !ended {
			alive.Insert(obj.GetName())
		}
	}
	return alive, nil
}

// records are the AllowanceRecords: they say nothing before the request, and keep what the
// answer to it could not carry.
type records struct {
	pending  []v1alpha1.PendingGrant
	glass    *v1alpha1.BrokenGlass
	breaking v1alpha1.TargetReference
}

// Get implements admission.Records.
func (r *records) Get(_ context.Context, target v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	// What the objects say of their ledgers is taken for true.
	rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: target, LedgerKnown: true}}
	if r.glass != nil && target == r.breaking {
		rec.Status.BrokenGlass = []v1alpha1.BrokenGlass{*r.glass}
	}
	return rec, nil
}

// Behind implements admission.Records.
func (*records) Behind() bool { return false }

// Live implements admission.Records.
func (r *records) Live(ctx context.Context, target v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	return r.Get(ctx, target)
}

// KeepLedger implements admission.Records.
func (r *records) KeepLedger(context.Context, v1alpha1.TargetReference, types.UID, ledger.Ledger) error {
	return nil
}

// KeepCreation implements admission.Records.
func (r *records) KeepCreation(_ context.Context, _ v1alpha1.TargetReference, _ types.UID, pending ...v1alpha1.PendingGrant) error {
	r.pending = append(r.pending, pending...)
	return nil
}

// AddPending implements admission.Records.
func (r *records) AddPending(_ context.Context, _ v1alpha1.TargetReference, p v1alpha1.PendingGrant, _ *unstructured.Unstructured) error {
	r.pending = append(r.pending, p)
	return nil
}

// BreakGlass implements admission.Records.
func (r *records) BreakGlass(_ context.Context, parent v1alpha1.TargetReference, b v1alpha1.BrokenGlass) error {
	r.breaking, r.glass = parent, &b
	return nil
}

// TakeBrokenGlass implements admission.Records.
func (r *records) TakeBrokenGlass(
	_ context.Context, parent v1alpha1.TargetReference, _ v1alpha1.BrokenGlass,
) (reason string, ok bool, err error) {
	if r.glass == nil || parent != r.breaking {
		return "", false, nil
	}
	reason, r.glass = r.glass.Reason, nil
	return reason, true, nil
}

// AddStray implements admission.Records. What follows from an adoption is another request.
func (r *records) AddStray(context.Context, v1alpha1.TargetReference, v1alpha1.StrayChild) error {
	return nil
}

// SetAside implements admission.Records.
func (r *records) SetAside(context.Context, v1alpha1.TargetReference, v1alpha1.SetAsideChild) error {
	return nil
}

// Return implements admission.Records.
func (r *records) Return(context.Context, v1alpha1.TargetReference, types.UID, v1alpha1.ReturnedChild) error {
	return nil
}

// RememberVersion implements admission.Records. Nobody knows the versions of controllers here.
func (*records) RememberVersion(context.Context, v1alpha1.TargetReference, func([]v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion) error {
	return nil
}

// AcceptParents implements admission.Records.
func (r *records) AcceptParents(context.Context, v1alpha1.TargetReference) error { return nil }

// RemoveStray implements admission.Records.
func (r *records) RemoveStray(context.Context, v1alpha1.TargetReference, types.UID) error {
	return nil
}

// KeepDeletion implements admission.Records.
func (r *records) KeepDeletion(context.Context, v1alpha1.TargetReference, v1alpha1.Deletion) error {
	return nil
}

// LiveDeletion implements admission.Records.
func (r *records) LiveDeletion(context.Context, v1alpha1.TargetReference) (*v1alpha1.Deletion, error) {
	return nil, nil
}

// SetDeletion implements admission.Records. What a deletion causes is another request.
func (r *records) SetDeletion(context.Context, v1alpha1.TargetReference, v1alpha1.Deletion) error {
	return nil
}

// DeletionOf implements admission.Records.
func (r *records) DeletionOf(context.Context, types.UID) (*v1alpha1.Deletion, error) {
	return nil, nil
}

// StraysOf implements admission.Records.
func (r *records) StraysOf(context.Context, types.UID) ([]v1alpha1.StrayChild, error) {
	return nil, nil
}

// Observe implements admission.Records.
func (r *records) Observe(record.Outcome) {}

// Post implements admission.Notices.
func (r *records) Post(eventrecorder.Notice) {}
