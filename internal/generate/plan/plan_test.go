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
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// shop and other are two triggers, source is what clones are of.
var (
	shop   = generate.ID{Kind: "Namespace", Name: "shop"}
	other  = generate.ID{Kind: "Namespace", Name: "other"}
	source = generate.ID{Kind: "ConfigMap", Namespace: "default", Name: "made"}
	target = generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "made"}
)

func policy(synchronize bool) Policy {
	return Policy{
		PolicyRef:            PolicyRef{Name: "policy", UID: "p", Created: time.Unix(1000, 0)},
		GeneratingEvaluation: v1alpha1.GeneratingEvaluation{Synchronize: synchronize},
	}
}

// outcome is what a plan says of one object.
type outcome struct {
	Do     Verb
	Reason Reason
}

// Each row of the two tables of the proposal, with synchronization and without, by its name.
// What happened is over when somebody looks: nothing tells the plan which row it is.
func TestTables(t *testing.T) {
	type row struct {
		name           string
		happens        func(*world)
		sync, withNone outcome
	}
	made := func(value string, clone bool) generate.Wanted {
		if clone {
			return configMap("made", value, &source)
		}
		return configMap("made", value, nil)
	}
	deletePolicy := func(orphan bool) func(*world) {
		return func(w *world) { w.policy.Deleted, w.policy.OrphanDownstreamOnPolicyDelete = true, orphan }
	}
	left := outcome{Leave, MadeOnce}
	// What both tables say.
	both := func(clone bool) []row {
		return []row{
			{"Delete Downstream", func(w *world) { delete(w.objects, target) }, outcome{Create, Wanted}, left},
			{"Delete Trigger", func(w *world) { w.trigger(shop, Gone) }, outcome{Delete, TriggerGone}, left},
			{"Modify Downstream", func(w *world) { w.modify(target, "key", "theirs") }, outcome{Apply, Modified}, left},
			{"Modify Downstream, beside what was made", func(w *world) { w.modify(target, "more", "theirs") }, outcome{Apply, Modified}, left},
			{"Modify Trigger, it does not match any more", func(w *world) { w.trigger(shop, Evaluated) }, outcome{Delete, NotWanted}, left},
			{"Modify Trigger, it matches still", func(w *world) { w.trigger(shop, Evaluated, made("new", clone)) }, outcome{Apply, WantedOtherwise}, left},
			{"nothing", func(*world) {}, outcome{Leave, InPlace}, left},
		}
	}
	tables := map[string][]row{
		"data": append(both(false),
			row{"Delete Policy, orphanDownstreamOnPolicyDelete: true", deletePolicy(true), outcome{Leave, Retained}, outcome{Leave, Retained}},
			row{"Delete Policy, orphanDownstreamOnPolicyDelete: false", deletePolicy(false), outcome{Delete, PolicyDeleted}, outcome{Leave, Retained}},
			row{"Modify Policy", func(w *world) { w.trigger(shop, Evaluated, made("new", false)) }, outcome{Apply, WantedOtherwise}, left},
		),
		"clone": append(both(true),
			row{"Delete Policy", deletePolicy(false), outcome{Leave, Retained}, outcome{Leave, Retained}},
			row{"Delete Policy, orphanDownstreamOnPolicyDelete: true", deletePolicy(true), outcome{Leave, Retained}, outcome{Leave, Retained}},
			row{"Delete Source", func(w *world) { w.trigger(shop, Evaluated) }, outcome{Delete, NotWanted}, left},
			row{"Modify Policy, the source is the same", func(w *world) { w.policy.GenerateExisting = true; w.trigger(shop, Evaluated, made("old", true)) }, outcome{Leave, InPlace}, left},
			row{"Modify Policy, another source", func(w *world) {
				wanted := made("old", true)
				wanted.Source = &generate.ID{Kind: "ConfigMap", Namespace: "else", Name: "made"}
				w.trigger(shop, Evaluated, wanted)
			}, outcome{Apply, WantedOtherwise}, left},
			row{"Modify Source", func(w *world) { w.trigger(shop, Evaluated, made("new", true)) }, outcome{Apply, WantedOtherwise}, left},
		),
	}
	for table, rows := range tables {
		for _, r := range rows {
			for _, synchronize := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/synchronize=%v", table, r.name, synchronize), func(t *testing.T) {
					w := newWorld(policy(synchronize))
					w.trigger(shop, Evaluated, made("old", table == "clone"))
					first := w.plan()
					if diff := cmp.Diff([]outcome{{Create, Wanted}}, outcomes(first)); diff != "" {
						t.Fatalf("first (-want +got):\n%s", diff)
					}
					w.carryOut(first)
					r.happens(w)
					want := r.withNone
					if synchronize {
						want = r.sync
					}
					steps := w.plan()
					if diff := cmp.Diff([]outcome{want}, outcomes(steps)); diff != "" {
						t.Fatalf("then (-want +got):\n%s", diff)
					}
					w.carryOut(steps)
					for _, s := range w.plan() {
						if s.Do != Leave {
							t.Errorf("once that is done there is still to do: %s %s", s.Do, s.Reason)
						}
					}
				})
			}
		}
	}
}

func outcomes(steps []Step) []outcome {
	var out []outcome
	for _, s := range steps {
		out = append(out, outcome{s.Do, s.Reason})
	}
	return out
}

func TestPlan(t *testing.T) {
	one, two := configMap("made", "one", nil), configMap("made", "two", nil)
	older := PolicyRef{Name: "older", UID: "o", Created: time.Unix(1, 0)}
	younger := PolicyRef{Name: "younger", UID: "y", Created: time.Unix(2000, 0)}
	by := func(p PolicyRef, made generate.Wanted, triggers ...generate.ID) *Existing {
		return applied(made.ID, made.Content, &Marks{Policy: p, Triggers: triggers, Source: made.Source, Synchronized: true, Digest: "d"})
	}
	tests := map[string]struct {
		synchronize bool
		is          func(*world)
		want        []outcome
		// triggers that the object is for afterwards, and the value that it has.
		triggers []generate.ID
		value    string
	}{
		"what was there before is not touched": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.objects[target] = &Existing{ID: target, Content: two.Content}
		}, []outcome{{Leave, NotOurs}}, nil, "two"},
		"what is nobody's, and not wanted, is no step": {true, func(w *world) {
			w.objects[target] = &Existing{ID: target, Content: two.Content}
		}, nil, nil, "two"},
		"what another policy made, and this one does not want, is no step": {true, func(w *world) {
			w.trigger(shop, Evaluated)
			w.objects[target] = by(younger, two, shop)
		}, nil, []generate.ID{shop}, "two"},
		"an older policy decides": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.objects[target] = by(older, two, other)
			w.rivals[target] = []PolicyRef{younger, older}
		}, []outcome{{Leave, Overruled}}, []generate.ID{other}, "two"},
		"an older policy will make it": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.rivals[target] = []PolicyRef{older}
		}, []outcome{{Leave, Overruled}}, nil, ""},
		"an older policy comes": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.rivals[target] = []PolicyRef{older}
		}, []outcome{{Leave, Overruled}}, []generate.ID{shop}, "one"},
		"a younger policy is taken from": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.objects[target] = by(younger, two, other)
			w.rivals[target] = []PolicyRef{younger}
		}, []outcome{{Apply, TakenOver}}, []generate.ID{shop}, "one"},
		"an older policy does not want it any more": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.objects[target] = by(older, two, other)
		}, []outcome{{Apply, TakenOver}}, []generate.ID{shop}, "one"},
		"the same age": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.rivals[target] = []PolicyRef{{Name: "named later", Created: w.policy.Created}, {Name: "zzz", Created: w.policy.Created}}
		}, []outcome{{Leave, Overruled}}, nil, ""},
		"another policy takes it over": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(shop, Evaluated)
			w.rivals[target] = []PolicyRef{younger}
		}, []outcome{{Leave, HandedOver}}, []generate.ID{shop}, "one"},
		"the policy is deleted, and another one takes over": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.policy.Deleted = true
			w.rivals[target] = []PolicyRef{younger}
		}, []outcome{{Leave, HandedOver}}, []generate.ID{shop}, "one"},
		"an earlier policy of that name, wanted": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.objects[target] = by(PolicyRef{Name: "policy", UID: "before"}, two, shop)
		}, []outcome{{Apply, WantedOtherwise}}, []generate.ID{shop}, "one"},
		"an earlier policy of that name, not wanted": {true, func(w *world) {
			w.trigger(shop, Evaluated)
			w.objects[target] = by(PolicyRef{Name: "policy", UID: "before"}, two, shop)
		}, nil, []generate.ID{shop}, "two"},

		"a trigger cannot be evaluated": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(shop, Unknown)
		}, []outcome{{Leave, NotKnown}}, []generate.ID{shop}, "one"},
		"nobody has looked at a trigger": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			delete(w.triggers, shop)
		}, []outcome{{Leave, NotKnown}}, []generate.ID{shop}, "one"},
		"the trigger that decides cannot be evaluated": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(shop, Unknown)
			w.trigger(other, Evaluated, two)
		}, []outcome{{Leave, NotKnown}}, []generate.ID{shop}, "one"},
		"marks name no trigger": {true, func(w *world) {
			w.objects[target] = by(w.policy.PolicyRef, one)
		}, []outcome{{Leave, NotKnown}}, nil, "one"},

		"two triggers want it": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.trigger(other, Evaluated, two)
		}, []outcome{{Create, Wanted}}, []generate.ID{other, shop}, "two"},
		"a second trigger wants it otherwise": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(other, Evaluated, two)
		}, []outcome{{Apply, WantedOtherwise}}, []generate.ID{shop, other}, "one"},
		"the first of two triggers goes": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(other, Evaluated, two)
			w.carryOut(w.plan())
			w.trigger(shop, Gone)
		}, []outcome{{Apply, WantedOtherwise}}, []generate.ID{other}, "two"},
		"both triggers go": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.trigger(other, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(shop, Gone)
			w.trigger(other, Evaluated)
		}, []outcome{{Delete, NotWanted}}, nil, ""},
		"a second trigger, made once": {false, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(other, Evaluated, two)
		}, []outcome{{Leave, MadeOnce}}, []generate.ID{shop}, "one"},
		"a new trigger, after it was deleted": {false, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			delete(w.objects, target)
			w.trigger(other, Evaluated, two)
		}, []outcome{{Create, Wanted}}, []generate.ID{other, shop}, "two"},

		"synchronize is switched on": {true, func(w *world) {
			w.policy.Synchronize = false
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.policy.Synchronize = true
		}, []outcome{{Apply, WantedOtherwise}}, []generate.ID{shop}, "one"},
		"synchronize is switched on, it was deleted": {true, func(w *world) {
			w.policy.Synchronize = false
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			delete(w.objects, target)
			w.policy.Synchronize = true
		}, []outcome{{Create, Wanted}}, []generate.ID{shop}, "one"},
		"synchronize is switched on, the trigger has gone": {true, func(w *world) {
			w.policy.Synchronize = false
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.trigger(shop, Gone)
			w.policy.Synchronize = true
		}, []outcome{{Leave, MadeOnce}}, []generate.ID{shop}, "one"},
		"synchronize is switched on, and the policy deleted": {true, func(w *world) {
			w.policy.Synchronize = false
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.policy.Synchronize, w.policy.Deleted = true, true
		}, []outcome{{Leave, Retained}}, []generate.ID{shop}, "one"},
		"synchronize is switched off": {false, func(w *world) {
			w.policy.Synchronize = true
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.policy.Synchronize = false
			w.trigger(shop, Gone)
		}, []outcome{{Leave, MadeOnce}}, []generate.ID{shop}, "one"},

		"it is being deleted, and wanted": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.objects[target] = beingDeleted(w.objects[target])
			w.trigger(shop, Evaluated, two)
		}, []outcome{{Leave, BeingDeleted}}, []generate.ID{shop}, "one"},
		"it is being deleted, and not wanted": {true, func(w *world) {
			w.trigger(shop, Evaluated, one)
			w.carryOut(w.plan())
			w.objects[target] = beingDeleted(w.objects[target])
			w.trigger(shop, Evaluated)
		}, []outcome{{Leave, BeingDeleted}}, []generate.ID{shop}, "one"},
		"a clone becomes data": {true, func(w *world) {
			w.trigger(shop, Evaluated, configMap("made", "one", &source))
			w.carryOut(w.plan())
			w.trigger(shop, Evaluated, one)
		}, []outcome{{Apply, WantedOtherwise}}, []generate.ID{shop}, "one"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(policy(tt.synchronize))
			tt.is(w)
			steps := w.plan()
			if diff := cmp.Diff(tt.want, outcomes(steps)); diff != "" {
				t.Fatalf("plan (-want +got):\n%s", diff)
			}
			w.carryOut(steps)
			var triggers []generate.ID
			value := ""
			if object := w.objects[target]; object != nil {
				value, _, _ = unstructured.NestedString(object.Content, "data", "key")
				if object.Marks != nil {
					triggers = object.Marks.Triggers
				}
			}
			if diff := cmp.Diff(tt.triggers, triggers); diff != "" {
				t.Errorf("triggers (-want +got):\n%s", diff)
			}
			if value != tt.value {
				t.Errorf("the value is %q, want %q", value, tt.value)
			}
		})
	}
}
