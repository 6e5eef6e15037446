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
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/controller/updates"
	"kausality.io/operator/internal/metrics"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

// +kubebuilder:rbac:groups=kausality.io,resources=upgradeallowances,verbs=list;watch
// +kubebuilder:rbac:groups=kausality.io,resources=upgradeallowances/status,verbs=patch

const (
	// lookInterval is how often is looked what has become of an UpgradeAllowance.
	lookInterval = 10 * time.Second
	// maxImages and maxBlocked are how many images and parents a status names.
	maxImages, maxBlocked = 64, 16
)

var parents = metrics.Factory.NewGaugeVec(prometheus.GaugeOpts{
	Namespace: metrics.Namespace,
	Name:      "upgrade_parents",
	Help:      "Number of parents that an UpgradeAllowance is moving, has moved, or for which something of its service account was denied since.",
}, []string{"upgradeallowance", "state"})

// The states of parents.
const (
	stateMoving  = "moving"
	stateMoved   = "moved"
	stateBlocked = "blocked"
)

// Reconciler accepts UpgradeAllowances, and says in their status what has become of them.
type Reconciler struct {
	// Client reads them from a cache, and writes their status.
	Client client.Client
	// Kinds are those that are served.
	Kinds Kinds
	// Policies are those that are active.
	Policies *policy.Active
	// Records tell which parents have moved, and what was denied.
	Records *record.Store
	// Holders are the parents, and Namespaces knows the labels of theirs.
	Holders    ancestry.Getter
	Namespaces ancestry.Namespaces
	// Runners know what runs.
	Runners upgrade.Runners
	// Accounts knows service accounts; nil where all that are named exist.
	Accounts Accounts
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Accounts knows service accounts. *identity.Pods is one.
type Accounts interface {
	// Exists reports whether the service account of the user is not known to be absent.
	Exists(ctx context.Context, username string) bool
}

// SetupWithManager adds the reconciler to mgr.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("upgradeallowance").
		For(&v1alpha1.UpgradeAllowance{}, builder.WithPredicates(predicate.Or(
			updates.OfSpec(), predicate.AnnotationChangedPredicate{}))).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	live := &v1alpha1.UpgradeAllowance{}
	if err := r.Client.Get(ctx, req.NamespacedName, live); err != nil {
		if apierrors.IsNotFound(err) {
			parents.DeletePartialMatch(prometheus.Labels{"upgradeallowance": req.Name})
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	obj := live.DeepCopy()
	v, err := r.look(ctx, obj)
	if err != nil {
		return reconcile.Result{}, err
	}
	v.say(&obj.Status)
	for state, n := range map[string]int32{stateMoving: obj.Status.Moving, stateMoved: obj.Status.Moved, stateBlocked: obj.Status.Blocked} {
		parents.WithLabelValues(obj.Name, state).Set(float64(n))
	}
	if !equality.Semantic.DeepEqual(live.Status, obj.Status) {
		err = r.Client.Status().Patch(ctx, obj, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
	}
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: requeue.AfterConflict}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("writing the status of UpgradeAllowance %s: %w", obj.Name, err)
	}
	return reconcile.Result{RequeueAfter: lookInterval}, nil
}

// look reads what there is to say about an UpgradeAllowance.
func (r *Reconciler) look(ctx context.Context, u *v1alpha1.UpgradeAllowance) (*view, error) {
	v := &view{u: u, now: metav1.NewTime(r.Clock.Now())}
	v.allowance, v.errs = upgrade.Compile(u, r.Kinds.KindFor)
	v.bounded = slices.ContainsFunc(v.allowance.Entries, func(e policy.Entry) bool {
		return slices.ContainsFunc(r.Policies.Index().Policies(), func(p *policy.Policy) bool { return !e.IsExternal() && p.Bounds(e.Kind) })
	})
	v.absent = r.Accounts != nil && !r.Accounts.Exists(ctx, u.Spec.ServiceAccount)
	images, err := r.Runners.Running(ctx, u.Spec.ServiceAccount, v.allowance.Triggers)
	switch {
	case apierrors.IsForbidden(err):
		v.forbidden = true
	case err != nil:
		return nil, err
	}
	v.runs = images[:min(len(images), maxImages)]
	records, err := r.Records.OfVersions(ctx, u.Spec.ServiceAccount)
	if err != nil {
		return nil, err
	}
	for i := range records {
		if err := r.count(ctx, v, &records[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(v.blocked, func(x, y v1alpha1.BlockedParent) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return v, nil
}

// count adds what the record of a parent says of its upgrade.
func (r *Reconciler) count(ctx context.Context, v *view, rec *v1alpha1.AllowanceRecord) error {
	if rec.Status.EndedAt != nil {
		return nil
	}
	v.countParent(rec.Status.Versions)
	if !v.allowance.IsBlocked(&rec.Status, v.now.Time) {
		return nil
	}
	parent, err := r.Holders.Get(ctx, record.GVK(rec.Spec.TargetRef), record.Key(rec.Spec.TargetRef))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %s, for which something was denied: %w", rec.Spec.TargetRef.Kind, record.Key(rec.Spec.TargetRef), err)
	}
	holder := ancestry.Holder(ctx, r.Namespaces, parent)
	if v.allowance.Selects(holder.Labels, holder.NamespaceLabels) {
		v.blocked = append(v.blocked, blockedParent(rec))
	}
	return nil
}

func blockedParent(rec *v1alpha1.AllowanceRecord) v1alpha1.BlockedParent {
	d := rec.Status.LastDenial
	out := v1alpha1.BlockedParent{
		Kind: rec.Spec.TargetRef.Kind, Namespace: rec.Spec.TargetRef.Namespace, Name: rec.Spec.TargetRef.Name,
		Paths: d.Paths[:min(len(d.Paths), maxBlocked)],
	}
	if d.Name != "" {
		out.Child = d.Kind + "/" + d.Name
	}
	return out
}
