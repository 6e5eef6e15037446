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
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

const (
	// roundsWithin is how long the mutating webhooks after ours may take until ours is asked
	// again about the same request.
	roundsWithin = 30 * time.Second
	// maxRounds bounds of how many requests that is known.
	maxRounds = 1024
)

// rounds knows what the mutating webhook has just made of requests. Where another mutating webhook changes
// the object after it, the API server asks again about the same request: of what it said nothing is left
// then but what was written for it, as commands are taken away. The two questions have no UID in common. So
// a request is known by its object, by who makes it, and by what was written: somebody else's words are not
// taken for that. The zero value can be used.
type rounds struct {
	once  sync.Once
	known *cache.LRUExpireCache
}

// roundKey is what a request is known by that is asked about again.
type roundKey struct {
	gvk             schema.GroupVersionKind
	namespace, name string
	uid             types.UID
	resourceVersion string
	operation       decision.Operation
	subresource     string
	user            string
	dryRun          bool
	// written is what the object has of ours after the first round.
	written string
}

// round is what was made of a request when it was asked about before.
type round struct {
	// approve and breakGlass are what it asked for in annotations that were taken away.
	approve, breakGlass string
	// noted is true where a note of broken glass was left for the validating hook.
	noted bool
	// elsewhere is true where this process did not make it, and the object tells of it.
	elsewhere bool
}

// writtenIn returns the text of the annotations that are the object's own: its ledger, its approved
// content, and what is said of its gate.
func (r *request) writtenIn(annotations map[string]string) string {
	prefix := ledger.AnnotationPrefix(r.new)
	var b strings.Builder
	for _, key := range append([]string{prefix + ledger.NameAllowances, prefix + ledger.NameApproved}, gate.StateKeys()...) {
		value, ok := annotations[key]
		if ok {
			b.WriteString(key + "=" + value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

func (r *request) roundKey(annotations map[string]string) roundKey {
	key := roundKey{
		gvk: r.gvk, namespace: r.namespace, name: r.objectName(), operation: r.operation, subresource: r.subresource,
		user: r.requester.Username, dryRun: r.dryRun, written: r.writtenIn(annotations),
	}
	if r.old != nil {
		key.uid, key.resourceVersion = r.old.GetUID(), r.old.GetResourceVersion()
	}
	return key
}

// note takes note of what is made of a request: want are all annotations that its object gets. What
// leaves nothing on the object that could be told from it as it was, nobody could know again.
func (rs *rounds) note(r *request, o *outcome, want map[string]string) {
	key, was := r.roundKey(want), ""
	if r.old != nil {
		was = r.writtenIn(r.old.GetAnnotations())
	}
	known := round{}
	switch {
	case key.written != was:
		known.approve, known.breakGlass = o.approve.text, o.glass.reason
		known.noted = r.again != nil && r.again.noted || !r.dryRun && o.leavesNote(r)
	case o.Gate == nil:
		return
	}
	rs.cache().Add(key, known, roundsWithin)
}

// of returns what was made of the very request a moment ago, nil where it is asked about for the
// first time, as far as this process knows.
func (rs *rounds) of(r *request) *round {
	known, _ := rs.cache().Get(r.roundKey(r.new.GetAnnotations()))
	if again, ok := known.(round); ok {
		return &again
	}
	return nil
}

func (rs *rounds) cache() *cache.LRUExpireCache {
	rs.once.Do(func() { rs.known = cache.NewLRUExpireCache(maxRounds) })
	return rs.known
}
