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

// Package upgrade has the reconcilers of UpgradeAllowances (D12): one on each replica that has
// the webhook know them, one that says in their status what has become of them, and one that
// ends the upgrades of parents.
package upgrade

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// +kubebuilder:rbac:groups=kausality.io,resources=upgradeallowances,verbs=list;watch

// Kinds knows what the API server serves of what policies name.
type Kinds interface {
	// KindFor returns the kind of a resource, and false where it is not served.
	KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool)
}

// Index keeps what the webhook knows of UpgradeAllowances equal to those that are accepted. It
// runs on each replica, as each has a webhook.
type Index struct {
	// Client reads them from a cache.
	Client client.Reader
	// Kinds are those that are served.
	Kinds Kinds
	// Active is set.
	Active *upgrade.Active
	// Changes tell that other kinds may be served.
	Changes <-chan event.GenericEvent
}

// SetupWithManager adds the reconciler to mgr.
func (r *Index) SetupWithManager(mgr ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "upgradeallowances"}}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("upgradeindex").
		Watches(&v1alpha1.UpgradeAllowance{}, all).
		WatchesRawSource(source.Channel(r.Changes, all)).
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Index) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var list v1alpha1.UpgradeAllowanceList
	if err := r.Client.List(ctx, &list); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing UpgradeAllowances: %w", err)
	}
	var active []*upgrade.Allowance
	for i := range list.Items {
		if a, ok := usable(&list.Items[i], r.Kinds); ok {
			active = append(active, a)
		}
	}
	r.Active.Set(active)
	return reconcile.Result{}, nil
}

// usable compiles an UpgradeAllowance, and reports whether it lets something through: it has
// been accepted, so that it is known what ran before, nothing in it is wrong, it is known who
// wants it, and nobody has withdrawn it.
func usable(u *v1alpha1.UpgradeAllowance, kinds Kinds) (*upgrade.Allowance, bool) {
	a, errs := upgrade.Compile(u, kinds.KindFor)
	return a, len(errs) == 0 && u.Status.AcceptedAt != nil && upgrade.IsStamped(u) && u.DeletionTimestamp == nil
}
