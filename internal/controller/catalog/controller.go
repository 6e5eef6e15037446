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

package catalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/updates"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// +kubebuilder:rbac:groups=kausality.io,resources=allowancepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

const (
	// startSync limits how long the objects of all kinds may take to be cached when
	// the operator starts, before it goes on with those that are.
	startSync = 30 * time.Second
	// longestStart is the same where nothing is wrong, and there only is much to read.
	longestStart = 5 * time.Minute
	// newKindSync is the same for a new kind while the operator runs. One that
	// takes longer is looked at again, so that it holds up no other policy.
	newKindSync = time.Second
	// definitionsQuiet is how long changes of definitions are collected: they
	// come by the hundred when a provider is installed.
	definitionsQuiet = 100 * time.Millisecond
	// maxIndexBackoff bounds the time between two attempts after errors.
	maxIndexBackoff = 30 * time.Second
)

// everything is the only request that Reconciler reconciles: the policies are
// indexed together.
var everything = reconcile.Request{NamespacedName: types.NamespacedName{Name: "policies"}}

// Kinds knows what the API server serves.
type Kinds interface {
	// KindFor returns the kind of a resource, and false where it is not served.
	KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool)
	// ByKind returns the resource of a kind, and false where it is not served.
	ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool)
	// ByResource returns a resource by its name, and false where it is not served.
	ByResource(resource schema.GroupVersionResource) (discovery.Resource, bool)
	// Categories are those that a kind says it belongs to.
	Categories(kind schema.GroupKind) []string
	// Known reports whether what is not found is known not to be served.
	Known() bool
	// Undeclared says why no object of a kind has anything that a pattern names, and
	// nothing where one may, or nothing is known of the kind.
	Undeclared(kind schema.GroupVersionKind, pattern change.Pattern) string
	// TypeOf is what kind of value objects of a kind have at a pattern, empty where that
	// is not declared.
	TypeOf(kind schema.GroupVersionKind, pattern change.Pattern) change.ValueType
}

// UpdatedKinds are Kinds that have to be told what to know, and when that may
// have changed. *discovery.Resolver is the one.
type UpdatedKinds interface {
	Kinds
	// Update looks up what may have changed of the named group versions.
	Update(ctx context.Context, named []schema.GroupVersion) (changed bool, err error)
	// FollowCategories makes the next Update look for the kinds of categories, too.
	FollowCategories(names ...string)
	// NextUpdate is when to do so again, if ever.
	NextUpdate() (time.Duration, bool)
	// Invalidate says that definitions of a group changed; it reports whether an
	// Update is due.
	Invalidate(group string) bool
}

// GateKinds knows the kinds whose objects have a gate (D16). *gates.Registry is the
// one.
type GateKinds interface {
	// Categories are those of all kinds that have gates.
	Categories() []string
	// Behind are the resources that External entries of the policies may be about.
	Behind(ctx context.Context, policies ...*policy.Policy) []discovery.Resource
	// Gate returns the system behind objects of a kind, and false where there is none.
	Gate(ctx context.Context, kind schema.GroupVersionKind) (gate.Driver, gate.Kind, bool)
	// Keep says of which kinds some object is under its gate, and under which providers: these
	// have gates whatever is said of them now. It returns all kinds to follow.
	Keep(kinds map[schema.GroupVersionKind][]string) []schema.GroupVersionKind
}

// HolderWatcher keeps the objects of some kinds in a cache.
type HolderWatcher interface {
	// Watch caches the objects of exactly these kinds. It returns once all are
	// synced or ctx has ended, with an error for those that are not.
	Watch(ctx context.Context, kinds []schema.GroupVersionKind) error
	// Watches reports whether all objects of the kind are in the cache.
	Watches(kind schema.GroupKind) bool
	// Failing reports whether they are not, as the API server has refused the last try to read them.
	Failing(kind schema.GroupKind) bool
	// Reading reports whether objects of some kind are still being read.
	Reading() bool
	// List goes through all cached objects of a kind.
	List(ctx context.Context, kind schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error]
}

// Reconciler compiles the policies, watches the objects of the kinds that they
// are for, and so keeps the Catalog. It runs on each replica, as each has a
// webhook that judges by it.
type Reconciler struct {
	// Reader reads policies.
	Reader client.Reader
	// Look reads them where it may be behind, and tells when that is due; it may be nil.
	Look *Look
	// Catalog is kept up to date.
	Catalog *Catalog
	// Kinds are updated as policies and CustomResourceDefinitions change.
	Kinds UpdatedKinds
	// Holders are told which kinds to watch.
	Holders HolderWatcher
	// Rights knows what the operator may; nil where it may all that policies need.
	Rights Rights
	// Records tell of objects that were under a gate.
	Records *record.Store
	// Gates are looked for where policies have External entries.
	Gates GateKinds

	// started is when the policies were first indexed.
	started time.Time
	// behind are the resources that External entries were last known to be about.
	behind []discovery.Resource
	// lingering are kinds that no policy gates any more, while objects are still as
	// their gates left them: somebody has to see these.
	lingering []schema.GroupVersionKind
	// watchedGates are the kinds that were last watched for their gates.
	watchedGates []schema.GroupVersionKind
}

// SetupWithManager adds the reconciler to mgr.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	enqueue := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{everything}
	})
	atStart := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(everything) // with no policies, nothing else would
		return nil
	})
	r.Catalog.reviewed = r.Rights != nil
	b := ctrl.NewControllerManagedBy(mgr).Named("policyindex")
	if r.Look != nil {
		b = b.WatchesRawSource(source.Channel(r.Look.due, enqueue))
	}
	return b.
		Watches(&v1alpha1.AllowancePolicy{}, enqueue, builder.WithPredicates(concerning())).
		WatchesMetadata(discovery.Definition(), r.definitionEvents()).
		WatchesRawSource(atStart).
		WithOptions(controller.Options{
			NeedLeaderElection: new(false),
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				50*time.Millisecond, maxIndexBackoff),
		}).
		Complete(r)
}

// concerning selects updates of policies that compile goes by: what else their status says follows from
// that. All policies are looked at for each update.
func concerning() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, known := e.ObjectOld.(*v1alpha1.AllowancePolicy)
		after, ok := e.ObjectNew.(*v1alpha1.AllowancePolicy)
		return !known || !ok || updates.IsOfSpec(before, after) ||
			before.Status.AdoptedGeneration != after.Status.AdoptedGeneration ||
			policy.RankOf(before, before.Status.AdoptedGeneration) != policy.RankOf(after, after.Status.AdoptedGeneration)
	}}
}

// Ready returns a readiness check: it fails until the policies that there were at the
// start are indexed, and their objects are cached, or cannot be, or have taken too long.
func (r *Reconciler) Ready(*http.Request) error {
	if !r.Catalog.Begun() {
		return errors.New("the policies are not indexed yet")
	}
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	var policies v1alpha1.AllowancePolicyList
	if err := r.Look.over(r.Reader).List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil { // Nobody changes them.
		return reconcile.Result{}, fmt.Errorf("listing policies: %w", err)
	}
	kept := r.stillGated(ctx)
	r.lingering = slices.Collect(maps.Keys(kept))
	r.Kinds.FollowCategories(r.categories(policies.Items)...)
	named := groupVersions(policies.Items)
	for _, kind := range r.Gates.Keep(kept) {
		// It is followed whatever categories its definition has now.
		if gv := kind.GroupVersion(); !slices.Contains(named, gv) {
			named = append(named, gv)
		}
	}
	changed, kindsErr := r.Kinds.Update(ctx, named)
	if changed {
		logf.FromContext(ctx).V(1).Info("The API server serves other kinds that policies name")
	}
	known := r.Catalog.Begun()
	// A policy that is gone, or that has changed, does not wait for caches.
	r.Catalog.compile(policies.Items, r.Kinds, changed)
	reviewErr := r.review(ctx)
	r.followGates(ctx)
	watchErr := r.watch(ctx)
	r.Catalog.watched(r.Holders)
	if r.started.IsZero() {
		r.started = time.Now()
	}
	unknown := errors.Join(kindsErr, reviewErr)
	if unknown == nil && (!r.Holders.Reading() || time.Since(r.started) > longestStart) {
		r.Catalog.begin()
	}

	if errors.Is(watchErr, context.DeadlineExceeded) {
		// The informers go on by themselves; all there is to do is look again.
		logf.FromContext(ctx).Info("Some objects are not cached yet; the policies for them wait", "reason", watchErr.Error())
		return reconcile.Result{RequeueAfter: newKindSync}, unknown
	}
	if err := errors.Join(unknown, watchErr); err != nil {
		return reconcile.Result{}, err
	}
	if !known && len(kept) > 0 {
		// What records told of is cached now, and says under which providers it is gated.
		return reconcile.Result{RequeueAfter: definitionsQuiet}, nil
	}
	again := r.reviewAgain()
	if next, ok := r.Kinds.NextUpdate(); ok && (again == 0 || next < again) {
		again = max(next, definitionsQuiet)
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// categories returns the categories of kinds to look for: which kinds have gates matters where a
// policy has External entries.
func (r *Reconciler) categories(policies []v1alpha1.AllowancePolicy) []string {
	for i := range policies {
		if slices.ContainsFunc(policy.EntriesOf(&policies[i].Spec), func(e v1alpha1.PolicyEntry) bool {
			return e.Relation == v1alpha1.RelationExternal
		}) {
			return r.Gates.Categories()
		}
	}
	if len(r.lingering) > 0 {
		return r.Gates.Categories()
	}
	return nil
}

// followGates tells everybody who waits for policies where their External entries are
// about other kinds now. That can change without any kind: a provider takes a
// definition over after it was made.
func (r *Reconciler) followGates(ctx context.Context) {
	behind := r.Gates.Behind(ctx, r.Catalog.Policies()...)
	if !equality.Semantic.DeepEqual(r.behind, behind) {
		r.behind = behind
		r.Catalog.NotifyAll()
	}
}

// watch caches the objects of the kinds that policies are for.
func (r *Reconciler) watch(ctx context.Context) error {
	timeout := newKindSync
	if !r.Catalog.Begun() {
		timeout = startSync
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	usable := r.Catalog.Usable()
	holders := make([]schema.GroupVersionKind, 0, len(usable))
	for _, p := range usable {
		holders = append(holders, p.For)
	}
	holders = append(holders, r.gated(ctx, usable)...)
	if err := r.Holders.Watch(ctx, holders); err != nil {
		return fmt.Errorf("caching the objects that policies are for: %w", err)
	}
	return nil
}

// definitionEvents reconcile where a definition belongs to a group that policies
// name.
func (r *Reconciler) definitionEvents() handler.EventHandler {
	enqueue := func(definition client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		// A definition is named after its resource: widgets.example.com.
		_, group, _ := strings.Cut(definition.GetName(), ".")
		if r.Kinds.Invalidate(group) {
			queue.AddAfter(everything, definitionsQuiet)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.Object, queue)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.ObjectNew, queue)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(e.Object, queue)
		},
	}
}
