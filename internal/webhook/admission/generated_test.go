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
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

const (
	generator      = "system:serviceaccount:kausality-system:kausality-generator"
	otherGenerator = "system:serviceaccount:tools:generator"
	generatedFrom  = "metadata.annotations[kausality.io/generated-from]"
)

// triggerPolicies bound the Deployments that are made because of a WebApp, and those because of a
// policy or a source.
const triggerPolicies = `
metadata: {name: trigger}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: WebApp}
  objectSelector: {matchLabels: {bounds: "yes"}}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: other, namespace: default}
  rules:
  - trigger: spec.replicas
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: deployments}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}]
`

// accounts has the accounts of GeneratingPolicies by policy name.
type accounts map[string]string

func (a accounts) Account(_ context.Context, policy string) (string, PolicyState, error) {
	user, ok := a[policy]
	switch {
	case !ok:
		return "", PolicyGone, nil
	case policy == "ending":
		return user, PolicyEnding, nil
	}
	return user, PolicyThere, nil
}

// generatedFor returns a Deployment that GeneratingPolicy policy made for WebApps of those names.
func generatedFor(policy string, replicas int64, triggers ...string) *unstructured.Unstructured {
	obj := deployment(replicas)
	var made []map[string]string
	for _, name := range triggers {
		made = append(made, map[string]string{"group": "example.com", "kind": "WebApp", "namespace": "shop", "name": name})
	}
	text, err := json.Marshal(map[string]any{
		"policy": map[string]any{"name": policy, "uid": "uid-" + policy, "created": "2026-01-01T00:00:00Z"}, "triggers": made,
		"object": map[string]string{"group": "apps", "kind": "Deployment", "namespace": "default", "name": "web"}, "digest": "x",
	})
	if err != nil {
		panic(err)
	}
	obj.SetLabels(map[string]string{"kausality.io/generated-by": policy})
	return annotate(obj, "kausality.io/generated-from", string(text))
}

// bounding returns WebApp shop/NAME, which AllowancePolicies select.
func bounding(name string, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	obj := webApp(name, allowances...)
	obj.SetLabels(map[string]string{"bounds": "yes"})
	return obj
}

// TestGenerated shows that those because of whom a GeneratingPolicy made an object bound it, whoever
// says that it did, and whose what they allow is.
func TestGenerated(t *testing.T) {
	may := v1alpha1.Allowance{
		Kind: "Deployment", Mutation: "spec.replicas", Generation: 2, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "WebApp", Name: "web", Generation: 2, Field: "spec.replicas"}},
	}
	free := func(replicas int64) *unstructured.Unstructured { return deployment(replicas) }
	of := generatedFor
	copied := of("p", 2, "web")
	copied.SetName("copy")
	copiedAfter := counted(copied.DeepCopy())
	_ = unstructured.SetNestedField(copiedAfter.Object, int64(3), "spec", "replicas")
	unlabeled := of("p", 2, "web")
	unlabeled.SetLabels(nil)
	illegible := annotate(of("p", 2, "web"), "kausality.io/generated-from", "{")
	owner := withOwner(of("p", 2, "web"))
	change := held("spec.replicas", "1")
	change.Generation = 2
	withheld := bounding("held", change)
	for name, tc := range map[string]struct {
		user          string
		groups        []string
		policies      []string
		before, after *unstructured.Unstructured
		allowances    []v1alpha1.Allowance
		denied        string
	}{
		"the account does what is allowed":                        {user: generator, before: of("p", 2, "web"), after: of("p", 3, "web"), allowances: []v1alpha1.Allowance{may}},
		"the account does what is not":                            {user: generator, before: of("p", 2, "web"), after: of("p", 3, "web"), denied: "parent WebApp web"},
		"the account of another policy":                           {user: otherGenerator, before: of("p", 2, "web"), after: of("p", 3, "web"), allowances: []v1alpha1.Allowance{may}, denied: "parent WebApp web"},
		"whom the AllowancePolicy names":                          {user: "system:serviceaccount:default:other", before: of("p", 2, "web"), after: of("p", 3, "web"), allowances: []v1alpha1.Allowance{may}, denied: "parent WebApp web"},
		"a stranger changes it":                                   {user: "mallory", before: of("p", 2, "web"), after: of("p", 3, "web"), allowances: []v1alpha1.Allowance{may}, denied: "parent WebApp web"},
		"a stranger creates one":                                  {user: "mallory", after: of("p", 2, "web"), denied: "parent WebApp web"},
		"a stranger deletes one":                                  {user: "mallory", before: of("p", 2, "web"), denied: "parent WebApp web"},
		"nothing bounds those of its trigger":                     {user: "mallory", before: of("p", 2, "free"), after: of("p", 3, "free")},
		"its trigger is gone":                                     {user: generator, before: of("p", 2, "gone")},
		"one of its triggers is gone, and nothing else changes":   {user: generator, before: of("p", 2, "gone", "web"), after: of("p", 2, "web")},
		"one of its triggers is gone, and another deletes it":     {user: generator, before: of("p", 2, "gone", "web")},
		"one of its triggers is gone, and another changes it":     {user: generator, before: of("p", 2, "gone", "web"), after: of("p", 3, "web"), denied: "parent WebApp web"},
		"one is gone, and a stranger changes it":                  {user: "mallory", before: of("p", 2, "gone", "web"), after: of("p", 3, "gone", "web"), denied: "parent WebApp web"},
		"one is gone, and a stranger deletes it":                  {user: "mallory", before: of("p", 2, "gone", "web"), denied: "parent WebApp web"},
		"one is gone, and something of another waits":             {user: generator, before: of("p", 2, "gone", "held"), after: of("p", 3, "held"), denied: "is withheld"},
		"another one lets it":                                     {user: generator, before: of("p", 2, "other", "web"), after: of("p", 3, "other", "web"), allowances: []v1alpha1.Allowance{may}},
		"another one lets it, and something of one waits":         {user: generator, before: of("p", 2, "web", "held"), after: of("p", 3, "web", "held"), allowances: []v1alpha1.Allowance{may}, denied: "is withheld"},
		"one that is not bounded lets nothing":                    {user: "mallory", before: of("p", 2, "free", "web"), after: of("p", 3, "free", "web"), denied: "parent WebApp web"},
		"the policy is gone":                                      {user: "mallory", before: of("gone", 2, "web"), after: of("gone", 3, "web")},
		"the policy is being deleted":                             {user: generator, before: of("ending", 2, "web")},
		"the policy is being deleted, and a stranger deletes it":  {user: "mallory", before: of("ending", 2, "web"), denied: "parent WebApp web"},
		"the policy is being deleted, and its account changes it": {user: generator, before: of("ending", 2, "web"), after: of("ending", 3, "web"), denied: "parent WebApp web"},
		"a copy is nobody's":                                      {user: "mallory", before: copied, after: copiedAfter},
		"a stranger takes what it says away":                      {user: "mallory", before: of("p", 2, "web"), after: free(2), denied: generatedFrom},
		"a stranger names a trigger of her own":                   {user: "mallory", before: of("p", 2, "web"), after: of("p", 2, "free"), denied: generatedFrom},
		"a stranger names another policy":                         {user: "mallory", before: of("p", 2, "web"), after: of("gone", 2, "web"), denied: generatedFrom},
		"another account names its own policy":                    {user: otherGenerator, before: of("p", 2, "web"), after: of("q", 2, "free"), denied: generatedFrom},
		"a stranger makes it illegible":                           {user: "mallory", before: of("p", 2, "web"), after: illegible, denied: generatedFrom},
		"a stranger has it not found":                             {user: "mallory", before: of("p", 2, "web"), after: unlabeled, denied: "metadata.labels[kausality.io/generated-by]"},
		"a stranger hides it behind an owner":                     {user: "mallory", before: of("p", 2, "web"), after: owner, denied: "metadata.ownerReferences"},
		"the account says that there is another trigger":          {user: generator, before: of("p", 2, "web"), after: of("p", 2, "web", "free")},
		"the account hands it over":                               {user: generator, before: of("p", 2, "web"), after: of("r", 2, "web")},
		"the account changes it for another trigger":              {user: generator, before: of("p", 2, "other"), after: of("p", 3, "web"), allowances: []v1alpha1.Allowance{may}},
		"a stranger gives what is free":                           {user: "mallory", before: free(2), after: of("p", 2, "web"), denied: generatedFrom},
		"a stranger gives what has initiators":                    {user: "mallory", policies: []string{deploymentPolicy}, before: free(2), after: of("p", 2, "free"), denied: "is for the account"},
		"who may initiate on it gives it":                         {user: "alice", groups: platformTeam, policies: []string{deploymentPolicy}, before: free(2), after: of("p", 2, "free")},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{
					key("WebApp", "web"): bounding("web", tc.allowances...), key("WebApp", "other"): bounding("other"),
					key("WebApp", "free"): webApp("free"), key("WebApp", "held"): withheld,
				},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			w.live = w.cached
			_, hook := w.hooks(t, append(tc.policies, triggerPolicies)...)
			hook.Generators = accounts{"p": generator, "r": generator, "ending": generator, "q": otherGenerator}
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

// withOwner gives an object a controller.
func withOwner(obj *unstructured.Unstructured) *unstructured.Unstructured {
	_ = unstructured.SetNestedSlice(obj.Object, []any{map[string]any{
		"apiVersion": "example.com/v1alpha1", "kind": "WebApp", "name": "free", "uid": "uid-free", "controller": true,
	}}, "metadata", "ownerReferences")
	return obj
}
