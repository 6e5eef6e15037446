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
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/objectcache"
)

// coming is the time that a policy may take from its creation until its holders are watched:
// its kind may have to be served first.
const coming = time.Minute

// unwatched returns what to do about a holder that nobody watches: where a policy is for its
// kind, or has just been made, it is looked at again.
func (r *Reconciler) unwatched(ctx context.Context, req objectcache.Request) (reconcile.Result, error) {
	kind := req.GVK().GroupKind()
	if len(r.Policies.Index().For(kind)) > 0 {
		return reconcile.Result{RequeueAfter: requeue.WhenUnread}, nil
	}
	var policies v1alpha1.AllowancePolicyList
	if err := r.List(ctx, &policies); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing policies: %w", err)
	}
	for i := range policies.Items {
		p := &policies.Items[i]
		if forKind(p) == kind && r.Clock.Since(p.CreationTimestamp.Time) < coming {
			return reconcile.Result{RequeueAfter: policyDelay}, nil
		}
	}
	var next requeue.Soonest
	err := r.leave(ctx, req, &next)
	return reconcile.Result{RequeueAfter: next.In(r.Clock.Now())}, err
}

// forKind returns the kind that a policy is for.
func forKind(p *v1alpha1.AllowancePolicy) schema.GroupKind {
	return schema.GroupKind{Group: p.Spec.For.APIGroup, Kind: p.Spec.For.Kind}
}

// leave takes back what is shown on a holder that no policy is for any more: that
// it is blocked. The write wakes its controller, which may have given up (D13).
// The ledger stays, and counts for nothing.
func (r *Reconciler) leave(ctx context.Context, req objectcache.Request, next *requeue.Soonest) error {
	r.Baseline.Forget(req)
	records, err := r.Records.Of(ctx, req.GVK().GroupKind(), req.Key())
	if err != nil {
		return err
	}
	for i := range records {
		if records[i].Status.Blocked == nil {
			continue
		}
		obj, err := r.Holders.Live(ctx, req.GVK(), req.Key())
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		case obj.GetUID() == records[i].Spec.TargetRef.UID:
			if err := r.showBlocked(ctx, look(obj, nil, r.Clock.Now()), nil, next); err != nil {
				return err
			}
			if !next.Time.IsZero() {
				continue // The record tells that it is to be taken back.
			}
		}
		err = r.Records.Update(ctx, records[i].Spec.TargetRef, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
			was := status.Blocked
			status.Blocked, status.AnsweredDenials = nil, status.Denials
			status.WokenBy = nil
			return was != nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
