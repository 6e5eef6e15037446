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

package holder

import (
	"context"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/controller/recordevents"
	"kausality.io/operator/internal/controller/updates"
	"kausality.io/operator/internal/objectcache"
)

// policyDelay is the delay after which the holders of a changed policy are looked at:
// the same event has to reach the index of policies first.
const policyDelay = time.Second

// recordSource makes a holder reconcile when its record changes.
func recordSource(objects cache.Cache) source.TypedSource[objectcache.Request] {
	return recordevents.Source(objects, func(queue workqueue.TypedRateLimitingInterface[objectcache.Request], holder objectcache.Request, _, _ recordevents.Note) {
		queue.Add(holder)
	})
}

// lostSource makes those holders reconcile that there are records of at the start, and that
// are gone or that nobody watches: of all others their own events tell.
func (r *Reconciler) lostSource(objects cache.Cache) source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		go func() {
			select {
			case <-ctx.Done():
				return
			case <-r.Looked:
			}
			objectcache.Feed(ctx, queue, recordevents.Holders(ctx, objects, func(note recordevents.Note) bool {
				return !note.Ended && !r.Holders.Has(note.Holder.GVK(), note.Holder.Key())
			}))
		}()
		return nil
	})
}

// policySource makes those holders reconcile to which it can matter that a policy
// has changed, or whether it is in effect: those that are open, adopting or blocked. A
// policy that comes makes all reconcile that there are records of: they may have gone while
// none was for their kind, when nobody watched.
func (r *Reconciler) policySource(objects cache.Cache) source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		feeder := objectcache.NewFeeder()
		go feeder.Run(ctx, queue, policyDelay)
		ask := func(name string, wanted func(recordevents.Note) bool) {
			feeder.Ask(name, recordevents.Holders(ctx, objects, wanted))
		}
		type policyEvents = handler.TypedFuncs[*v1alpha1.AllowancePolicy, objectcache.Request]
		type untold = workqueue.TypedRateLimitingInterface[objectcache.Request]
		askOpen := func() { ask("", func(note recordevents.Note) bool { return note.Open }) }
		return source.TypedKind(objects, &v1alpha1.AllowancePolicy{}, policyEvents{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1alpha1.AllowancePolicy], _ untold) {
				if e.IsInInitialList {
					return
				}
				kind := forKind(e.Object)
				askOpen()
				ask(kind.String(), func(note recordevents.Note) bool {
					return !note.Open && !note.Ended && note.Holder.GVK().GroupKind() == kind
				})
			},
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.AllowancePolicy], _ untold) {
				if matters(e.ObjectOld, e.ObjectNew) {
					askOpen()
				}
			},
			DeleteFunc: func(context.Context, event.TypedDeleteEvent[*v1alpha1.AllowancePolicy], untold) {
				askOpen()
			},
		}).Start(ctx, queue)
	})
}

// matters reports whether a policy says something else than before, or is or is not in effect
// any more. What else its status says is told of objects, and not to them.
func matters(before, after *v1alpha1.AllowancePolicy) bool {
	type state struct {
		status     metav1.ConditionStatus
		generation int64
	}
	states := func(p *v1alpha1.AllowancePolicy) map[string]state {
		out := map[string]state{}
		for _, c := range p.Status.Conditions {
			out[c.Type] = state{c.Status, c.ObservedGeneration}
		}
		return out
	}
	return updates.IsOfSpec(before, after) || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!maps.Equal(states(before), states(after))
}

// namespaceSource makes those holders reconcile that wait in a namespace whose labels change:
// another policy may select them then, or an UpgradeAllowance, and nothing is written that their
// controllers would hear of. The delay is for other replicas, which have to know the labels before
// whoever is woken asks them.
func namespaceSource(objects cache.Cache) source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		feeder := objectcache.NewFeeder()
		go feeder.Run(ctx, queue, policyDelay)
		type untold = workqueue.TypedRateLimitingInterface[objectcache.Request]
		return source.TypedKind(objects, ancestry.NewNamespace(), handler.TypedFuncs[*unstructured.Unstructured, objectcache.Request]{
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*unstructured.Unstructured], _ untold) {
				if maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) {
					return
				}
				namespace := e.ObjectNew.GetName()
				feeder.Ask(namespace, recordevents.Holders(ctx, objects, func(note recordevents.Note) bool {
					return note.Open && note.Holder.Key().Namespace == namespace
				}))
			},
		}).Start(ctx, queue)
	})
}
