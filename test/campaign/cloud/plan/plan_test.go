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

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A plan can be had again, has as many steps as it was asked for, and each of them
// can be told by its sizes.
func TestNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		steps, databases := rapid.IntRange(0, 300).Draw(t, "steps"), rapid.IntRange(1, 40).Draw(t, "databases")
		p := New(seed, steps, databases)
		if diff := cmp.Diff(p, New(seed, steps, databases)); diff != "" {
			t.Fatalf("two plans of one seed differ:\n%s", diff)
		}
		if len(p.Steps) != steps || len(p.Databases) != databases {
			t.Fatalf("%d steps and %d databases, want %d and %d", len(p.Steps), len(p.Databases), steps, databases)
		}
		sizes, found := map[string]bool{}, len(p.For(Machinery))
		for i, db := range p.Databases {
			sizes[db.Size] = true
			found += len(p.For(i))
		}
		if found != steps {
			t.Errorf("databases and machinery have %d steps, want all %d", found, steps)
		}
		for _, s := range p.Steps {
			if s.Action.OfMachinery() != (s.Database == Machinery) {
				t.Errorf("step %d, %s, happens to %d", s.Number, s.Action, s.Database)
			}
			for _, size := range s.Sizes {
				if sizes[size] {
					t.Errorf("size %s is asked for twice", size)
				}
				sizes[size] = true
			}
		}
	})
}

// A campaign of the usual length does everything, and changes enough.
func TestThousandSteps(t *testing.T) {
	for seed := range uint64(10) {
		p := New(seed, 1000, 16)
		approved, done := 0, map[Action]int{}
		for _, s := range p.Steps {
			approved += s.Action.Approved()
			done[s.Action]++
		}
		if approved < 500 {
			t.Errorf("seed %d: %d approved changes, want 500 at least", seed, approved)
		}
		for action := range weights {
			if done[action] == 0 {
				t.Errorf("seed %d: no step does %s", seed, action)
			}
		}
		traits, goes := map[string]bool{}, map[bool]bool{}
		for _, db := range p.Databases {
			goes[db.Goes] = true
			for _, trait := range db.Traits {
				traits[string(trait)] = true
			}
		}
		if len(traits) != len(ways)-1 || len(goes) != 2 {
			t.Errorf("seed %d: not all ways of providers and deletions: %v, %v", seed, traits, goes)
		}
	}
}

func TestDifferentSeeds(t *testing.T) {
	if cmp.Equal(New(1, 100, 8), New(2, 100, 8)) {
		t.Error("two seeds have one plan")
	}
}
