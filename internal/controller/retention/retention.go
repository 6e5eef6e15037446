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

// Package retention deletes the AllowanceRecords of objects that are gone, once nobody is
// going to ask for them any more.
package retention

import (
	"cmp"
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/record"
)

// +kubebuilder:rbac:groups=kausality.io,resources=allowancerecords,verbs=delete

const (
	// MinRetention is the least time for which a record stays after its target has
	// ended: what is below the target is deleted in that time, and its traces start
	// from the record (D9).
	MinRetention = 10 * time.Minute
	// sweepInterval is the interval between searches for records that are over the limits.
	sweepInterval = time.Minute
	// deletionRate is how many records are deleted in a second.
	deletionRate = 10
	// livesChecked is how many targets of kinds that nobody watches are looked up in
	// one sweep.
	livesChecked = 60
)

// Reconciler deletes the records of what is gone, by age and by count (D18).
type Reconciler struct {
	// Client deletes records.
	Client client.Client
	// Holders are read where their kind is not watched any more.
	Holders objectcache.Reader
	// Looked is closed once it is known which kinds are watched: before that, it looks as
	// if none were.
	Looked <-chan struct{}
	// Records are gone through, and written when their target turns out to be gone.
	Records *record.Store
	// Clock tells the time.
	Clock clock.WithTicker
	// Age limits how long a record stays after its target has ended; 0 is no limit.
	Age time.Duration
	// Count is how many records of what is gone stay in a namespace; 0 is all.
	Count int

	// checked is how many records of kinds that nobody watches were looked at.
	checked int
}

// NeedLeaderElection is true: one process deletes.
func (r *Reconciler) NeedLeaderElection() bool { return true }

// Start sweeps until ctx ends.
func (r *Reconciler) Start(ctx context.Context) error {
	limiter := flowcontrol.NewTokenBucketRateLimiter(deletionRate, deletionRate)
	defer limiter.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-r.Looked:
	}
	ticker := r.Clock.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		if err := r.sweep(ctx, limiter); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).WithName("retention").Error(err, "Cannot delete all AllowanceRecords that are over; it is tried again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

func (r *Reconciler) sweep(ctx context.Context, limiter flowcontrol.RateLimiter) error {
	// There may be very many records: of those to look at, their names are kept.
	var ended []*v1alpha1.AllowanceRecord
	var unwatched []client.ObjectKey
	for rec, err := range r.Records.All(ctx) {
		switch {
		case err != nil:
			return err
		case rec.Status.EndedAt != nil:
			ended = append(ended, outline(rec))
		case !r.Holders.Watches(record.GVK(rec.Spec.TargetRef).GroupKind()):
			unwatched = append(unwatched, client.ObjectKeyFromObject(rec))
		}
	}
	slices.SortFunc(unwatched, func(a, b client.ObjectKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if err := r.endUnwatched(ctx, unwatched); err != nil {
		return err
	}
	for _, rec := range over(ended, r.Age, r.Count, r.Clock.Now()) {
		if err := limiter.Wait(ctx); err != nil {
			return err
		}
		// Something new that is said about the target keeps it.
		err := r.Client.Delete(ctx, rec, client.Preconditions{UID: &rec.UID, ResourceVersion: &rec.ResourceVersion})
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// outline returns what tells when a record that has ended is to be deleted.
func outline(rec *v1alpha1.AllowanceRecord) *v1alpha1.AllowanceRecord {
	return &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rec.Namespace, Name: rec.Name, UID: rec.UID, ResourceVersion: rec.ResourceVersion, DeletionTimestamp: rec.DeletionTimestamp,
		},
		Status: v1alpha1.AllowanceRecordStatus{EndedAt: rec.Status.EndedAt},
	}
}

// over returns the records to delete of those whose target has ended, those first whose
// target ended first.
func over(records []*v1alpha1.AllowanceRecord, age time.Duration, count int, now time.Time) []*v1alpha1.AllowanceRecord {
	ended := slices.DeleteFunc(slices.Clone(records), func(rec *v1alpha1.AllowanceRecord) bool { return rec.DeletionTimestamp != nil })
	slices.SortFunc(ended, func(a, b *v1alpha1.AllowanceRecord) int {
		return cmp.Or(a.Status.EndedAt.Compare(b.Status.EndedAt.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	kept := map[string]int{}
	for _, rec := range ended {
		kept[rec.Namespace]++
	}
	var out []*v1alpha1.AllowanceRecord
	for _, rec := range ended {
		since := now.Sub(rec.Status.EndedAt.Time)
		if since < MinRetention {
			continue
		}
		if age > 0 && since >= age || count > 0 && kept[rec.Namespace] > count {
			kept[rec.Namespace]--
			out = append(out, rec)
		}
	}
	return out
}

// endUnwatched closes records whose target has gone while no policy was for its kind,
// or with its kind: nothing else would notice. It looks at some of them each time.
func (r *Reconciler) endUnwatched(ctx context.Context, unwatched []client.ObjectKey) error {
	for i := range min(len(unwatched), livesChecked) {
		rec := &v1alpha1.AllowanceRecord{}
		err := r.Client.Get(ctx, unwatched[(r.checked+i)%len(unwatched)], rec)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		gone, err := r.isGone(ctx, rec.Spec.TargetRef)
		if err != nil {
			return err
		}
		if !gone || record.Awaited(rec.CreationTimestamp, &rec.Status).After(r.Clock.Now()) {
			continue
		}
		if record.NeverSeen(rec) {
			if record.MayStillCome(rec).After(r.Clock.Now()) {
				continue
			}
			if err := r.Records.Drop(ctx, rec); err != nil {
				return err
			}
			continue
		}
		err = r.Records.Update(ctx, rec.Spec.TargetRef, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
			was := status.EndedAt
			record.End(status, r.Clock.Now())
			return was == nil
		})
		if err != nil {
			return err
		}
	}
	r.checked += livesChecked
	return nil
}

// isGone asks the API server whether an object is gone.
func (r *Reconciler) isGone(ctx context.Context, target v1alpha1.TargetReference) (bool, error) {
	live, err := r.Holders.Live(ctx, record.GVK(target), record.Key(target))
	switch {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return true, nil
	case err != nil:
		return false, err
	default:
		return live.GetUID() != target.UID, nil
	}
}
