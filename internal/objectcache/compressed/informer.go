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
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GetInformer implements cache.Informers.
func (c *Cache[T, P, L]) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if _, ok := obj.(P); !ok || err != nil {
		return informer, err
	}
	return unpacking[T]{informer}, nil
}

// PackedInformer returns the informer whose events have the objects as they are packed, for
// those to whom a name or a note says enough.
func (c *Cache[T, P, L]) PackedInformer(ctx context.Context) (cache.Informer, error) {
	return c.Cache.GetInformer(ctx, P(new(T)))
}

// GetInformerForKind implements cache.Informers.
func (c *Cache[T, P, L]) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	if gvk == c.gvk {
		return c.GetInformer(ctx, P(new(T)), opts...)
	}
	return c.Cache.GetInformerForKind(ctx, gvk, opts...)
}

// unpacking is an informer whose events have the objects unpacked.
type unpacking[T any] struct{ cache.Informer }

// AddEventHandler implements cache.Informer.
func (i unpacking[T]) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(unpacker[T]{handler})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i unpacking[T]) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(unpacker[T]{handler}, period)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i unpacking[T]) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, opts toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(unpacker[T]{handler}, opts)
}

// unpacker hands events on with the objects unpacked.
type unpacker[T any] struct {
	next toolscache.ResourceEventHandler
}

// OnAdd implements toolscache.ResourceEventHandler.
func (u unpacker[T]) OnAdd(obj any, isInInitialList bool) {
	if obj, ok := unpack[T](obj); ok {
		u.next.OnAdd(obj, isInInitialList)
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (u unpacker[T]) OnUpdate(before, after any) {
	before, ok := unpack[T](before)
	if after, okAfter := unpack[T](after); ok && okAfter {
		u.next.OnUpdate(before, after)
	}
}

// OnDelete implements toolscache.ResourceEventHandler.
func (u unpacker[T]) OnDelete(obj any) {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		if gone.Obj, ok = unpack[T](gone.Obj); ok {
			u.next.OnDelete(gone)
		}
		return
	}
	if obj, ok := unpack[T](obj); ok {
		u.next.OnDelete(obj)
	}
}

// unpack unpacks what is packed. What cannot be unpacked was packed by this process,
// so that this is a mistake in it, and reported as one.
func unpack[T any](in any) (any, bool) {
	packed, ok := in.(*Object[T])
	if !ok {
		return in, true
	}
	obj, err := packed.Unpack()
	utilruntime.HandleError(err)
	return obj, err == nil
}
