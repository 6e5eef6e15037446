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

package gate

import (
	"context"
	"iter"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/internal/objectcache"
)

// policySource makes each object with a gate reconcile when policies change.
func (r *Reconciler) policySource(changes <-chan event.GenericEvent) source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-changes:
					objectcache.Feed(ctx, queue, r.gated(ctx))
				}
			}
		}()
		return nil
	})
}

// gated returns all cached objects of kinds that have a gate.
func (r *Reconciler) gated(ctx context.Context) iter.Seq[objectcache.Request] {
	return func(yield func(objectcache.Request) bool) {
		for _, gvk := range r.Holders.Kinds() {
			if _, _, ok := r.Drivers.Gate(ctx, gvk); !ok {
				continue
			}
			for req := range r.Holders.Requests(gvk) {
				if !yield(req) {
					return
				}
			}
		}
	}
}
