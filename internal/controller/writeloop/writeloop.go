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

// Package writeloop notices objects that are written again and again without a change that
// counts, by which a controller and somebody's webhook fight each other.
package writeloop

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/metrics"
	"kausality.io/operator/internal/objectcache"
)

const (
	// loopWrites within loopTime make a loop: more than any controller needs to write
	// down what it is about.
	loopWrites = 30
	loopTime   = time.Minute
	// loopMemory is the time for which a loop is remembered after it was last noticed.
	loopMemory = 10 * time.Minute
	// knownWritten is how many objects are followed, those that were written last.
	knownWritten = 4096
	// eventWriteLoop is the reason of the Event.
	eventWriteLoop = "WriteLoop"
)

var writeLoops = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
	Namespace: metrics.Namespace,
	Name:      "write_loops_total",
	Help:      "Number of minutes in which an object of a kind was written again and again without a change of anything but its annotations and Kausality's conditions.",
}, []string{"kind"})

// Finder finds the objects that are written again and again without a change that
// counts: of nothing but annotations and Kausality's own conditions, neither of what the
// object says nor of the rest of its status. Somebody's controller fights somebody's webhook
// or controller then, and one of these may be Kausality, which steps back from what it
// merely shows. Make it with NewFinder; it is safe for concurrent use.
type Finder struct {
	mu      sync.Mutex
	written *lru.Cache
}

// writtenObject is an object as it was last seen.
type writtenObject struct {
	uid     types.UID
	version string
	// print identifies all of it but its annotations and Kausality's conditions.
	print [sha256.Size]byte
	// idle are the times of the writes since it was last another one.
	idle []time.Time
	// until is when a loop of it is forgotten; zero where there was none.
	until time.Time
}

// NewFinder makes one that has seen nothing.
func NewFinder() *Finder { return &Finder{written: lru.New(knownWritten)} }

// Saw notes an object as it is seen now, and reports whether a loop is noticed by that,
// which is once in a while as long as it goes on.
func (l *Finder) Saw(req objectcache.Request, obj *unstructured.Unstructured, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, _ := l.written.Get(req)
	w, ok := last.(*writtenObject)
	if ok && w.uid == obj.GetUID() && w.version == obj.GetResourceVersion() {
		return false
	}
	printed := printOf(obj)
	if !ok || w.uid != obj.GetUID() {
		l.written.Add(req, &writtenObject{uid: obj.GetUID(), version: obj.GetResourceVersion(), print: printed})
		return false
	}
	w.version = obj.GetResourceVersion()
	if w.print != printed {
		w.print, w.idle = printed, nil
		return false
	}
	w.idle = append(w.idle, now)
	if len(w.idle) < loopWrites {
		return false
	}
	first := w.idle[len(w.idle)-loopWrites]
	w.idle = w.idle[len(w.idle)-loopWrites+1:]
	if now.Sub(first) > loopTime {
		return false
	}
	noticed := !now.Before(w.until.Add(loopTime - loopMemory))
	if noticed {
		w.until = now.Add(loopMemory)
	}
	return noticed
}

// GoesOn reports whether a loop of an object was noticed, and when it is forgotten. Where
// nobody looks for loops, there are none.
func (l *Finder) GoesOn(req objectcache.Request, now time.Time) (until time.Time, ok bool) {
	if l == nil {
		return time.Time{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last, _ := l.written.Get(req)
	w, known := last.(*writtenObject)
	if !known || !now.Before(w.until) {
		return time.Time{}, false
	}
	return w.until, true
}

// Forget an object that is gone.
func (l *Finder) Forget(req objectcache.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.Remove(req)
}

// printOf identifies all of an object that a write of its annotations, or of what
// Kausality shows in its status, leaves as it is.
func printOf(obj *unstructured.Unstructured) [sha256.Size]byte {
	rest := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	if metadata, ok := rest.Object["metadata"].(map[string]any); ok {
		rest.Object["metadata"] = maps.Clone(metadata)
		rest.SetAnnotations(nil)
		rest.SetGeneration(0)
		rest.SetManagedFields(nil)
		rest.SetResourceVersion("")
	}
	if status, ok := rest.Object["status"].(map[string]any); ok {
		if conditions, ok := status["conditions"].([]any); ok {
			status = maps.Clone(status)
			status["conditions"] = slices.DeleteFunc(slices.Clone(conditions), isShown)
			rest.Object["status"] = status
		}
	}
	raw, err := json.Marshal(rest.Object)
	if err != nil {
		panic("an object from the API server that cannot be encoded: " + err.Error())
	}
	return sha256.Sum256(raw)
}

// isShown reports whether a condition is one that Kausality shows.
func isShown(condition any) bool {
	fields, _ := condition.(map[string]any)
	name, _ := fields["type"].(string)
	return strings.HasPrefix(name, v1alpha1.AnnotationPrefix)
}

// Tell counts that an object is written in a loop, and says so in an Event.
func Tell(recorder events.EventRecorder, obj *unstructured.Unstructured) {
	writeLoops.WithLabelValues(obj.GroupVersionKind().GroupKind().String()).Inc()
	recorder.Eventf(obj, nil, corev1.EventTypeWarning, eventWriteLoop, "Watch", "%s", fmt.Sprintf(
		"Written %d times within a minute without a change of anything but annotations and Kausality's conditions: two controllers, or a controller and a webhook, write over each other. "+
			"Kausality shows nothing on it until that ends. See who writes which annotations: kubectl get -o yaml --show-managed-fields", loopWrites))
}
