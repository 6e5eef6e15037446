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
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/approved"
)

const (
	// heardWithin is how long a controller may take to hear of a change of its own object,
	// and to have tried again what it was refused meanwhile.
	heardWithin = time.Minute
	// maxWithdrawn and maxWithdrawnEach bound of how many parents it is known what was
	// withheld, and how many changes of each.
	maxWithdrawn     = 256
	maxWithdrawnEach = 4
)

// withdrawn remembers how parents compared with their approved content when something of
// them was withheld: a controller that has not heard that it was taken back may still write
// it to a child. Each replica knows of what it was asked about, so that what another one has
// seen taken back, and no controller has tried before, may pass. The zero value knows of
// nothing.
type withdrawn struct {
	mu      sync.Mutex
	parents map[types.UID]withdrawal
}

// withdrawal is what is remembered of one parent.
type withdrawal struct {
	standings []*approved.Standing
	since     time.Time
}

// withheldOf returns how an object compares with its approved content where something of it is
// withheld, and else nil.
func withheldOf(st *approved.Standing) *approved.Standing {
	if st == nil || len(st.Withheld()) == 0 {
		return nil
	}
	return st
}

// note remembers how an object compared with its approved content when something of it was
// withheld.
func (w *withdrawn) note(uid types.UID, standings ...*approved.Standing) {
	if len(standings) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	held := withdrawal{standings: w.known(uid, now), since: now}
	for _, st := range standings {
		held.standings = withStanding(held.standings, st)
	}
	w.prune(now)
	if w.parents == nil {
		w.parents = map[types.UID]withdrawal{}
	}
	w.parents[uid] = held
}

// forget drops what was withheld of an object and is in a later stored version that does not withhold it: it was
// approved, or proved to be carried out. Where it is taken out after that, a controller that has not heard of it yet
// makes nothing of a stranger's.
func (w *withdrawn) forget(uid types.UID, st *approved.Standing) {
	if st == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	held, ok := w.parents[uid]
	if !ok {
		return
	}
	var kept []*approved.Standing
	for _, before := range held.standings {
		if before = withoutApproved(before, st); len(before.Withheld()) > 0 {
			kept = append(kept, before)
		}
	}
	if held.standings = kept; len(kept) == 0 {
		delete(w.parents, uid)
		return
	}
	w.parents[uid] = held
}

// withoutApproved returns how an object compared without the differences that a later version still has and does not
// withhold.
func withoutApproved(before, now *approved.Standing) *approved.Standing {
	if now.Object.Generation < before.Object.Generation {
		return before
	}
	next := *before
	next.Differences = slices.DeleteFunc(slices.Clone(before.Differences), func(d approved.Difference) bool {
		was, _ := d.Path.Value(before.Object.Fields)
		is, _ := d.Path.Value(now.Object.Fields)
		// What waits for a policy to come back is not approved either.
		return !now.Differs(d.Path) && equality.Semantic.DeepEqual(was, is)
	})
	return &next
}

// withStanding returns standings with another one, where none is of its generation: the last of
// them. Of an object that counts no generations they differ by what is withheld.
func withStanding(standings []*approved.Standing, st *approved.Standing) []*approved.Standing {
	if slices.ContainsFunc(standings, func(other *approved.Standing) bool {
		return other.Object.Generation == st.Object.Generation &&
			(st.Object.Generation > 0 || equality.Semantic.DeepEqual(other.Withheld(), st.Withheld()))
	}) {
		return standings
	}
	out := append(slices.Clone(standings), st)
	return out[max(0, len(out)-maxWithdrawnEach):]
}

// known returns what was taken back of an object and counts still. Its callers have the lock.
func (w *withdrawn) known(uid types.UID, now time.Time) []*approved.Standing {
	if held, ok := w.parents[uid]; ok && now.Sub(held.since) <= heardWithin {
		return held.standings
	}
	return nil
}

// prune forgets what is over, and anything where there is too much. Its callers have the
// lock.
func (w *withdrawn) prune(now time.Time) {
	for uid, known := range w.parents {
		if now.Sub(known.since) > heardWithin || len(w.parents) >= maxWithdrawn {
			delete(w.parents, uid)
		}
	}
}

// with returns how a parent compared with its approved content some moments ago, and how it was
// seen to in this request.
func (w *withdrawn) with(uid types.UID, seen []*approved.Standing) []*approved.Standing {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.known(uid, time.Now())
	for _, st := range seen {
		out = withStanding(out, st)
	}
	return out
}
