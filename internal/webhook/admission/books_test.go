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

	"kausality.io/operator/api/v1alpha1"
)

// TestFinding shows who may write by what Crossplane finds what it has made, in whatever phase its
// parent is.
func TestFinding(t *testing.T) {
	const refused = "that is for Crossplane, and for who may initiate on it"
	created := v1alpha1.Allowance{
		APIGroup: "example.com", Kind: "Instance", Mutation: "create", Generation: 4, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "XDatabase", Name: "db-x7", Generation: 4, Field: v1alpha1.FieldCreated}},
	}
	refs := func(name string, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
		return parsed(t, "{apiVersion: example.com/v1, kind: XDatabase, metadata: {name: db-x7}, spec: {size: 1, crossplane: {resourceRefs: ["+
			"{apiVersion: example.com/v1, kind: Instance, name: "+name+"}]}}}", allowances...)
	}
	resized := refs("a")
	if err := unstructured.SetNestedField(resized.Object, int64(2), "spec", "size"); err != nil {
		t.Fatal(err)
	}
	warns := strings.ReplaceAll(composingPolicy(composesInside), "[Deny]", "[Warn]")
	for name, tc := range map[string]struct {
		user          string
		before, after *unstructured.Unstructured
		policies      []string
		denied        string
	}{
		"a stranger, of one that is new":     {user: "bob", before: refs("a", created), after: refs("other", created), denied: refused + ": User mallory"},
		"a stranger, of one that is settled": {user: "bob", before: refs("a"), after: refs("other"), denied: refused},
		"a stranger, who takes it away":      {user: "bob", before: refs("a"), after: xdatabase(t, "size: 1"), denied: refused},
		"a robot that no policy names":       {user: "system:serviceaccount:shop:default", before: refs("a"), after: refs("other"), denied: refused},
		"a stranger, of something else":      {user: "bob", before: refs("a"), after: resized},
		"Crossplane":                         {user: crossplane, before: refs("a", created), after: refs("other", created)},
		"who may initiate":                   {user: "mallory", before: refs("a"), after: refs("other")},
		"a stranger, where it only warns":    {user: "bob", before: refs("a"), after: refs("other"), policies: []string{warns}},
		"a stranger, of a claim": {
			user: "bob", before: database(t, pointsAtXR), after: database(t, strings.Replace(pointsAtXR, "x7", "y8", 1)),
			policies: []string{claimPolicy}, denied: "by spec.resourceRef Crossplane finds what it has made for Database db",
		},
		"a stranger, of the composite resource of a claim that is new": {
			user: "bob", before: xdatabase(t, pointsAtClaim+", resourceRefs: [{name: a}]"), after: xdatabase(t, pointsAtClaim+", resourceRefs: [{name: z}]"),
			policies: []string{strings.Replace(claimPolicy, "verbs: [Create]", `verbs: [Create, Update]`+"\n      mutations: [{jsonPath: spec}]", 1)},
			denied:   "by spec.resourceRefs Crossplane finds what it has made for XDatabase db-x7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			claimed := mayResize("create")
			claimed.Trace[0].Field = v1alpha1.FieldCreated
			claim := database(t, pointsAtXR, claimed)
			w := &world{
				cached: map[string]*unstructured.Unstructured{"Database/db": claim},
				live:   map[string]*unstructured.Unstructured{"Database/db": claim},
			}
			policies := tc.policies
			if policies == nil {
				policies = []string{composingPolicy(composesInside)}
			}
			_, validator := w.hooks(t, policies...)
			resp := validator.Handle(t.Context(), asking(t, tc.user, nil, tc.before, counted(tc.after.DeepCopy())))
			if resp.Allowed != (tc.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tc.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tc.denied, resp.Result)
			}
		})
	}
}
