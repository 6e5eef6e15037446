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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kausality.io/operator/internal/generate"
)

// names lists the names of triggers and objects in a drawn world.
var names = []string{"a", "b", "c"}

func triggerNamed(name string) generate.ID { return generate.ID{Kind: "Namespace", Name: name} }

func objectNamed(name string) generate.ID {
	return generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: name}
}

// drawWants draws what a policy wants for a trigger.
func drawWants(t *rapid.T) []generate.Wanted {
	var out []generate.Wanted
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID[string]).Draw(t, "wants") {
		var of *generate.ID
		if rapid.Bool().Draw(t, "clone") {
			of = &generate.ID{Kind: "ConfigMap", Namespace: "default", Name: name}
		}
		out = append(out, configMap(name, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value"), of))
	}
	return out
}

// happen draws something that happens in a world.
func happen(t *rapid.T, w *world) {
	name := rapid.SampledFrom(names).Draw(t, "name")
	id := objectNamed(name)
	switch rapid.IntRange(0, 10).Draw(t, "event") {
	case 0, 1, 2:
		w.trigger(triggerNamed(name), Evaluated, drawWants(t)...)
	case 3:
		w.trigger(triggerNamed(name), Unknown)
	case 4:
		w.trigger(triggerNamed(name), Gone)
	case 5:
		w.policy.Synchronize = !w.policy.Synchronize
	case 6:
		if w.objects[id] != nil {
			w.modify(id, rapid.SampledFrom([]string{"key", "more"}).Draw(t, "key"), "theirs")
		}
	case 7:
		delete(w.objects, id)
	case 8:
		if w.objects[id] == nil {
			w.objects[id] = &Existing{ID: id, Content: configMap(name, "before", nil).Content}
		}
	case 9:
		w.rivals[id] = nil
		if rapid.Bool().Draw(t, "rival") {
			w.rivals[id] = []PolicyRef{{Name: "rival", UID: "r", Created: time.Unix(rapid.Int64Range(1, 2000).Draw(t, "created"), 0)}}
		}
	case 10:
		w.policy.Deleted = rapid.IntRange(0, 9).Draw(t, "deleted") == 0
		w.policy.OrphanDownstreamOnPolicyDelete = rapid.Bool().Draw(t, "orphan")
	}
}

// Whatever happens, and in whatever order it is looked at: one step for an object; nobody
// else's object is written; what cannot be told, or what somebody wants, is not deleted; and
// once a plan is carried out there is nothing left to do.
func TestPlanProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(policy(rapid.Bool().Draw(t, "synchronize")))
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			happen(t, w)
			if rapid.Bool().Draw(t, "nobody looks") {
				continue
			}
			before := w.copyOf()
			steps := w.plan()
			if again := w.plan(); !cmp.Equal(steps, again) {
				t.Fatalf("the same world has two plans: %s", cmp.Diff(steps, again))
			}
			checkSteps(t, before, steps)
			w.carryOut(steps)
			for _, s := range w.plan() {
				if s.Do != Leave {
					t.Fatalf("once the plan is carried out there is still to do: %s %s, %s", s.Do, s.ID, s.Reason)
				}
			}
			checkKept(t, w)
		}
	})
}

// checkSteps checks what a plan may do.
func checkSteps(t *rapid.T, w *world, steps []Step) {
	if !slices.IsSortedFunc(steps, func(a, b Step) int { return a.ID.Compare(b.ID) }) {
		t.Fatalf("the steps are not in order: %v", steps)
	}
	for i, s := range steps {
		if i > 0 && steps[i-1].ID == s.ID {
			t.Fatalf("two steps for %s", s.ID)
		}
		there := w.objects[s.ID]
		switch {
		case s.Do == Create && there != nil:
			t.Fatalf("%s is created, and there", s.ID)
		case s.Do == Leave:
			continue
		case s.Do != Create && (there == nil || there.Marks == nil):
			t.Fatalf("%s %s, which no policy made", s.Do, s.ID)
		case s.Do == Delete:
			checkDelete(t, w, there)
		case !wantedBySomebody(w, s.ID):
			t.Fatalf("%s %s, which nobody wants", s.Do, s.ID)
		}
	}
}

// checkDelete checks that an object may be deleted.
func checkDelete(t *rapid.T, w *world, there *Existing) {
	if !w.policy.Synchronize || !there.Marks.Synchronized || len(w.rivals[there.ID]) > 0 {
		t.Fatalf("%s is deleted, and was made once, or somebody else wants it", there.ID)
	}
	if w.policy.Deleted {
		if w.policy.OrphanDownstreamOnPolicyDelete || there.Marks.Source != nil {
			t.Fatalf("%s is deleted with its policy", there.ID)
		}
		return
	}
	if wantedBySomebody(w, there.ID) {
		t.Fatalf("%s is deleted, and wanted", there.ID)
	}
	for _, by := range there.Marks.Triggers {
		if w.triggers[by] == nil || w.triggers[by].State == Unknown {
			t.Fatalf("%s is deleted, and %s may want it", there.ID, by)
		}
	}
}

func wantedBySomebody(w *world, id generate.ID) bool {
	for _, trigger := range w.triggers {
		if wantedFor(trigger, id) != nil {
			return true
		}
	}
	return false
}

// wantedFor returns what is wanted of an object for a trigger, nil where it is not.
func wantedFor(trigger *Trigger, id generate.ID) *generate.Wanted {
	i := slices.IndexFunc(trigger.Wanted, func(o generate.Wanted) bool { return o.ID == id })
	if trigger.State != Evaluated || i < 0 {
		return nil
	}
	return &trigger.Wanted[i]
}

// checkKept checks that a policy that synchronizes has its way where nobody is in it.
func checkKept(t *rapid.T, w *world) {
	if !w.policy.Synchronize || w.policy.Deleted {
		return
	}
	for _, name := range names {
		id := objectNamed(name)
		there := w.objects[id]
		if len(w.rivals[id]) > 0 || there != nil && there.Marks == nil {
			continue
		}
		switch {
		case wantedBySomebody(w, id):
			if there == nil {
				t.Fatalf("%s is wanted and not there", id)
			}
			// The first that wants it, or may, decides.
			i := slices.IndexFunc(there.Marks.Triggers, func(by generate.ID) bool {
				return w.triggers[by].State == Unknown || wantedFor(w.triggers[by], id) != nil
			})
			if i < 0 {
				t.Fatalf("%s is wanted, and not made for who wants it", id)
			}
			first := w.triggers[there.Marks.Triggers[i]]
			if first.State == Unknown {
				continue
			}
			content := wantedFor(first, id).Content
			if !isIntact(content, there.Content) || !cmp.Equal(content["data"], there.Content["data"]) {
				t.Fatalf("%s is not as the trigger that decides wants it", id)
			}
		case there != nil && there.Marks.Synchronized && !slices.ContainsFunc(there.Marks.Triggers, func(by generate.ID) bool { return w.triggers[by].State == Unknown }):
			t.Fatalf("%s is not wanted and there", id)
		}
	}
}
