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

package target

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/internal/objectcache"
)

// target is what is remembered of an object.
type target struct {
	// mark is what it shows.
	mark mark
	// parent is the UID of its parent, empty where it has none.
	parent types.UID
	// policies are the names of those that are in effect for it, the oldest first.
	policies []string
	// show are those of them that it is to show.
	show []string
	// showed is true where it may show something that is not in mark: it has done so before,
	// and a write of it may not have been seen.
	showed bool
}

// knownTarget is a target as it is remembered. Of very many objects most are seen alike,
// and share that.
type knownTarget struct {
	// uids are its own and, after a space, that of its parent, if it has one.
	uids string
	// alike is the target without its UIDs.
	alike *target
}

func (k knownTarget) target() target {
	if k.alike == nil {
		return target{}
	}
	t := *k.alike
	uid, parent, _ := strings.Cut(k.uids, " ")
	t.mark.uid, t.parent = types.UID(uid), types.UID(parent)
	return t
}

// equal reports whether two objects are seen alike, UIDs included.
func (t *target) equal(other *target) bool {
	return t.mark.uid == other.mark.uid && t.mark.key == other.mark.key && slices.Equal(t.mark.others, other.mark.others) &&
		t.mark.since == other.mark.since && maps.Equal(t.mark.texts, other.mark.texts) &&
		t.parent == other.parent && slices.Equal(t.policies, other.policies) && slices.Equal(t.show, other.show) &&
		t.showed == other.showed
}

// targets are all objects of kinds that policies are for. Its zero value is ready
// for use.
type targets struct {
	mu       sync.Mutex
	byName   map[objectcache.Request]knownTarget
	children map[types.UID]map[objectcache.Request]struct{}
	// touched are the objects that changed since the last look at them.
	touched map[objectcache.Request]struct{}
	// last is how the object was seen that was remembered last.
	last  *target
	queue workqueue.TypedRateLimitingInterface[objectcache.Request]
}

// source queues the children of objects for which other policies are in effect than
// before: a policy may be in effect for a child because one is for its parent (D2).
func (t *targets) source() source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.queue = queue
		return nil
	})
}

// set remembers an object as it is now, and returns the policies that were in effect
// for the one of its name.
func (t *targets) set(req objectcache.Request, now target) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.drop(req)
	if t.byName == nil {
		t.byName, t.children = map[objectcache.Request]knownTarget{}, map[types.UID]map[objectcache.Request]struct{}{}
	}
	t.byName[req] = t.remembered(now)
	if now.parent != "" {
		if t.children[now.parent] == nil {
			t.children[now.parent] = map[objectcache.Request]struct{}{}
		}
		t.children[now.parent][req] = struct{}{}
	}
	if before.mark.uid != now.mark.uid || !slices.Equal(before.policies, now.policies) {
		t.queueChildren(before.mark.uid, now.mark.uid)
	}
	return before.policies
}

// remembered returns a target as it is to be remembered.
func (t *targets) remembered(now target) knownTarget {
	known := knownTarget{uids: string(now.mark.uid)}
	if now.parent != "" {
		known.uids += " " + string(now.parent)
	}
	now.mark.uid, now.parent = "", ""
	if t.last == nil || !now.equal(t.last) {
		t.last = &now
	}
	known.alike = t.last
	return known
}

// touch notes that an object was changed, and has yet to be looked at.
func (t *targets) touch(req objectcache.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.touched == nil {
		t.touched = map[objectcache.Request]struct{}{}
	}
	t.touched[req] = struct{}{}
}

// look notes that an object is looked at, and reports whether it was changed before.
func (t *targets) look(req objectcache.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, touched := t.touched[req]
	delete(t.touched, req)
	return touched
}

// forget an object that is gone, and return the policies that were in effect for it.
func (t *targets) forget(req objectcache.Request) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.drop(req)
	delete(t.touched, req)
	t.queueChildren(before.mark.uid)
	return before.policies
}

// get returns what is known of an object.
func (t *targets) get(req objectcache.Request) target {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[req].target()
}

// drop removes what is known of an object, and returns it.
func (t *targets) drop(req objectcache.Request) target {
	known := t.byName[req].target()
	delete(t.byName, req)
	delete(t.children[known.parent], req)
	if len(t.children[known.parent]) == 0 {
		delete(t.children, known.parent)
	}
	return known
}

func (t *targets) queueChildren(parents ...types.UID) {
	for _, uid := range parents {
		for child := range t.children[uid] {
			if t.queue != nil {
				t.queue.Add(child)
			}
		}
	}
}

// in returns the objects in a namespace, and all objects where it is empty, that are known when
// they are asked for.
func (t *targets) in(namespace string) iter.Seq[objectcache.Request] {
	return func(yield func(objectcache.Request) bool) {
		t.mu.Lock()
		known := slices.Collect(maps.Keys(t.byName))
		t.mu.Unlock()
		for _, req := range known {
			if (namespace == "" || req.Key().Namespace == namespace) && !yield(req) {
				return
			}
		}
	}
}
