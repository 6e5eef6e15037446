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

package generating

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/watchstate"
)

// catchUp is how long a watch may take to show what was written. Then it is taken for true again.
const catchUp = 10 * time.Second

// written remembers what was written last, until the watch shows it: whoever decides by what there was
// before writes twice.
type written struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	latest map[generate.ID]write
}

type write struct {
	// version that an object has since, empty where it was deleted, which had this uid.
	version string
	deleted types.UID
	at      time.Time
}

func newWritten(c clock.PassiveClock) *written {
	return &written{clock: c, latest: map[generate.ID]write{}}
}

func (w *written) note(id generate.ID, version string, deleted types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest[id] = write{version: version, deleted: deleted, at: w.clock.Now()}
}

// gone notes that the watch has shown the end of an object.
func (w *written) gone(id generate.ID, object *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.latest[id]; ok && !watchstate.IsBefore(object.GetResourceVersion(), last.version) {
		delete(w.latest, id)
	}
}

// isBehind reports whether an object, nil where it is not there, is from before the last write.
func (w *written) isBehind(id generate.ID, object *unstructured.Unstructured) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.latest[id]
	if !ok {
		return false
	}
	behind := false
	switch {
	case w.clock.Since(last.at) > catchUp:
	case last.version == "":
		behind = object != nil && object.GetUID() == last.deleted && object.GetDeletionTimestamp() == nil
	default:
		behind = object == nil || watchstate.IsBefore(object.GetResourceVersion(), last.version)
	}
	if !behind {
		delete(w.latest, id)
	}
	return behind
}
