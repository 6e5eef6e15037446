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
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/webhook/admission"
)

// Operation is what a request does.
type Operation string

// The operations. A Scale and an Evict are requests for sub-resources.
const (
	Create Operation = "Create"
	Update Operation = "Update"
	Delete Operation = "Delete"
	Scale  Operation = "Scale"
	Evict  Operation = "Evict"
)

// Request is a write.
type Request struct {
	// Username and Groups are who makes it.
	Username string
	Groups   []string
	// Operation is what it does.
	Operation Operation
	// Old is the object before it, nil for a Create.
	Old *unstructured.Unstructured
	// New is the object that a Create or an Update writes.
	New *unstructured.Unstructured
	// Replicas is what a Scale sets.
	Replicas int64
}

// Answer is what the requester gets, and what becomes of the object's ledger.
type Answer struct {
	// Allowed is false for a write that is refused.
	Allowed bool
	// Reason of the verdict.
	Reason string
	// Message of a refusal.
	Message string
	// Warnings, of both webhooks.
	Warnings []string
	// Granted are the allowances that the ledger gets.
	Granted []v1alpha1.Allowance
	// Withheld are the changes that it notes as withheld.
	Withheld []v1alpha1.Allowance
	// Cleared are the paths of which it notes that no longer.
	Cleared []string
}

// Ask judges a request. It changes nothing in the world.
func (w *World) Ask(ctx context.Context, r Request) (Answer, error) {
	call, err := w.encode(r)
	if err != nil {
		return Answer{}, err
	}
	kept := &records{}
	gatherer := w.gatherer(kept)
	var out Answer
	written := r.New
	if r.Operation == Create || r.Operation == Update {
		mutated := (&admission.Mutator{Gatherer: gatherer}).Handle(ctx, call)
		out.Warnings = mutated.Warnings
		if !mutated.Allowed {
			return out.refused(mutated), nil
		}
		if written, err = patched(r, mutated); err != nil {
			return Answer{}, err
		}
		if call.Object, err = encoded(written); err != nil {
			return Answer{}, err
		}
	}
	validated := (&admission.Validator{Gatherer: gatherer}).Handle(ctx, call)
	out.Warnings = append(out.Warnings, validated.Warnings...)
	if !validated.Allowed {
		return out.refused(validated), nil
	}
	out.Allowed = true
	out.Reason = validated.AuditAnnotations["reason"]
	if err := out.compare(r.Old, written, kept.pending); err != nil {
		return Answer{}, err
	}
	return out, nil
}

func (a *Answer) refused(resp ctrladmission.Response) Answer {
	a.Reason = resp.AuditAnnotations["reason"]
	a.Message = resp.Result.Message
	return *a
}

// patched returns the object as the mutating webhook leaves it, and as the API server hands
// it to the validating one.
func patched(r Request, resp ctrladmission.Response) (*unstructured.Unstructured, error) {
	out := r.New.DeepCopy()
	if len(resp.Patches) > 0 {
		text, err := json.Marshal(resp.Patches)
		if err != nil {
			return nil, fmt.Errorf("encoding the answer of the webhook: %w", err)
		}
		patch, err := jsonpatch.DecodePatch(text)
		if err != nil {
			return nil, fmt.Errorf("reading the answer of the webhook: %w", err)
		}
		before, err := r.New.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("encoding the object: %w", err)
		}
		after, err := patch.Apply(before)
		if err != nil {
			return nil, fmt.Errorf("applying the answer of the webhook: %w", err)
		}
		if err := out.UnmarshalJSON(after); err != nil {
			return nil, fmt.Errorf("reading the object: %w", err)
		}
	}
	switch {
	case r.Operation == Create:
		out.SetGeneration(1)
	case countsUp(r.Old, out):
		out.SetGeneration(r.Old.GetGeneration() + 1)
	default:
		out.SetGeneration(r.Old.GetGeneration())
	}
	return out, nil
}

// countsUp reports whether the API server counts up the generation: it does for what is
// neither metadata nor status, and for its annotations where its kind is known for that.
func countsUp(old, updated *unstructured.Unstructured) bool {
	if knowledge.BuiltIn(old.GroupVersionKind().GroupKind()).AnnotationsCount &&
		!equality.Semantic.DeepEqual(old.GetAnnotations(), updated.GetAnnotations()) {
		return true
	}
	return !equality.Semantic.DeepEqual(content(old), content(updated))
}

func content(obj *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for name, value := range obj.Object {
		if name != "metadata" && name != "status" {
			out[name] = value
		}
	}
	return out
}

// compare finds out what became of the ledger.
func (a *Answer) compare(old, written *unstructured.Unstructured, pending []v1alpha1.PendingGrant) error {
	before, err := LedgerOf(old)
	if err != nil {
		return err
	}
	after, err := LedgerOf(written)
	if err != nil {
		return err
	}
	if written == nil {
		after = before // A deletion and a sub-resource leave it as it is.
	}
	for _, p := range pending {
		after = after.Merge(p.Allowances...)
		a.Cleared = append(a.Cleared, p.Cleared...)
	}
	for _, e := range without(after, before) {
		if e.IsWithheld() {
			a.Withheld = append(a.Withheld, e.Allowance)
		} else {
			a.Granted = append(a.Granted, e.Allowance)
		}
	}
	for _, e := range without(before, after) {
		if e.IsWithheld() {
			a.Cleared = append(a.Cleared, e.Mutation)
		}
	}
	return nil
}

// without returns the entries of a ledger that another one lacks.
func without(l, other ledger.Ledger) ledger.Ledger {
	has := map[string]bool{}
	for _, e := range other {
		has[e.ID()] = true
	}
	return l.Without(func(e ledger.Entry) bool { return has[e.ID()] })
}

// LedgerOf returns the ledger that an object carries.
func LedgerOf(obj *unstructured.Unstructured) (ledger.Ledger, error) {
	if obj == nil {
		return nil, nil
	}
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	l, err := ledger.Decode(obj.GetAnnotations()[key])
	if err != nil {
		return nil, fmt.Errorf("the ledger of %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return l, nil
}

// encode makes the admission request.
func (w *World) encode(r Request) (ctrladmission.Request, error) {
	shape := r.Old
	if shape == nil {
		shape = r.New
	}
	gvk := shape.GroupVersionKind()
	resource, ok := w.Kinds.ResourceFor(gvk)
	if !ok {
		return ctrladmission.Request{}, fmt.Errorf("%s in %s is not known: give its CustomResourceDefinition", gvk.Kind, gvk.GroupVersion())
	}
	req := admissionv1.AdmissionRequest{
		UID:       "offline",
		Kind:      metav1.GroupVersionKind(gvk),
		Resource:  metav1.GroupVersionResource(resource),
		Namespace: shape.GetNamespace(),
		Name:      shape.GetName(),
		Operation: admissionv1.Operation(strings.ToUpper(string(r.Operation))),
		UserInfo:  authenticationv1.UserInfo{Username: r.Username, Groups: r.Groups},
	}
	before, after, err := w.bodies(&req, r)
	if err != nil {
		return ctrladmission.Request{}, err
	}
	if req.OldObject, err = encoded(before); err != nil {
		return ctrladmission.Request{}, err
	}
	if req.Object, err = encoded(after); err != nil {
		return ctrladmission.Request{}, err
	}
	return ctrladmission.Request{AdmissionRequest: req}, nil
}

// bodies returns the objects of the admission request. Those of sub-resources are of kinds
// of their own.
func (w *World) bodies(req *admissionv1.AdmissionRequest, r Request) (before, after *unstructured.Unstructured, err error) {
	switch r.Operation {
	case Scale:
		req.Operation, req.SubResource = admissionv1.Update, "scale"
		path := w.Kinds.ReplicasPath(schema.GroupVersionResource(req.Resource), "")
		replicas, _, err := unstructured.NestedInt64(r.Old.Object, strings.Split(path, ".")...)
		if err != nil {
			return nil, nil, fmt.Errorf("%s of %s %s is not a number", path, r.Old.GetKind(), r.Old.GetName())
		}
		return scaleOf(r.Old, replicas), scaleOf(r.Old, r.Replicas), nil
	case Evict:
		req.Operation, req.SubResource = admissionv1.Create, "eviction"
		return nil, subresource(r.Old, policyv1.SchemeGroupVersion.WithKind("Eviction")), nil
	default:
		return r.Old, r.New, nil
	}
}

func scaleOf(obj *unstructured.Unstructured, replicas int64) *unstructured.Unstructured {
	out := subresource(obj, autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	out.Object["spec"] = map[string]any{"replicas": replicas}
	return out
}

func subresource(obj *unstructured.Unstructured, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gvk)
	out.SetNamespace(obj.GetNamespace())
	out.SetName(obj.GetName())
	out.SetUID(obj.GetUID())
	return out
}

func encoded(obj *unstructured.Unstructured) (runtime.RawExtension, error) {
	if obj == nil {
		return runtime.RawExtension{}, nil
	}
	raw, err := obj.MarshalJSON()
	if err != nil {
		return runtime.RawExtension{}, fmt.Errorf("encoding %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return runtime.RawExtension{Raw: raw}, nil
}
