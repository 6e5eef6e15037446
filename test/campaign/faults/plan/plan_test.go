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
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAFunctionOfTheSeed(t *testing.T) {
	size := Size{Deployments: 20, Rounds: 4, Length: 30 * time.Second}
	if diff := cmp.Diff(Make(7, size), Make(7, size)); diff != "" {
		t.Error("the same seed gives two plans:", diff)
	}
	if cmp.Equal(Make(7, size), Make(8, size)) {
		t.Error("two seeds give the same plan")
	}
}

func TestEverythingBreaksInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Size{
			Deployments: rapid.IntRange(1, 50).Draw(t, "deployments"),
			Rounds:      rapid.IntRange(1, 6).Draw(t, "rounds"),
			Length:      rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "length"),
		}
		p := Make(rapid.Uint64().Draw(t, "seed"), size)
		broken := map[Break]bool{}
		for i, r := range p.Rounds {
			last := time.Duration(-1)
			for _, f := range r.Faults {
				broken[f.Break] = true
				if f.At < last || f.At > size.Length || f.Operator >= r.Operators {
					t.Errorf("round %d: fault %s at %s, after one at %s, with %d operators", i, f, f.At, last, r.Operators)
				}
				if f.Break == Depose && r.Operators < 2 {
					t.Errorf("round %d: the only operator is deposed", i)
				}
				last = f.At
			}
			rolled := map[int]bool{}
			last = 0
			for _, c := range r.Changes {
				if c.At < last || c.At > size.Length || c.Replicas < 1 {
					t.Errorf("round %d: change %+v after one at %s", i, c, last)
				}
				last = c.At
				if c.Act == Roll && c.Who == Alice {
					rolled[c.Deployment] = true
				}
			}
			if len(rolled) != size.Deployments {
				t.Errorf("round %d: %d of %d Deployments roll", i, len(rolled), size.Deployments)
			}
		}
		for _, b := range Breaks() {
			if !broken[b] {
				t.Errorf("nothing happens: %s", b)
			}
		}
		if last := p.Rounds[len(p.Rounds)-1]; last.Operators != 2 {
			t.Errorf("%d operators in the last round", last.Operators)
		}
	})
}
