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

package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/policy"
)

// TestUnrestrictedBlindly has explain say what admission does where the status of a kind, such as Service, does not tell
// whether an object is new: who may use no allowances is refused also what no policy restricts.
func TestUnrestrictedBlindly(t *testing.T) {
	p := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: service}
spec:
  for: {apiGroup: "", apiVersion: v1, kind: Service}
  subjects: [{kind: User, name: alice, mayInitiate: true}]
  initializing: {}
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: discovery.k8s.io, apiVersion: v1, resource: endpointslices}, relation: ControllerChild, verbs: [Create, Delete]}]
`), p); err != nil {
		t.Fatal(err)
	}
	compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("EndpointSlice"), true
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	const because = "Initializing: no policy restricts that phase, and nothing tells whether it is still new"
	for name, tc := range map[string]struct {
		you  *policy.Requester
		want string
	}{
		"who may not initiate": {&policy.Requester{Username: "bob"}, because + ", not for bob: for User alice or any controller"},
		"who may initiate":     {&policy.Requester{Username: "alice"}, because},
		"a controller":         {&policy.Requester{Username: "system:serviceaccount:kube-system:endpointslice-controller"}, because},
		"nobody knows who":     {nil, because + ": for who may use its allowances; anybody else needs one"},
	} {
		t.Run(name, func(t *testing.T) {
			service := object(t, &corev1.Service{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"},
			}, v1alpha1.AnnotationAllowances, v1alpha1.Allowance{
				Kind: "EndpointSlice", Mutation: "create", Initiator: "alice",
				Trace: []v1alpha1.TraceHop{{Kind: "Service", Name: "web", Field: v1alpha1.FieldCreated}},
			})
			chain := []policy.Holder{{Kind: schema.GroupKind{Kind: "Service"}, NamespaceLabels: map[string]string{}}}
			h := holderOf(service, chain, cluster.Policies{Index: policy.NewIndex([]*policy.Policy{compiled})})
			h.you = tc.you
			got := h.bound(schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}).Permissions
			if len(got) == 0 {
				t.Fatal("nothing is allowed")
			}
			if diff := cmp.Diff(Permission{What: anything, Because: tc.want}, got[0]); diff != "" {
				t.Errorf("what the phase allows (-want +got):\n%s", diff)
			}
		})
	}
}
