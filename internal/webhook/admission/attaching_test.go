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

package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// TestAttaching shows who gives an object that somebody may initiate on a parent whose policies
// name it.
func TestAttaching(t *testing.T) {
	const (
		robot = "system:serviceaccount:shop:default"
		named = "system:serviceaccount:shop:app-controller"
	)
	appPolicy := func(kind, subjects string) string {
		return `
metadata: {name: own}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: ` + kind + `}
  validationActions: [Deny]
  subjects: [{kind: User, name: mallory, mayInitiate: true}` + subjects + `]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: deployments}, relation: ControllerChild, verbs: ["*"]}]
`
	}
	const webPolicy = `
metadata: {name: web}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
`
	const attaching = "is for who may initiate on it"
	const exercises = ", {kind: ServiceAccount, namespace: shop, name: app-controller}"
	for name, tc := range map[string]struct {
		user     string
		groups   []string
		subjects string
		selects  bool
		denied   string
	}{
		"somebody with a parent of her own":                      {user: "mallory", denied: attaching},
		"a service account of hers, where none is named":         {user: robot, denied: attaching},
		"a service account of hers, where another one is":        {user: robot, subjects: exercises, denied: "may not use"},
		"the one that is named":                                  {user: named, subjects: exercises},
		"any, where the controllers of the parent's kind select": {user: robot, selects: true},
		"a person, where they do":                                {user: "mallory", selects: true, denied: attaching},
		"who may initiate on the object":                         {user: "alice", groups: platformTeam},
	} {
		t.Run(name, func(t *testing.T) {
			app := webApp("own")
			policy := appPolicy("WebApp", tc.subjects)
			if tc.selects {
				policy = strings.Replace(policy, "  rules:", "  knowledge: {selector: Adopts}\n  rules:", 1)
			}
			w := &world{cached: map[string]*unstructured.Unstructured{key("WebApp", "own"): app}, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			w.live = w.cached
			_, hook := w.hooks(t, webPolicy, policy)
			after := deployment(2)
			after.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1alpha1", Kind: "WebApp", Name: "own", UID: app.GetUID()}})
			resp := hook.Handle(t.Context(), asking(t, tc.user, tc.groups, deployment(2), counted(after)))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tc.denied, resp.Result)
			}
		})
	}
}
