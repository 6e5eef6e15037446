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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

func TestVerbs(t *testing.T) {
	known := []string{"Create", "Delete", "Update"}
	external := func(verbs ...string) v1alpha1.Allowance {
		return v1alpha1.Allowance{Relation: v1alpha1.RelationExternal, Mutations: verbs}
	}
	tests := map[string]struct {
		allowances []v1alpha1.Allowance
		want       []string
	}{
		"nothing":                {want: []string{}},
		"an entry about a child": {allowances: []v1alpha1.Allowance{{Kind: "*", Mutation: "*", Mutations: []string{"Create"}}}, want: []string{}},
		"what children stand for": {allowances: []v1alpha1.Allowance{{
			Relation: v1alpha1.RelationExternal, External: map[string]string{"kind": "Bucket"}, Mutations: []string{"Update"},
		}}, want: []string{}},
		"the union":                {allowances: []v1alpha1.Allowance{external("Update"), external("Create", "Update")}, want: []string{"Create", "Update"}},
		"all":                      {allowances: []v1alpha1.Allowance{external("*")}, want: known},
		"a verb that nobody knows": {allowances: []v1alpha1.Allowance{external("Reboot")}, want: []string{}},
		"beside what is withheld":  {allowances: []v1alpha1.Allowance{external("*"), {Relation: v1alpha1.RelationWithheld, Mutation: "spec.x"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, gate.Verbs(ledger.Ledger{}.Merge(tt.allowances...), known)); diff != "" {
				t.Errorf("verbs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStateSurvivesItsAnnotations(t *testing.T) {
	tests := map[string]gate.State{
		"none":      {},
		"a ceiling": {Ceiling: []string{"Observe"}, Content: "abc"},
		"whose":     {Content: "abc", Provider: "provider-aws"},
		"a pause":   {Ceiling: []string{}},
		"a hold":    {Content: "abc", Held: &gate.Hold{User: "alice", Initiator: "bob", Trace: []v1alpha1.TraceHop{{Kind: "XBucket", Field: "(deleted)"}}, Allowed: true, Paused: true}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, gate.ReadState(want.Annotations())); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlaceOf(t *testing.T) {
	naming := func(provider string) *policy.Policy {
		return &policy.Policy{Name: provider, Action: v1alpha1.ActionDeny, Deleting: &policy.Section{Entries: []policy.Entry{{External: map[string]string{"provider": provider}}}}}
	}
	tests := map[string]struct {
		kind     gate.Kind
		noted    string
		policies []*policy.Policy
		gated    bool
		provider string
	}{
		"by its provider":                              {kind: gate.Kind{Provider: "aws"}, policies: []*policy.Policy{naming("aws")}, gated: true, provider: "aws"},
		"another one's":                                {kind: gate.Kind{Provider: "gcp"}, policies: []*policy.Policy{naming("aws")}, provider: "gcp"},
		"nobody's any more, noted on the object":       {noted: "aws", policies: []*policy.Policy{naming("aws")}, gated: true, provider: "aws"},
		"another one's now, noted on the object":       {kind: gate.Kind{Provider: "gcp"}, noted: "aws", policies: []*policy.Policy{naming("aws")}, gated: true, provider: "aws"},
		"nobody's any more, known from before":         {kind: gate.Kind{Former: []string{"aws"}}, policies: []*policy.Policy{naming("aws")}, gated: true, provider: "aws"},
		"renamed, and policies follow":                 {kind: gate.Kind{Provider: "new"}, noted: "aws", policies: []*policy.Policy{naming("new")}, gated: true, provider: "new"},
		"renamed, and policies name both":              {kind: gate.Kind{Provider: "new"}, noted: "aws", policies: []*policy.Policy{naming("aws"), naming("new")}, gated: true, provider: "new"},
		"another one's now, and the policies are gone": {kind: gate.Kind{Provider: "gcp"}, noted: "aws", provider: "aws"},
		"that policies name another provider":          {kind: gate.Kind{Provider: "aws"}, noted: "aws", policies: []*policy.Policy{naming("gcp")}, provider: "aws"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := gate.PlaceOf(crossplane.Driver{}, &unstructured.Unstructured{}, tt.kind, tt.noted, tt.policies...)
			if p.Gated() != tt.gated || p.Kind.Provider != tt.provider {
				t.Errorf("gated %t under %q, want %t under %q", p.Gated(), p.Kind.Provider, tt.gated, tt.provider)
			}
		})
	}
}

func TestUnreadableStateIsTheNarrowest(t *testing.T) {
	got := gate.ReadState(map[string]string{
		v1alpha1.AnnotationGateCeiling: "Observe", v1alpha1.AnnotationGateHeld: "true", v1alpha1.AnnotationGateContent: "abc",
	})
	if diff := cmp.Diff(gate.State{Ceiling: []string{}, Content: "abc", Held: &gate.Hold{}}, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if !got.Adopted() || (gate.State{}).Adopted() {
		t.Error("an object is under its gate once it has a content")
	}
}

func TestDriverFor(t *testing.T) {
	drivers := gate.Drivers{crossplane.Driver{}}
	if d, ok := drivers.For([]string{"crossplane", "managed"}); !ok || d.System() != "Crossplane" {
		t.Errorf("driver of a managed resource: %v, %t", d, ok)
	}
	if _, ok := drivers.For([]string{"composite"}); ok {
		t.Error("a composite resource has no gate")
	}
}

func TestUnmatched(t *testing.T) {
	drivers := gate.Drivers{crossplane.Driver{}}
	section := func(external map[string]string, verbs ...string) *policy.Policy {
		return &policy.Policy{Deleting: &policy.Section{Entries: []policy.Entry{{External: external, ExternalVerbs: verbs}, {Create: true}}}}
	}
	tests := map[string]struct {
		policy *policy.Policy
		want   []string
	}{
		"all is known": {policy: section(map[string]string{"provider": "p", "kind": "Bucket"}, "Create", "*")},
		"a key":        {policy: section(map[string]string{"provider": "p", "region": "eu"}, "*"), want: []string{`"region"`}},
		"a verb":       {policy: section(map[string]string{"provider": "p"}, "Update", "apply"), want: []string{`"apply"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := drivers.Unmatched(tt.policy)
			if len(got) != len(tt.want) {
				t.Fatalf("%q, want %d texts", got, len(tt.want))
			}
			for i, part := range tt.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("%q does not say %s", got[i], part)
				}
			}
		})
	}
}

func TestStand(t *testing.T) {
	names := func(kind string, action v1alpha1.ValidationAction) *policy.Policy {
		return &policy.Policy{
			Name: string(action), Action: action,
			Deleting: &policy.Section{Entries: []policy.Entry{{External: map[string]string{"kind": kind}, ExternalVerbs: []string{"Delete"}}}},
		}
	}
	target := gate.Target{"kind": "Bucket"}
	tests := map[string]struct {
		policies          []*policy.Policy
		denying, reported int
	}{
		"no policy":             {},
		"about something else":  {policies: []*policy.Policy{names("Queue", v1alpha1.ActionDeny)}},
		"in the deleting phase": {policies: []*policy.Policy{names("Bucket", v1alpha1.ActionDeny)}, denying: 1},
		"both": {
			policies: []*policy.Policy{names("Bucket", v1alpha1.ActionWarn), names("Bucket", v1alpha1.ActionDeny), names("Bucket", v1alpha1.ActionAudit)},
			denying:  1, reported: 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := gate.Stand(target, tt.policies...)
			if len(s.Denying) != tt.denying || len(s.Reporting) != tt.reported || s.Gated() != (tt.denying > 0) {
				t.Errorf("denying %d, reporting %d, gated %t", len(s.Denying), len(s.Reporting), s.Gated())
			}
		})
	}
}
