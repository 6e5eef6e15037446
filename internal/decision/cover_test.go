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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// What an allowance covers, by its mutation and its verbs.
func TestCovers(t *testing.T) {
	field := func(verb change.Verb, text string) Act {
		return Act{Operation: Update, Change: change.Change{Path: mustPath(t, text), Verb: verb}}
	}
	tests := map[string]struct {
		mutation string
		verbs    []v1alpha1.MutationVerb
		act      Act
		want     bool
	}{
		"everything, a creation":            {mutation: "*", act: Act{Operation: Create}, want: true},
		"everything, a deletion":            {mutation: "*", act: Act{Operation: Delete}, want: true},
		"everything, a field":               {mutation: "*", act: field(change.Mutate, "spec.replicas"), want: true},
		"any field, a creation":             {mutation: "*", verbs: allVerbs, act: Act{Operation: Create}},
		"any field, a field":                {mutation: "*", verbs: allVerbs, act: field(change.Insert, "spec.replicas"), want: true},
		"to create, a creation":             {mutation: "create", act: Act{Operation: Create}, want: true},
		"to create, a deletion":             {mutation: "create", act: Act{Operation: Delete}},
		"to create, a field of that name":   {mutation: "create", act: field(change.Mutate, "create")},
		"to delete, a deletion":             {mutation: "delete", act: Act{Operation: Delete}, want: true},
		"to delete, a field of that name":   {mutation: "delete", act: field(change.Delete, "delete")},
		"a field, the field":                {mutation: "spec.replicas", act: field(change.Mutate, "spec.replicas"), want: true},
		"a field, one below":                {mutation: "spec", act: field(change.Mutate, "spec.replicas"), want: true},
		"a field, one above":                {mutation: "spec.replicas", act: field(change.Mutate, "spec")},
		"a field, a deletion":               {mutation: "spec.replicas", act: Act{Operation: Delete}},
		"one of its verbs":                  {mutation: "spec", verbs: []v1alpha1.MutationVerb{"Insert", "Mutate"}, act: field(change.Mutate, "spec.replicas"), want: true},
		"none of its verbs":                 {mutation: "spec", verbs: []v1alpha1.MutationVerb{"Insert", "Mutate"}, act: field(change.Delete, "spec.replicas")},
		"what is no path":                   {mutation: "spec[", act: field(change.Mutate, "spec")},
		"everything by a verb, the verb":    {mutation: "*", verbs: []v1alpha1.MutationVerb{"Insert"}, act: field(change.Insert, "spec"), want: true},
		"everything by a verb, another one": {mutation: "*", verbs: []v1alpha1.MutationVerb{"Insert"}, act: field(change.Mutate, "spec")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			entries := permits(ledger.Ledger{}.Merge(v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: tc.mutation, Verbs: tc.verbs}))
			if got := entries[0].covers(tc.act); got != tc.want {
				t.Errorf("covers: %v, want %v", got, tc.want)
			}
			if got := len(covering(entries, tc.act)) == 1; got != tc.want {
				t.Errorf("is among those that cover: %v, want %v", got, tc.want)
			}
		})
	}
}

// Kinds of Kubernetes itself are known by their name alone, and others never by it (D4).
func TestMatchesKind(t *testing.T) {
	kind := func(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
	tests := map[string]struct {
		group, kind string
		of          schema.GroupKind
		want        bool
	}{
		"of the core":                          {kind: "Pod", of: kind("", "Pod"), want: true},
		"of a group without a dot":             {kind: "ReplicaSet", of: kind("apps", "ReplicaSet"), want: true},
		"of a group of Kubernetes":             {kind: "NetworkPolicy", of: kind("networking.k8s.io", "NetworkPolicy"), want: true},
		"of another group":                     {kind: "ReplicaSet", of: kind("example.com", "ReplicaSet")},
		"of a group that looks like it":        {kind: "ReplicaSet", of: kind("notk8s.io", "ReplicaSet")},
		"of a definition in k8s.io":            {kind: "ConfigMap", of: kind("h2.k8s.io", "ConfigMap")},
		"of a definition in networking":        {kind: "NetworkPolicy", of: kind("policy.networking.k8s.io", "NetworkPolicy")},
		"of a group of one word":               {kind: "Pod", of: kind("metrics", "Pod")},
		"of an older group of Kubernetes":      {kind: "Ingress", of: kind("extensions", "Ingress"), want: true},
		"with a group in k8s.io":               {group: "gateway.networking.k8s.io", kind: "HTTPRoute", of: kind("gateway.networking.k8s.io", "HTTPRoute"), want: true},
		"another kind":                         {kind: "Pod", of: kind("apps", "ReplicaSet")},
		"any":                                  {kind: "*", of: kind("example.com", "ReplicaSet"), want: true},
		"with a group":                         {group: "example.com", kind: "Bucket", of: kind("example.com", "Bucket"), want: true},
		"with another group":                   {group: "example.com", kind: "Bucket", of: kind("example.org", "Bucket")},
		"with a group, of Kubernetes":          {group: "example.com", kind: "Pod", of: kind("", "Pod")},
		"with a group of Kubernetes, as it is": {group: "networking.k8s.io", kind: "NetworkPolicy", of: kind("networking.k8s.io", "NetworkPolicy"), want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := ledger.NewEntry(v1alpha1.Allowance{APIGroup: tc.group, Kind: tc.kind, Mutation: "*"})
			if got := MatchesKind(e, tc.of); got != tc.want {
				t.Errorf("is about %s: %v, want %v", tc.of, got, tc.want)
			}
		})
	}
	for group, want := range map[string]string{
		"": "", "apps": "", "networking.k8s.io": "", "apiextensions.k8s.io": "", "example.com": "example.com", "notk8s.io": "notk8s.io",
		"h2.k8s.io": "h2.k8s.io", "gateway.networking.k8s.io": "gateway.networking.k8s.io",
	} {
		if got := entryGroup(group); got != want {
			t.Errorf("an entry for a kind of %q names the group %q, want %q", group, got, want)
		}
	}
}

// What is withheld, stands for something outside, or is about another kind is no allowance, and
// none counts of what is no parent any more.
func TestUsable(t *testing.T) {
	web := []*policy.Policy{compile(t, "web", deploymentSpec)}
	relation := func(r v1alpha1.Relation) v1alpha1.Allowance {
		a := allowance("ReplicaSet", "*", "spec")
		a.Relation = r
		return a
	}
	tests := map[string]struct {
		allowance v1alpha1.Allowance
		with      func(*Input)
		want      bool
	}{
		"an allowance":                           {allowance: allowance("ReplicaSet", "*", "spec"), want: true},
		"of another kind":                        {allowance: allowance("Pod", "*", "spec")},
		"of any kind":                            {allowance: allowance("*", "*", "spec"), want: true},
		"what is withheld":                       {allowance: relation(v1alpha1.RelationWithheld)},
		"for what is outside":                    {allowance: relation(v1alpha1.RelationExternal)},
		"of a parent that is gone":               {allowance: allowance("ReplicaSet", "*", "spec"), with: func(in *Input) { in.ParentState = ParentGone }},
		"of one that is going":                   {allowance: allowance("ReplicaSet", "*", "spec"), with: func(in *Input) { in.Parent.Deleting = true }},
		"of one that knows nothing of the child": {allowance: allowance("ReplicaSet", "*", "spec"), with: func(in *Input) { in.Parent.OneSided = true }},
		"somebody else's to use":                 {allowance: allowance("ReplicaSet", "*", "spec"), with: func(in *Input) { in.Requester = mallory }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := &aRequest(deployer, Update, replicaSetGVK, "web-1").of(deploymentGVK, "web", web, tc.allowance).Input
			if tc.with != nil {
				tc.with(in)
			}
			if got := len(in.usable()) > 0; got != tc.want {
				t.Errorf("usable: %v, want %v", got, tc.want)
			}
		})
	}
}

// Of several entries that cover an act, one is said to have caused it, in whatever order they are.
func TestJustification(t *testing.T) {
	entry := func(initiator string, generation int64, field string) permit {
		a := allowance("ReplicaSet", "spec.replicas", field)
		a.Initiator, a.Generation = initiator, generation
		return permits(ledger.Ledger{}.Merge(a))[0]
	}
	ranked := func(rank int, e permit) permit {
		e.rank = rank
		return e
	}
	created := func(e permit) permit {
		e.creation = true
		return e
	}
	other := entry("other", 99, "spec")
	other.Mutation, other.pattern = v1alpha1.MutationCreateObject, nil
	tests := map[string]struct {
		entries []permit
		want    string
	}{
		"none":                       {},
		"one that does not cover it": {entries: []permit{other}},
		"the newest":                 {entries: []permit{entry("a", 7, "spec"), entry("b", 9, "spec.template"), entry("c", 8, "spec.a")}, want: "b"},
		"the first by field":         {entries: []permit{entry("a", 9, "spec.c"), entry("b", 9, "spec.a"), entry("c", 9, "spec.b")}, want: "b"},
		"that of a change, before that of the creation":    {entries: []permit{created(entry("a", 9, "(created)")), entry("b", 7, "spec")}, want: "b"},
		"that of the parent, before that of what it reads": {entries: []permit{ranked(1, entry("a", 9, "data")), entry("b", 1, "spec")}, want: "b"},
		"that of the last that is read":                    {entries: []permit{ranked(2, entry("a", 9, "data")), ranked(1, entry("b", 1, "data")), ranked(3, entry("c", 20, "data"))}, want: "b"},
		"one that covers it":                               {entries: []permit{other, entry("b", 1, "spec")}, want: "b"},
	}
	act := Act{Operation: Update, Change: change.Change{Path: mustPath(t, "spec.replicas"), Verb: change.Mutate}}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for range len(tc.entries) + 1 {
				e, ok := justification(tc.entries, act)
				if diff := cmp.Diff(tc.want, e.Initiator); diff != "" || ok != (tc.want != "") {
					t.Errorf("justified, %v, by (-want +got):\n%s", ok, diff)
				}
				if len(tc.entries) > 1 {
					tc.entries = append(tc.entries[1:], tc.entries[0])
				}
			}
		})
	}
}
