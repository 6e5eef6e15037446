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
	"context"
	"errors"
	"fmt"
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

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*watched
}

type watched struct {
	informer watchstate.Informer
	policies map[string]bool
}

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
// else managedFields are kept without the fields. An empty namespace stands for all of them.
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
		opts.DefaultTransform = withoutFields
	}
	c, err := cache.New(mgr.GetConfig(), opts)
	if err != nil {
		return nil, fmt.Errorf("making the cache of GeneratingPolicies: %w", err)
	}
	return &watches{cache: c, rights: rights, namespace: namespace, kinds: map[schema.GroupVersionKind]*watched{}}, mgr.Add(c)
}

// withoutFields leaves out which fields the managers of an object have: who wrote last, and when, is
// enough.
func withoutFields(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok {
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
		if !known.informer.HasSynced() {
			return errNotSynced
		}
		return nil
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
	w.kinds[of.gvk] = &watched{informer: begun, policies: map[string]bool{policy: true}}
	return errNotSynced
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
			errs = append(errs, w.cache.RemoveInformer(ctx, objectOf(gvk)))
			delete(w.kinds, gvk)
			if w.ended != nil {
				w.ended(gvk)
			}
		}
	}
	return errors.Join(errs...)
}

// isSynced reports whether all objects of a kind are known.
func (w *watches) isSynced(gvk schema.GroupVersionKind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.kinds[gvk]
	return known != nil && known.informer.HasSynced()
}

// current returns nil unless the cache of a kind has not synced or may be stale. What is wanted follows
// from several kinds: with one of them stale, objects would be made that nobody wants, and deleted again.
func (w *watches) current(gvk schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch known := w.kinds[gvk]; {
	case known == nil || !known.informer.HasSynced():
		return errNotSynced
	case known.informer.State.Behind():
		return errBehind
	}
	return nil
}

// get returns an object, nil where it is not there. It is shared, and must not be modified.
func (w *watches) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	out := objectOf(gvk)
	err := w.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, out)
	if apierrors.IsNotFound(err) {
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
	if err := w.cache.List(ctx, out, opts); err != nil {
		return nil, fmt.Errorf("listing %s in the cache: %w", gvk.GroupKind(), err)
	}
	return out.Items, nil
}

func objectOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gvk)
	return out
}
