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

	"github.com/google/go-cmp/cmp"
)

// A seed plans the same again, and another one something else.
func TestMakeFollowsFromTheSeed(t *testing.T) {
	if diff := cmp.Diff(Make(1, 500), Make(1, 500)); diff != "" {
		t.Errorf("the same seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(Make(1, 500), Make(2, 500)) {
		t.Error("another seed plans the same")
	}
	if diff := cmp.Diff(Make(1, 500), Make(1, 900)[:500]); diff != "" {
		t.Errorf("more acts change those before (-fewer +more):\n%s", diff)
	}
}

// In a campaign everybody does all that there is, to each kind.
func TestMakeLeavesNothingOut(t *testing.T) {
	done := map[Who]map[What]bool{}
	touched := map[string]bool{}
	for _, a := range Make(1, 5000) {
		if done[a.Who] == nil {
			done[a.Who] = map[What]bool{}
		}
		done[a.Who][a.What] = true
		if a.Who == Mallory {
			touched[a.Resource] = true
		}
	}
	for who, all := range map[Who][]weighed[What]{Mallory: strangers, Gone: wrongs, Alice: initiators, Bob: parts, Fate: fates} {
		for _, w := range all {
			if !done[who][w.what] {
				t.Errorf("%s never does %s", who, w.what)
			}
		}
	}
	for _, w := range targets {
		if !touched[w.what] {
			t.Errorf("no stranger touches %s", w.what)
		}
	}
}

// Everybody only tries something now and then, and alice approves of what is below hers as well.
func TestMakeTriesAndApprovesBelow(t *testing.T) {
	tried, approved := map[Who]int{}, map[string]bool{}
	for _, a := range Make(1, 5000) {
		if a.Dry {
			tried[a.Who]++
		}
		if a.What == Approve {
			approved[a.Resource] = true
		}
		if a.Dry && (a.Who == Fate || slices.Contains(Stories, a.What)) {
			t.Errorf("act %d is only tried", a.N)
		}
	}
	for _, who := range []Who{Mallory, Gone, Alice, Bob} {
		if tried[who] == 0 {
			t.Errorf("%s tries nothing", who)
		}
	}
	for _, resource := range slices.Concat(Parents, Children) {
		if !approved[resource] {
			t.Errorf("nothing is approved of %s", resource)
		}
	}
}

// A controller gone wrong acts on what it writes, and so does who is called like one.
func TestControllersActOnChildren(t *testing.T) {
	children, posed := map[string]bool{}, map[string]bool{}
	for _, resource := range Children {
		children[resource] = true
	}
	for _, a := range Make(3, 5000) {
		if a.Who == Gone && !children[a.Resource] {
			t.Errorf("act %d of a controller is on %s", a.N, a.Resource)
		}
		if a.Impostor && a.Who != Gone {
			t.Errorf("act %d of %s is an impostor's", a.N, a.Who)
		}
		posed[a.Resource] = posed[a.Resource] || a.Impostor
	}
	for resource := range children {
		if !posed[resource] {
			t.Errorf("no impostor touches %s", resource)
		}
	}
}

// What can be parked is parked, Deployments above all, and what is in both namespaces is acted upon in both.
func TestParkedAndElsewhere(t *testing.T) {
	parked, elsewhere := map[string]int{}, map[string]int{}
	for _, a := range Make(1, 5000) {
		if a.What == Park {
			parked[a.Resource]++
		}
		if a.Elsewhere {
			elsewhere[a.Resource]++
		}
	}
	for _, resource := range Parked {
		if parked[resource] == 0 || parked[resource] > parked["deployments"] {
			t.Errorf("%s are parked %d times, and Deployments %d", resource, parked[resource], parked["deployments"])
		}
	}
	for resource, n := range elsewhere {
		if !slices.Contains(Elsewhere, resource) {
			t.Errorf("%d acts are upon %s of the second namespace", n, resource)
		}
	}
	for _, resource := range Elsewhere {
		if elsewhere[resource] == 0 {
			t.Errorf("no act is upon %s of the second namespace", resource)
		}
	}
}

// Nobody is asked as often as it is wanted, in the place of other acts.
func TestWithLapses(t *testing.T) {
	acts := Make(1, 100)
	other := WithLapses(slices.Clone(acts), 3)
	lapses := 0
	for i := range other {
		if other[i].What == Unhook {
			lapses++
			continue
		}
		if diff := cmp.Diff(acts[i], other[i]); diff != "" {
			t.Errorf("act %d (-without +with):\n%s", i+1, diff)
		}
	}
	if lapses != 3 || len(other) != len(acts) {
		t.Errorf("%d lapses in %d acts, want 3 in %d", lapses, len(other), len(acts))
	}
}
