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
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
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
	// inFlight has the objects that looks are writing.
	inFlight map[generate.ID]*flight
	// once has what was noted in the record of each trigger, with the time of the note.
	once map[types.UID]map[v1alpha1.GeneratedObject]time.Time
}

type write struct {
	// version that an object has since, empty where it was deleted, which had this uid.
	version string
	deleted types.UID
	at      time.Time
	// by is the look that wrote it and found the answer as wanted; empty where none did.
	by request
}

// flight is an object that looks are writing.
type flight struct {
	// by is the first of them.
	by request
	// looks counts those that have not ended. shared is true once there was more than one at a time: then each is
	// called upon for what the watch shows.
	looks  int
	shared bool
	// shown is the latest version that the watch has shown and for which nobody was called upon, empty where there
	// is none.
	shown string
}

func newWritten(c clock.PassiveClock) *written {
	return &written{
		clock: c, latest: map[generate.ID]write{}, inFlight: map[generate.ID]*flight{},
		once: map[types.UID]map[v1alpha1.GeneratedObject]time.Time{},
	}
}

// begin notes that a look is about to write an object. For each begin the look calls end, when it has done all of its writes.
func (w *written) begin(id generate.ID, by request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.inFlight[id]
	if f == nil {
		f = &flight{by: by}
		w.inFlight[id] = f
	}
	f.looks++
	f.shared = f.shared || f.looks > 1
}

// end notes that a look has done its writes, and whether the object is as wanted since. It reports whether the
// look must run again, for a version that the watch has shown meanwhile without calling upon it.
func (w *written) end(id generate.ID, by request, asWanted bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, last := w.inFlight[id], w.latest[id]
	f.looks--
	if f.looks == 0 {
		delete(w.inFlight, id)
	}
	switch {
	case f.shared, !asWanted:
		return f.shown != "" && f.by == by
	case f.shown == "" || watchstate.IsBefore(f.shown, last.version):
		last.by = f.by
		w.latest[id] = last
		return false
	}
	return f.shown != last.version
}

// shows notes that the watch shows a version of an object. It returns the look that need not run for it, as it wrote
// that version or a later one, or is about to; the empty request where there is none.
func (w *written) shows(id generate.ID, object *unstructured.Unstructured) request {
	w.mu.Lock()
	defer w.mu.Unlock()
	version := object.GetResourceVersion()
	if f := w.inFlight[id]; f != nil {
		if f.shared {
			return request{}
		}
		f.shown = version
		return f.by
	}
	last, ok := w.latest[id]
	switch {
	case !ok, last.version == "", w.clock.Since(last.at) > catchUp:
		return request{}
	case watchstate.IsBefore(version, last.version):
		return last.by
	}
	delete(w.latest, id)
	if version != last.version {
		return request{}
	}
	return last.by
}

// remember notes that the record of a trigger remembers an object from now on.
func (w *written) remember(trigger types.UID, made v1alpha1.GeneratedObject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for uid, all := range w.once {
		maps.DeleteFunc(all, func(_ v1alpha1.GeneratedObject, at time.Time) bool { return now.Sub(at) > catchUp })
		if len(all) == 0 {
			delete(w.once, uid)
		}
	}
	if w.once[trigger] == nil {
		w.once[trigger] = map[v1alpha1.GeneratedObject]time.Time{}
	}
	w.once[trigger][made] = now
}

// remembered returns what the record of a trigger remembers that its watch may not show yet.
func (w *written) remembered(trigger types.UID) []v1alpha1.GeneratedObject {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []v1alpha1.GeneratedObject
	for made, at := range w.once[trigger] {
		if w.clock.Since(at) <= catchUp {
			out = append(out, made)
		}
	}
	return out
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
