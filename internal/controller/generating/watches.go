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
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/watchstate"
)

var (
	// errNotSynced says that a watch has just begun.
	errNotSynced = errors.New("the watch has just begun")
	// errBehind says that a watch was down, and what it shows may be older than what others see.
	errBehind = fmt.Errorf("%w again", errNotSynced)
)

// watches keeps a cache of the kinds that policies need.
type watches struct {
	cache  cache.Cache
	rights *reviews
	// namespace is where objects are watched, empty for all of them.
	namespace string
	// changed is told of each change; before is nil for a new object, after for one that is gone.
	changed func(resource, *unstructured.Unstructured, *unstructured.Unstructured)
	// ended is told of a kind that is not watched any more; it may be nil.
	ended func(schema.GroupVersionKind)
	// label that objects have; empty for all of them.
	label string
	// lender is asked for each kind first; it may be nil. Of its objects those count that have the label.
	lender lender

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*watched
}

// view is a watch of a kind, and what it shows.
type view struct {
	informer cache.Informer
	// from is where its objects are read.
	from client.Reader
	// stale reports whether what it shows may be older than what others see.
	stale func() bool
}

// lender watches kinds with all of their objects, also for others.
type lender interface {
	// lend returns the watch of a kind, nil where there is none. It goes on until it is given back.
	lend(ctx context.Context, gvk schema.GroupVersionKind) (*view, error)
	// giveBack says that the watch of a kind is not needed any more.
	giveBack(ctx context.Context, gvk schema.GroupVersionKind) error
}

// ofOperator lends what the operator watches whatever policies there are: Namespaces.
type ofOperator struct {
	cache cache.Cache
	stale func() bool
}

func (o ofOperator) lend(ctx context.Context, gvk schema.GroupVersionKind) (*view, error) {
	if gvk != namespaceKind {
		return nil, nil
	}
	informer, err := o.cache.GetInformer(ctx, ancestry.NewNamespace(), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching namespaces: %w", err)
	}
	return &view{informer: informer, from: o.cache, stale: o.stale}, nil
}

func (ofOperator) giveBack(context.Context, schema.GroupVersionKind) error { return nil }

// watched is a kind that is watched.
type watched struct {
	view

	policies map[string]bool
	// borrowed is set where the watch is the lender's.
	borrowed toolscache.ResourceEventHandlerRegistration
}

// hasSynced reports whether all objects are known.
func (w *watched) hasSynced() bool {
	return w.informer.HasSynced() && (w.borrowed == nil || w.borrowed.HasSynced())
}

// lent stands for the borrower among the policies that need a watch.
const lent = "(lent)"

// newInformer makes an informer of objects. Where the API server has gone back in time, it lists them
// anew; whatever was concluded from them ends with the operator, which notices the same.
func newInformer(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	state := watchstate.New(clock.RealClock{})
	return watchstate.Informer{
		SharedIndexInformer: toolscache.NewSharedIndexInformer(watchstate.Rewind{}.Over(state.Over(lw)), example, resync, indexers),
		State:               state,
	}
}

// newWatches makes a cache of objects. Where a label is given, only what has it is watched, with all of it;
// else WithoutFields applies. An empty namespace stands for all of them.
func newWatches(mgr ctrl.Manager, label, namespace string, rights *reviews) (*watches, error) {
	yes := true
	opts := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ReaderFailOnMissingInformer: true, DefaultUnsafeDisableDeepCopy: &yes, NewInformer: newInformer,
	}
	if namespace != "" {
		// With DefaultNamespaces the informer would be one of several, of which no state is known.
		opts.DefaultFieldSelector = fields.OneTermEqualSelector("metadata.namespace", namespace)
	}
	if label != "" {
		labeled, err := labels.NewRequirement(label, selection.Exists, nil)
		if err != nil {
			return nil, fmt.Errorf("selecting what has label %s: %w", label, err)
		}
		opts.DefaultLabelSelector = labels.NewSelector().Add(*labeled)
	} else {
		opts.DefaultTransform = WithoutFields
	}
	c, err := cache.New(mgr.GetConfig(), opts)
	if err != nil {
		return nil, fmt.Errorf("making the cache of GeneratingPolicies: %w", err)
	}
	return &watches{cache: c, rights: rights, namespace: namespace, label: label, kinds: map[schema.GroupVersionKind]*watched{}}, mgr.Add(c)
}

// WithoutFields is a TransformFunc for the cache that Namespaces are in. Of an object that no policy made it
// drops the fields in managedFields: who wrote last, and when, is enough.
func WithoutFields(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok && !hasLabel(object, v1alpha1.LabelGeneratedBy) {
		managers := object.GetManagedFields()
		for i := range managers {
			managers[i].FieldsV1 = nil
		}
		object.SetManagedFields(managers)
	}
	return obj, nil
}

// follow watches a kind for a policy, and returns nil once all of its objects are known.
func (w *watches) follow(ctx context.Context, of resource, policy string) error {
	w.mu.Lock()
	known, ok := w.kinds[of.gvk]
	if ok {
		known.policies[policy] = true
	}
	w.mu.Unlock()
	if ok {
		if !known.hasSynced() {
			return errNotSynced
		}
		return nil
	}
	if borrowed, err := w.borrow(ctx, of, policy); borrowed || err != nil {
		return cmp.Or(err, errNotSynced)
	}
	for _, verb := range []string{verbList, verbWatch} {
		if err := w.rights.require(ctx, right{verb: verb, GroupResource: of.gvr.GroupResource(), namespace: w.namespace}); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if begun, ok := w.kinds[of.gvk]; ok {
		begun.policies[policy] = true
		return errNotSynced
	}
	made, err := w.cache.GetInformer(ctx, objectOf(of.gvk), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %s: %w", of.gvr.GroupResource(), err)
	}
	begun, ok := made.(watchstate.Informer)
	if !ok {
		return fmt.Errorf("watching %s: its informer is a %T, of which nobody knows how its watch does", of.gvr.GroupResource(), made)
	}
	if _, err := begun.AddEventHandler(w.handler(of)); err != nil {
		return fmt.Errorf("watching %s: %w", of.gvr.GroupResource(), err)
	}
	w.kinds[of.gvk] = &watched{view: view{informer: begun, from: w.cache, stale: begun.State.Behind}, policies: map[string]bool{policy: true}}
	return errNotSynced
}

// borrow has the lender's watch of a kind serve here as well, for a policy, and reports whether there is one.
func (w *watches) borrow(ctx context.Context, of resource, policy string) (bool, error) {
	if w.lender == nil {
		return false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.kinds[of.gvk]; ok {
		known.policies[policy] = true
		return true, nil
	}
	from, err := w.lender.lend(ctx, of.gvk)
	if err != nil || from == nil {
		return false, err
	}
	borrowed, err := from.informer.AddEventHandler(toolscache.FilteringResourceEventHandler{FilterFunc: w.counts, Handler: w.handler(of)})
	if err != nil {
		return false, fmt.Errorf("watching %s: %w", of.gvr.GroupResource(), err)
	}
	w.kinds[of.gvk] = &watched{view: *from, policies: map[string]bool{policy: true}, borrowed: borrowed}
	return true, nil
}

// lend implements lender.
func (w *watches) lend(_ context.Context, gvk schema.GroupVersionKind) (*view, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.kinds[gvk]
	if !ok {
		return nil, nil
	}
	known.policies[lent] = true
	return &known.view, nil
}

// giveBack implements lender.
func (w *watches) giveBack(ctx context.Context, gvk schema.GroupVersionKind) error {
	return w.keep(ctx, lent, func(kind schema.GroupVersionKind) bool { return kind != gvk })
}

// counts reports whether an object of the lender has the label.
func (w *watches) counts(obj any) bool {
	if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	object, ok := obj.(*unstructured.Unstructured)
	return ok && (w.label == "" || hasLabel(object, w.label))
}

// hasLabel reports whether an object has a label, as the API server selects it: the value may be empty.
func hasLabel(object metav1.Object, key string) bool {
	_, has := object.GetLabels()[key]
	return has
}

// source returns where the objects of a kind are read, and reports whether that is the lender's.
func (w *watches) source(gvk schema.GroupVersionKind) (from client.Reader, borrowed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.kinds[gvk]; ok {
		return known.from, known.borrowed != nil
	}
	return w.cache, false
}

func (w *watches) handler(of resource) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if after, ok := obj.(*unstructured.Unstructured); ok {
				w.changed(of, nil, after)
			}
		},
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*unstructured.Unstructured)
			after, isToo := obj.(*unstructured.Unstructured)
			if ok && isToo && before.GetResourceVersion() != after.GetResourceVersion() {
				w.changed(of, before, after)
			}
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if before, ok := obj.(*unstructured.Unstructured); ok {
				w.changed(of, before, nil)
			}
		},
	}
}

// keep ends the watches for a policy of all kinds but these.
func (w *watches) keep(ctx context.Context, policy string, needed func(schema.GroupVersionKind) bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for gvk, known := range w.kinds {
		if !known.policies[policy] || needed(gvk) {
			continue
		}
		delete(known.policies, policy)
		if len(known.policies) == 0 {
			errs = append(errs, w.stop(ctx, gvk, known))
			delete(w.kinds, gvk)
			if w.ended != nil {
				w.ended(gvk)
			}
		}
	}
	return errors.Join(errs...)
}

// stop ends the watch of a kind, or gives it back.
func (w *watches) stop(ctx context.Context, gvk schema.GroupVersionKind, known *watched) error {
	if known.borrowed == nil {
		return w.cache.RemoveInformer(ctx, objectOf(gvk))
	}
	return errors.Join(known.informer.RemoveEventHandler(known.borrowed), w.lender.giveBack(ctx, gvk))
}

// isSynced reports whether all objects of a kind are known.
func (w *watches) isSynced(gvk schema.GroupVersionKind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.kinds[gvk]
	return known != nil && known.hasSynced()
}

// current returns nil unless the cache of a kind has not synced or may be stale. What is wanted follows
// from several kinds: with one of them stale, objects would be made that nobody wants, and deleted again.
func (w *watches) current(gvk schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch known := w.kinds[gvk]; {
	case known == nil || !known.hasSynced():
		return errNotSynced
	case known.stale():
		return errBehind
	}
	return nil
}

// get returns an object, nil where it is not there. It is shared, and must not be modified.
func (w *watches) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	out := objectOf(gvk)
	from, borrowed := w.source(gvk)
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, out)
	if apierrors.IsNotFound(err) || err == nil && borrowed && !w.counts(out) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s from the cache: %w", gvk.GroupKind(), err)
	}
	return out, nil
}

// list returns the objects of a kind. They are shared.
func (w *watches) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string, selector labels.Selector) ([]unstructured.Unstructured, error) {
	out := &unstructured.UnstructuredList{}
	out.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	opts := &client.ListOptions{Namespace: namespace, LabelSelector: selector}
	from, borrowed := w.source(gvk)
	if err := from.List(ctx, out, opts); err != nil {
		return nil, fmt.Errorf("listing %s in the cache: %w", gvk.GroupKind(), err)
	}
	if borrowed {
		return slices.DeleteFunc(out.Items, func(object unstructured.Unstructured) bool { return !w.counts(&object) }), nil
	}
	return out.Items, nil
}

func objectOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gvk)
	return out
}
