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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/recordevents"
	"kausality.io/operator/internal/holders"
	"kausality.io/operator/internal/scope"
	"kausality.io/operator/internal/upgrade"
)

// upgradesOf returns the UpgradeAllowances that select a holder.
func (r *Reconciler) upgradesOf(ctx context.Context, obj *unstructured.Unstructured) []*upgrade.Allowance {
	h := scope.Holder(ctx, r.Namespaces, obj)
	return r.Upgrades.Selecting(h.Labels, h.NamespaceLabels)
}

// upgradeSource has holders that are blocked reconciled when an UpgradeAllowance comes, or changes
// in a way that may let through what was denied. Those that are there at the start may have come
// while nobody looked.
func upgradeSource(objects cache.Cache) source.TypedSource[holders.Request] {
	return source.TypedFunc[holders.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[holders.Request]) error {
		feeder := holders.NewFeeder()
		go feeder.Run(ctx, queue, policyDelay)
		ask := func() {
			feeder.Ask("", recordevents.Holders(ctx, objects, func(note recordevents.Note) bool { return note.Open }))
		}
		type untold = workqueue.TypedRateLimitingInterface[holders.Request]
		return source.TypedKind(objects, &v1alpha1.UpgradeAllowance{}, handler.TypedFuncs[*v1alpha1.UpgradeAllowance, holders.Request]{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1alpha1.UpgradeAllowance], _ untold) {
				if e.Object.Status.AcceptedAt != nil {
					ask()
				}
			},
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.UpgradeAllowance], _ untold) {
				if mayLetThroughMore(e.ObjectOld, e.ObjectNew) {
					ask()
				}
			},
		}).Start(ctx, queue)
	})
}

// mayLetThroughMore reports whether an UpgradeAllowance says something else than before, or has
// been accepted: before that it lets nothing through. What its status counts is no reason to
// look.
func mayLetThroughMore(before, after *v1alpha1.UpgradeAllowance) bool {
	return after.Status.AcceptedAt != nil && (before.Status.AcceptedAt == nil || before.Generation != after.Generation)
}
