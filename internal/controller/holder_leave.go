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

package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/holders"
)

// leave takes back what is shown on a holder that no policy is for any more: that
// it is blocked. The write wakes its controller, which may have given up (D13).
// The ledger stays, and counts for nothing.
func (r *Holder) leave(ctx context.Context, req holders.Request) error {
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
			if err := r.showBlocked(ctx, look(obj, nil, r.Clock.Now()), nil); err != nil {
				return err
			}
		}
		err = r.Records.Update(ctx, records[i].Spec.TargetRef, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
			was := status.Blocked
			status.Blocked = nil
			return was != nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
