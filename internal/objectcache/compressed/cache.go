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

package compressed

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Pointer is to an object of the API server.
type Pointer[T any] interface {
	*T
	client.Object
}

// Cache is a cache in which the objects of type T, with lists of type L, are packed. To
// those who read or watch them it is like any other. All other objects are kept by the
// cache inside, as ever.
type Cache[T any, P Pointer[T], L client.ObjectList] struct {
	cache.Cache
	gvk    schema.GroupVersionKind
	packer *Packer[T]
	note   func(P) any
	attend Attend
	// otherwise transforms the objects of the kind that are cached as another Go type; it may be nil.
	otherwise toolscache.TransformFunc
	fields    fields
	started   atomic.Bool
}

// Attend puts something around what lists and watches the objects of one kind, of which it
// gets an example.
type Attend func(lw toolscache.ListerWatcher, example runtime.Object) toolscache.ListerWatcher

// NewCache makes a Cache, as manager.Options.NewCache does, which notes something of each
// object when it is packed, and has the watches of all objects attended; note and attend
// may be nil.
func NewCache[T any, P Pointer[T], L client.ObjectList](cfg *rest.Config, opts cache.Options, note func(P) any, attend Attend) (*Cache[T, P, L], error) {
	gvk, err := apiutil.GVKForObject(P(new(T)), opts.Scheme)
	if err != nil {
		return nil, err
	}
	if attend == nil {
		attend = func(lw toolscache.ListerWatcher, _ runtime.Object) toolscache.ListerWatcher { return lw }
	}
	if err := checkWhole(opts, gvk); err != nil {
		return nil, err
	}
	c := &Cache[T, P, L]{gvk: gvk, otherwise: opts.DefaultTransform, packer: NewPacker(func(obj *T) any { return obj }), note: note, attend: attend}
	watcher, err := NewWatcher(cfg, opts.HTTPClient, opts.Mapper)
	if err != nil {
		return nil, err
	}
	opts.NewInformer = c.informers(watcher)
	byObject := map[client.Object]cache.ByObject{P(new(T)): {Transform: c.pack}}
	maps.Copy(byObject, opts.ByObject)
	opts.ByObject = byObject
	if c.Cache, err = cache.New(cfg, opts); err != nil {
		return nil, err
	}
	return c, nil
}

// checkWhole returns an error where the options select some objects of a kind, or transform them: a
// Watcher watches all objects of the kind, and the transform packs them.
func checkWhole(opts cache.Options, gvk schema.GroupVersionKind) error {
	restricted := len(opts.DefaultNamespaces) > 0 || opts.DefaultLabelSelector != nil || opts.DefaultFieldSelector != nil
	for obj, by := range opts.ByObject {
		if of, err := apiutil.GVKForObject(obj, opts.Scheme); err == nil && of == gvk {
			restricted = restricted || len(by.Namespaces) > 0 || by.Label != nil || by.Field != nil || by.Transform != nil
		}
	}
	if restricted {
		return fmt.Errorf("objects of kind %s are cached compressed, which only works for all of them: leave namespaces, selectors and transforms for them out of the options of the cache", gvk.Kind)
	}
	return nil
}

// Start runs the informers until ctx ends.
func (c *Cache[T, P, L]) Start(ctx context.Context) error {
	c.started.Store(true)
	return c.Cache.Start(ctx)
}

// informers makes the informers of the cache inside. That of the packed objects packs what
// it watches, of which it does not look at the type therefore. It has no index of namespaces,
// which would take memory for each object: the few that are looked for by theirs are found
// without.
func (c *Cache[T, P, L]) informers(watcher *Watcher) newInformer {
	return func(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if _, ok := example.(P); !ok {
			return toolscache.NewSharedIndexInformer(c.attend(lw, example), example, resync, indexers)
		}
		return toolscache.NewSharedIndexInformerWithOptions(c.attend(watcher.Over(lw, c.gvk, c.packText), example), nil,
			toolscache.SharedIndexInformerOptions{ResyncPeriod: resync, Indexers: toolscache.Indexers{}, ObjectDescription: c.gvk.String()})
	}
}

type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// packText packs an object as it was written by the API server, without its managed
// fields.
func (c *Cache[T, P, L]) packText(text []byte) (runtime.Object, error) {
	text = Without(text, "metadata", "managedFields")
	packed, err := c.packer.PackText(text)
	if err != nil {
		return nil, err
	}
	obj := P(new(T))
	if err := utiljson.Unmarshal(text, obj); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", packed.Key(), err)
	}
	c.packer.recent.add(packed, obj)
	c.mark(packed, obj)
	return packed, nil
}

// pack packs an object before it enters the cache, without its managed fields.
func (c *Cache[T, P, L]) pack(in any) (any, error) {
	obj, ok := in.(P)
	if !ok {
		if _, packed := in.(*Object[T]); packed || c.otherwise == nil {
			return in, nil
		}
		return c.otherwise(in)
	}
	obj.SetManagedFields(nil)
	obj.GetObjectKind().SetGroupVersionKind(c.gvk)
	packed, err := c.packer.Pack(obj, obj)
	if err != nil {
		return nil, err
	}
	c.mark(packed, obj)
	return packed, nil
}

// mark puts by what of an object is to be had without unpacking it.
func (c *Cache[T, P, L]) mark(packed *Object[T], obj P) {
	packed.hashes = c.fields.hashes(obj)
	if c.note != nil {
		packed.note = c.note(obj)
	}
}

// IndexField implements client.FieldIndexer. Objects of type T are indexed before the
// cache starts.
func (c *Cache[T, P, L]) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	if _, ok := obj.(P); !ok {
		return c.Cache.IndexField(ctx, obj, field, extract)
	}
	if c.started.Load() {
		return fmt.Errorf("cannot index %s by %s: the cache runs already", c.gvk.Kind, field)
	}
	if first := c.fields.add(field, extract); !first {
		return nil
	}
	informer, err := c.Cache.GetInformer(ctx, P(new(T)))
	if err != nil {
		return fmt.Errorf("cannot index %s by %s: %w", c.gvk.Kind, field, err)
	}
	return informer.AddIndexers(toolscache.Indexers{hashIndex: func(item any) ([]string, error) {
		if packed, ok := item.(*Object[T]); ok {
			return buckets(packed.hashes), nil
		}
		return nil, nil
	}})
}

// Get implements client.Reader. What is not copied must not be modified.
func (c *Cache[T, P, L]) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	into, ok := out.(P)
	if !ok {
		return c.Cache.Get(ctx, key, out, opts...)
	}
	indexer, err := c.indexer(ctx)
	if err != nil {
		return err
	}
	item, exists, err := indexer.GetByKey(toolscache.ObjectName(key).String())
	if err != nil {
		return err
	}
	packed, ok := item.(*Object[T])
	if !exists || !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: c.gvk.Group, Resource: c.gvk.Kind}, key.Name)
	}
	shared, err := packed.Unpack()
	if err != nil {
		return err
	}
	obj := P(shared)
	if asked := (&client.GetOptions{}).ApplyOptions(opts); !ptr.Deref(asked.UnsafeDisableDeepCopy, false) {
		obj = copyOf[T, P](shared)
	}
	*into = *obj
	return nil
}

// List implements client.Reader. Where there may be very many objects, All takes less
// memory.
func (c *Cache[T, P, L]) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	if _, ok := out.(L); !ok {
		return c.Cache.List(ctx, out, opts...)
	}
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	var objects []runtime.Object
	for obj, err := range c.matching(ctx, asked) {
		if err != nil {
			return err
		}
		objects = append(objects, copyOf[T, P](obj))
		if int64(len(objects)) == asked.Limit {
			break
		}
	}
	return apimeta.SetList(out, objects)
}

// All unpacks one object after the other. They are shared and must not be modified.
func (c *Cache[T, P, L]) All(ctx context.Context) iter.Seq2[P, error] {
	return c.matching(ctx, &client.ListOptions{})
}

// matching returns the objects that are asked for. They are shared.
func (c *Cache[T, P, L]) matching(ctx context.Context, asked *client.ListOptions) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		candidates, err := c.candidates(ctx, asked)
		if err != nil {
			yield(nil, fmt.Errorf("cannot list %s in the cache: %w", c.gvk.Kind, err))
			return
		}
		for _, item := range candidates {
			packed, ok := item.(*Object[T])
			if !ok || asked.Namespace != "" && packed.namespace.Value() != asked.Namespace || !c.fields.mayMatch(packed.hashes, asked.FieldSelector) {
				continue
			}
			obj, err := packed.Unpack()
			if err != nil {
				yield(nil, err)
				return
			}
			if c.matches(obj, asked) && !yield(obj, nil) {
				return
			}
		}
	}
}

// candidates returns some objects, with all that are asked for among them.
func (c *Cache[T, P, L]) candidates(ctx context.Context, asked *client.ListOptions) ([]any, error) {
	indexer, err := c.indexer(ctx)
	if err != nil {
		return nil, err
	}
	if asked.FieldSelector == nil || asked.FieldSelector.Empty() {
		return indexer.List(), nil
	}
	if err := c.fields.check(asked.FieldSelector); err != nil {
		return nil, err
	}
	first := asked.FieldSelector.Requirements()[0]
	return indexer.ByIndex(hashIndex, bucket(hashOf(first.Field, first.Value)))
}

// matches reports whether an object is one of those that are asked for.
func (c *Cache[T, P, L]) matches(obj P, asked *client.ListOptions) bool {
	return c.fields.match(obj, asked.FieldSelector) &&
		(asked.LabelSelector == nil || asked.LabelSelector.Matches(labels.Set(obj.GetLabels())))
}

// copyOf returns a copy of a shared object.
func copyOf[T any, P Pointer[T]](obj P) P {
	if own, ok := obj.DeepCopyObject().(P); ok {
		return own
	}
	return obj // No object is copied into another type.
}

// indexer has the packed objects. Once the cache has started, it is waited for until it
// is synced.
func (c *Cache[T, P, L]) indexer(ctx context.Context) (toolscache.Indexer, error) {
	if !c.started.Load() {
		return nil, &cache.ErrCacheNotStarted{}
	}
	informer, err := c.Cache.GetInformer(ctx, P(new(T)))
	if err != nil {
		return nil, err
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("the informer of %s is a %T, of which nothing can be read", c.gvk.Kind, informer)
	}
	if !shared.HasSynced() {
		return nil, &cache.ErrCacheNotStarted{} // or it would have been waited for
	}
	return shared.GetIndexer(), nil
}
