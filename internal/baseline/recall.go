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

package baseline

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache"
)

// youth is for how long after the first request it is not taken for granted that the leader
// has looked at all objects: a lease has to end first where the last leader was killed.
const youth = time.Minute

// recall is what a replica reads of what was remembered that is not the leader, or not yet.
type recall struct {
	mu sync.Mutex
	// since is when somebody first asked.
	since time.Time
	// read is true once lines have what there was, by the objects' ids.
	read  bool
	lines map[types.UID]*v1alpha1.ApprovedContent
	// explained are the objects of which NoteExplained tells.
	explained map[types.UID]struct{}
	// lapsed is true while the API server does not ask.
	lapsed bool
}

// Lapse has it known that the API server has ceased to ask, or asks again: what was changed meanwhile
// nobody has admitted, as before the first request, and what was known of objects before says nothing of it.
func (m *Memory) Lapse(lapsed bool) {
	r := &m.recall
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lapsed, r.since, r.read, r.lines, r.explained = lapsed, time.Time{}, false, nil, nil
}

// Since returns when the first request came, and true for a minute: what was changed before it
// may not have been found yet. Admission asks, in all replicas.
func (m *Memory) Since() (time.Time, bool) {
	r := &m.recall
	r.mu.Lock()
	defer r.mu.Unlock()
	now := m.Clock.Now()
	if r.lapsed {
		return now, true
	}
	if r.since.IsZero() {
		r.since = now
	}
	if now.Sub(r.since) < youth {
		return r.since, true
	}
	r.lines = nil
	return r.since, false
}

// NoteExplained notes that an object was what it is known to have been when a request for it was
// looked at, or that something says why it is another one. What becomes of it from then on
// somebody admits. Admission calls it in the first minute.
func (m *Memory) NoteExplained(uid types.UID) {
	r := &m.recall
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.explained == nil {
		r.explained = map[types.UID]struct{}{}
	}
	r.explained[uid] = struct{}{}
}

// IsExplained reports whether NoteExplained was called for an object. What differs since needs
// nobody who looks for it: an allowance may have come and be used up before the first look.
func (m *Memory) IsExplained(uid types.UID) bool {
	r := &m.recall
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.explained[uid]
	return ok
}

// LastKnown returns what an object was like when an operator last looked; nil where that is not
// known. It may read what was remembered from the API server, once; where that fails, it is
// tried again with the next object.
func (m *Memory) LastKnown(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName, uid types.UID) *v1alpha1.ApprovedContent {
	select {
	case <-m.loaded:
		return m.Of(objectcache.RequestFor(gvk, key), uid)
	default:
	}
	r := &m.recall
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.read {
		lines, err := m.readLines(ctx)
		if err != nil {
			logf.FromContext(ctx).Error(err, "Cannot read what objects were like; what was changed while nobody looked may pass for approved")
			return nil
		}
		r.read, r.lines = true, lines
	}
	return r.lines[uid]
}

// readLines reads what was remembered.
func (m *Memory) readLines(ctx context.Context) (map[types.UID]*v1alpha1.ApprovedContent, error) {
	list, err := m.list(ctx)
	if err != nil {
		return nil, err
	}
	out := map[types.UID]*v1alpha1.ApprovedContent{}
	for i := range list.Items {
		lines, _ := decode(list.Items[i].BinaryData[field]) // The leader says what cannot be read.
		for _, l := range lines {
			if was := out[l.UID]; was == nil || was.Generation < l.Generation {
				out[l.UID] = &v1alpha1.ApprovedContent{Generation: l.Generation, Digests: l.Digests, Parents: l.Parents}
			}
		}
	}
	return out, nil
}
