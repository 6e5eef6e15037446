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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/knowledge"
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
// them was withheld: a controller may make a child of that which has not heard that it was
// taken back. Each replica knows of what it was asked about, so that what another one has
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

// note remembers how an object compares with its approved content, where something of it is
// withheld that its children may be made of.
func (w *withdrawn) note(obj *unstructured.Unstructured, known *knowledge.Kind, st *approved.Standing) {
	if st == nil || obj == nil || len(st.Withheld()) == 0 || !known.HasTemplate() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	held := w.parents[obj.GetUID()]
	held.since = now
	if !slices.ContainsFunc(held.standings, func(other *approved.Standing) bool { return other.Object.Generation == st.Object.Generation }) {
		held.standings = append(slices.Clone(held.standings), st)
		held.standings = held.standings[max(0, len(held.standings)-maxWithdrawnEach):]
	}
	w.prune(now)
	if w.parents == nil {
		w.parents = map[types.UID]withdrawal{}
	}
	w.parents[obj.GetUID()] = held
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

// of are how a parent compared with its approved content some moments ago.
func (w *withdrawn) of(uid types.UID) []*approved.Standing {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.parents[uid]
	if !ok || time.Since(known.since) > heardWithin {
		return nil
	}
	return known.standings
}
