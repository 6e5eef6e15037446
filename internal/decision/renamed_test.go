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

package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

func TestWhatStandsOutsideIsNamed(t *testing.T) {
	const name = "metadata.annotations[name]"
	path, err := change.ParsePath(name)
	if err != nil {
		t.Fatal(err)
	}
	renames := []change.Change{{Path: path, Verb: change.Mutate, Old: "mine", New: "yours"}}
	shop := compile(t, "shop", shopSpec)
	sections := compile(t, "shop", shopSpec+`
initializing:
  policies:
  - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, mutations: [{jsonPath: "*"}]}
deleting:
  policies:
  - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, verbs: ["*"]}
`)
	own := compile(t, "bucket", `
for: {apiGroup: cloud.example.com, apiVersion: v1, kind: Bucket}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
`)
	of := func(entries ...v1alpha1.Allowance) Parent {
		return Parent{GVK: shopGVK, Name: "web", Policies: []*policy.Policy{shop}, Ledger: ledger.Ledger{}.Merge(entries...)}
	}
	created := shopEntry("alice", v1alpha1.FieldCreated, mayChange(name))
	initializing := of(created)
	initializing.Policies = []*policy.Policy{sections}
	deleting := Parent{GVK: shopGVK, Name: "web", Policies: []*policy.Policy{sections}, Deleting: true}
	tests := map[string]struct {
		in   Input
		want Reason
	}{
		"by a stranger":                             {Input{Requester: mallory, ParentState: ParentFound, Parent: of()}, ReasonDenied},
		"of what nobody composes":                   {Input{Requester: mallory}, ReasonDenied},
		"of an orphan":                              {Input{Requester: mallory, ParentState: ParentGone}, ReasonDenied},
		"below a parent that nothing governs":       {Input{Requester: mallory, ParentState: ParentUngoverned}, ReasonDenied},
		"of what is being deleted":                  {Input{Requester: mallory, Child: Child{Deleting: true}}, ReasonDenied},
		"by an initiator":                           {Input{Requester: alice, OwnPolicies: []*policy.Policy{own}}, ReasonOrigin},
		"by one above, where the cloud alone is":    {Input{Requester: alice, AncestorInitiator: true, ParentState: ParentGone}, ReasonOrphan},
		"by one who breaks the glass":               {Input{Requester: mallory, BreakGlass: "fire"}, ReasonRoot},
		"that is allowed":                           {Input{Requester: composing, ParentState: ParentFound, Parent: of(shopEntry("alice", "spec.name", mayChange(name)))}, ReasonCovered},
		"that is allowed to somebody else":          {Input{Requester: mallory, ParentState: ParentFound, Parent: of(shopEntry("alice", "spec.name", mayChange(name)))}, ReasonDenied},
		"in a creation":                             {Input{Requester: composing, ParentState: ParentFound, Parent: initializing}, ReasonInitializing},
		"in a creation, of what is there":           {Input{Requester: composing, ParentState: ParentFound, Parent: initializing, Outside: true}, ReasonDenied},
		"in a creation, by a stranger":              {Input{Requester: mallory, ParentState: ParentFound, Parent: initializing}, ReasonDenied},
		"by the section for what is being deleted":  {Input{Requester: composing, ParentState: ParentFound, Parent: deleting}, ReasonDenied},
		"of what has no gate is like any other one": {Input{Requester: mallory, Gate: nil}, ReasonRoot},
	}
	for test, tt := range tests {
		t.Run(test, func(t *testing.T) {
			in := tt.in
			in.Operation, in.Changes = Update, renames
			in.Child.GVK = bucketGVK
			if tt.want != ReasonRoot || in.BreakGlass != "" {
				in.Gate, in.Renames = inCloud, renames
			}
			v := Decide(t.Context(), &in)
			if diff := cmp.Diff(tt.want, v.Reason); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
			if v.Allowed != (tt.want != ReasonDenied) {
				t.Errorf("allowed = %t", v.Allowed)
			}
		})
	}
}

// TestUpgradeNames checks what somebody who agrees to a new version has to name.
func TestUpgradeNames(t *testing.T) {
	changeOf := func(text string) change.Change {
		path, err := change.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return change.Change{Path: path, Verb: change.Mutate, Old: "a", New: "b"}
	}
	upgrade := func(mutations string) Upgrade {
		return upgradeTo(t, "v2", "- {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, mutations: ["+mutations+"]}\n")
	}
	shop := compile(t, "shop", shopSpec)
	tests := map[string]struct {
		renames, changes []string
		mutations        string
		parent           func(*Input)
		want             Reason
		uncovered        []string
	}{
		"the field":            {renames: []string{"spec.keeps"}, mutations: "{jsonPath: spec.keeps}", want: ReasonUpgrade},
		"what is below":        {renames: []string{"spec.account.name"}, mutations: "{jsonPath: spec.account}", want: ReasonUpgrade},
		"a part of it":         {renames: []string{"spec.account.name"}, mutations: "{jsonPath: spec.account.name}", want: ReasonUpgrade},
		"what it is a part of": {renames: []string{"spec.keeps"}, mutations: "{jsonPath: spec}", want: ReasonDenied, uncovered: []string{"spec.keeps"}},
		"anything":             {renames: []string{"spec.keeps"}, mutations: `{jsonPath: "*"}`, want: ReasonDenied, uncovered: []string{"spec.keeps"}},
		"anything below":       {renames: []string{"spec.keeps"}, mutations: `{jsonPath: "spec[*]"}`, want: ReasonDenied, uncovered: []string{"spec.keeps"}},
		"another verb":         {renames: []string{"spec.keeps"}, mutations: "{jsonPath: spec.keeps, verbs: [Insert]}", want: ReasonDenied, uncovered: []string{"spec.keeps"}},
		"one of two":           {renames: []string{"spec.keeps", "spec.account"}, mutations: "{jsonPath: spec.keeps}", want: ReasonDenied, uncovered: []string{"spec.keeps", "spec.account"}},
		"and not the rest": {
			renames: []string{"spec.keeps"}, changes: []string{"spec.size"}, mutations: "{jsonPath: spec.keeps}", want: ReasonDenied, uncovered: []string{"spec.keeps", "spec.size"},
		},
		"and all the rest": {
			renames: []string{"spec.keeps"}, changes: []string{"spec.size"}, mutations: "{jsonPath: spec.keeps}, {jsonPath: spec}", want: ReasonUpgrade,
		},
		"of a parent that does not name it": {
			renames: []string{"spec.keeps"}, mutations: "{jsonPath: spec.keeps}", parent: func(in *Input) { in.Parent.OneSided = true }, want: ReasonDenied, uncovered: []string{"spec.keeps"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Requester: composing, Operation: Update, Child: Child{GVK: bucketGVK}, ParentState: ParentFound, Gate: inCloud, Outside: true,
				Parent: Parent{GVK: shopGVK, Name: "web", Policies: []*policy.Policy{shop}}, Upgrades: []Upgrade{upgrade(tt.mutations)},
				Identity: []change.Pattern{change.MustParsePattern("spec.keeps"), change.MustParsePattern("spec.account")},
			}
			for _, path := range tt.renames {
				in.Renames = append(in.Renames, changeOf(path))
			}
			in.Changes = append(in.Changes, in.Renames...)
			for _, path := range tt.changes {
				in.Changes = append(in.Changes, changeOf(path))
			}
			if tt.parent != nil {
				tt.parent(&in)
			}
			v := Decide(t.Context(), &in)
			var uncovered []string
			for _, act := range v.Uncovered {
				uncovered = append(uncovered, act.String())
			}
			if v.Reason != tt.want || (v.Upgrade != nil) != (tt.want == ReasonUpgrade) {
				t.Errorf("verdict %s, want %s", v.Reason, tt.want)
			}
			if diff := cmp.Diff(tt.uncovered, uncovered); diff != "" {
				t.Errorf("uncovered (-want +got):\n%s", diff)
			}
		})
	}
}
