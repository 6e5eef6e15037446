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

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

const (
	// DefaultQuietTime is for how long nothing has to pass for a parent by its upgrade before
	// that is over.
	DefaultQuietTime = 30 * time.Second
	// finishInterval is how often is looked which upgrades are over.
	finishInterval = 5 * time.Second
)

// Finisher ends the upgrades of parents: what a version does afterwards needs a cause again. It
// runs on the replica that leads.
type Finisher struct {
	// Holders are the parents.
	Holders ancestry.Getter
	// Looked is closed once it is known which parents there are.
	Looked <-chan struct{}
	// Namespaces knows the labels of namespaces.
	Namespaces ancestry.Namespaces
	// Policies are those that are active.
	Policies *policy.Active
	// Records remember the versions.
	Records *record.Store
	// QuietTime is DefaultQuietTime unless a flag says otherwise.
	QuietTime time.Duration
	// Clock tells the time.
	Clock clock.WithTicker
}

// NeedLeaderElection is true: one process ends them.
func (f *Finisher) NeedLeaderElection() bool { return true }

// Start looks until ctx ends.
func (f *Finisher) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-f.Looked:
	}
	ticker := f.Clock.NewTicker(finishInterval)
	defer ticker.Stop()
	for {
		if err := f.finish(ctx); err != nil && ctx.Err() == nil {
			logf.FromContext(ctx).WithName("upgrade").Error(err, "Cannot end all upgrades that are over; it is tried again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// finish ends the upgrades that are over.
func (f *Finisher) finish(ctx context.Context) error {
	moving, err := f.Records.Moving(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range moving {
		errs = append(errs, f.finishOne(ctx, &moving[i]))
	}
	return errors.Join(errs...)
}

// finishOne ends those of one parent.
func (f *Finisher) finishOne(ctx context.Context, rec *v1alpha1.AllowanceRecord) error {
	parent, err := f.Holders.Get(ctx, record.GVK(rec.Spec.TargetRef), record.Key(rec.Spec.TargetRef))
	switch {
	case apierrors.IsNotFound(err):
		return nil // It ends with its record.
	case err != nil:
		return fmt.Errorf("reading %s %s, which is being upgraded: %w", rec.Spec.TargetRef.Kind, record.Key(rec.Spec.TargetRef), err)
	case parent.GetUID() != rec.Spec.TargetRef.UID:
		return nil
	}
	settled := f.hasSettled(ctx, parent)
	now := f.Clock.Now()
	isOver := func(v v1alpha1.ControllerVersion) bool {
		if !upgrade.IsMoving(&v) {
			return false
		}
		over, _ := upgrade.IsOver(&v, settled, f.QuietTime, now)
		return over
	}
	if !slices.ContainsFunc(rec.Status.Versions, isOver) {
		return nil
	}
	return f.Records.Update(ctx, rec.Spec.TargetRef, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
		ended := false
		for i := range status.Versions {
			if isOver(status.Versions[i]) {
				status.Versions[i].MovedAt = new(metav1.NewTime(now))
				ended = true
			}
		}
		return ended
	})
}

// hasSettled reports whether the parent has settled as it is. Of one whose status can never
// tell, the quiet time tells alone.
func (f *Finisher) hasSettled(ctx context.Context, parent *unstructured.Unstructured) bool {
	index := f.Policies.Index()
	policies := index.InEffect(ancestry.Chain(ctx, f.Holders, f.Namespaces, index, parent))
	return lifecycle.SettledAt(ctx, parent, policies, parent.GetGeneration()) ||
		policy.Deciding(policies, policy.FieldConsumptionWhen) == nil && lifecycle.Of(parent, policies).Timed
}
