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

package holder

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// firstRetry is the time after the first rewrite that had no effect; it
	// doubles with each.
	firstRetry = time.Second
	// maxRewrites limits how often one version of a holder is rewritten in vain.
	maxRewrites = 8
)

// rewrites remembers what became of the rewrites of holders: those that had no
// effect, and those that the cache does not have yet. Its zero value is ready for
// use.
type rewrites struct {
	mu     sync.Mutex
	states map[types.UID]rewriteState
}

type rewriteState struct {
	// resourceVersion of the holder that was rewritten in vain, how often, and
	// when it may be tried again.
	resourceVersion string
	count           int
	next            time.Time
	// written is the holder after a rewrite that had an effect.
	written *unstructured.Unstructured
}

// start reports whether a rewrite is due now, and when the next one will be, if it
// has no effect.
func (r *rewrites) start(obj *unstructured.Unstructured, now time.Time) (next time.Time, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.states[obj.GetUID()]
	if state.resourceVersion != obj.GetResourceVersion() {
		state = rewriteState{resourceVersion: obj.GetResourceVersion(), written: state.written}
	}
	switch {
	case state.count >= maxRewrites:
		return time.Time{}, false
	case now.Before(state.next):
		return state.next, false
	}
	state.next = now.Add(firstRetry << state.count)
	state.count++
	r.set(obj.GetUID(), state)
	return state.next, true
}

// hasGivenUp reports whether a version of a holder was rewritten in vain as often as that is tried.
func (r *rewrites) hasGivenUp(obj *unstructured.Unstructured) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.states[obj.GetUID()]
	return state.resourceVersion == obj.GetResourceVersion() && state.count >= maxRewrites
}

// done remembers a holder as the API server returned it.
func (r *rewrites) done(obj *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(obj.GetUID(), rewriteState{written: obj})
}

// latest returns the newer one of a cached holder and what the API server
// returned for it, so that nothing is decided twice.
func (r *rewrites) latest(cached *unstructured.Unstructured) *unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, ok := r.states[cached.GetUID()]
	if !ok || state.written == nil {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), state.written.GetResourceVersion())
	if err == nil && order < 0 {
		return state.written
	}
	delete(r.states, cached.GetUID())
	return cached
}

// forget a holder that is gone.
func (r *rewrites) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, uid)
}

func (r *rewrites) set(uid types.UID, state rewriteState) {
	if r.states == nil {
		r.states = map[types.UID]rewriteState{}
	}
	r.states[uid] = state
}
