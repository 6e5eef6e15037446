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
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/controller/recordevents"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/upgrade"
)

// upgradesOf returns the UpgradeAllowances that select a holder. They are looked up whether or not
// its cached record says that it is blocked, which the record that is written may do meanwhile.
func (r *Reconciler) upgradesOf(ctx context.Context, obj *unstructured.Unstructured) []*upgrade.Allowance {
	if !r.Upgrades.Any() {
		return nil
	}
	h := ancestry.Holder(ctx, r.Namespaces, obj)
	return r.Upgrades.Selecting(h.Labels, h.NamespaceLabels)
}

// upgradeSource has holders that are blocked reconciled when an UpgradeAllowance comes that lets
// something through, or another generation of one: once it does, as who looks before that sees
// nothing that helps, and is not told again. Those that are there at the start may have come while
// nobody looked. The delay is for other replicas, which have to know of it before whoever is woken
// asks them.
func upgradeSource(objects cache.Cache, upgrades *upgrade.Active) source.TypedSource[objectcache.Request] {
	return source.TypedFunc[objectcache.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[objectcache.Request]) error {
		feeder := objectcache.NewFeeder()
		go feeder.Run(ctx, queue, policyDelay)
		upgrades.OnCome(func() {
			feeder.Ask("", recordevents.Holders(ctx, objects, func(note recordevents.Note) bool { return note.Open }))
		})
		return nil
	})
}
