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
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/internal/holders"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/scope"
)

// affectedDelay is for how long changes of what policies affect are collected before
// their status says so: it is written once in that time at most.
const affectedDelay = 2 * time.Second

// Target follows for which objects which policies are in effect, and has the
// policies say so (D19). What it remembers of objects saves looking at all of them
// whenever one changes; it is built anew by each process.
type Target struct {
	// Holders are the objects.
	Holders HolderReader
	// Namespaces that they live in.
	Namespaces scope.Namespaces
	// Policies are those that are active.
	Policies *policy.Active
	// Catalog says when they change, and is told which of them affect other objects now.
	Catalog *Catalog

	known targets
}

// SetupWithManager adds the reconciler to mgr. It handles one object at a time, as
// nearly all it does is to look.
func (r *Target) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[holders.Request](mgr).
		Named("target").
		WatchesRawSource(r.Holders.Source()).
		WatchesRawSource(r.policySource()).
		WatchesRawSource(r.namespaceSource(mgr.GetCache())).
		WatchesRawSource(r.known.source()).
		Complete(r)
}

// Reconcile implements reconcile.TypedReconciler.
func (r *Target) Reconcile(ctx context.Context, req holders.Request) (reconcile.Result, error) {
	obj, err := r.Holders.Get(ctx, req.GVK, req.NamespacedName)
	switch {
	case apierrors.IsNotFound(err):
		r.changed(r.known.forget(req), nil)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	now := r.seen(ctx, obj)
	r.changed(r.known.set(req, now), now.policies)
	return reconcile.Result{}, nil
}

// seen is what can be seen of an object.
func (r *Target) seen(ctx context.Context, obj *unstructured.Unstructured) target {
	index := r.Policies.Index()
	parent, _ := scope.ParentUID(ctx, r.Holders, index, obj)
	t := target{uid: obj.GetUID(), parent: parent}
	for _, p := range index.InEffect(scope.Chain(ctx, r.Holders, r.Namespaces, index, obj)) {
		t.policies = append(t.policies, p.Name)
	}
	return t
}

// changed tells the policies that were in effect for an object, and those that are,
// where these are not the same.
func (r *Target) changed(before, after []string) {
	if !slices.Equal(before, after) {
		r.Catalog.NotifyLater(slices.Concat(before, after), affectedDelay)
	}
}
