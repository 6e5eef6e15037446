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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
)

var (
	shopGVK   = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}
	composing = serviceAccount("crossplane-system", "crossplane")
	inCloud   = gate.Target{"kind": "Bucket", "provider": "cloud"}
)

const shopSpec = `
for: {apiGroup: example.com, apiVersion: v1, kind: Shop}
subjects:
- {kind: Group, name: platform-team, mayInitiate: true}
- {kind: ServiceAccount, namespace: crossplane-system, name: crossplane}
rules:
- trigger: spec.size
  policies:
  - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, mutations: [{jsonPath: spec.size}]}
  - {target: {external: {provider: cloud, kind: Bucket}}, relation: External, verbs: [Update]}
`

const shopSections = `
initializing:
  policies:
  - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, verbs: [Create]}
  - {target: {external: {kind: Bucket}}, relation: External, verbs: [Create]}
deleting:
  policies:
  - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, verbs: [Delete], mutations: [{jsonPath: spec.guarded}]}
  - {target: {external: {kind: Bucket}}, relation: External, verbs: [Delete, Update]}
maintaining:
  policies:
  - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, mutations: [{jsonPath: spec.tags}]}
`

// shopEntry returns an entry in the ledger of Shop web, by an initiator, for a change of a
// field.
func shopEntry(initiator, field string, edit func(*v1alpha1.Allowance)) v1alpha1.Allowance {
	a := v1alpha1.Allowance{
		Generation: 7, Initiator: initiator,
		Trace: []v1alpha1.TraceHop{{Kind: "Shop", Name: "web", Generation: 7, Field: field}},
	}
	edit(&a)
	return a
}

func mayChange(path string) func(*v1alpha1.Allowance) {
	return func(a *v1alpha1.Allowance) {
		a.APIGroup, a.Kind, a.Mutation = bucketGVK.Group, bucketGVK.Kind, path
	}
}

func mayOutside(external map[string]string, verbs ...string) func(*v1alpha1.Allowance) {
	return func(a *v1alpha1.Allowance) {
		a.Relation, a.External, a.Mutations = v1alpha1.RelationExternal, external, verbs
	}
}

// opened returns an entry of a gate in short.
func opened(g Grant) []string {
	var out []string
	for _, a := range g.Allowances {
		hops := make([]string, 0, len(a.Trace))
		for _, hop := range a.Trace {
			hops = append(hops, hop.Kind+"/"+hop.Name+" "+hop.Field)
		}
		out = append(out, strings.Join(a.Mutations, "+")+" by "+a.Initiator+": "+strings.Join(hops, ", "))
		if a.Relation != v1alpha1.RelationExternal || a.External != nil || a.Generation != 8 {
			out = append(out, "which opens no gate of its holder")
		}
	}
	return out
}

func TestExternal(t *testing.T) {
	shop := compile(t, "shop", shopSpec)
	sections := compile(t, "sections", shopSpec+shopSections)
	soft := compile(t, "soft", shopSpec+"validationActions: [Warn]\n")
	elsewhere := compile(t, "elsewhere", "{for: {apiGroup: example.com, apiVersion: v1, kind: Shop}, rules: [{trigger: spec.tier}]}")
	unbounded := compile(t, "unbounded", `
for: {apiGroup: example.com, apiVersion: v1, kind: Shop}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules:
- trigger: spec.size
  policies: [{target: {external: {kind: Bucket}}, relation: External, verbs: [Update]}]
`)
	changing := func(who policy.Requester, path string) *request {
		r := aRequest(who, Update, bucketGVK, "b").changing(t, "1", "2", path)
		r.Gate = inCloud
		return r
	}
	creating := func(who policy.Requester) *request {
		r := aRequest(who, Create, bucketGVK, "b")
		r.Gate = inCloud
		return r
	}
	ofShop := func(r *request, p *policy.Policy, allowances ...v1alpha1.Allowance) *request {
		return r.of(shopGVK, "web", []*policy.Policy{p}, allowances...)
	}
	size := shopEntry("alice", "spec.size", mayChange("spec.size"))
	update := shopEntry("alice", "spec.size", mayOutside(map[string]string{"provider": "cloud", "kind": "Bucket"}, "Update"))
	created := func(edit func(*v1alpha1.Allowance)) v1alpha1.Allowance {
		return shopEntry("alice", v1alpha1.FieldCreated, edit)
	}

	tests := map[string]struct {
		request *request
		want    []string
	}{
		"a covered change goes on outside": {
			request: ofShop(changing(composing, "spec.size"), shop, size, update),
			want:    []string{"Update by alice: Shop/web spec.size, Bucket/b spec.size"},
		},
		"the latest entry for the change is of another field of the same person": {
			request: ofShop(changing(composing, "spec.size"), shop, shopEntry("alice", "spec.tier", mayChange("spec.size")), update),
			want:    []string{"Update by alice: Shop/web spec.size, Bucket/b spec.size"},
		},
		"what somebody else may do outside does not go with it": {
			request: ofShop(changing(composing, "spec.size"), shop, shopEntry("bob", "spec.size", mayChange("spec.size")), update),
		},
		"two people's changes go on together": {
			request: ofShop(changing(composing, "spec.size"), shop, size, update,
				shopEntry("bob", "spec.tier", mayChange("spec.size")),
				shopEntry("bob", "spec.tier", mayOutside(map[string]string{"kind": "Bucket"}, "Create", "Update"))),
			want: []string{
				"Create+Update by bob: Shop/web spec.tier, Bucket/b spec.size",
				"Update by alice: Shop/web spec.size, Bucket/b spec.size",
			},
		},
		"a target that is another": {
			request: ofShop(changing(composing, "spec.size"), shop, size,
				shopEntry("alice", "spec.size", mayOutside(map[string]string{"kind": "Queue"}, "Update"))),
		},
		"a key that nobody knows": {
			request: ofShop(changing(composing, "spec.size"), shop, size,
				shopEntry("alice", "spec.size", mayOutside(map[string]string{"kind": "Bucket", "region": "eu"}, "Update"))),
		},
		"the parent's own gate": {
			request: ofShop(changing(composing, "spec.size"), shop, size, shopEntry("alice", "spec.size", mayOutside(nil, "Update"))),
		},
		"no gate": {
			request: ofShop(changing(composing, "spec.size"), shop, size, update).with(func(in *Input) { in.Gate = nil }),
		},
		"a change of the parent is withheld": {
			request: ofShop(changing(composing, "spec.size"), shop, size, update).ofWithheld(t, "spec.size", "1"),
		},
		"adoption, while a change of the parent is withheld": {
			request: ofShop(changing(composing, "spec.size"), shop, size, update).ofWithheld(t, "spec.size", "1").
				with(func(in *Input) { in.Parent.Adopting = true }),
		},
		"a soft policy, while another one withholds a change of the parent": {
			request: changing(composing, "spec.size").of(shopGVK, "web", []*policy.Policy{soft, elsewhere}, size, update).ofWithheld(t, "spec.tier", "1"),
			want:    []string{"Create+Update by " + composing.Username + ": Shop/web (warned), Bucket/b spec.size"},
		},
		"what nothing covers": {
			request: ofShop(changing(mallory, "spec.size"), shop, size, update),
		},
		"what changes nothing": {
			request: ofShop(changing(composing, "spec.size"), shop, size, update).with(func(in *Input) { in.Changes, in.OwnChanges = nil, nil }),
		},
		"the provider's bookkeeping": {
			request: ofShop(changing(composing, "spec.size"), shop, size, update).with(func(in *Input) { in.LateInitialization = true }),
		},
		"a creation by the initializing section": {
			request: ofShop(creating(composing), sections, created(mayChange("create")), created(mayOutside(map[string]string{"kind": "Bucket"}, "Create"))),
			want:    []string{"Create by alice: Shop/web (created), Bucket/b (created)"},
		},
		"a creation without a section": {
			request: ofShop(creating(composing), shop, created(func(a *v1alpha1.Allowance) {
				a.Kind, a.Mutation, a.Mutations = "*", "*", []string{"Create", "Update"}
			})),
			want: []string{"Create+Update by alice: Shop/web (created), Bucket/b (created)"},
		},
		"a creation in mid-life without a permission outside": {
			request: ofShop(creating(composing), shop, shopEntry("alice", "spec.count", mayChange("create"))),
		},
		"healing by the maintaining section": {
			request: ofShop(changing(composing, "spec.tags"), sections),
		},
		"what the deleting section lets through": {
			request: ofShop(changing(composing, "spec.guarded"), sections).with(func(in *Input) {
				in.Parent.Deleting = true
				in.Deletion = &v1alpha1.Deletion{User: "bob", Initiator: "bob", Trace: []v1alpha1.TraceHop{{Kind: "Shop", Name: "web", Field: "(deleted)"}}}
			}),
			want: []string{"Delete+Update by bob: Shop/web (deleted), Bucket/b spec.guarded"},
		},
		"adoption": {
			request: ofShop(changing(composing, "spec.size"), shop).with(func(in *Input) { in.Parent.Adopting = true }),
			want:    []string{"Create+Update by " + composing.Username + ": Shop/web (adopted), Bucket/b spec.size"},
		},
		"broken glass": {
			request: ofShop(changing(mallory, "spec.size"), shop).with(func(in *Input) { in.BreakGlass = "fire" }),
			want:    []string{"Create+Update by mallory: Shop/web (breakglass), Bucket/b spec.size"},
		},
		"a soft policy": {
			request: ofShop(changing(mallory, "spec.size"), soft),
			want:    []string{"Create+Update by mallory: Shop/web (warned), Bucket/b spec.size"},
		},
		"a child that only its gate bounds": {
			request: ofShop(changing(composing, "spec.anything"), unbounded, update),
			want:    []string{"Update by alice: Shop/web spec.size, Bucket/b spec.anything"},
		},
		"a child that only its gate bounds, while a change of the parent is withheld": {
			request: ofShop(changing(composing, "spec.anything"), unbounded, update).ofWithheld(t, "spec.size", "1"),
		},
		"a creation by the initializing section, while a change of the parent is withheld": {
			request: ofShop(creating(composing), sections, created(mayChange("create")), created(mayOutside(map[string]string{"kind": "Bucket"}, "Create"))).
				ofWithheld(t, "spec.size", "1"),
		},
		"the same by a person who is not asked to": {
			request: ofShop(changing(mallory, "spec.anything"), unbounded, update),
		},
		"an orphan": {
			request: changing(composing, "spec.size").with(func(in *Input) { in.ParentState = ParentGone }),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := Decide(t.Context(), &tt.request.Input)
			got := opened(Grants(t.Context(), &tt.request.Input, v))
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s; what the child's gate gets (-want +got):\n%s", v.Reason, diff)
			}
		})
	}
}

func TestGateOfItsOwnPolicy(t *testing.T) {
	own := compile(t, "own", `
for: {apiGroup: cloud.example.com, apiVersion: v1, kind: Bucket}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
rules:
- trigger: spec.size
  policies:
  - {target: {external: {kind: Bucket}}, relation: External, verbs: [Update]}
  - {target: {external: {kind: Queue}}, relation: External, verbs: [Update]}
`)
	tests := map[string]struct {
		request *request
		want    []string
	}{
		"a change": {
			request: aRequest(alice, Update, bucketGVK, "b").changing(t, "1", "2", "spec.size"),
			want:    []string{"Update"},
		},
		"a change by a stranger": {
			request: aRequest(mallory, Update, bucketGVK, "b").changing(t, "1", "2", "spec.size"),
		},
		"a creation": {
			request: aRequest(alice, Create, bucketGVK, "b"),
			want:    []string{"Create+Update"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &tt.request.governed(own).Input
			in.Gate = inCloud
			grant := Grants(t.Context(), in, Decide(t.Context(), in))
			var got []string
			for _, a := range grant.Allowances {
				if a.Relation == v1alpha1.RelationExternal && a.External == nil {
					got = append(got, strings.Join(a.Mutations, "+"))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verbs (-want +got):\n%s", diff)
			}
			if opens := grant.OpensGate(); opens != (len(tt.want) > 0) {
				t.Errorf("opens its gate: %t", opens)
			}
		})
	}
}

// TestStrayOfWhatGoes has what is done to a stray while its parent goes open nothing: the parent's initiator has not said
// what it stands for.
func TestStrayOfWhatGoes(t *testing.T) {
	sections := compile(t, "sections", shopSpec+shopSections)
	for name, stray := range map[string]bool{"a stray": true, "another child": false} {
		t.Run(name, func(t *testing.T) {
			in := &aRequest(composing, Update, bucketGVK, "b").changing(t, "1", "2", "spec.guarded").
				of(shopGVK, "web", []*policy.Policy{sections}).Input
			in.Gate = inCloud
			in.Parent.Deleting, in.Deletion = true, &v1alpha1.Deletion{User: "alice", Initiator: "alice"}
			if stray {
				in.Parent.Strays = sets.New("uid-of-b")
			}
			v := Decide(t.Context(), in)
			if grant := Grants(t.Context(), in, v); grant.OpensGate() == stray {
				t.Errorf("%s, and its gate opens: %t", v.Reason, !stray)
			}
		})
	}
}

func TestExternalDeletion(t *testing.T) {
	sections := compile(t, "sections", shopSpec+shopSections)
	silent := compile(t, "silent", shopSpec)
	own := compile(t, "own", `
for: {apiGroup: cloud.example.com, apiVersion: v1, kind: Bucket}
subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
deleting: {policies: [{target: {external: {kind: Bucket}}, relation: External, verbs: ["*"]}]}
`)
	byAlice := &v1alpha1.Deletion{User: "alice", Initiator: "alice"}
	gone := func(in *Input) { in.ParentState, in.Deletion = ParentGone, byAlice }
	going := func(in *Input) { in.Parent.Deleting, in.Deletion = true, byAlice }
	strayB := func(in *Input) { in.Parent.Strays = sets.New("uid-of-b") }
	deletion := func(who policy.Requester, p *policy.Policy, allowances ...v1alpha1.Allowance) *request {
		return aRequest(who, Delete, bucketGVK, "b").of(shopGVK, "web", []*policy.Policy{p}, allowances...)
	}
	remove := shopEntry("alice", "spec.count", mayChange("delete"))
	tests := map[string]struct {
		request *request
		want    bool
	}{
		"the parent goes":                        {request: deletion(composing, sections).with(going), want: true},
		"the collector follows":                  {request: deletion(collector, sections).with(gone), want: true},
		"a stray of a parent that goes":          {request: deletion(composing, sections).with(going).with(strayB)},
		"a stray of a parent that is gone":       {request: deletion(collector, sections).with(gone).with(strayB)},
		"another child of a parent with a stray": {request: deletion(collector, sections).with(gone).with(func(in *Input) { in.Parent.Strays = sets.New("another") }), want: true},
		"nobody knows who deleted the parent":    {request: deletion(collector, sections).with(gone).with(func(in *Input) { in.Deletion = nil })},
		"no section says so":                     {request: deletion(composing, silent).with(going)},
		"a steady parent":                        {request: deletion(collector, sections)},
		"a rule that covers the object alone":    {request: deletion(composing, silent, remove)},
		"a rule that covers what is outside too": {request: deletion(composing, silent, remove, shopEntry("alice", "spec.count", mayOutside(map[string]string{"kind": "Bucket"}, "Delete"))), want: true},
		"one that says Update only":              {request: deletion(composing, silent, remove, shopEntry("alice", "spec.count", mayOutside(map[string]string{"kind": "Bucket"}, "Update")))},
		"what nothing covers":                    {request: deletion(mallory, silent)},
		"broken glass":                           {request: deletion(mallory, silent).with(func(in *Input) { in.BreakGlass = "delete: fire" }), want: true},
		"an initiator of its own policy":         {request: aRequest(alice, Delete, bucketGVK, "b").governed(own), want: true},
		"a stranger":                             {request: aRequest(mallory, Delete, bucketGVK, "b").governed(own)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &tt.request.Input
			in.Gate = inCloud
			policies := slices.Clone(in.Parent.Policies)
			if got := in.ExternalDeletion(Decide(t.Context(), in), policies); got != tt.want {
				t.Errorf("allowed: %t, want %t", got, tt.want)
			}
		})
	}
}
