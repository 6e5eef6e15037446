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

package generating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/updates"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
	"kausality.io/operator/internal/record"
)

const (
	// workers is how many triggers are seen to at a time.
	workers = 8
	// again is when to look again for what is about to be known.
	again = 100 * time.Millisecond
	// afterBehind is when to look again for what a watch is to catch up with, which takes seconds.
	afterBehind = time.Second
	// defaultRetry is when to look again for what somebody has to do something about.
	defaultRetry = 15 * time.Second
	// seldom is after how many retry intervals a write is tried again that AllowancePolicies refuse, though
	// nothing has changed of what is watched: the AllowancePolicies may have.
	seldom = 20
	// firstBackoff and maxBackoff are the times between tries of what fails.
	firstBackoff, maxBackoff = 200 * time.Millisecond, 20 * time.Second
	// defaultInterval is between two writes of the status of one policy.
	defaultInterval = time.Second
	// maxSharers is how many triggers of a changed object are looked at again. One is enough, where
	// it is still there.
	maxSharers = 8
	// pageSize is how many objects are listed at a time.
	pageSize = 500
)

// namespaceKind is the kind of Namespaces.
var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

// Reconciler carries out GeneratingPolicies.
type Reconciler struct {
	// Client reads policies from a cache, and writes their status.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Discovery asks what it serves.
	Discovery discovery.DiscoveryInterfaceWithContext
	// Records remember what was made once.
	Records *record.Store
	// Events are told on policies.
	Events events.EventRecorder
	// Notary knows what admission has noted on triggers, and on what is read.
	Notary generate.Notary
	// Clock tells the time.
	Clock clock.PassiveClock
	// DefaultAccount is the user name of the service account of policies that name none.
	DefaultAccount string
	// Namespace is the operator's, in which requests are kept that are triggers.
	Namespace string
	// Asked is the name of the configuration that has the API server ask about such requests.
	Asked string
	// Retry is when what waits for somebody to do something is looked at again, such as to give a
	// right; 15 seconds where it is left out.
	Retry time.Duration
	// Stale reports whether the manager's cache of Namespaces may be older than what others see; nil where
	// it never is.
	Stale func() bool
	// Rate is how many objects a second are written for all policies together, and twice as many at once;
	// DefaultRate where it is left out.
	Rate float64
	// Interval is the least time between two writes of the status of one policy; a second where it is
	// left out.
	Interval time.Duration

	book    *book
	serving *serving
	rights  *reviews
	writer  *writer
	written *written
	// objects are triggers and what is read, results what was made, kept the Secrets that keep requests.
	objects, results, kept *watches
	// requests knows which of these keep what.
	requests     *requests
	policyQueue  queue[reconcile.Request]
	triggerQueue queue[request]
}

// queue is the work queue of a controller, once that has started.
type queue[R comparable] struct {
	add chan struct{}
	in  workqueue.TypedRateLimitingInterface[R]
}

func newQueue[R comparable]() queue[R] { return queue[R]{add: make(chan struct{})} }

// source returns what a controller hands its queue to.
func (q *queue[R]) source() source.TypedSource[R] {
	return source.TypedFunc[R](func(_ context.Context, in workqueue.TypedRateLimitingInterface[R]) error {
		q.in = in
		close(q.add)
		return nil
	})
}

// hasStarted reports whether work is done that is put in.
func (q *queue[R]) hasStarted() bool {
	select {
	case <-q.add:
		return true
	default:
		return false
	}
}

// put adds work, after a while. Before the controller has started there is none to do.
func (q *queue[R]) put(r R, after time.Duration) {
	if q.hasStarted() {
		q.in.AddAfter(r, after)
	}
}

// SetupWithManager has the manager run it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	var err error
	r.book = newBook()
	r.serving = &serving{discovery: r.Discovery, ready: readiness(r.Discovery.RESTClient()), clock: r.Clock}
	if r.Stale == nil {
		r.Stale = func() bool { return false }
	}
	r.Retry, r.Interval = cmp.Or(r.Retry, defaultRetry), cmp.Or(r.Interval, defaultInterval)
	r.rights = &reviews{client: r.Client, clock: r.Clock, refusedFor: r.Retry / 2}
	r.writer = newWriter(mgr.GetConfig(), cmp.Or(r.Rate, DefaultRate))
	r.written = newWritten(r.Clock)
	r.policyQueue, r.triggerQueue = newQueue[reconcile.Request](), newQueue[request]()
	r.requests = newRequests(r.Clock)
	if r.objects, err = newWatches(mgr, "", "", r.rights); err != nil {
		return err
	}
	if r.results, err = newWatches(mgr, v1alpha1.LabelGeneratedBy, "", r.rights); err != nil {
		return err
	}
	if r.kept, err = newWatches(mgr, v1alpha1.LabelRequestFor, r.Namespace, r.rights); err != nil {
		return err
	}
	r.objects.changed, r.results.changed, r.kept.changed = r.objectChanged, r.resultChanged, r.secretChanged
	r.results.ended = r.book.forgetKind
	r.objects.lender, r.results.lender = ofOperator{mgr.GetCache(), r.Stale}, r.objects

	triggers, err := controller.NewTyped("generatingtrigger", mgr, controller.TypedOptions[request]{
		Reconciler:              reconcile.TypedFunc[request](r.reconcileTrigger),
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[request](firstBackoff, maxBackoff),
	})
	if err != nil {
		return fmt.Errorf("making the controller of triggers: %w", err)
	}
	policies, err := controller.NewTyped("generatingpolicy", mgr, controller.TypedOptions[reconcile.Request]{
		Reconciler:  reconcile.Func(r.reconcilePolicy),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, maxBackoff),
	})
	if err != nil {
		return fmt.Errorf("making the controller of GeneratingPolicies: %w", err)
	}
	return errors.Join(
		triggers.Watch(r.triggerQueue.source()),
		policies.Watch(r.policyQueue.source()),
		policies.Watch(source.Kind(mgr.GetCache(), client.Object(&v1alpha1.GeneratingPolicy{}), &handler.EnqueueRequestForObject{},
			predicate.Or[client.Object](updates.OfSpec(), predicate.AnnotationChangedPredicate{}))),
		triggers.Watch(source.TypedKind(mgr.GetCache(), client.Object(&v1alpha1.AllowancePolicy{}),
			handler.TypedEnqueueRequestsFromMapFunc(r.allowanceChanged), updates.OfSpec())),
	)
}

// afterAllowance is when to try again what AllowancePolicies refuse after one of them has changed, come or
// gone: whoever answers hears of that by a watch of its own.
const afterAllowance = 2 * time.Second

// allowanceChanged has the triggers looked at again for which AllowancePolicies refuse something: one of
// them is another one now, and may let it through.
func (r *Reconciler) allowanceChanged(context.Context, client.Object) []request {
	for _, req := range r.book.allUncaused() {
		r.triggerQueue.put(req, afterAllowance)
	}
	return nil
}

// look has triggers looked at.
func (r *Reconciler) look(requests ...request) {
	for _, req := range requests {
		r.triggerQueue.put(req, 0)
	}
}

// say has the status of a policy written soon.
func (r *Reconciler) say(policy string) {
	r.policyQueue.put(requestOf(policy), r.Interval)
}

// objectChanged looks at whom a change concerns of an object that is a trigger, is read, or is a
// Namespace with triggers.
func (r *Reconciler) objectChanged(of resource, before, after *unstructured.Unstructured) {
	is := after
	if is == nil {
		is = before
	}
	id := idOf(is)
	r.wakeEnding(id)
	for _, e := range r.book.all() {
		if e.isOf(id.GroupKind()) {
			r.look(request{e.Name, id})
		}
	}
	var sets []labels.Set
	for _, object := range []*unstructured.Unstructured{before, after} {
		if object != nil {
			sets = append(sets, object.GetLabels())
		}
	}
	r.look(r.book.readersOf(of.gvr, id.Namespace, id.Name, sets...)...)
	if of.gvk == namespaceKind && before != nil && after != nil && (!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations())) {
		r.namespaceChanged(id.Name)
	}
}

// namespaceChanged looks at all triggers in a namespace.
func (r *Reconciler) namespaceChanged(namespace string) {
	for _, e := range r.book.all() {
		for _, of := range e.resources {
			if !of.namespaced || !r.objects.isSynced(of.gvk) {
				continue
			}
			found, err := r.objects.list(context.Background(), of.gvk, namespace, labels.Everything())
			if err != nil {
				continue // It is not watched any more.
			}
			for i := range found {
				r.look(request{e.Name, idOf(&found[i])})
			}
		}
	}
}

// resultChanged looks at whom a change of what was made concerns.
func (r *Reconciler) resultChanged(of resource, before, after *unstructured.Unstructured) {
	is, marks, knows := after, (*plan.Marks)(nil), request{}
	if after == nil {
		is = before
	}
	id := idOf(is)
	if after != nil {
		marks, _ = plan.MarksOf(id, after.Object)
		knows = r.written.shows(id, after)
	} else {
		r.written.gone(id, before)
	}
	r.wakeEnding(id)
	var concerned []request
	for _, known := range []*plan.Marks{r.book.noteMade(id, of.gvk, marks), marks} {
		if known == nil {
			continue
		}
		for _, trigger := range known.Triggers[:min(len(known.Triggers), maxSharers)] {
			concerned = append(concerned, request{known.Policy.Name, trigger})
		}
	}
	concerned = append(concerned, r.book.wanting(id)...)
	r.look(slices.DeleteFunc(concerned, func(by request) bool { return by == knows })...)
}

func idOf(object *unstructured.Unstructured) generate.ID { return generate.IDOf(object.Object) }

// isOf reports whether the objects of a kind are triggers, if they match.
func (e *entry) isOf(kind schema.GroupKind) bool {
	_, ok := e.resource(kind)
	return ok
}

func (e *entry) resource(kind schema.GroupKind) (resource, bool) {
	for _, of := range e.resources {
		if of.gvk.GroupKind() == kind {
			return of, true
		}
	}
	return resource{}, false
}
