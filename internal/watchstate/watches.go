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

package watchstate

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Watches are the states of the watches of several kinds. The zero value has none.
type Watches struct {
	// Clock is the real one where it is left out.
	Clock clock.PassiveClock

	mu     sync.Mutex
	states map[string][]*State
}

// Attend keeps the state of the watch that fills an informer, known by an example of what
// it watches.
func (w *Watches) Attend(lw toolscache.ListerWatcher, example runtime.Object) toolscache.ListerWatcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.states == nil {
		w.states = map[string][]*State{}
	}
	now := w.Clock
	if now == nil {
		now = clock.RealClock{}
	}
	state := New(now)
	w.states[keyOf(example)] = append(w.states[keyOf(example)], state)
	return state.Over(lw)
}

// Behind reports whether what is known of such objects may be older than what others see:
// there is no watch, or it is behind.
func (w *Watches) Behind(example runtime.Object) bool {
	w.mu.Lock()
	states := w.states[keyOf(example)]
	w.mu.Unlock()
	for _, state := range states {
		if state.Behind() {
			return true
		}
	}
	return len(states) == 0
}

// keyOf returns the type of an object and, where that is for any kind, the kind.
func keyOf(example runtime.Object) string {
	switch example.(type) {
	case *metav1.PartialObjectMetadata, *unstructured.Unstructured:
		return fmt.Sprintf("%T %s", example, example.GetObjectKind().GroupVersionKind())
	}
	return fmt.Sprintf("%T", example)
}
