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

// Package target reconciles the conditions and annotations by which an object shows that
// policies affect it, at a pace that the API server does not notice (D20).
package target

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/lull"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
)

// affectedDelay is for how long changes of what policies affect are collected before
// their status says so: it is written once in that time at most.
const affectedDelay = 2 * time.Second

// workers is how many objects are looked at, and marked, at a time.
const workers = 4

// Kinds knows what the API server serves and declares of kinds.
// *discovery.Resolver is the one.
type Kinds interface {
	// ByKind returns the resource of a kind, and false where it is not served.
	ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool)
	// Schema returns what is declared about the fields of a kind, nil where nothing
	// is.
	Schema(kind schema.GroupVersionKind) change.Schema
}

// Reconciler follows for which objects which policies are in effect. It has the policies
// say for how many, and the objects show which (D19). What it remembers of objects
// saves looking at all of them whenever one changes; it is built anew by each
// process.
type Reconciler struct {
	// Client writes the marks.
	Client client.Client
	// Holders are the objects.
	Holders objectcache.Reader
	// Kinds of the objects.
	Kinds Kinds
	// Namespaces that they live in.
	Namespaces ancestry.Namespaces
	// Policies are the active policies.
	Policies *policy.Active
	// Catalog says when they change, and is told which of them affect other objects
	// now.
	Catalog *catalog.Catalog
	// Rate is how many objects are marked in a second; where it is zero, none are.
	Rate float64
	// Clock tells the time.
	Clock clock.PassiveClock
	// Events tell of objects that are written in a loop.
	Events events.EventRecorder
	// Loops are where these are noted.
	Loops *writeloop.Finder

	known  targets
	feeder *objectcache.Feeder
	pace   *pace
	losing losingKinds
	lulls  lull.Finder
}

// SetupWithManager adds the reconciler to mgr.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.pace, r.feeder = newPace(r.Rate), objectcache.NewFeeder()
	return builder.TypedControllerManagedBy[objectcache.Request](mgr).
		Named("target").
		WatchesRawSource(r.holderSource()).
		WatchesRawSource(r.policySource()).
		WatchesRawSource(r.namespaceSource(mgr.GetCache())).
		WatchesRawSource(r.feederSource()).
		WatchesRawSource(r.known.source()).
		WithOptions(controller.TypedOptions[objectcache.Request]{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// Reconcile implements reconcile.TypedReconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req objectcache.Request) (reconcile.Result, error) {
	if !r.Holders.Watches(req.GVK().GroupKind()) {
		return r.leave(ctx, req)
	}
	r.known.look(req)
	obj, err := r.Holders.Get(ctx, req.GVK(), req.Key())
	switch {
	case apierrors.IsNotFound(err) && !r.Holders.Watches(req.GVK().GroupKind()):
		r.known.touch(req)
		return r.leave(ctx, req) // Of a kind that was left in between, nothing is found.
	case apierrors.IsNotFound(err):
		r.forget(req)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	if r.Loops.Saw(req, obj, r.Clock.Now()) {
		writeloop.Tell(r.Events, obj)
	}
	now := r.seen(ctx, obj)
	now.showed = len(now.mark.texts) > 0 || r.known.get(req).showed
	r.changed(r.known.set(req, now), now.policies)
	return r.show(ctx, req, obj, now)
}

// leave takes the mark from an object whose kind no policy is for any more. Nobody is told
// of its objects any more either: of one that was changed since it was looked at, or that had
// a mark which is not there, the API server says what it shows. What was seen last may be older
// than a write of the mark, by this process or by somebody who put it back.
func (r *Reconciler) leave(ctx context.Context, req objectcache.Request) (reconcile.Result, error) {
	known := r.known.get(req)
	if r.awaits(req.GVK().GroupKind()) {
		// The first events of a kind come before all of its objects can be read; that
		// they can is a change of the catalog, upon which what is known is looked at.
		r.known.set(req, known)
		return reconcile.Result{RequeueAfter: requeue.WhenUnread}, nil
	}
	in, _, shows := known.mark.differs(inAnnotation, nil)
	if r.Rate > 0 && (r.known.look(req) || known.showed && !shows) {
		live, err := r.Holders.Live(ctx, req.GVK(), req.Key())
		switch {
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
			r.forget(req)
			return reconcile.Result{}, nil
		case err != nil:
			r.known.touch(req)
			return reconcile.Result{}, err
		}
		known.mark, known.showed = markOf(live), false
		r.known.set(req, known)
		in, _, shows = known.mark.differs(inAnnotation, nil)
	}
	if !shows || r.Rate <= 0 {
		r.forget(req)
		return reconcile.Result{}, nil
	}
	if after := r.waits(req, ""); after > 0 {
		return reconcile.Result{RequeueAfter: after}, nil
	}
	if due, again := r.pace.due(req, known.parent, "", string(in), true, r.Clock.Now()); !due {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	version, err := r.write(ctx, req, known.mark, in, "")
	if err != nil {
		return reconcile.Result{}, err
	}
	if version == "" {
		r.known.touch(req) // Gone, or another one of its name, which may show something.
	}
	known.mark.texts, known.showed = maps.Clone(known.mark.texts), false
	delete(known.mark.texts, in)
	r.known.set(req, known)
	return reconcile.Result{RequeueAfter: time.Millisecond}, nil
}

// awaits reports whether a policy is for a kind whose objects cannot be read yet.
func (r *Reconciler) awaits(kind schema.GroupKind) bool {
	return slices.ContainsFunc(r.Catalog.Usable(), func(p *policy.Policy) bool { return p.For.GroupKind() == kind })
}

func (r *Reconciler) forget(req objectcache.Request) {
	r.changed(r.known.forget(req), nil)
	r.pace.forget(req)
	r.Loops.Forget(req)
}

// seen returns what can be seen of an object.
func (r *Reconciler) seen(ctx context.Context, obj *unstructured.Unstructured) target {
	index := r.Policies.Index()
	parent, _ := ancestry.ParentUID(ctx, r.Holders, index, obj)
	t := target{mark: markOf(obj), parent: parent}
	for _, p := range index.InEffect(ancestry.Chain(ctx, r.Holders, r.Namespaces, index, obj)) {
		t.policies = append(t.policies, p.Name)
		if p.TargetStatus == v1alpha1.TargetStatusShow && p.AboutChildren() {
			t.show = append(t.show, p.Name)
		}
	}
	return t
}

// changed tells the policies that were in effect for an object, and those that are,
// where these are not the same.
func (r *Reconciler) changed(before, after []string) {
	if !slices.Equal(before, after) {
		r.Catalog.NotifyLater(slices.Concat(before, after), affectedDelay)
	}
}
