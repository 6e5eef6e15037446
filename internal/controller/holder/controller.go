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

// Package holder reconciles the objects that policies are for: it ends allowances that are
// consumed or overdue, watches over what is withheld, keeps records and ledgers in step, and
// shows on an object what of it was refused.
package holder

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/baseline"
	"kausality.io/operator/internal/controller/lull"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

// Holders are of any kind that a policy may name. They are read and watched;
// patched are their status, by which a ledger is pruned and a Deployment told
// that it is blocked, and themselves, where their kind keeps neither. In RBAC, *
// stands for sub-resources too.
//
// +kubebuilder:rbac:groups=kausality.io,resources=allowancerecords,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=kausality.io,resources=allowancerecords/status,verbs=update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// workers is how many holders are reconciled at the same time.
	workers = 4
	// longDelay is how far away a time is for which it does not matter whether it is met
	// to the second, such as the end of an allowance, which any holder may have.
	longDelay = 30 * time.Second
)

// Drivers know what sets the gates of a kind. *gates.Registry is the one.
type Drivers interface {
	// Gate returns the system that is behind objects of a kind, and what is known of the
	// kind; false where there is none.
	Gate(ctx context.Context, kind schema.GroupVersionKind) (gate.Driver, gate.Kind, bool)
}

// Reconciler follows each holder of a ledger: it sees it settle, after which its
// allowances are consumed for good (D8), has pending grants folded in (D11), keeps
// its AllowanceRecord equal to what it holds (D18), and tells it that a child of
// it waits for an allowance (D13).
//
// It never writes a ledger itself. It makes a request that changes nothing, and
// the webhook, which sees the request, writes the ledger anew.
type Reconciler struct {
	client.Client
	// Holders are the holders.
	Holders objectcache.Reader
	// Looked is closed once it is known which kinds are watched.
	Looked <-chan struct{}
	// Came reports whether a holder with a UID came while this process looked, though it may be gone; nil
	// where nobody tells.
	Came func(uid types.UID) bool
	// Drivers set the gates of those that have one; nil where none does.
	Drivers Drivers
	// Records are their AllowanceRecords.
	Records *record.Store
	// Policies are the active policies.
	Policies *policy.Active
	// Upgrades are the UpgradeAllowances that let something through; nil where there are none.
	Upgrades *upgrade.Active
	// Namespaces knows the labels of namespaces.
	Namespaces ancestry.Namespaces
	// SignOfLife decides about holders that are seen for the first time.
	SignOfLife *SignOfLife
	// Baseline remembers what holders without a record are like.
	Baseline *baseline.Memory
	// Events are about holders.
	Events events.EventRecorder
	// Loops are the objects that are written without an end, on which nothing is shown.
	Loops *writeloop.Finder
	// Clock tells the time.
	Clock clock.PassiveClock
	// VersionToName returns the version that a command about an object of a kind has to name; nil for none.
	VersionToName func(schema.GroupKind) string
	// Alone is true where no other replica of the operator answers requests.
	Alone bool
	// DigestKey keys the digests of values in records.
	DigestKey string
	// QuietTimes are DefaultQuietTimes unless flags say otherwise.
	QuietTimes QuietTimes
	// LedgerRestTime is for how long all of the ledger of a custom resource has to be used up
	// before it is written to take it out; never where it is zero.
	LedgerRestTime time.Duration

	// changedUnseen has, by the UIDs of holders that were changed while no operator
	// looked, what was changed.
	changedUnseen sync.Map
	looked        looks
	// attached has, by the UIDs of holders, the parents that they were given meanwhile.
	attached    sync.Map
	lookedAbove looks
	rewrites    rewrites
	specs       specs
	usedUp      usedUp
	alarms      objectcache.Alarms
	lulls       lull.Finder
}

// SetupWithManager adds the reconciler to mgr.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[objectcache.Request](mgr).
		Named("holder").
		WatchesRawSource(r.Holders.Source()).
		WatchesRawSource(recordSource(mgr.GetCache())).
		WatchesRawSource(r.lostSource(mgr.GetCache())).
		WatchesRawSource(r.policySource(mgr.GetCache())).
		WatchesRawSource(upgradeSource(mgr.GetCache(), r.Upgrades)).
		WatchesRawSource(namespaceSource(mgr.GetCache())).
		WatchesRawSource(r.lapseSource()).
		WatchesRawSource(r.alarms.Source()).
		WithOptions(controller.TypedOptions[objectcache.Request]{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// Reconcile implements reconcile.TypedReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req objectcache.Request) (reconcile.Result, error) {
	ctx = logf.IntoContext(ctx, logf.FromContext(ctx).WithValues("kind", req.GVK().Kind, "namespace", req.Key().Namespace, "name", req.Key().Name))
	// A record whose holder went while nobody watched has no other event than this
	// one.
	if err := r.SignOfLife.Wait(ctx); err != nil {
		return reconcile.Result{}, err
	}
	obj, watched, err := r.get(ctx, req)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case !watched:
		return r.unwatched(ctx, req)
	case obj == nil:
		r.SignOfLife.Forget(req)
		r.Baseline.Forget(req)
	}
	records, err := r.Records.Of(ctx, req.GVK().GroupKind(), req.Key())
	if err != nil {
		return reconcile.Result{}, err
	}
	var next requeue.Soonest
	var current *v1alpha1.AllowanceRecord
	for i := range records {
		if r.Records.IsApart(&records[i]) {
			continue // It only says who deletes what goes with its namespace.
		}
		if obj != nil && records[i].Spec.TargetRef.UID == obj.GetUID() {
			current = &records[i]
			continue
		}
		if err := r.end(ctx, &records[i], &next); err != nil {
			return reconcile.Result{}, err
		}
	}
	if obj != nil {
		if err := r.follow(ctx, obj, current, &next); err != nil {
			return reconcile.Result{}, err
		}
		if err := r.forgetStrays(ctx, current, &next); err != nil {
			return reconcile.Result{}, err
		}
		if err := r.forgetSetAside(ctx, current, &next); err != nil {
			return reconcile.Result{}, err
		}
	}
	after := next.In(r.Clock.Now())
	if after > longDelay {
		r.alarms.Set(req, after)
		return reconcile.Result{}, nil
	}
	r.alarms.Drop(req)
	return reconcile.Result{RequeueAfter: after}, nil
}

// get returns a holder, nil where there is none. Of a kind that is not watched, or was left
// in between, nothing is known.
func (r *Reconciler) get(ctx context.Context, req objectcache.Request) (obj *unstructured.Unstructured, watched bool, err error) {
	if !r.Holders.Watches(req.GVK().GroupKind()) {
		return nil, false, nil
	}
	obj, err = r.Holders.Get(ctx, req.GVK(), req.Key())
	if apierrors.IsNotFound(err) {
		return nil, r.Holders.Watches(req.GVK().GroupKind()), nil
	}
	return obj, true, err
}

// follow brings the record and the ledger of a holder in line with its state.
func (r *Reconciler) follow(ctx context.Context, obj *unstructured.Unstructured, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) error {
	cached := obj
	obj = r.rewrites.latest(cached)
	if moved, err := r.rekey(ctx, obj, rec, next); moved || err != nil {
		return err // Its event follows.
	}
	inEffect, gating := r.governing(ctx, obj)
	v := r.look(obj, inEffect, gating, r.Clock.Now())
	v.upgrades, v.uncached = r.upgradesOf(ctx, obj), obj != cached
	rec, waits, err := r.recover(ctx, &v, rec, next)
	if waits || err != nil {
		return err
	}
	if err := r.findUnseen(ctx, &v, rec); err != nil {
		return err
	}
	if err := r.SignOfLife.Look(ctx, v, rec); err != nil {
		return err
	}
	r.remember(v, rec)
	if rec == nil && !v.deservesRecord() {
		// What it was like a moment ago may wait to be written.
		return r.mirror(ctx, v, nil, next)
	}
	status := &v1alpha1.AllowanceRecordStatus{}
	if rec != nil {
		status = rec.Status.DeepCopy()
	}
	if v.advance(ctx, status).rewrite && r.mayWrite(obj, next) {
		if rec != nil && len(newlyCarriedOut(rec.Status.History, status.History)) > 0 {
			// The rewrite takes the mark away, and with it whose change it was.
			if err := r.mirror(ctx, v, rec, next); err != nil {
				return err
			}
		}
		rewritten, err := r.rewrite(ctx, v, next)
		if err != nil {
			return err
		}
		before := v
		v = r.look(rewritten, v.policies, v.gating, v.now)
		// No content of it changes by that.
		v.content, v.unseen, v.parents, v.attached = before.content, before.unseen, before.parents, before.attached
		v.isLost, v.upgrades, v.lapsed = before.isLost, before.upgrades, before.lapsed
		v.uncached = rewritten.GetResourceVersion() != cached.GetResourceVersion()
	}
	return r.mirror(ctx, v, rec, next)
}

// look has a look at a holder.
func (r *Reconciler) look(obj *unstructured.Unstructured, policies, gating []*policy.Policy, now time.Time) view {
	v := look(obj, policies, now)
	v.gating, v.digestKey = gating, r.DigestKey
	if r.VersionToName != nil {
		v.versionToName = r.VersionToName(obj.GroupVersionKind().GroupKind())
	}
	if r.LedgerRestTime > 0 {
		_, when := lifecycle.Conditions(policies)
		v.usedUp, v.restTime, v.judged = &r.usedUp, r.LedgerRestTime, when != nil
	}
	if lag := lifecycle.LagOf(obj, policies); lag != lifecycle.NoLag {
		v.changed, v.quietTime = r.specs.since(obj, lifecycle.Tells(obj, policies), now), r.QuietTimes.of(lag)
	}
	return v
}

// governing returns the policies in effect for a holder, and those that gate it, the
// oldest first.
func (r *Reconciler) governing(ctx context.Context, obj *unstructured.Unstructured) (inEffect, gating []*policy.Policy) {
	index := r.Policies.Index()
	chain := ancestry.Chain(ctx, r.Holders, r.Namespaces, index, obj)
	if gate.ReadState(obj.GetAnnotations()).Adopted() && r.Drivers != nil {
		if driver, kind, ok := r.Drivers.Gate(ctx, obj.GroupVersionKind()); ok {
			gating = gate.PlaceIn(index, chain, driver, obj, kind).Denying
		}
	}
	return index.InEffect(chain), gating
}

// mirror has the record written where it differs, and shows on the holder whether it
// is blocked.
func (r *Reconciler) mirror(ctx context.Context, v view, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) error {
	v, err := r.withDeletion(ctx, v, rec)
	if err != nil {
		return err
	}
	before := &v1alpha1.AllowanceRecordStatus{}
	if rec != nil {
		before = &rec.Status
	}
	after := before.DeepCopy()
	parent, known := ancestry.ParentUID(ctx, r.Holders, r.Policies.Index(), v.obj)
	if !known && rec != nil {
		// What is above a claim's composite resource is found by name, and not any more
		// once the claim is gone; the record still says it.
		parent, known = record.ParentOf(rec), true
	}
	if known {
		v.parent = &parent
	}
	p, changed := v.mirror(ctx, after)
	mirror := record.Mirror{Create: v.deservesRecord(), Parent: parent, Advance: v.mirrorOnly}
	// The first look is written at once: should the operator end, and the holder be
	// deleted before it is back, nobody could see it again. Before it nothing counts of what
	// the holder holds.
	first := mirror.Create && (rec == nil || rec.Status.Phase == "")
	if !first && mayWait(before, after) {
		r.Records.MirrorSoon(record.TargetOf(v.obj), mirror, changed && rec != nil)
	} else {
		mirror.Advance = func(ctx context.Context, status *v1alpha1.AllowanceRecordStatus) bool {
			var changed bool
			p, changed = v.mirror(ctx, status)
			after = status.DeepCopy()
			return changed
		}
		if err := r.Records.MirrorNow(ctx, record.TargetOf(v.obj), mirror); err != nil {
			return err
		}
	}
	r.announce(v, before, after)
	r.announceCarriedOut(v, before, after)
	next.At(p.next)
	if rec != nil && known {
		if err := r.Records.SetParent(ctx, rec, parent); err != nil {
			return err
		}
	}
	// The record comes first: what helps is told from what it says of the moment in which
	// the holder was blocked, and a policy that changes before it does would help nobody.
	if before.Blocked == nil && after.Blocked != nil {
		return nil
	}
	return r.show(ctx, v, after.Blocked, next)
}

// mayWait reports whether what a look has found may be written together with what comes next. It may not where a
// withheld change was carried out, of which an Event tells, nor where a block ends: the record says so before the
// holder ceases to show it, so that whoever is denied something after that does not count as answered, and nobody is
// woken twice.
func mayWait(before, after *v1alpha1.AllowanceRecordStatus) bool {
	ends := before.Blocked != nil && after.Blocked == nil
	return !ends && len(newlyCarriedOut(before.History, after.History)) == 0 && sameCanonical(before, after)
}

// policiesOf names the policies of a list with their generations.
func policiesOf(policies []*policy.Policy) []string {
	names := make([]string, 0, len(policies))
	for _, p := range policies {
		names = append(names, generationOf(p))
	}
	slices.Sort(names)
	return names
}
