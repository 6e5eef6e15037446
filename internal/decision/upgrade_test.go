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
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// upgradeTo returns what greta has agreed to, by the YAML of its entries.
func upgradeTo(tb testing.TB, name, entries string) Upgrade {
	tb.Helper()
	var declared []v1alpha1.PolicyEntry
	if err := yaml.UnmarshalStrict([]byte(entries), &declared); err != nil {
		tb.Fatal(err)
	}
	compiled, errs := policy.CompileEntries(declared, field.NewPath("spec", "policies"), kindOf)
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	return Upgrade{Name: name, Generation: 3, Initiator: "greta", Entries: compiled}
}

const (
	ofTemplates = "- {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: spec.template}]}\n"
	anything    = "- {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ['*']}\n"
)

func TestUpgrade(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	soft := []*policy.Policy{compile(t, "soft", deploymentSpec+"validationActions: [Warn]\n")}
	upgrading := func(r *request, upgrades ...Upgrade) *request {
		return r.with(func(in *Input) { in.Upgrades = upgrades })
	}
	template := upgradeTo(t, "template", ofTemplates)
	all := upgradeTo(t, "all", anything)
	changing := func(paths ...string) *request {
		return aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "a", "b", paths...).of(deploymentGVK, "web", deployment)
	}
	whole := func(op Operation) *request {
		return aRequest(deployer, op, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment)
	}
	tests := map[string]struct {
		request   *request
		want      Reason
		by        string
		uncovered []string
	}{
		"what it covers":      {request: upgrading(changing("spec.template.a"), template), want: ReasonUpgrade, by: "template"},
		"without an upgrade":  {request: changing("spec.template.a"), want: ReasonDenied, uncovered: []string{"spec.template.a"}},
		"what it does not":    {request: upgrading(changing("spec.replicas"), template), want: ReasonDenied, uncovered: []string{"spec.replicas"}},
		"more than it covers": {request: upgrading(changing("spec.template.a", "spec.selector"), template), want: ReasonDenied, uncovered: []string{"spec.template.a", "spec.selector"}},
		"together with an allowance": {
			request: upgrading(aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "a", "b", "spec.template.a", "spec.replicas").
				of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas")), template),
			want: ReasonUpgrade, by: "template",
		},
		"what an allowance covers": {
			request: upgrading(aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "a", "b", "spec.replicas").
				of(deploymentGVK, "web", deployment, allowance("ReplicaSet", "spec.replicas", "spec.replicas")), all),
			want: ReasonCovered,
		},
		"the first that covers all":    {request: upgrading(changing("spec.template.a", "spec.selector"), template, all), want: ReasonUpgrade, by: "all"},
		"a creation":                   {request: upgrading(whole(Create), all), want: ReasonUpgrade, by: "all"},
		"a creation it does not name":  {request: upgrading(whole(Create), template), want: ReasonDenied, uncovered: []string{"create"}},
		"a deletion":                   {request: upgrading(whole(Delete), all), want: ReasonUpgrade, by: "all"},
		"who the owner is":             {request: upgrading(changing("metadata.ownerReferences[uid-of-web]"), all), want: ReasonDenied, uncovered: []string{"metadata.ownerReferences[uid-of-web]"}},
		"a parent that is deleted":     {request: upgrading(changing("spec.template.a").with(func(in *Input) { in.Parent.Deleting = true }), template), want: ReasonDeleting},
		"a parent with a stranger's":   {request: upgrading(changing("spec.template.a").ofWithheld(t, "spec.replicas", int64(1)), template), want: ReasonDenied, uncovered: []string{"spec.template.a"}},
		"a parent that does not agree": {request: upgrading(changing("spec.template.a").with(func(in *Input) { in.Parent.OneSided = true }), template), want: ReasonDenied, uncovered: []string{"spec.template.a"}},
		"a stray": {
			request: upgrading(changing("spec.template.a").with(func(in *Input) { in.Parent.Strays = sets.New("uid-of-web-1") }), template),
			want:    ReasonDenied, uncovered: []string{"spec.template.a"},
		},
		"where it would only be warned of": {
			request: upgrading(aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, "a", "b", "spec.template.a").of(deploymentGVK, "web", soft), template),
			want:    ReasonUpgrade, by: "template",
		},
		"rather than by broken glass": {
			request: upgrading(changing("spec.template.a").with(func(in *Input) { in.BreakGlass = "fire" }), template), want: ReasonUpgrade, by: "template",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v := Decide(t.Context(), &tt.request.Input)
			var uncovered []string
			for _, act := range v.Uncovered {
				uncovered = append(uncovered, act.String())
			}
			by := ""
			if v.Upgrade != nil {
				by = v.Upgrade.Name
			}
			if v.Reason != tt.want || v.Allowed != (tt.want != ReasonDenied) || by != tt.by {
				t.Errorf("verdict %s by %q, want %s by %q", v.Reason, by, tt.want, tt.by)
			}
			if diff := cmp.Diff(tt.uncovered, uncovered); diff != "" {
				t.Errorf("uncovered (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUpgradeIsTraced follows what an upgrade causes down to who agreed to it.
func TestUpgradeIsTraced(t *testing.T) {
	deployment := []*policy.Policy{compile(t, "deployment", deploymentSpec)}
	replicaSet := compile(t, "replicaset", replicaSetSpec)
	upgrades := func(in *Input) { in.Upgrades = []Upgrade{upgradeTo(t, "all", anything)} }
	want := func(last string) []v1alpha1.TraceHop {
		return []v1alpha1.TraceHop{
			{Kind: "UpgradeAllowance", Name: "all", Generation: 3, Field: "(upgrade)"},
			{Kind: "Deployment", Name: "web", Generation: 7, Field: "(upgrade)"},
			{Kind: "ReplicaSet", Name: "web-1", Generation: 8, Field: last},
		}
	}
	expect := func(t *testing.T, initiator string, trace, want []v1alpha1.TraceHop) {
		t.Helper()
		if initiator != "greta" {
			t.Errorf("initiator %q", initiator)
		}
		if diff := cmp.Diff(want, trace); diff != "" {
			t.Errorf("trace (-want +got):\n%s", diff)
		}
	}

	t.Run("a change", func(t *testing.T) {
		in := aRequest(deployer, Update, replicaSetGVK, "web-1").changing(t, int64(1), int64(2), "spec.replicas").
			of(deploymentGVK, "web", deployment).governed(replicaSet).with(upgrades)
		got := Grants(t.Context(), &in.Input, Decide(t.Context(), &in.Input))
		if len(got.Allowances) == 0 || len(got.Withheld) > 0 {
			t.Fatalf("granted %v, withheld %v", mutations(got.Allowances), mutations(got.Withheld))
		}
		for _, a := range got.Allowances {
			expect(t, a.Initiator, a.Trace, want("spec.replicas"))
		}
	})
	t.Run("a creation", func(t *testing.T) {
		in := aRequest(deployer, Create, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).governed(replicaSet).with(upgrades)
		got := Grants(t.Context(), &in.Input, Decide(t.Context(), &in.Input))
		if len(got.Allowances) == 0 {
			t.Fatal("nothing is granted")
		}
		for _, a := range got.Allowances {
			expect(t, a.Initiator, a.Trace, want(v1alpha1.FieldCreated))
		}
	})
	t.Run("a deletion", func(t *testing.T) {
		in := aRequest(deployer, Delete, replicaSetGVK, "web-1").of(deploymentGVK, "web", deployment).governed(replicaSet).with(upgrades)
		initiator, trace := DeletionTrace(&in.Input, Decide(t.Context(), &in.Input))
		expect(t, initiator, trace, want(v1alpha1.FieldDeleted))
	})
}

// TestUpgradeOpensGates opens what a child stands for as far as External entries say, and
// never for its deletion.
func TestUpgradeOpensGates(t *testing.T) {
	shop := []*policy.Policy{compile(t, "shop", shopSpec)}
	const buckets = "- {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, verbs: [Update, Delete]}\n"
	tests := map[string]struct {
		entries string
		// before is what another UpgradeAllowance says that comes before it; empty for none.
		before string
		want   []string
	}{
		"an External entry beside one of nothing outside": {
			before: buckets, entries: buckets + "- {target: {external: {provider: cloud}}, relation: External, verbs: [Update]}\n", want: []string{"Update"},
		},
		"two of nothing outside":     {before: buckets, entries: buckets},
		"an External entry":          {entries: buckets + "- {target: {external: {provider: cloud}}, relation: External, verbs: [Update]}\n", want: []string{"Update"}},
		"one for something else":     {entries: buckets + "- {target: {external: {provider: other}}, relation: External, verbs: [Update]}\n"},
		"nothing of what is outside": {entries: buckets},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := aRequest(composing, Update, bucketGVK, "web").changing(t, "a", "b", "spec.tags").of(shopGVK, "web", shop).with(func(in *Input) {
				in.Gate = inCloud
				if tt.before != "" {
					in.Upgrades = append(in.Upgrades, upgradeTo(t, "before", tt.before))
				}
				in.Upgrades = append(in.Upgrades, upgradeTo(t, "cloud", tt.entries))
			})
			v := Decide(t.Context(), &in.Input)
			if v.Reason != ReasonUpgrade {
				t.Fatalf("verdict %s", v.Reason)
			}
			var verbs []string
			for _, a := range Grants(t.Context(), &in.Input, v).Allowances {
				verbs = append(verbs, a.Mutations...)
				if a.Initiator != "greta" || a.Trace[0].Kind != "UpgradeAllowance" {
					t.Errorf("opened by %s, %v", a.Initiator, a.Trace)
				}
			}
			if !slices.Equal(tt.want, verbs) {
				t.Errorf("opened for %v, want %v", verbs, tt.want)
			}
			in.Operation, in.Changes = Delete, nil
			if in.ExternalDeletion(Decide(t.Context(), &in.Input), nil) {
				t.Error("its deletion deletes what is outside")
			}
		})
	}
}
