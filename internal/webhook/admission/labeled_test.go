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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

const kro = "system:serviceaccount:kro-system:kro"

const webAppPolicy = `
metadata: {name: kro-webapp}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: WebApp}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: kro, namespace: kro-system}
  rules:
  - trigger: spec.replicas
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: deployments}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}]
`

// webApp returns WebApp shop/NAME, settled.
func webApp(name string, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	return holding(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1alpha1", "kind": "WebApp",
		"metadata": map[string]any{"name": name, "namespace": "shop", "uid": "uid-" + name, "generation": int64(2)},
		"spec":     map[string]any{"replicas": int64(2)},
		"status":   map[string]any{"state": "ACTIVE", "conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)}}},
	}}, "kausality.io/allowances", allowances...)
}

// madeBy returns a Deployment in another namespace, as kro makes it for WebApp shop/NAME, with
// other labels where they are given by pairs of key and value.
func madeBy(name string, replicas int64, changes ...string) *unstructured.Unstructured {
	obj := deployment(replicas)
	labels := map[string]string{
		"kro.run/instance-id": "uid-" + name, "kro.run/instance-group": "example.com", "kro.run/instance-version": "v1alpha1",
		"kro.run/instance-kind": "WebApp", "kro.run/instance-namespace": "shop", "kro.run/instance-name": name,
		"kro.run/node-id": "deployment", "kro.run/kro-version": "v0.9.4", "applyset.kubernetes.io/part-of": "applyset-" + name,
	}
	for i := 0; i < len(changes); i += 2 {
		labels[changes[i]] = changes[i+1]
	}
	obj.SetLabels(labels)
	return annotate(obj, "internal.kro.run/apply-order", "1")
}

// TestLabeledParent shows that whom the labels of its system name as the parent of an object
// bounds it, wherever it is, and what of these labels is whose to change.
func TestLabeledParent(t *testing.T) {
	may := v1alpha1.Allowance{
		Kind: "Deployment", Mutation: "spec.replicas", Generation: 2, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "WebApp", Name: "web", Generation: 2, Field: "spec.replicas"}},
	}
	free := func(replicas int64) *unstructured.Unstructured { return deployment(replicas) }
	const id = "metadata.labels[kro.run/instance-id]"
	for name, tc := range map[string]struct {
		user          string
		groups        []string
		policies      []string
		before, after *unstructured.Unstructured
		allowances    []v1alpha1.Allowance
		denied        string
	}{
		"kro does what is allowed":                {user: kro, before: madeBy("web", 2), after: madeBy("web", 3), allowances: []v1alpha1.Allowance{may}},
		"kro does what is not":                    {user: kro, before: madeBy("web", 2), after: madeBy("web", 3), denied: "parent WebApp web"},
		"a stranger uses what is allowed":         {user: "mallory", before: madeBy("web", 2), after: madeBy("web", 3), allowances: []v1alpha1.Allowance{may}, denied: "parent WebApp web"},
		"by another name of the instance":         {user: kro, before: madeBy("web", 2, "kro.run/instance-name", "x"), after: madeBy("web", 3, "kro.run/instance-name", "x"), denied: "parent WebApp web"},
		"of an instance that is not there":        {user: kro, before: madeBy("gone", 2), after: madeBy("gone", 3)},
		"of a kind that is not kro's":             {user: "mallory", before: madeBy("web", 2, "kro.run/instance-kind", "Database"), after: madeBy("web", 3, "kro.run/instance-kind", "Database")},
		"a stranger takes it away":                {user: "mallory", before: madeBy("web", 2), after: free(2), denied: id},
		"a stranger gives it to her own":          {user: "mallory", before: madeBy("web", 2), after: madeBy("own", 2), denied: id},
		"a stranger has it of another kind":       {user: "mallory", before: madeBy("web", 2), after: madeBy("web", 2, "kro.run/instance-kind", "Database"), denied: id},
		"a stranger has it named otherwise":       {user: "mallory", before: madeBy("web", 2), after: madeBy("web", 2, "kro.run/instance-name", "x"), denied: "metadata.labels[kro.run/instance-name]"},
		"a stranger has it found by another":      {user: "mallory", before: madeBy("web", 2), after: madeBy("web", 2, "applyset.kubernetes.io/part-of", "x"), denied: "part-of"},
		"a stranger has it be something else":     {user: "mallory", before: madeBy("web", 2), after: madeBy("web", 2, "kro.run/node-id", "x"), denied: "node-id"},
		"a stranger has it deleted later":         {user: "mallory", before: madeBy("web", 2), after: annotate(madeBy("web", 2), "internal.kro.run/apply-order", "0"), denied: "apply-order"},
		"a stranger names a version":              {user: "mallory", before: madeBy("web", 2), after: madeBy("web", 2, "kro.run/kro-version", "v1", "kro.run/instance-version", "v2", "kro.run/collection-size", "2")},
		"an initiator takes it away":              {user: "alice", groups: platformTeam, before: madeBy("web", 2), after: free(2)},
		"kro has it deleted later":                {user: kro, before: madeBy("web", 2), after: annotate(madeBy("web", 2), "internal.kro.run/apply-order", "0")},
		"kro says which resource it is":           {user: kro, before: madeBy("web", 2, "kro.run/node-id", "app"), after: madeBy("web", 2)},
		"kro says so, and does what it may not":   {user: kro, before: madeBy("web", 2, "kro.run/node-id", "app"), after: madeBy("web", 3), denied: "spec.replicas"},
		"kro takes what is free":                  {user: kro, before: free(2), after: madeBy("web", 2)},
		"kro takes what is free, and changes it":  {user: kro, before: free(2), after: madeBy("web", 3), denied: "spec.replicas"},
		"a stranger gives what is free":           {user: "mallory", before: free(2), after: madeBy("web", 2), denied: id},
		"kro takes what somebody may initiate on": {user: kro, policies: []string{deploymentPolicy}, before: free(2), after: madeBy("web", 2), denied: "is for who may initiate on it"},
		"who may initiate on it gives it":         {user: "alice", groups: platformTeam, policies: []string{deploymentPolicy}, before: free(2), after: madeBy("web", 2)},
		"kro completes what names its parent":     {user: kro, policies: []string{deploymentPolicy}, before: madeBy("web", 2, "kro.run/instance-kind", ""), after: madeBy("web", 2)},
		"a stranger creates one":                  {user: "mallory", after: madeBy("web", 2), denied: "parent WebApp web"},
		"a stranger deletes one":                  {user: "mallory", before: madeBy("web", 2), denied: "parent WebApp web"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached:  map[string]*unstructured.Unstructured{key("WebApp", "web"): webApp("web", tc.allowances...), key("WebApp", "own"): webApp("own")},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			w.live = w.cached
			_, hook := w.hooks(t, append(tc.policies, webAppPolicy)...)
			after := tc.after
			if tc.before != nil && after != nil {
				after = counted(after)
			}
			resp := hook.Handle(t.Context(), asking(t, tc.user, tc.groups, tc.before, after))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v %v", resp.Allowed, tc.denied, resp.Result, resp.AuditAnnotations)
			}
		})
	}
}
