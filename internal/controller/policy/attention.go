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

package policy

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/recordevents"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/record"
)

const (
	// adoptingField indexes records by whether their target is adopting.
	adoptingField = "status.adopting"
	// overdueField indexes records by whether an allowance is open for too long.
	overdueField = "status.overdue"
)

// attention is what of records shows in the status of policies, by the field that
// records are indexed by.
var attention = map[string]func(client.Object) bool{
	adoptingField: recordevents.IsAdopting,
	overdueField:  recordevents.IsOverdue,
}

func indexAttention(ctx context.Context, indexer client.FieldIndexer) error {
	for name, holds := range attention {
		err := indexer.IndexField(ctx, &v1alpha1.AllowanceRecord{}, name, func(obj client.Object) []string {
			if !holds(obj) {
				return nil // There are too many of these to be indexed.
			}
			return []string{strconv.FormatBool(true)}
		})
		if err != nil {
			return fmt.Errorf("indexing AllowanceRecords by %s: %w", name, err)
		}
	}
	return nil
}

// attentionSource makes policies reconcile when that changes of a record for their kind.
func (r *Reconciler) attentionSource(objects cache.Cache) source.Source {
	return recordevents.Source(objects, func(queue workqueue.TypedRateLimitingInterface[reconcile.Request], holder objectcache.Request, before, after recordevents.Note) {
		if before.Adopting == after.Adopting && before.Overdue == after.Overdue {
			return
		}
		for _, name := range r.Catalog.For(holder.GVK().GroupKind()) {
			queue.Add(catalog.RequestFor(name))
		}
	})
}

// concerned returns the records of the holders that the policy is in effect for, of those
// with a field that is true.
func (r *Reconciler) concerned(ctx context.Context, known catalog.View, field string) ([]v1alpha1.AllowanceRecord, error) {
	var records v1alpha1.AllowanceRecordList
	if err := r.Client.List(ctx, &records, client.MatchingFields{field: strconv.FormatBool(true)}); err != nil {
		return nil, fmt.Errorf("listing AllowanceRecords by %s: %w", field, err)
	}
	return slices.DeleteFunc(records.Items, func(rec v1alpha1.AllowanceRecord) bool {
		target := rec.Spec.TargetRef
		kind := record.GVK(target)
		if kind.GroupKind() != known.Policy.For.GroupKind() {
			return true
		}
		obj, err := r.Holders.Get(ctx, kind, record.Key(target))
		if err != nil || obj.GetUID() != target.UID {
			return true // it is gone, and its record stays
		}
		return !slices.Contains(r.inEffect(ctx, known.InEffect, obj), known.Policy)
	}), nil
}
