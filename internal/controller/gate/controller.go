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

// Package gate reconciles the objects that have a gate (D16): it closes those that are open
// once their system has done what was allowed, and puts right what is not as the ledger says.
// What a gate has to be is decided in package internal/gate.
package gate

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

const (
	// workers is how many objects are looked at together.
	workers = 4
	// minBackoff and maxBackoff bound the time between two attempts after errors.
	minBackoff = 50 * time.Millisecond
	maxBackoff = time.Minute
	// heldRecheck is how soon a deletion that is held back is looked at again: what
	// allows it may be in the record of something above.
	heldRecheck = 10 * time.Second
	// untoldRecheck is the same where that is known within moments.
	untoldRecheck = time.Second
	// uncreatedRecheck is how often the ledgers above an object are checked for an allowance to create
	// what was never created outside.
	uncreatedRecheck = 15 * time.Second
	// tellAfter is the time after which the condition of an open gate says that it is open.
	tellAfter = 3 * time.Second
	// DefaultSettle is the time that a system is given which does not say when it has
	// finished.
	DefaultSettle = 30 * time.Second
)

// Drivers know what sets the gates of a kind.
type Drivers interface {
	// Gate returns the system that is behind objects of a kind, and what is known of the
	// kind; false where there is none.
	Gate(ctx context.Context, kind schema.GroupVersionKind) (gate.Driver, gate.Kind, bool)
}

// Reconciler closes gates: it follows each object whose gate is open until its system is
// done with what was allowed, corrects switches that are not as the ledger has them,
// brings objects from before their policy under their gates, and lets deletions go on
// that were held back (D16).
//
// All of its writes to an object hold only for the object that it has looked at: a
// change that comes in between is never closed by an older view.
type Reconciler struct {
	client.Client
	// Holders has the objects.
	Holders objectcache.Reader
	// Drivers set the gates.
	Drivers Drivers
	// Records are the AllowanceRecords of the objects, and of what is above them.
	Records *record.Store
	// Policies are the active policies.
	Policies *policy.Active
	// Catalog knows all of them, and says when they change.
	Catalog *catalog.Catalog
	// Namespaces knows the labels of namespaces, and which of them are being deleted.
	Namespaces Namespaces
	// Upgrades are the UpgradeAllowances that let something through.
	Upgrades *upgrade.Active
	// Events are about the objects.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Loops are the objects that are written without an end, on which nothing is shown.
	Loops *writeloop.Finder
	// Settle is the time that a system is given which does not say when it has finished.
	Settle time.Duration

	memory memory
}

// Namespaces knows the labels of namespaces, and which of them are being deleted.
type Namespaces interface {
	ancestry.Namespaces
	// IsGoing reports whether a namespace is being deleted.
	IsGoing(ctx context.Context, name string) bool
}

// SetupWithManager adds the reconciler to mgr.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[objectcache.Request](mgr).
		Named("gate").
		WatchesRawSource(r.Holders.Source()).
		WatchesRawSource(r.policySource(r.Catalog.Changes())).
		WithOptions(controller.TypedOptions[objectcache.Request]{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[objectcache.Request](minBackoff, maxBackoff),
		}).
		Complete(r)
}

// Reconcile implements reconcile.TypedReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req objectcache.Request) (reconcile.Result, error) {
	driver, kind, ok := r.Drivers.Gate(ctx, req.GVK())
	if !ok {
		r.memory.forget(req)
		return reconcile.Result{}, nil
	}
	ctx = logf.IntoContext(ctx, logf.FromContext(ctx).WithValues("kind", req.GVK().Kind, "namespace", req.Key().Namespace, "name", req.Key().Name))
	obj, err := r.Holders.Get(ctx, req.GVK(), req.Key())
	if apierrors.IsNotFound(err) {
		r.memory.forget(req)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	next, err := r.follow(ctx, req, obj, driver, kind)
	if apierrors.IsConflict(err) {
		// Somebody was faster: what was decided is about an object of before.
		return reconcile.Result{RequeueAfter: minBackoff}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{RequeueAfter: next}, nil
}

// follow looks at an object, and does what is to be done about it.
func (r *Reconciler) follow(ctx context.Context, req objectcache.Request, obj *unstructured.Unstructured, driver gate.Driver, kind gate.Kind) (time.Duration, error) {
	memory := r.memory.of(req, obj.GetUID())
	v := look(obj, driver, kind, r.Clock.Now())
	v.limits.settle = r.Settle
	v.done = memory.doneSince(obj.GetGeneration())
	v.heldSince = memory.heldSince(v.state.Held != nil && obj.GetDeletionTimestamp() == nil, v.now)
	if err := r.place(ctx, &v); err != nil {
		return 0, err
	}
	p := v.plan()
	written, err := r.write(ctx, v, p)
	if err != nil {
		return 0, err
	}
	memory.seem(p.seemsDone, obj.GetGeneration(), v.now)
	next := requeue.Soonest{}
	next.At(p.next)
	if err := r.tell(ctx, req, v, p, written, memory, &next); err != nil {
		return 0, err
	}
	return next.In(v.now), nil
}
