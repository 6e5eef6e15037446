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

package interception

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

const operatorUser = "system:serviceaccount:kausality-system:kausality-controller-manager"

// request is one admission request, as far as conditions see it.
type request struct {
	operation   admission.Operation
	object, old runtime.Object
	kind        schema.GroupVersionKind // a Deployment if empty
	subresource string
	user        string // jane if empty
	groups      []string
}

// attributes returns the attributes of the request. API servers hand objects of built-in kinds
// to CEL as they are or, up to Kubernetes 1.36, converted.
func (r request) attributes(tb testing.TB, converted bool) *admission.VersionedAttributes {
	tb.Helper()
	if r.user == "" {
		r.user = "jane"
	}
	if r.kind.Empty() {
		r.kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	}
	if converted {
		r.object, r.old = convert(tb, r.object), convert(tb, r.old)
	}
	resource := r.kind.GroupVersion().WithResource(strings.ToLower(r.kind.Kind) + "s")
	return &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(r.object, r.old, r.kind, "ns", "name", resource, r.subresource,
			r.operation, nil, false, &user.DefaultInfo{Name: r.user, Groups: r.groups}),
		VersionedKind:      r.kind,
		VersionedObject:    admission.NewLazyObject(r.object),
		VersionedOldObject: admission.NewLazyObject(r.old),
	}
}

func convert(tb testing.TB, object runtime.Object) runtime.Object {
	tb.Helper()
	if object == nil {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		tb.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func deployment(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "name", Namespace: "ns", ResourceVersion: "1", Generation: 1,
			Labels: map[string]string{"app": "x"},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

var replicaSets = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// replicaSet returns a ReplicaSet with the metadata of such a Deployment.
func replicaSet(change ...func(*appsv1.Deployment)) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: deployment(change...).ObjectMeta}
}

func belowOwner(kind string, uid types.UID) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: kind, Name: "owner", UID: uid}}
	}
}

func annotated(kv ...string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		for i := 0; i < len(kv); i += 2 {
			d.Annotations[kv[i]] = kv[i+1]
		}
	}
}

func custom(content map[string]any) *unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "name", "namespace": "ns"},
	}
	maps.Copy(object, content)
	return &unstructured.Unstructured{Object: object}
}

var thing = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}

func TestConditions(t *testing.T) {
	scaled := func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) }
	ledger := annotated(v1alpha1.AnnotationAllowances, "[]")
	named := []*policy.Policy{policyNaming(t, "metadata.annotations[jira]")}
	owned := func(d *appsv1.Deployment) { d.OwnerReferences = []metav1.OwnerReference{{Kind: "App", Name: "a"}} }
	labeled := func(d *appsv1.Deployment) { d.Labels["app"] = "y" }
	many := func(prefix string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			for i := range 20_000 {
				annotated(fmt.Sprintf("%s%x", prefix, i), "")(d)
			}
		}
	}
	cases := map[string]struct {
		request  request
		policies []*policy.Policy
		// grant and verdict say whether the hook is called.
		grant, verdict bool
	}{
		"a creation": {
			request: request{operation: admission.Create, object: deployment()},
			grant:   true, verdict: true,
		},
		"a deletion": {
			request: request{operation: admission.Delete, old: deployment()},
			grant:   true, verdict: true,
		},
		"a deletion of what is being deleted": {
			request: request{operation: admission.Delete, old: deployment(func(d *appsv1.Deployment) {
				d.DeletionTimestamp = new(metav1.Unix(1, 0))
			})},
			grant: true, verdict: false,
		},
		"a deletion of a custom resource": {
			request: request{operation: admission.Delete, kind: thing, old: custom(nil)},
			grant:   true, verdict: true,
		},
		"a deletion of a custom resource with a null timestamp": {
			request: request{operation: admission.Delete, kind: thing, old: custom(map[string]any{
				"metadata": map[string]any{"deletionTimestamp": nil},
			})},
			grant: true, verdict: true,
		},
		"a deletion of a custom resource that is being deleted": {
			request: request{operation: admission.Delete, kind: thing, old: custom(map[string]any{
				"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"},
			})},
			grant: true, verdict: false,
		},
		"a deletion of what is held back": {
			request: request{operation: admission.Delete, kind: thing, old: custom(map[string]any{"metadata": map[string]any{
				"deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": map[string]any{v1alpha1.AnnotationGateHeld: "{}"},
			}})},
			grant: true, verdict: true,
		},
		"a deletion that tells nothing": {
			request: request{operation: admission.Delete},
			grant:   true, verdict: true,
		},
		"an update of nothing": {
			request: request{operation: admission.Update, object: deployment(), old: deployment()},
		},
		"an update of nothing by the operator": {
			request: request{operation: admission.Update, object: deployment(), old: deployment(), user: operatorUser},
			grant:   true, verdict: true,
		},
		"an update of the spec": {
			request: request{operation: admission.Update, object: deployment(scaled), old: deployment()},
			grant:   true, verdict: true,
		},
		"an update of what the API server keeps": {
			request: request{operation: admission.Update, old: deployment(), object: deployment(func(d *appsv1.Deployment) {
				d.ResourceVersion, d.Generation = "2", 2
				d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
				d.Finalizers = []string{"example.org/x"}
				d.Status.Replicas = 3
			})},
		},
		"an update of finalizers that a policy names": {
			request: request{operation: admission.Update, old: deployment(), object: deployment(func(d *appsv1.Deployment) {
				d.Finalizers = []string{"example.org/x"}
			})},
			policies: []*policy.Policy{policyNaming(t, "metadata.finalizers")},
			grant:    true, verdict: true,
		},
		"an update of finalizers where a policy bounds all metadata of children": {
			request: request{operation: admission.Update, old: deployment(), object: deployment(func(d *appsv1.Deployment) {
				d.Finalizers = []string{"example.org/x"}
			})},
			policies: []*policy.Policy{policyBounding(t, "metadata")},
			grant:    true, verdict: true,
		},
		"an update of a label": {
			request: request{operation: admission.Update, old: deployment(), object: deployment(labeled)},
			grant:   true, verdict: true,
		},
		"a removal of all labels": {
			request: request{operation: admission.Update, old: deployment(), object: deployment(func(d *appsv1.Deployment) {
				d.Labels = nil
			})},
			grant: true, verdict: true,
		},
		"an adoption": {
			request: request{operation: admission.Update, old: deployment(), object: deployment(owned)},
			grant:   true, verdict: true,
		},
		"an update of a stranger's annotation": {
			request: request{operation: admission.Update, object: deployment(annotated("jira", "1")), old: deployment()},
		},
		"an update of an annotation that a policy names": {
			request:  request{operation: admission.Update, object: deployment(annotated("jira", "1")), old: deployment()},
			policies: named,
			grant:    true, verdict: true,
		},
		"an update of another annotation": {
			request:  request{operation: admission.Update, object: deployment(annotated("other", "1")), old: deployment()},
			policies: named,
		},
		"an update of any annotation where a policy names all": {
			request:  request{operation: admission.Update, object: deployment(annotated("other", "1")), old: deployment()},
			policies: []*policy.Policy{policyNaming(t, "metadata.annotations")},
			grant:    true, verdict: true,
		},
		"an update of any annotation where a policy names each": {
			request:  request{operation: admission.Update, object: deployment(annotated("other", "1")), old: deployment()},
			policies: []*policy.Policy{policyNaming(t, "metadata.annotations[*]")},
			grant:    true, verdict: true,
		},
		"an update of the annotation whose key is a star": {
			request:  request{operation: admission.Update, object: deployment(annotated("*", "1")), old: deployment()},
			policies: []*policy.Policy{policyNaming(t, `metadata.annotations[\x2a]`)},
			grant:    true, verdict: true,
		},
		"an update of another annotation than that": {
			request:  request{operation: admission.Update, object: deployment(annotated("other", "1")), old: deployment()},
			policies: []*policy.Policy{policyNaming(t, `metadata.annotations[\x2a]`)},
		},
		"an update of any annotation where a policy bounds all metadata": {
			request:  request{operation: admission.Update, object: deployment(annotated("other", "1")), old: deployment()},
			policies: []*policy.Policy{policyBounding(t, "metadata[*]")},
			grant:    true, verdict: true,
		},
		"a forged ledger": {
			request: request{operation: admission.Update, object: deployment(ledger), old: deployment()},
			grant:   true, verdict: true,
		},
		"a removed ledger": {
			request: request{operation: admission.Update, object: deployment(), old: deployment(ledger)},
			grant:   true, verdict: true,
		},
		"a ledger that stays": {
			request: request{operation: admission.Update, object: deployment(ledger), old: deployment(ledger)},
		},
		"an approval": {
			request: request{operation: admission.Update, object: deployment(annotated(v1alpha1.AnnotationApprove, "*")), old: deployment()},
			grant:   true, verdict: true,
		},
		"a forged ledger of a ReplicaSet": {
			request: request{operation: admission.Update, object: deployment(annotated("replicaset.kausality.io/allowances", "[]")), old: deployment()},
			grant:   true, verdict: true,
		},
		"one of very many annotations": {
			request: request{operation: admission.Update, object: deployment(many("a"), annotated("b", "")), old: deployment(many("a"))},
			grant:   true, verdict: true,
		},
		"none of very many annotations": {
			request: request{operation: admission.Update, object: deployment(many("a")), old: deployment(many("a"))},
		},
		"all of very many annotations": {
			request: request{operation: admission.Update, object: deployment(many("b")), old: deployment(many("a"))},
			grant:   true, verdict: true,
		},
		"the status of an object without a ledger": {
			request: request{operation: admission.Update, subresource: "status", object: deployment(), old: deployment()},
		},
		"the status of an object without a ledger, by the operator": {
			request: request{operation: admission.Update, subresource: "status", object: deployment(), old: deployment(), user: operatorUser},
			grant:   true,
		},
		"the status of an object with a ledger": {
			request: request{operation: admission.Update, subresource: "status", object: deployment(ledger), old: deployment(ledger)},
			grant:   true,
		},
		"the status of a ReplicaSet with a ledger": {
			request: request{
				operation: admission.Update, subresource: "status",
				object: replicaSet(owned, annotated("replicaset.kausality.io/allowances", "[]")), old: replicaSet(owned), kind: replicaSets,
			},
			grant: true,
		},
		"the status of a ReplicaSet with a copy of a ledger": {
			request: request{
				operation: admission.Update, subresource: "status",
				object: replicaSet(owned, ledger), old: replicaSet(owned, ledger), kind: replicaSets,
			},
		},
		"the status of a ReplicaSet with a ledger that says nothing": {
			request: request{
				operation: admission.Update, subresource: "status",
				object: replicaSet(owned, annotated("replicaset.kausality.io/allowances", "")), old: replicaSet(owned), kind: replicaSets,
			},
		},
		"the status of an object that loses its ledger": {
			request: request{operation: admission.Update, subresource: "status", object: deployment(), old: deployment(ledger)},
			grant:   true,
		},
		"a status that takes the owner away": {
			request: request{operation: admission.Update, subresource: "status", object: deployment(), old: deployment(owned)},
			verdict: true,
		},
		"a status with other labels": {
			request: request{operation: admission.Update, subresource: "status", object: deployment(labeled), old: deployment()},
			verdict: true,
		},
		"a status with an annotation that a policy names": {
			policies: named,
			request:  request{operation: admission.Update, subresource: "status", object: deployment(annotated("jira", "1")), old: deployment()},
			verdict:  true,
		},
		"a scale": {
			request: request{
				operation: admission.Update, subresource: "scale",
				kind:   autoscalingv1.SchemeGroupVersion.WithKind("Scale"),
				object: &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}},
				old:    &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 1}},
			},
			grant: true, verdict: true,
		},
		"an eviction": {
			request: request{
				operation: admission.Create, subresource: "eviction",
				kind:   policyv1.SchemeGroupVersion.WithKind("Eviction"),
				object: &policyv1.Eviction{},
			},
			grant: true, verdict: true,
		},
		"a ConfigMap's data": {
			request: request{
				operation: admission.Update, kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
				object: &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", 900_000)}},
				old:    &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", 900_000) + "y"}},
			},
			grant: true, verdict: true,
		},
		"a ConfigMap's data that stay": {
			request: request{
				operation: admission.Update, kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
				object: &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", 900_000)}},
				old:    &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", 900_000)}},
			},
		},
		"a custom resource's own top-level field": {
			request: request{
				operation: admission.Update, kind: thing,
				object: custom(map[string]any{"rules": []any{"a"}}), old: custom(nil),
			},
			grant: true, verdict: true,
		},
		"a custom resource's own top-level field taken away": {
			request: request{
				operation: admission.Update, kind: thing,
				object: custom(nil), old: custom(map[string]any{"rules": []any{"a"}}),
			},
			grant: true, verdict: true,
		},
		"a custom resource's status": {
			request: request{
				operation: admission.Update, kind: thing,
				object: custom(map[string]any{"status": map[string]any{"x": "y"}}), old: custom(nil),
			},
		},
		"a custom resource's field of another type": {
			request: request{
				operation: admission.Update, kind: thing,
				object: custom(map[string]any{"spec": int64(1)}), old: custom(map[string]any{"spec": map[string]any{"a": 1.5}}),
			},
			grant: true, verdict: true,
		},
		"a custom resource with null annotations": {
			request: request{
				operation: admission.Update, kind: thing,
				object: custom(map[string]any{"metadata": map[string]any{"annotations": nil}}),
				old:    custom(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/allowances": "[]"}}}),
			},
			grant: true, verdict: true,
		},
		"a custom resource without metadata": {
			request: request{
				operation: admission.Update, kind: thing,
				object: &unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "apiVersion": "example.org/v1"}}, old: custom(nil),
			},
			grant: true, verdict: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Input{OperatorUser: operatorUser, Policies: tc.policies, Holder: withStatus}
			for _, converted := range []bool{false, true} {
				attributes := tc.request.attributes(t, converted)
				if got := called(t, grantConditions(in), attributes); got != tc.grant {
					t.Errorf("the mutating hook is called: %v, want %v (converted: %v)", got, tc.grant, converted)
				}
				if got := called(t, verdictConditions(in), attributes); got != tc.verdict {
					t.Errorf("the validating hook is called: %v, want %v (converted: %v)", got, tc.verdict, converted)
				}
			}
		})
	}
}

// TestFinalizersOfWhatIsHeld checks that the hooks are asked about finalizers while they hold a deletion back, and only then.
func TestFinalizersOfWhatIsHeld(t *testing.T) {
	object := func(held bool, finalizers ...any) *unstructured.Unstructured {
		metadata := map[string]any{"name": "name", "namespace": "ns", "annotations": map[string]any{"other": "1"}}
		if held {
			metadata["annotations"] = map[string]any{v1alpha1.AnnotationGateHeld: "{}"}
		}
		if len(finalizers) > 0 {
			metadata["finalizers"] = finalizers
		}
		return custom(map[string]any{"metadata": metadata})
	}
	gates := func(*policy.Policy) []Gated { return []Gated{{}} }
	for name, tc := range map[string]struct {
		old, object *unstructured.Unstructured
		gated       func(*policy.Policy) []Gated
		want        bool
	}{
		"they are taken off":                    {old: object(true, "x"), object: object(true), gated: gates, want: true},
		"one is":                                {old: object(true, "x", "y"), object: object(true, "y"), gated: gates, want: true},
		"they stay":                             {old: object(true, "x"), object: object(true, "x"), gated: gates},
		"they are taken off what is not held":   {old: object(false, "x"), object: object(false), gated: gates},
		"they are taken off, and nothing gates": {old: object(true, "x"), object: object(true)},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{OperatorUser: operatorUser, Policies: []*policy.Policy{policyNaming(t, "metadata.annotations[jira]")}, Holder: withStatus, Gated: tc.gated}
			attributes := request{operation: admission.Update, kind: thing, old: tc.old, object: tc.object}.attributes(t, false)
			if got := called(t, verdictConditions(in), attributes); got != tc.want {
				t.Errorf("the validating hook is called: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestGlassConditions(t *testing.T) {
	const key, copied = "kausality.io/break-glass", "replicaset.kausality.io/break-glass"
	bare := &unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "apiVersion": "example.org/v1"}}
	cases := map[string]struct {
		request request
		want    bool
	}{
		"created with it":        {request{operation: admission.Create, object: deployment(annotated(key, "fire"))}, true},
		"created without":        {request{operation: admission.Create, object: deployment(annotated("jira", "1"))}, false},
		"created without any":    {request{operation: admission.Create, object: deployment()}, false},
		"without metadata":       {request{operation: admission.Create, kind: thing, object: bare}, false},
		"set":                    {request{operation: admission.Update, object: deployment(annotated(key, "fire")), old: deployment()}, true},
		"set on a ReplicaSet":    {request{operation: admission.Update, object: deployment(annotated(copied, "fire")), old: deployment()}, true},
		"another reason":         {request{operation: admission.Update, object: deployment(annotated(key, "fire")), old: deployment(annotated(key, "flood"))}, true},
		"the same as before":     {request{operation: admission.Update, object: deployment(annotated(key, "fire")), old: deployment(annotated(key, "fire"))}, false},
		"removed":                {request{operation: admission.Update, object: deployment(), old: deployment(annotated(key, "fire"))}, false},
		"an approval":            {request{operation: admission.Update, object: deployment(annotated("kausality.io/approve", "*")), old: deployment()}, true},
		"one that was left":      {request{operation: admission.Update, object: deployment(annotated("kausality.io/approve", "*")), old: deployment(annotated("kausality.io/approve", "*"))}, true},
		"another's that stays":   {request{operation: admission.Update, object: deployment(annotated("deployment.kausality.io/approve", "*")), old: deployment(annotated("deployment.kausality.io/approve", "*"))}, false},
		"what means nothing":     {request{operation: admission.Create, object: deployment(annotated("kausality.io/aprove", "*"))}, true},
		"the same as it was":     {request{operation: admission.Update, object: deployment(annotated("kausality.io/aprove", "*")), old: deployment(annotated("kausality.io/aprove", "*"))}, false},
		"a copied ledger":        {request{operation: admission.Create, object: deployment(annotated("kausality.io/allowances", "x"))}, false},
		"another of ours is set": {request{operation: admission.Update, object: deployment(annotated("kausality.io/orphan", "true")), old: deployment()}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, converted := range []bool{false, true} {
				if got := called(t, glassConditions(), tc.request.attributes(t, converted)); got != tc.want {
					t.Errorf("the hook is called: %v, want %v (converted: %v)", got, tc.want, converted)
				}
			}
		})
	}
}

// TestConditionsHaveABound takes objects that somebody made to exceed what an
// expression may cost, as that would skip the hook.
func TestConditionsHaveABound(t *testing.T) {
	const enough = celconfig.PerCallLimit / 10
	entries := func(n int, prefix string) map[string]any {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("%s%x", prefix, i)] = "x"
		}
		return m
	}
	annotations := func(n int) map[string]any {
		m := entries(n, "kausality.io/")
		m["jira"] = "x" // named, and the last thing to be found
		return map[string]any{"metadata": map[string]any{"annotations": m}}
	}
	refs := make([]any, 30_000)
	for i := range refs {
		refs[i] = map[string]any{"apiVersion": "a", "kind": "K", "name": "n", "uid": strconv.Itoa(i)}
	}
	cases := map[string]struct{ object, old map[string]any }{
		"as many annotations as are looked at": {annotations(many/2 - 1), annotations(many/2 - 2)},
		"more annotations than are looked at":  {annotations(100_000), annotations(99_999)},
		"as many fields as are looked at":      {entries(many/2-4, "a"), entries(many/2-4, "a")},
		"more fields than are looked at":       {entries(100_000, "a"), entries(100_000, "a")},
		"many owner references":                {map[string]any{"metadata": map[string]any{"ownerReferences": refs}}, map[string]any{"metadata": map[string]any{"ownerReferences": refs}}},
		"a large string at the top":            {map[string]any{"data": strings.Repeat("x", 900_000)}, map[string]any{"data": strings.Repeat("x", 900_000)}},
		"a long list, and the start of it":     {map[string]any{"spec": refs}, map[string]any{"spec": refs[:1]}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Input{OperatorUser: operatorUser, Policies: []*policy.Policy{policyNaming(t, "metadata.annotations[jira]")}, Holder: withStatus}
			attributes := request{operation: admission.Update, kind: thing, object: custom(tc.object), old: custom(tc.old)}.attributes(t, false)
			for _, conditions := range [][]admissionregistrationv1.MatchCondition{
				grantConditions(in), verdictConditions(in), glassConditions(), protectionConditions(in, nil),
			} {
				const budget = celconfig.RuntimeCELCostBudgetMatchConditions
				results, remaining, err := evaluator(t, conditions).ForInput(t.Context(), attributes,
					admissioncel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource{}, metav1.GroupVersionKind{}),
					admissioncel.OptionalVariableBindings{}, nil, budget)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range results {
					if r.Error != nil {
						t.Error(r.Error)
					}
				}
				if cost := budget - remaining; cost > enough {
					t.Errorf("the conditions cost %d, more than %d", cost, enough)
				}
			}
		})
	}
}

// called evaluates conditions as the API server does, and fails on any error, as
// one would skip the hook.
func called(tb testing.TB, conditions []admissionregistrationv1.MatchCondition, attributes *admission.VersionedAttributes) bool {
	tb.Helper()
	fail := admissionregistrationv1.Fail
	matcher := matchconditions.NewMatcher(evaluator(tb, conditions), &fail, "webhook", "test", "test")
	result := matcher.Match(tb.Context(), attributes, nil, nil)
	if result.Error != nil {
		tb.Fatal(result.Error)
	}
	return result.Matches
}

func evaluator(tb testing.TB, conditions []admissionregistrationv1.MatchCondition) admissioncel.ConditionEvaluator {
	tb.Helper()
	accessors := make([]admissioncel.ExpressionAccessor, len(conditions))
	for i := range conditions {
		accessors[i] = (*matchconditions.MatchCondition)(&conditions[i])
	}
	evaluator := conditionCompiler.CompileCondition(accessors,
		admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
	if errs := evaluator.CompilationErrors(); len(errs) > 0 {
		tb.Fatal(errs)
	}
	return evaluator
}

var conditionCompiler = admissioncel.NewConditionCompiler(
	environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))

// policyNaming returns a policy with a path of metadata as its trigger.
func policyNaming(t *testing.T, path string) *policy.Policy {
	t.Helper()
	return compile(t, v1alpha1.AllowancePolicySpec{
		For:   v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
		Rules: []v1alpha1.Rule{{Trigger: path}},
	})
}

// policyBounding returns a policy that bounds a path of metadata of its children.
func policyBounding(t *testing.T, path string) *policy.Policy {
	t.Helper()
	return compile(t, v1alpha1.AllowancePolicySpec{
		For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
		Rules: []v1alpha1.Rule{{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{{
			Relation:  v1alpha1.RelationControllerChild,
			Target:    v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: "replicasets"},
			Mutations: []v1alpha1.FieldMutation{{JSONPath: path}},
		}}}},
	})
}

func compile(t *testing.T, spec v1alpha1.AllowancePolicySpec) *policy.Policy {
	t.Helper()
	compiled, errs := policy.Compile(&v1alpha1.AllowancePolicy{Spec: spec},
		func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return gvr.GroupVersion().WithKind(gvr.Resource), true
		})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return compiled
}

// withStatus has any kind served, with the sub-resource for its status.
func withStatus(kind schema.GroupVersionKind) (Served, bool) {
	return Served{
		Resource: kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s"), Namespaced: true, Subresources: []string{"scale", "status"},
	}, true
}

// Numbers that a float would take for the same are different ones.
func TestLongNumbersCount(t *testing.T) {
	thing := func(n int64, deep bool) *unstructured.Unstructured {
		spec := map[string]any{"id": n}
		if deep {
			spec = map[string]any{"items": []any{map[string]any{"ids": map[string]any{"a": n}}}}
		}
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "name"}, "spec": spec}}
	}
	in := inputOf(forKind(t, "example.org/v1/Thing"))
	for name, deep := range map[string]bool{"a field": false, "a field in a list": true} {
		for n, want := range map[int64]bool{1 << 53: false, 1<<53 + 1: true} {
			r := request{operation: admission.Update, kind: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}, old: thing(1<<53, deep), object: thing(n, deep)}
			for hook, conditions := range map[string][]admissionregistrationv1.MatchCondition{"mutating": grantConditions(in), "validating": verdictConditions(in)} {
				if got := called(t, conditions, r.attributes(t, false)); got != want {
					t.Errorf("%s: of %d the %s hook is called: %t, want %t", name, n, hook, got, want)
				}
			}
		}
	}
}
