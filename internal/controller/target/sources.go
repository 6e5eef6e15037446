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
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/objectcache"
)

// holderSource has each object looked at when it changes. Where its kind is left before
// that, it is known that what was seen of the object is old.
func (r *Reconciler) holderSource() source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		return r.Holders.Source().Start(ctx, touching{queue, &r.known})
	})
}

// touching is a queue that notes of which objects there are events.
type touching struct {
	workqueue.TypedRateLimitingInterface[objectcache.Request]
	known *targets
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (q touching) AddAfter(req objectcache.Request, after time.Duration) {
	q.known.touch(req)
	q.TypedRateLimitingInterface.AddAfter(req, after)
}

// policySource has all objects looked at when the active policies change.
func (r *Reconciler) policySource() source.TypedSource[objectcache.Request] {
	return source.TypedChannel(r.Catalog.Changes(), handler.TypedFuncs[client.Object, objectcache.Request]{
		GenericFunc: func(context.Context, event.GenericEvent, workqueue.TypedRateLimitingInterface[objectcache.Request]) {
			r.feeder.Ask("", r.known.in(""))
		},
	})
}

// namespaceSource has the objects in a namespace looked at when its labels change.
func (r *Reconciler) namespaceSource(objects cache.Cache) source.TypedSource[objectcache.Request] {
	return source.TypedKind(objects, ancestry.NewNamespace(), handler.TypedFuncs[*unstructured.Unstructured, objectcache.Request]{
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*unstructured.Unstructured], _ workqueue.TypedRateLimitingInterface[objectcache.Request]) {
			if !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) {
				r.feeder.Ask(e.ObjectNew.GetName(), r.known.in(e.ObjectNew.GetName()))
			}
		},
	})
}

// feederSource queues what these ask for.
func (r *Reconciler) feederSource() source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		go r.feeder.Run(ctx, queue, 0)
		return nil
	})
}
