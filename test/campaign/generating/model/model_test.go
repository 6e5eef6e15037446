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

package model

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	beside  = ID{ConfigMap, "team", "p-t"}
	central = ID{ConfigMap, Targets, "for-team-t"}
	clone   = ID{Seed, "team", "seed-0"}
)

// story is what happens to a model.
type story struct {
	*Model
	t *testing.T
}

// newStory returns a namespace with a trigger and a source, all of which are there before any policy.
func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{Model: New(), t: t}
	s.Act(func(w *World) { w.Namespaces["team"] = Namespace{Labeled: true, Born: w.Clock, Written: w.Clock} })
	s.trigger("t", "1", true)
	s.source("a")
	return s
}

func (s *story) trigger(name, value string, labeled bool) {
	s.Act(func(w *World) {
		at := Name{"team", name}
		is, known := w.Triggers[at]
		if !known {
			is.Born = w.Clock
		}
		is.Value, is.Labeled, is.Written = value, labeled, w.Clock
		w.Triggers[at] = is
	})
}

func (s *story) deleteTrigger() { s.Act(func(w *World) { delete(w.Triggers, Name{"team", "t"}) }) }

func (s *story) source(value string) { s.Act(func(w *World) { w.Sources["seed-0"] = value }) }

// policy makes a policy, or changes its spec.
func (s *story) policy(name string, spec Spec) {
	s.Act(func(w *World) {
		if w.Policies[name] == nil {
			w.Make(name, time.Unix(int64(w.Clock), 0), spec)
		}
		w.Respecify(name, spec)
	})
}

func (s *story) hand(id ID, do Verb, value string) {
	s.Act(func(*World) {}, Touch{ID: id, Do: do, Value: value})
}

// rest returns what an object may look like at rest, and goes on from there where that is one thing.
func (s *story) rest(id ID) []string {
	s.t.Helper()
	all := s.Rest()
	for id, seen := range all {
		if len(seen) == 1 {
			s.Look(id, seen[0])
		}
	}
	var out []string
	for _, seen := range all[id] {
		out = append(out, seen.String())
	}
	slices.Sort(out)
	return out
}

const (
	first    = `p's {"rev":"p-0","value":"1"}`
	second   = `p's {"rev":"p-0","value":"2"}`
	rewrote  = `p's {"rev":"p-1","value":"1"}`
	changed  = `p's {"rev":"p-0","value":"x"}`
	aClone   = `p's {"value":"a"}`
	newClone = `p's {"value":"b"}`
	gone     = "gone"
)

func TestRowsOfTheTables(t *testing.T) {
	rows := []struct {
		name          string
		id            ID
		do            func(*story, Spec)
		made          string
		with, without string
	}{
		{"the object is deleted", beside, func(s *story, _ Spec) { s.hand(beside, Delete, "") }, first, first, gone},
		{"the object is changed", beside, func(s *story, _ Spec) { s.hand(beside, Change, "x") }, first, first, changed},
		{"data is added", beside, func(s *story, _ Spec) { s.hand(beside, Add, "x") }, first, first, `p's {"more":"x","rev":"p-0","value":"1"}`},
		{"the trigger is changed, and matches", beside, func(s *story, _ Spec) { s.trigger("t", "2", true) }, first, second, first},
		{"the trigger is changed, and does not match", beside, func(s *story, _ Spec) { s.trigger("t", "1", false) }, first, gone, first},
		{"the trigger is deleted", beside, func(s *story, _ Spec) { s.deleteTrigger() }, first, gone, first},
		{"the namespace does not match", beside, func(s *story, _ Spec) {
			s.Act(func(w *World) { w.Namespaces["team"] = Namespace{Written: w.Clock} })
		}, first, gone, first},
		{"the policy is changed", beside, func(s *story, spec Spec) {
			spec.Rev++
			s.policy("p", spec)
		}, first, rewrote, first},
		{"the policy is deleted", beside, func(s *story, _ Spec) { s.Act(func(w *World) { w.End("p") }) }, first, gone, first},
		{"the policy is deleted, of a clone", clone, func(s *story, _ Spec) { s.Act(func(w *World) { w.End("p") }) }, aClone, aClone, aClone},
		{"the policy is deleted, and leaves what it made", beside, func(s *story, spec Spec) {
			spec.Orphan = true
			s.policy("p", spec)
			s.Act(func(w *World) { w.End("p") })
		}, first, first, first},
		{"a clone's source is changed", clone, func(s *story, _ Spec) { s.source("b") }, aClone, newClone, aClone},
		{"a clone's source is deleted", clone, func(s *story, _ Spec) { s.Act(func(w *World) { delete(w.Sources, "seed-0") }) }, aClone, gone, aClone},
		{"the annotation is removed", beside, func(s *story, _ Spec) {
			s.hand(beside, Claim, "")
			s.deleteTrigger()
		}, first, `somebody's {"rev":"p-0","value":"1"}`, `somebody's {"rev":"p-0","value":"1"}`},
	}
	for _, row := range rows {
		for _, synchronize := range []bool{true, false} {
			name, want := row.name+", with synchronize", row.with
			if !synchronize {
				name, want = row.name+", without", row.without
			}
			t.Run(name, func(t *testing.T) {
				s := newStory(t)
				spec := Spec{Synchronize: synchronize, GenerateExisting: true}
				if row.id == clone {
					spec.Shape = Clone
				}
				s.policy("p", spec)
				if diff := cmp.Diff([]string{row.made}, s.rest(row.id)); diff != "" {
					t.Fatalf("made (-want +got):\n%s", diff)
				}
				row.do(s, spec)
				if diff := cmp.Diff([]string{want}, s.rest(row.id)); diff != "" {
					t.Errorf("in the end (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestStories(t *testing.T) {
	kept := Spec{Synchronize: true, GenerateExisting: true}
	once := Spec{GenerateExisting: true}
	end := func(name string) func(*World) { return func(w *World) { w.End(name) } }
	for _, tc := range []struct {
		name string
		do   func(*story)
		of   ID
		want []string
	}{
		{"a trigger from before is none without generateExisting", func(s *story) { s.policy("p", Spec{Synchronize: true}) }, beside, []string{gone}},
		{"a trigger from before counts once it is written", func(s *story) {
			s.policy("p", Spec{Synchronize: true})
			s.trigger("t", "2", true)
		}, beside, []string{second}},
		{"what was there before the policy was about its kind is no trigger", func(s *story) {
			s.policy("p", Spec{Shape: Clone, Synchronize: true})
			s.trigger("t", "2", true)
			s.policy("p", Spec{Synchronize: true})
		}, beside, []string{gone}},
		{"what is written once the policy is about its kind is one", func(s *story) {
			s.policy("p", Spec{Shape: Clone, Synchronize: true})
			s.policy("p", Spec{Synchronize: true})
			s.trigger("t", "2", true)
		}, beside, []string{second}},
		{"what is written before the policy makes something else of it is one", func(s *story) {
			s.policy("p", Spec{Synchronize: true})
			s.trigger("t", "2", true)
			s.policy("p", Spec{Shape: Central, Synchronize: true})
		}, central, []string{second}},
		{"what was made for a trigger from before is kept when generateExisting is switched off", func(s *story) {
			s.policy("p", kept)
			s.rest(beside)
			s.policy("p", Spec{Synchronize: true})
			s.hand(beside, Change, "x")
		}, beside, []string{first}},
		{"what was made for it and deleted may be made again or not", func(s *story) {
			s.policy("p", kept)
			s.rest(beside)
			s.policy("p", Spec{Synchronize: true})
			s.rest(beside)
			s.hand(beside, Delete, "")
		}, beside, []string{gone, first}},
		{"what was there before is somebody's", func(s *story) {
			s.hand(beside, Make, "x")
			s.policy("p", kept)
		}, beside, []string{`somebody's {"value":"x"}`}},
		{"what was there before is made once it is gone", func(s *story) {
			s.hand(beside, Make, "x")
			s.policy("p", kept)
			s.rest(beside)
			s.hand(beside, Delete, "")
		}, beside, []string{first}},
		{"the older of two policies decides", func(s *story) {
			s.policy("b", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.policy("a", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
		}, central, []string{`b's {"rev":"b-0","value":"1"}`}},
		{"the younger takes over", func(s *story) {
			s.policy("b", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.policy("a", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.rest(central)
			s.Act(end("b"))
		}, central, []string{`a's {"rev":"a-0","value":"1"}`}},
		{"the younger may make it first, and keeps it where the older does not want it any more", func(s *story) {
			s.deleteTrigger()
			s.policy("b", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.policy("a", Spec{Shape: Central, GenerateExisting: true})
			s.trigger("t", "1", true)
			s.deleteTrigger()
		}, central, []string{`a's {"rev":"a-0","value":"1"}`, gone}},
		{"the younger may make it first, and remembers that when the older has taken it over", func(s *story) {
			s.deleteTrigger()
			s.policy("b", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.policy("a", Spec{Shape: Central, GenerateExisting: true})
			s.trigger("t", "1", true)
			s.policy("b", Spec{Shape: Beside, Synchronize: true, GenerateExisting: true})
		}, central, []string{`a's {"rev":"a-0","value":"1"}`, `b's {"rev":"b-0","value":"1"}`}},
		{"the younger may make it first, and does not keep it where it synchronizes", func(s *story) {
			s.deleteTrigger()
			s.policy("b", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.policy("a", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.trigger("t", "1", true)
			s.deleteTrigger()
		}, central, []string{gone}},
		{"the younger does not make what the older one made once, and somebody deleted", func(s *story) {
			s.policy("b", Spec{Shape: Central, GenerateExisting: true})
			s.rest(central)
			s.policy("a", Spec{Shape: Central, Synchronize: true, GenerateExisting: true})
			s.Act(func(w *World) { w.Down = true })
			s.hand(central, Delete, "")
			s.Act(func(w *World) { w.Down = false })
		}, central, []string{gone}},
		{"whoever had it once does not get it again of a policy made anew", func(s *story) {
			s.policy("p", once)
			s.rest(beside)
			s.Act(end("p"))
			s.hand(beside, Delete, "")
			s.policy("p", once)
		}, beside, []string{gone}},
		{"a trigger made anew gets it again", func(s *story) {
			s.policy("p", once)
			s.rest(beside)
			s.deleteTrigger()
			s.hand(beside, Delete, "")
			s.rest(beside)
			s.trigger("t", "1", true)
		}, beside, []string{first}},
		{"what an earlier policy of that name left is not deleted", func(s *story) {
			s.policy("p", Spec{Shape: Clone, Synchronize: true, GenerateExisting: true})
			s.rest(clone)
			s.Act(end("p"))
			s.policy("p", kept)
		}, clone, []string{aClone}},
		{"what was synchronized when it was made goes when synchronize is back", func(s *story) {
			s.policy("p", kept)
			s.rest(beside)
			s.policy("p", once)
			s.deleteTrigger()
			s.rest(beside)
			s.policy("p", kept)
		}, beside, []string{gone}},
		{"a trigger that comes and goes may have been seen", func(s *story) {
			s.deleteTrigger()
			s.policy("p", once)
			s.trigger("t", "1", true)
			s.deleteTrigger()
		}, beside, []string{gone, first}},
		{"a trigger that comes and goes while nobody is there is not seen", func(s *story) {
			s.deleteTrigger()
			s.policy("p", once)
			s.Act(func(w *World) { w.Down = true })
			s.trigger("t", "1", true)
			s.deleteTrigger()
			s.Act(func(w *World) { w.Down = false })
		}, beside, []string{gone}},
		{"nothing is written without the right", func(s *story) {
			s.Act(func(w *World) { w.MayNotWrite[ConfigMap] = true })
			s.policy("p", kept)
		}, beside, []string{gone}},
		{"work goes on once the right is given", func(s *story) {
			s.Act(func(w *World) { w.MayNotWrite[ConfigMap] = true })
			s.policy("p", kept)
			s.rest(beside)
			s.Act(func(w *World) { delete(w.MayNotWrite, ConfigMap) })
		}, beside, []string{first}},
		{"what goes with its namespace is made again in a new one", func(s *story) {
			s.policy("p", Spec{Shape: Clone, Synchronize: true})
			s.Act(func(w *World) { delete(w.Namespaces, "team") }, Touch{ID: clone, Do: Lose})
			s.rest(clone)
			s.Act(func(w *World) { w.Namespaces["team"] = Namespace{Labeled: true, Born: w.Clock, Written: w.Clock} })
		}, clone, []string{aClone}},
		{"what several triggers want goes with the last", func(s *story) {
			s.trigger("u", "1", true)
			s.policy("p", Spec{Shape: Shared, Synchronize: true, GenerateExisting: true})
			s.rest(beside)
			s.deleteTrigger()
		}, ID{ConfigMap, Targets, "shared-0"}, []string{`p's {"rev":"p-0"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStory(t)
			tc.do(s)
			if diff := cmp.Diff(tc.want, s.rest(tc.of)); diff != "" {
				t.Errorf("in the end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEffects(t *testing.T) {
	s := newStory(t)
	s.policy("p", Spec{Synchronize: true, GenerateExisting: true})
	s.policy("q", Spec{Shape: Clone, Synchronize: true, GenerateExisting: true})
	s.rest(beside)
	for _, tc := range []struct {
		name string
		do   func(*World)
		with []Touch
		want Effect
	}{
		{"a change of a trigger concerns what is made for it", func(w *World) {
			w.Triggers[Name{"team", "t"}] = Trigger{Labeled: true, Value: "2", Born: 2, Written: w.Clock}
		}, nil, Effect{Concerned: []ID{beside}}},
		{"a change of a source concerns its clones", func(w *World) { w.Sources["seed-0"] = "c" }, nil, Effect{Concerned: []ID{clone}}},
		{"a change of an object concerns it", func(*World) {}, []Touch{{ID: beside, Do: Change, Value: "x"}}, Effect{Concerned: []ID{beside}}},
		{"the end of the operator concerns nothing", func(w *World) { w.Down = true }, nil, Effect{}},
		{"the end of a policy leaves what it made unwanted", func(w *World) { w.End("p") }, nil, Effect{Concerned: []ID{beside}, Unwanted: []ID{beside}}},
		{"what was made for what existed may not be wanted any more", func(w *World) { w.Policies["q"].GenerateExisting = false }, nil, Effect{Concerned: []ID{clone}, Unwanted: []ID{beside, clone}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, s.Act(tc.do, tc.with...)); diff != "" {
				t.Errorf("effect (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiffer(t *testing.T) {
	may := map[ID][]Seen{beside: {{There: true, Data: "{}", Owner: "p"}, {}}, clone: {{}}}
	for _, tc := range []struct {
		name string
		is   map[ID]Seen
		want map[ID]string
	}{
		{"one of what may be", map[ID]Seen{beside: {There: true, Data: "{}", Owner: "p"}}, map[ID]string{}},
		{"nothing is there", nil, map[ID]string{}},
		{"of another content", map[ID]Seen{beside: {There: true, Data: "x", Owner: "p"}}, map[ID]string{beside: "ConfigMap team/p-t is p's x, and may be [p's {} gone]"}},
		{"of another owner", map[ID]Seen{beside: {There: true, Data: "{}"}}, map[ID]string{beside: "ConfigMap team/p-t is somebody's {}, and may be [p's {} gone]"}},
		{"not to be there", map[ID]Seen{clone: {There: true, Data: "{}", Owner: "p"}}, map[ID]string{clone: "Seed team/seed-0 is p's {}, and may be [gone]"}},
		{"never heard of", map[ID]Seen{central: {There: true, Data: "{}", Owner: "p"}}, map[ID]string{central: "ConfigMap targets/for-team-t is p's {}, and nobody made it"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Differ(may, tc.is)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLost(t *testing.T) {
	s := newStory(t)
	s.policy("p", Spec{Synchronize: true, GenerateExisting: true})
	s.rest(beside)
	if s.Lost() {
		t.Fatalf("lost: %s", s.ExplainLost())
	}
	s.hand(beside, Make, "x")
	if !s.Lost() {
		t.Error("an object was made where there was one, and that could be")
	}
}
