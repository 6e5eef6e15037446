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

// acts returns the first acts of a plan.
func acts(seed uint64, number int) []Act {
	out := make([]Act, 0, number)
	for a := range Make(seed) {
		if out = append(out, a); len(out) == number {
			break
		}
	}
	return out
}

func TestMakeFollowsFromItsSeed(t *testing.T) {
	if diff := cmp.Diff(acts(7, 500), acts(7, 500)); diff != "" {
		t.Errorf("of one seed (-one +other):\n%s", diff)
	}
	if cmp.Equal(acts(7, 50), acts(8, 50)) {
		t.Error("two seeds have one plan")
	}
}

func TestMakeDoesEverything(t *testing.T) {
	count := map[Do]int{}
	for _, a := range acts(1, 2000) {
		count[a.Do]++
	}
	for do := range weights {
		if count[do] == 0 {
			t.Errorf("never: %s", do)
		}
	}
}

func TestMakeMendsWhatItBreaks(t *testing.T) {
	broken := map[Do]int{}
	for _, a := range acts(3, 2000) {
		if mend, breaks := mends[a.Do]; breaks {
			if broken[mend] != 0 {
				t.Errorf("act %s: it is broken already", a)
			}
			broken[mend] = a.N
		}
		if a.Do == RestartAPIs && broken[Revive] != 0 {
			t.Errorf("act %s: the operator is down", a)
		}
		if a.Do == Revive || a.Do == GiveRights {
			broken[a.Do] = 0
		}
		for mend, since := range broken {
			if since != 0 && a.N-since > 30 {
				t.Errorf("act %s: since %d it waits for %s", a, since, mend)
			}
		}
	}
}
