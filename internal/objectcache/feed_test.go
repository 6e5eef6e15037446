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

package objectcache

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// numbered returns n requests; asked counts how often they were asked for.
func numbered(prefix string, n int, asked *atomic.Int32) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		asked.Add(1)
		for i := range n {
			if !yield(RequestFor(schema.GroupVersionKind{Kind: "Web"}, types.NamespacedName{Name: fmt.Sprint(prefix, i)})) {
				return
			}
		}
	}
}

func testQueue(t *testing.T) workqueue.TypedRateLimitingInterface[Request] {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[Request]())
	t.Cleanup(queue.ShutDown)
	return queue
}

// TestFeed shows that all requests are queued, in their order, of which few wait at a time.
func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := testQueue(t)
		const all = 3*feedAhead + 1
		var asked atomic.Int32
		go Feed(t.Context(), queue, numbered("web-", all, &asked))
		for i := range all {
			req, _ := queue.Get()
			if want := fmt.Sprint("web-", i); req.Key().Name != want {
				t.Fatalf("got %s, want %s", req.Key().Name, want)
			}
			if n := queue.Len(); n > feedAhead {
				t.Fatalf("%d requests wait", n)
			}
			queue.Done(req)
		}
		synctest.Wait()
		if n := queue.Len(); n > 0 {
			t.Errorf("%d requests are left", n)
		}
	})
}

// TestFeedEnds shows that nobody waits for a queue that is handled no more.
func TestFeedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := testQueue(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		var asked atomic.Int32
		go func() {
			Feed(ctx, queue, numbered("web-", 2*feedAhead, &asked))
			close(ended)
		}()
		<-time.After(time.Minute)
		cancel()
		<-ended
		if n := queue.Len(); n != feedAhead {
			t.Errorf("%d requests wait, want %d", n, feedAhead)
		}
	})
}

// TestFeeder shows that what is asked for several times is found once, a while later.
func TestFeeder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := testQueue(t)
		ctx, cancel := context.WithCancel(t.Context())
		feeder := NewFeeder()
		var all, some atomic.Int32
		ended := make(chan struct{})
		go func() {
			feeder.Run(ctx, queue, time.Second)
			close(ended)
		}()
		for range 3 {
			feeder.Ask("all", numbered("web-", 3, &all))
		}
		feeder.Ask("some", numbered("api-", 2, &some))
		<-time.After(time.Second / 2)
		if all.Load()+some.Load() > 0 {
			t.Error("it did not wait")
		}
		<-time.After(time.Second)
		if all.Load() != 1 || some.Load() != 1 || queue.Len() != 5 {
			t.Errorf("found %d and %d times, %d requests, want once each, and 5", all.Load(), some.Load(), queue.Len())
		}
		feeder.Ask("all", numbered("web-", 3, &all))
		<-time.After(2 * time.Second)
		if all.Load() != 2 || some.Load() != 1 {
			t.Errorf("found %d and %d times, want twice and once", all.Load(), some.Load())
		}
		cancel()
		<-ended
	})
}
