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

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/ledger"
)

// What the version in which objects are stored does not have is no change of an object.
func TestUnstoredFields(t *testing.T) {
	texts := func(names ...string) structuralschema.Structural {
		s := structuralschema.Structural{Properties: map[string]structuralschema.Structural{}}
		for _, name := range names {
			s.Properties[name] = structuralschema.Structural{}
		}
		return s
	}
	fields := texts()
	fields.Properties["spec"] = texts("color", "size")
	status := structuralschema.Structural{Extensions: structuralschema.Extensions{XPreserveUnknownFields: true}}
	fields.Properties["status"] = status
	red := map[string]any{"color": "red", "size": "5"}
	for name, tc := range map[string]struct {
		user          string
		groups        []string
		was, written  map[string]any
		refuse        bool
		stored        string // the version in which objects are stored; the request is in v1beta1
		relations     []string
		generation    int64
		warningsAbout string
	}{
		"a stranger": {user: "mallory", was: red, written: map[string]any{"color": "red", "size": "5", "tier": "gold"}, stored: "v1"},
		"a stranger, where policies refuse": {
			user: "mallory", was: red, written: map[string]any{"color": "red", "size": "5", "tier": "gold"}, stored: "v1", refuse: true,
		},
		"an initiator": {user: "alice", groups: platformTeam, was: red, written: map[string]any{"color": "red", "size": "5", "tier": "gold"}, stored: "v1"},
		"an initiator, along with what is stored": {
			user: "alice", groups: platformTeam, was: red, written: map[string]any{"color": "blue", "size": "5", "tier": "gold"}, stored: "v1",
			relations: []string{"grant"}, generation: 5,
		},
		"a stranger, along with what is stored": {
			user: "mallory", was: red, written: map[string]any{"color": "blue", "size": "5", "tier": "gold"}, stored: "v1",
			relations: []string{"spec.color"}, warningsAbout: "spec.color",
		},
		"what is stored, in that version": {
			user: "mallory", was: red, written: map[string]any{"color": "red", "size": "5", "tier": "gold"}, stored: "v1beta1",
			relations: []string{"spec.tier"}, warningsAbout: "spec.tier",
		},
		"where nothing tells what is stored": {
			user: "mallory", was: red, written: map[string]any{"color": "red", "size": "5", "tier": "gold"},
			relations: []string{"spec.tier"}, warningsAbout: "spec.tier",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := instance(tc.was), instance(tc.written)
			after.SetResourceVersion("7")
			w := lossyWorld(false, before)
			w.losing = nil
			if tc.stored != "" {
				w.storing = &discovery.Storing{Version: tc.stored, Fields: &fields}
			}
			policy := lossyPolicy
			if tc.refuse {
				policy = strings.Replace(policy, "  rules:", "  uncausedChanges: Refuse\n  rules:", 1)
			}
			mutator, validator := w.hooks(t, policy)
			req := inOlder(asking(t, tc.user, tc.groups, before, after))
			mutated := mutator.Handle(t.Context(), req)
			if !mutated.Allowed {
				t.Fatalf("the mutating webhook: %+v", mutated.Result)
			}
			var relations []string
			var generation int64
			granted := after.DeepCopy()
			if annotations := patched(t, after, mutated); len(annotations) > 0 {
				granted.SetAnnotations(annotations)
			}
			entries, err := ledger.Decode(ledger.Annotation(granted, ledger.NameAllowances))
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range entries {
				if a.IsWithheld() {
					relations = append(relations, a.Mutation)
					continue
				}
				relations, generation = append(relations, "grant"), a.Generation
			}
			if diff := cmp.Diff(tc.relations, relations); diff != "" || generation != tc.generation {
				t.Errorf("entries for generation %d (-want +got):\n%s", generation, diff)
			}
			counted := after.DeepCopy()
			counted.SetGeneration(5)
			resp := validator.Handle(t.Context(), inOlder(asking(t, tc.user, tc.groups, before, counted)))
			if warned := strings.Join(resp.Warnings, " "); !resp.Allowed || (warned == "") != (tc.warningsAbout == "") || !strings.Contains(warned, tc.warningsAbout) {
				t.Errorf("the validating webhook: %+v", resp)
			}
		})
	}
}
