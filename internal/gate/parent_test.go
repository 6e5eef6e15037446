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

package gate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
)

func chainOf(kinds ...string) []policy.Holder {
	chain := make([]policy.Holder, 0, len(kinds))
	for _, kind := range kinds {
		chain = append(chain, policy.Holder{Kind: schema.GroupKind{Group: "example.com", Kind: kind}})
	}
	return chain
}

// TestParentAfter shows which parent an object keeps, because of which it is gated.
func TestParentAfter(t *testing.T) {
	old, updated := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	known, cut, other := gate.ParentOf("a", chainOf("XShop", "Shop")), gate.ParentOf("a", chainOf("XShop")), gate.ParentOf("b", chainOf("XShop"))
	for name, tt := range map[string]struct {
		before *gate.Parent
		write  gate.Write
		want   *gate.Parent
	}{
		"of what is gated on its own":                     {write: gate.Write{Old: old, New: updated}},
		"its first":                                       {write: gate.Write{New: updated, Parent: known}, want: known},
		"the same":                                        {before: known, write: gate.Write{Old: old, New: updated, Parent: known}, want: known},
		"the same, of which less is known":                {before: known, write: gate.Write{Old: old, New: updated, Parent: cut}, want: known},
		"the same, of which more is known":                {before: cut, write: gate.Write{Old: old, New: updated, Parent: known}, want: known},
		"another one":                                     {before: known, write: gate.Write{Old: old, New: updated, Parent: other}, want: other},
		"none any more":                                   {before: known, write: gate.Write{Old: old, New: updated}, want: known},
		"none any more, and freed":                        {before: known, write: gate.Write{Old: old, New: updated, Releases: true}},
		"another one in the request that frees it":        {before: known, write: gate.Write{Old: old, New: updated, Parent: other, Releases: true}, want: other},
		"a look, which is no reason to write the object":  {write: gate.Write{Old: old, New: old, Parent: known}},
		"a look at what keeps one, which changes nothing": {before: known, write: gate.Write{Old: old, New: old}, want: known},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, gate.State{Parent: tt.before}.ParentAfter(tt.write)); diff != "" {
				t.Errorf("ParentAfter() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHasLostParent shows of what the gate stays without its parent.
func TestHasLostParent(t *testing.T) {
	for name, tt := range map[string]struct {
		kept    *gate.Parent
		parent  types.UID
		unknown bool
		want    bool
	}{
		"gated on its own":             {},
		"with its parent":              {kept: gate.ParentOf("a", chainOf("XShop")), parent: "a"},
		"without one":                  {kept: gate.ParentOf("a", chainOf("XShop")), want: true},
		"with another one":             {kept: gate.ParentOf("a", chainOf("XShop")), parent: "b", want: true},
		"with one that nobody can see": {kept: gate.ParentOf("a", chainOf("XShop")), unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (gate.State{Parent: tt.kept}).HasLostParent(tt.parent, !tt.unknown); got != tt.want {
				t.Errorf("HasLostParent() = %t, want %t", got, tt.want)
			}
		})
	}
}

// TestParentGates shows which policies gate an object because of its parent.
func TestParentGates(t *testing.T) {
	parent, own := gate.ParentOf("a", chainOf("XShop", "Shop")), schema.GroupKind{Group: "example.com", Kind: "Bucket"}
	initiator := []v1alpha1.PolicySubject{{MayInitiate: true}}
	initiator[0].Kind, initiator[0].Name = "User", "alice"
	for name, tt := range map[string]struct {
		kind     string
		subjects []v1alpha1.PolicySubject
		gates    bool
		above    bool
	}{
		"for its kind":                             {kind: "XShop", subjects: initiator, gates: true, above: true},
		"for what is above it":                     {kind: "Shop", subjects: initiator, above: true},
		"for the object's own":                     {kind: "Bucket", subjects: initiator},
		"for the object's own, continuing a chain": {kind: "Bucket", gates: true},
		"for something else":                       {kind: "Other", subjects: initiator},
	} {
		t.Run(name, func(t *testing.T) {
			p, errs := policy.Compile(&v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
				For:      v1alpha1.ParentKind{APIGroup: "example.com", APIVersion: "v1", Kind: tt.kind},
				Subjects: tt.subjects,
			}}, nil)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if gates, above := parent.Gates(p, own), parent.IsAbove(p); gates != tt.gates || above != tt.above {
				t.Errorf("it gates: %t, want %t; it is above: %t, want %t", gates, tt.gates, above, tt.above)
			}
		})
	}
}

// TestStateOfParent shows that what an object says of its parent is read as it was written.
func TestStateOfParent(t *testing.T) {
	kept := gate.State{Content: "c", Parent: gate.ParentOf("a", chainOf("XShop", "XShop", "Shop"))}
	if diff := cmp.Diff(kept, gate.ReadState(kept.Annotations())); diff != "" {
		t.Errorf("ReadState() (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "no JSON", "{}", `{"uid":"a"}`} {
		if got := gate.ReadState(map[string]string{v1alpha1.AnnotationGateParent: text}); got.Parent != nil {
			t.Errorf("%q is read as %+v", text, got.Parent)
		}
	}
	held := gate.State{Parent: kept.Parent, Held: &gate.Hold{User: "mallory"}}
	if diff := cmp.Diff(gate.State{Held: &gate.Hold{User: "mallory", Allowed: true}}, held.Released()); diff != "" {
		t.Errorf("Released() (-want +got):\n%s", diff)
	}
	if held.Held.Allowed {
		t.Error("Released() has changed the state that it was asked of")
	}
}
