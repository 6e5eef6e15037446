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
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// TestCreating checks what lets be created what was never there although nothing changes in the child.
func TestCreating(t *testing.T) {
	shop := compile(t, "shop", shopSpec)
	own := serviceAccount("kausality-system", "kausality")
	bucketOutside := map[string]string{"kind": "Bucket"}
	asked := func(allowances ...v1alpha1.Allowance) *request {
		return aRequest(own, Update, bucketGVK, "b").of(shopGVK, "web", []*policy.Policy{shop}, allowances...).with(func(in *Input) {
			in.Operator, in.Gate, in.Uncreated = true, inCloud, true
			in.Child.Generation = 8
			in.Child.UID = "uid-of-b"
		})
	}
	upgrading := func(moves bool, verbs ...string) func(*Input) {
		return func(in *Input) {
			in.Upgrades = []Upgrade{{Name: "v2", Generation: 3, Initiator: "greta", Moves: moves, Entries: []policy.Entry{
				{External: map[string]string{"provider": "cloud"}, ExternalVerbs: verbs},
			}}}
		}
	}
	create := shopEntry("alice", "spec.size", mayOutside(bucketOutside, "Create", "Update"))
	byAlice := []string{"Create by alice: Shop/web spec.size, Bucket/b (created)"}
	byGreta := []string{"Create by greta: UpgradeAllowance/v2 (upgrade), Shop/web (upgrade), Bucket/b (created)"}
	tests := map[string]struct {
		request *request
		want    []string
	}{
		"what the parent may create": {request: asked(create), want: byAlice},
		"everything": {
			request: asked(shopEntry("alice", "spec.size", mayOutside(bucketOutside, "*"))), want: byAlice,
		},
		"what its creation lets it": {
			request: asked(shopEntry("alice", v1alpha1.FieldCreated, func(a *v1alpha1.Allowance) {
				a.Kind, a.Mutation, a.Mutations = "*", "*", []string{"Create", "Update"}
			})),
			want: []string{"Create by alice: Shop/web (created), Bucket/b (created)"},
		},
		"an upgrade of the parent":              {request: asked().with(upgrading(true, "Create", "Update")), want: byGreta},
		"an upgrade that changes only":          {request: asked().with(upgrading(true, "Update"))},
		"one that does not move the parent":     {request: asked().with(upgrading(false, "Create"))},
		"one, and a change is withheld":         {request: asked().with(upgrading(true, "Create")).ofWithheld(t, "spec.size", "1")},
		"what the parent may change":            {request: asked(shopEntry("alice", "spec.size", mayOutside(bucketOutside, "Update")))},
		"what others may create":                {request: asked(shopEntry("alice", "spec.size", mayOutside(map[string]string{"kind": "Queue"}, "Create")))},
		"what may be created in the cluster":    {request: asked(shopEntry("alice", "spec.size", mayChange("create")))},
		"a change of the parent is withheld":    {request: asked(create).ofWithheld(t, "spec.size", "1")},
		"a change of what the parent reads is":  {request: asked(create).with(func(in *Input) { in.Referents = []Referent{referentOf(configChange(t, mallory))} })},
		"what is there":                         {request: asked(create).with(func(in *Input) { in.Uncreated = false })},
		"the parent goes":                       {request: asked(create).with(func(in *Input) { in.Parent.Deleting = true })},
		"the parent does not know the child":    {request: asked(create).with(func(in *Input) { in.Parent.OneSided = true })},
		"the parent adopted it without a cause": {request: asked(create).with(func(in *Input) { in.Parent.Strays = sets.New("uid-of-b") })},
		"somebody else writes":                  {request: asked(create).with(func(in *Input) { in.Operator = false })},
		"the parent is gone":                    {request: asked(create).with(func(in *Input) { in.ParentState = ParentGone })},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := opened(Grants(t.Context(), &tt.request.Input, Decide(t.Context(), &tt.request.Input)))
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what the child's gate gets (-want +got):\n%s", diff)
			}
		})
	}
}
