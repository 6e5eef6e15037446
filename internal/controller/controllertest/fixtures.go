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

// Package controllertest has the policies, kinds and objects that the tests of several
// reconcilers are about.
package controllertest

import (
	"context"
	"iter"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// Kinds serves the kinds of the tests: deployments, replicasets and jobs, and
// pods.
type Kinds map[schema.GroupVersionKind]string

// ServedKinds returns the kinds of the fixtures.
func ServedKinds() Kinds {
	return Kinds{
		{Group: "apps", Version: "v1", Kind: "Deployment"}: "deployments",
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"}: "replicasets",
		{Group: "batch", Version: "v1", Kind: "Job"}:       "jobs",
		{Version: "v1", Kind: "Pod"}:                       "pods",
	}
}

// KindFor returns the kind of a resource.
func (k Kinds) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	for kind, name := range k {
		if kind.GroupVersion().WithResource(name) == resource {
			return kind, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// ByKind returns the resource of a kind.
func (k Kinds) ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool) {
	name, ok := k[kind]
	return discovery.Resource{GVR: kind.GroupVersion().WithResource(name), GVK: kind}, ok
}

// ByResource returns a resource with its kind.
func (k Kinds) ByResource(resource schema.GroupVersionResource) (discovery.Resource, bool) {
	kind, ok := k.KindFor(resource)
	return discovery.Resource{GVR: resource, GVK: kind}, ok
}

// Categories returns none.
func (Kinds) Categories(schema.GroupKind) []string { return nil }

// Known reports that the kinds are known.
func (Kinds) Known() bool { return true }

// Undeclared returns nothing: the kinds have no schema.
func (Kinds) Undeclared(schema.GroupVersionKind, change.Pattern) string { return "" }

// TypeOf returns nothing: the kinds have no schema.
func (Kinds) TypeOf(schema.GroupVersionKind, change.Pattern) change.ValueType { return "" }

// PolicyFor makes a policy for a kind of apps/v1, without subjects or sections.
func PolicyFor(kind string) *v1alpha1.AllowancePolicy {
	return &v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: kind, UID: types.UID("uid-of-policy-" + kind), Generation: 1},
		Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: kind},
		},
	}
}

// Initiated lets a group start chains.
func Initiated(p *v1alpha1.AllowancePolicy) *v1alpha1.AllowancePolicy {
	p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{
		Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: "platform-team"}, MayInitiate: true,
	})
	return p
}

// ExercisedBy names a service account of kube-system as a subject.
func ExercisedBy(p *v1alpha1.AllowancePolicy, account string, mayInitiate bool) *v1alpha1.AllowancePolicy {
	p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{
		Subject:     v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: "kube-system", Name: account},
		MayInitiate: mayInitiate,
	})
	return p
}

// Bounding adds a rule for spec.replicas that names a resource.
func Bounding(p *v1alpha1.AllowancePolicy, group, resource string) *v1alpha1.AllowancePolicy {
	p.Spec.Rules = append(p.Spec.Rules, v1alpha1.Rule{
		Trigger:  "spec.replicas",
		Policies: []v1alpha1.PolicyEntry{ChildEntry(group, resource, "Create", "Update", "Delete")},
	})
	return p
}

// ChildEntry lets children of a resource be changed by the verbs.
func ChildEntry(group, resource string, verbs ...string) v1alpha1.PolicyEntry {
	return v1alpha1.PolicyEntry{
		Target:   v1alpha1.Target{APIGroup: &group, APIVersion: "v1", Resource: resource},
		Relation: v1alpha1.RelationControllerChild,
		Verbs:    verbs,
	}
}

// Compiled compiles policies, none of which may have an error.
func Compiled(t *testing.T, policies ...*v1alpha1.AllowancePolicy) []*policy.Policy {
	t.Helper()
	out := make([]*policy.Policy, 0, len(policies))
	for _, p := range policies {
		c, errs := policy.Compile(p, ServedKinds().KindFor)
		if len(errs) > 0 {
			t.Fatalf("compiling policy %s: %v", p.Name, errs.ToAggregate())
		}
		out = append(out, c)
	}
	return out
}

// Holders are cached objects.
type Holders []*unstructured.Unstructured

// Get returns an object by its name.
func (h Holders) Get(_ context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	for _, obj := range h {
		if obj.GetKind() == gvk.Kind && obj.GetNamespace() == key.Namespace && obj.GetName() == key.Name {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
}

// Live returns what Get does.
func (h Holders) Live(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	return h.Get(ctx, gvk, key)
}

// Ignores reports that no parent is ignored.
func (Holders) Ignores(context.Context, *unstructured.Unstructured, lineage.Ref) bool {
	return false
}

// ByUID returns an object by its UID.
func (h Holders) ByUID(_ context.Context, uid types.UID) (*unstructured.Unstructured, error) {
	for _, obj := range h {
		if obj.GetUID() == uid {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, string(uid))
}

// List goes through the objects of a kind.
func (h Holders) List(_ context.Context, gvk schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		for _, obj := range h {
			if obj.GroupVersionKind() == gvk && !yield(obj, nil) {
				return
			}
		}
	}
}

// NoNamespaceLabels are namespaces without labels.
type NoNamespaceLabels struct{}

// Labels returns none.
func (NoNamespaceLabels) Labels(context.Context, string) map[string]string {
	return map[string]string{}
}

// Workload makes an object of apps/v1 that has settled.
func Workload(kind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"replicas": int64(1)},
		"status": map[string]any{
			"observedGeneration": int64(1), "replicas": int64(1), "readyReplicas": int64(1),
			"updatedReplicas": int64(1), "availableReplicas": int64(1), "fullyLabeledReplicas": int64(1),
			"conditions": []any{
				map[string]any{"type": "Available", "status": "True"},
				map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
			},
		},
	}}
	obj.SetAPIVersion("apps/v1")
	obj.SetKind(kind)
	obj.SetNamespace("shop")
	obj.SetName(name)
	obj.SetUID(types.UID("uid-" + name))
	obj.SetGeneration(1)
	return obj
}

// Unsettled gives an object a generation that its controller has not seen.
func Unsettled(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetGeneration(2)
	return obj
}

// OwnedBy gives an object a controller.
func OwnedBy(obj, owner *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), Controller: new(true),
	}})
	return obj
}

// Noon is the present of these tests.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Before returns a time before Noon.
func Before(d time.Duration) metav1.Time { return metav1.NewTime(Noon.Add(-d)) }

// NoGates are those of a cluster that has no kinds with gates.
type NoGates struct{}

// Categories returns none.
func (NoGates) Categories() []string { return nil }

// Keep keeps none.
func (NoGates) Keep(map[schema.GroupVersionKind][]string) []schema.GroupVersionKind { return nil }

// Behind returns none.
func (NoGates) Behind(context.Context, ...*policy.Policy) []discovery.Resource { return nil }

// Gate returns none.
func (NoGates) Gate(context.Context, schema.GroupVersionKind) (gate.Driver, gate.Kind, bool) {
	return nil, gate.Kind{}, false
}
