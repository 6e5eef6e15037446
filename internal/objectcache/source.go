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
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/internal/metrics"
)

var cachedHolders = metrics.Factory.NewGaugeVec(prometheus.GaugeOpts{
	Namespace: metrics.Namespace,
	Name:      "holders_cached",
	Help:      "Number of objects of a kind that are watched because a policy is for the kind.",
}, []string{"kind"})

// Source returns what a controller watches to be told of every holder of every kind,
// the kinds that Watch adds later included.
func (c *Cache) Source() source.TypedSource[Request] {
	return eventSource{cache: c}
}

type eventSource struct{ cache *Cache }

// Start makes queue receive the holders that are known by now, and every event
// until ctx ends. Kinds that have not synced yet follow when they have.
func (s eventSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request]) error {
	sub := s.cache.subscribers.add(ctx, queue)
	for _, w := range *s.cache.kinds.Load() {
		if w.ready() {
			go sub.feed(s.cache.Requests(w.gvk))
		}
	}
	return nil
}

// feedAll queues the holders of a kind that are there when it has synced.
func (c *Cache) feedAll(w watched) {
	select {
	case <-w.left:
		return
	case <-w.synced.Done():
	}
	for sub := range c.subscribers.all() {
		go sub.feed(c.Requests(w.gvk))
	}
}

// gathering is the debounce interval: changes of a holder wait that long for further ones, to be looked at
// once: a rollout changes a Deployment many times a second, and a reconciler only wants
// to know what it is like in the end. It is far below what people notice.
const gathering = 200 * time.Millisecond

// subscribers are the queues that events go to.
type subscribers struct {
	mu     sync.RWMutex
	queues map[*subscription]struct{}
	// arrivals are noted before the events of them are published.
	arrivals *arrivals
}

type subscription struct {
	queue workqueue.TypedRateLimitingInterface[Request]
	// feed feeds the queue until the subscription ends.
	feed func(iter.Seq[Request])
}

func (s *subscribers) add(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request]) *subscription {
	sub := &subscription{queue: queue, feed: func(requests iter.Seq[Request]) { Feed(ctx, queue, requests) }}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[*subscription]struct{}{}
	}
	s.queues[sub] = struct{}{}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.queues, sub)
	})
	return sub
}

// all returns the subscriptions that there are now.
func (s *subscribers) all() map[*subscription]struct{} {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.queues)
}

func (s *subscribers) publish(req Request, after time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for sub := range s.queues {
		sub.queue.AddAfter(req, after)
	}
}

// handlerFor publishes what happens to the objects of one kind, once they have synced:
// before, there may be very many that are new.
func (s *subscribers) handlerFor(gvk schema.GroupVersionKind) toolscache.ResourceEventHandler {
	publish := func(obj any, after time.Duration) {
		if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		accessor, err := apimeta.Accessor(obj)
		if err != nil {
			return // a tombstone without an object: the next list has its end
		}
		s.publish(RequestFor(gvk, types.NamespacedName{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}), after)
	}
	cached := cachedHolders.WithLabelValues(gvk.GroupKind().String())
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			cached.Inc()
			s.arrivals.add(obj)
			if !isInInitialList {
				publish(obj, 0)
			}
		},
		UpdateFunc: func(_, obj any) { publish(obj, gathering) },
		DeleteFunc: func(obj any) { cached.Dec(); publish(obj, 0) },
	}
}
