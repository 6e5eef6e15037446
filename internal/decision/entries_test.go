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
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// The allowances of an entry, as a ledger has them, cover what the entry lets through and nothing
// else: a policy means the same in a rule as in a section.
func TestAllowancesSayWhatTheirEntrySays(t *testing.T) {
	verbs := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Create", "Update", "Delete"}), 0, 3, rapid.ID[string])
	fieldVerbs := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Insert", "Mutate", "Delete"}), 0, 3, rapid.ID[string])
	resources := map[schema.GroupVersionKind]string{replicaSetGVK: "replicasets", podGVK: "pods", bucketGVK: "buckets"}
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]schema.GroupVersionKind{replicaSetGVK, podGVK, bucketGVK}).Draw(rt, "kind")
		entry := fmt.Sprintf("target: {apiGroup: %q, apiVersion: v1, resource: %s}, relation: ControllerChild", kind.Group, resources[kind])
		if verbs := verbs.Draw(rt, "verbs"); len(verbs) > 0 {
			entry += ", verbs: [" + strings.Join(verbs, ", ") + "]"
		}
		var mutations []string
		if strings.Contains(entry, "Update") || !strings.Contains(entry, "verbs") {
			for _, field := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"spec", "spec.replicas", "metadata.labels[app]", "create.it", "*"}), 0, 3, rapid.ID[string]).Draw(rt, "mutations") {
				mutation := fmt.Sprintf("{jsonPath: %q", field)
				if verbs := fieldVerbs.Draw(rt, "verbs of "+field); len(verbs) > 0 {
					mutation += ", verbs: [" + strings.Join(verbs, ", ") + "]"
				}
				mutations = append(mutations, mutation+"}")
			}
		}
		if len(mutations) > 0 {
			entry += ", mutations: [" + strings.Join(mutations, ", ") + "]"
		}
		p := compile(t, "web", "for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nrules: [{trigger: spec, policies: [{"+entry+"}]}]\n")
		rule := &p.Rules[0]
		in := aRequest(alice, Update, deploymentGVK, "web").Input
		granted := permits(ledger.Ledger{}.Merge(in.grantsOf(rule, "alice", nil)...))
		for i := range granted {
			for other := range resources {
				if got := MatchesKind(granted[i].Entry, other.GroupKind()); got != (other == kind) {
					rt.Fatalf("{%s}: its allowance is about %s: %v", entry, other, got)
				}
			}
		}
		acts := []Act{{Operation: Create}, {Operation: Delete}}
		for _, field := range []string{"spec", "spec.replicas", "spec.template", "metadata.labels[app]", "create", "create.it", "status"} {
			for _, verb := range []change.Verb{change.Insert, change.Mutate, change.Delete} {
				acts = append(acts, Act{Operation: Update, Change: change.Change{Path: mustPath(t, field), Verb: verb}})
			}
		}
		for _, act := range acts {
			covered := len(covering(granted, act)) > 0
			if want := allows(rule.Entries[0], kind.GroupKind(), act); covered != want {
				rt.Fatalf("{%s}: %s %s is covered: %v, and the entry lets it through: %v", entry, act.Operation, act, covered, want)
			}
		}
	})
}

// An entry for something outside names it; one for a kind that is not served allows nothing yet.
func TestEntriesOfOthers(t *testing.T) {
	const spec = "for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nrules: [{trigger: spec, policies: [%s]}]\n"
	external := compile(t, "external", fmt.Sprintf(spec, "{target: {external: {kind: Bucket, provider: cloud}}, relation: External, verbs: [Update, Create]}"))
	in := aRequest(alice, Update, deploymentGVK, "web").Input
	got := in.grantsOf(&external.Rules[0], "alice", nil)
	want := []v1alpha1.Allowance{{
		Relation: v1alpha1.RelationExternal, External: map[string]string{"kind": "Bucket", "provider": "cloud"}, Mutations: []string{"Create", "Update"},
		Generation: 8, Initiator: "alice",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("allowances (-want +got):\n%s", diff)
	}
	unserved := external.Rules[0].Entries[0]
	unserved.External, unserved.Create = nil, true
	if got := in.entries(unserved, "alice", nil); got != nil {
		t.Errorf("a kind that is not served: %v", got)
	}
}

// What a hop attests is bounded, and what is not there is not attested.
func TestCapture(t *testing.T) {
	const spec = "for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\nrules: [{trigger: spec, capture: ['%s']}]\n"
	long := strings.Repeat("é", maxAttestation)
	obj := object(t, "metadata: {annotations: {ticket: OPS-1, none: null}}\nspec: {replicas: 3, items: [{name: a}, {name: b}]}")
	obj["long"] = long
	many := map[string]any{}
	for i := range 10 {
		many[fmt.Sprint("k", i)] = long
	}
	obj["many"] = many
	tests := map[string]struct {
		capture string
		want    map[string]string
		keys    int
	}{
		"a text":            {capture: "metadata.annotations[ticket]", want: map[string]string{"metadata.annotations[ticket]": "OPS-1"}},
		"a number":          {capture: "spec.replicas", want: map[string]string{"spec.replicas": "3"}},
		"what is not there": {capture: "spec.paused"},
		"null":              {capture: "metadata.annotations[none]"},
		"each of some":      {capture: "spec.items[*].name", want: map[string]string{"spec.items[0].name": "a", "spec.items[1].name": "b"}},
		"a long text":       {capture: "long", want: map[string]string{"long": strings.Repeat("é", maxAttestation/2) + "…"}},
		"many long texts":   {capture: "many[*]", keys: 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, "web", fmt.Sprintf(spec, tc.capture))
			in := aRequest(alice, Update, deploymentGVK, "web").Input
			in.Child.New = obj
			got := in.capture(p.Rules[0].Capture)
			if tc.keys > 0 {
				if len(got) != tc.keys {
					t.Errorf("%d values are attested, want %d", len(got), tc.keys)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("attested (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShortened(t *testing.T) {
	key := strings.Repeat("k", maxField)
	for name, tc := range map[string]struct {
		path change.Path
		want string
	}{
		"a short one":         {mustPath(t, "spec.replicas"), "spec.replicas"},
		"a long key":          {change.Path{}.Field("metadata").Field("labels").Field(key), "metadata.labels"},
		"nothing but a field": {change.Path{}.Field(key), key},
	} {
		if got := shortened(tc.path); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
