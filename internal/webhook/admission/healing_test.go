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
	"errors"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// A Pod takes the place of another if it is made: not if that is only tried, nor if it is refused.
func TestReserve(t *testing.T) {
	healing := func(name string) *facts {
		f := &facts{places: 1, alive: sets.New[string]()}
		f.parentObject = replicaSet(1)
		f.Child.Name, f.Parent.Short = name, true
		return f
	}
	for name, tc := range map[string]struct {
		dryRun, refused bool
		want            error
	}{
		"made":              {want: errTaken},
		"only tried":        {dryRun: true},
		"refused":           {refused: true},
		"tried and refused": {dryRun: true, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, v := (&world{}).hooks(t)
			if err := v.reserveBy(t.Context(), &request{dryRun: tc.dryRun}, healing("first"), !tc.refused); err != nil {
				t.Fatal(err)
			}
			if err := v.reserveBy(t.Context(), &request{}, healing("second"), true); !errors.Is(err, tc.want) {
				t.Errorf("another one afterwards: %v, want %v", err, tc.want)
			}
		})
	}
}

func TestReplacements(t *testing.T) {
	t.Run("requests that do not see each other", func(t *testing.T) {
		var p replacements
		var group sync.WaitGroup
		admitted := make(chan string, 8)
		for i := range 8 {
			group.Go(func() {
				if name := fmt.Sprint("new-", i); p.claim("set", name, sets.New("old-1", "old-2"), 4) {
					admitted <- name
				}
			})
		}
		group.Wait()
		if len(admitted) != 2 {
			t.Errorf("%d Pods were admitted in the place of 2", len(admitted))
		}
	})
	t.Run("the same request again", func(t *testing.T) {
		var p replacements
		for range 3 {
			if !p.claim("set", "new", sets.New("old"), 2) {
				t.Error("a Pod stands in its own way")
			}
		}
	})
	t.Run("gone after it was seen", func(t *testing.T) {
		var p replacements
		p.claim("set", "new", sets.New[string](), 1)
		if p.claim("set", "other", sets.New("new"), 1) {
			t.Error("one too many")
		}
		if !p.claim("set", "other", sets.New[string](), 1) {
			t.Error("what was seen, and is gone, still counts")
		}
	})
	t.Run("another holder", func(t *testing.T) {
		var p replacements
		if !p.claim("set", "new", nil, 1) || !p.claim("other", "new", nil, 1) {
			t.Error("holders stand in each other's way")
		}
	})
}
