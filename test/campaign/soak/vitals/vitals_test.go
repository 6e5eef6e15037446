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

package vitals

import (
	"bytes"
	"math/rand/v2"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What Go writes today can be read.
func TestProfiles(t *testing.T) {
	for name, read := range map[string]func([]byte) (float64, error){"heap": Heap, "goroutine": Goroutines} {
		t.Run(name, func(t *testing.T) {
			var profile bytes.Buffer
			if err := pprof.Lookup(name).WriteTo(&profile, 1); err != nil {
				t.Fatal(err)
			}
			if got, err := read(profile.Bytes()); err != nil || got < 1 {
				t.Errorf("it says %v, %v", got, err)
			}
			if _, err := read([]byte("404 page not found")); err == nil {
				t.Error("what is no profile can be read")
			}
		})
	}
}

func TestJudge(t *testing.T) {
	bounds := Bounds{Heap: 4, Resident: 16, Goroutines: 5}
	for name, tc := range map[string]struct {
		heap, goroutines float64 // what is added in all
		busy             float64 // what half of the samples have besides, in the second half
		want             map[string]bool
	}{
		"nothing grows":                       {want: map[string]bool{}},
		"as much as may be":                   {heap: 2 * mebi, goroutines: 3, want: map[string]bool{}},
		"the heap grows":                      {heap: 10 * mebi, want: map[string]bool{"heap after a collection": true}},
		"the goroutines grow":                 {goroutines: 20, want: map[string]bool{"goroutines": true}},
		"it is busy in the end":               {busy: 100, want: map[string]bool{}},
		"the heap grows, and it becomes busy": {heap: 10 * mebi, busy: 100, want: map[string]bool{"heap after a collection": true}},
		"both become less":                    {heap: -20 * mebi, goroutines: -20, want: map[string]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 120
			random := rand.New(rand.NewPCG(1, 2))
			var samples []Sample
			for i := range n {
				part := float64(i) / (n - 1)
				busy := 0.0
				if part > 0.5 && random.IntN(2) == 0 {
					busy = tc.busy
				}
				samples = append(samples, Sample{
					At:         time.Duration(i) * 5 * time.Second,
					Heap:       50*mebi + tc.heap*part + mebi*random.Float64() + busy*mebi/10,
					Goroutines: 300 + tc.goroutines*part + 4*random.Float64() + busy,
					Resident:   100 * mebi,
				})
			}
			growths, err := Judge(samples, bounds, 1)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, g := range growths {
				if g.TooMuch() {
					got[g.What] = true
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what grows too much (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Judge(make([]Sample, 39), bounds, 1); err == nil {
		t.Error("39 samples are enough to judge")
	}
}
