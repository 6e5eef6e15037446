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

package objectcache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"kausality.io/operator/internal/objectcache/compressed"
	"kausality.io/operator/internal/watchstate"
)

// Watch makes informers run for exactly the given kinds, and returns once those
// that are new have synced, or ctx ends. Of several versions of a kind the most
// stable one is watched.
//
// The error names the kinds that are not served, which are left out, and those
// that have not synced in time, which go on trying. All others are watched in
// either case.
func (c *Cache) Watch(ctx context.Context, kinds []schema.GroupVersionKind) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	defer c.lookedOnce.Do(func() { close(c.looked) })

	wanted, errs := c.served(kinds)
	next := maps.Clone(*c.kinds.Load())
	for kind, w := range next {
		if wanted[kind].gvk != w.gvk || wanted[kind].scope != w.scope {
			if err := c.cache.RemoveInformer(ctx, objectOf(w.gvk)); err != nil {
				errs = append(errs, fmt.Errorf("cannot stop watching %s: %w", kind, err))
			}
			w.leave()
			delete(next, kind)
			cachedHolders.DeleteLabelValues(kind.String())
		}
	}
	var added []watched
	for kind, w := range wanted {
		if _, running := next[kind]; running {
			continue
		}
		if err := c.inform(ctx, &w); err != nil {
			errs = append(errs, fmt.Errorf("cannot watch %s: %w", kind, err))
			continue
		}
		next[kind] = w
		added = append(added, w)
	}
	c.kinds.Store(&next)
	for _, w := range added {
		go c.feedAll(w)
	}

	for _, kind := range slices.SortedFunc(maps.Keys(next), compareKinds) {
		if !toolscache.WaitFor(ctx, "", next[kind].synced) {
			errs = append(errs, fmt.Errorf("%s has not synced yet: %w", kind, context.Cause(ctx)))
		}
	}
	return errors.Join(errs...)
}

// served picks one version of each kind that the API server serves.
func (c *Cache) served(kinds []schema.GroupVersionKind) (map[schema.GroupKind]watched, []error) {
	served := map[schema.GroupKind]watched{}
	var errs []error
	for _, gvk := range slices.SortedFunc(slices.Values(kinds), compareVersions) {
		if _, chosen := served[gvk.GroupKind()]; chosen {
			continue
		}
		mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s in version %s is not served: %w", gvk.GroupKind(), gvk.Version, err))
			continue
		}
		served[gvk.GroupKind()] = watched{gvk: gvk, scope: mapping.Scope.Name()}
	}
	return served, errs
}

// inform starts the informer of a kind, with its events going to the
// subscribers.
func (c *Cache) inform(ctx context.Context, w *watched) error {
	made, err := c.cache.GetInformer(ctx, objectOf(w.gvk), cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	shared, ok := made.(watchstate.Informer)
	if !ok {
		return fmt.Errorf("its informer is a %T, of which nothing can be read", made)
	}
	registration, err := shared.AddEventHandler(c.subscribers.handlerFor(w.gvk))
	if err != nil {
		return err
	}
	w.synced, w.objects, w.state = registration.HasSyncedChecker(), shared.GetIndexer(), shared.State
	w.left = make(chan struct{})
	w.leave = sync.OnceFunc(func() { close(w.left) })
	return nil
}

// informers makes informers of holders.
type informers struct {
	packing *packing
	watcher *compressed.Watcher
}

// newInformer makes the informer of a kind. Nobody asks it for the objects of one
// namespace, by which they are therefore not indexed, but for that with a UID. It does not look at the types of
// what it gets, which is packed already.
func (i *informers) newInformer(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, _ toolscache.Indexers) toolscache.SharedIndexInformer {
	kind := example.GetObjectKind().GroupVersionKind()
	lw = i.watcher.Over(lw, kind, i.packing.packText(kind))
	state := watchstate.New(clock.RealClock{})
	return watchstate.Informer{
		SharedIndexInformer: toolscache.NewSharedIndexInformerWithOptions(watchstate.Rewind{}.Over(state.Over(lw)), nil,
			toolscache.SharedIndexInformerOptions{
				ResyncPeriod: resync, ObjectDescription: kind.String(), Indexers: compressed.UIDIndexers[unstructured.Unstructured](),
			}),
		State: state,
	}
}

func objectOf(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return obj
}

func compareKinds(a, b schema.GroupKind) int {
	return strings.Compare(a.String(), b.String())
}

// compareVersions orders versions of a kind as API servers prefer them: v2
// before v1, v1 before v1beta1.
func compareVersions(a, b schema.GroupVersionKind) int {
	if byKind := compareKinds(a.GroupKind(), b.GroupKind()); byKind != 0 {
		return byKind
	}
	return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
}
