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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/policy"
)

// Of who may use what is allowed only the policies tell that are in effect for the children of the very object.
func TestNotForYouByWhatIsInEffect(t *testing.T) {
	compile := func(text string) *policy.Policy {
		p := &v1alpha1.AllowancePolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return gvr.GroupVersion().WithKind("ReplicaSet"), true
		})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		return compiled
	}
	index := policy.NewIndex([]*policy.Policy{compile(`
metadata: {name: c3}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: kube-system, name: deployment-contoller}
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
`), compile(`
metadata: {name: replicaset}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  namespaceSelector: {matchExpressions: [{key: own, operator: DoesNotExist}]}
  subjects:
  - {kind: ServiceAccount, namespace: kube-system, name: deployment-controller}
`)})
	const user = "system:serviceaccount:kube-system:deployment-controller"
	for name, tc := range map[string]struct {
		labels map[string]string
		want   []string
	}{
		"in effect": {labels: map[string]string{}},
		"not for its namespace": {
			labels: map[string]string{"own": "c3"},
			want:   []string{"not for " + user + ": for Group platform-team or ServiceAccount kube-system/deployment-contoller"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			chain := []policy.Holder{{Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, NamespaceLabels: tc.labels}}
			h := holderOf(deployment(t), chain, cluster.Policies{Index: index})
			h.you = &policy.Requester{Username: user}
			if diff := cmp.Diff(tc.want, h.notForYou(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"})); diff != "" {
				t.Errorf("notForYou() (-want +got):\n%s", diff)
			}
		})
	}
}
