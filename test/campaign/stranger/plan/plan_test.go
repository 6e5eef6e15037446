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
	for who, all := range map[Who][]weighed[What]{Mallory: strangers, Gone: strangers, Alice: initiators, Bob: parts, Fate: fates} {
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

// A controller gone wrong acts on what it writes.
func TestControllersActOnChildren(t *testing.T) {
	children := map[string]bool{}
	for _, resource := range Children {
		children[resource] = true
	}
	for _, a := range Make(3, 5000) {
		if a.Who == Gone && !children[a.Resource] {
			t.Errorf("act %d of a controller is on %s", a.N, a.Resource)
		}
	}
}
