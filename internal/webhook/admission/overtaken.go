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

package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// storedWithin is how long a write may take from its verdict until it is stored: the API
	// server gives up on requests after a minute.
	storedWithin = time.Minute
	// maxOvertaken bounds of how many objects that is known.
	maxOvertaken = 4096
)

// overtaken knows the objects of which this process has admitted a change that is withheld,
// and the version that they had before. Their controllers act within milliseconds, and the
// cache may still have that version then, under which an earlier allowance covers what they
// make of the change. Other replicas do not know. The zero value knows of none.
type overtaken struct {
	once  sync.Once
	known *cache.LRUExpireCache
	// until is when the last of them is forgotten, in nanoseconds since 1970: most of the
	// time there is none.
	until atomic.Int64
}

// note remembers that a change of an object is admitted, which is given as it was before.
func (o *overtaken) note(before *unstructured.Unstructured) {
	o.once.Do(func() { o.known = cache.NewLRUExpireCache(maxOvertaken) })
	o.known.Add(before.GetUID(), before.GetResourceVersion(), storedWithin)
	o.until.Store(time.Now().Add(storedWithin).UnixNano())
}

// has reports whether an object, as the cache has it, may lack such a change.
func (o *overtaken) has(cached *unstructured.Unstructured) bool {
	if o.until.Load() < time.Now().UnixNano() {
		return false
	}
	known, ok := o.known.Get(cached.GetUID())
	before, isText := known.(string)
	if !ok || !isText {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), before)
	if err != nil {
		return cached.GetResourceVersion() == before // Versions that cannot be compared.
	}
	return order <= 0
}

// candidate is a holder, and why it was not read from the cache. Its record is read from the same
// place: that of the cache may be older than the holder.
type candidate struct {
	*unstructured.Unstructured
	why doubt
}

// newest returns a holder that the cache has, read from the API server where that may have a
// change of it which the cache lacks.
func (g *Gatherer) newest(ctx context.Context, gvk schema.GroupVersionKind, cached *unstructured.Unstructured) (candidate, error) {
	if !g.overtaken.has(cached) {
		return candidate{cached, doubtNone}, nil
	}
	doubtOvertaken.read()
	key := types.NamespacedName{Namespace: cached.GetNamespace(), Name: cached.GetName()}
	live, err := g.Objects.Live(ctx, gvk, key)
	if err != nil {
		return candidate{}, fmt.Errorf("reading %s %s, of which a change has just been withheld: %w", gvk.Kind, key, err)
	}
	return candidate{live, doubtOvertaken}, nil
}

// getNewest returns the same of a holder by its name.
func (g *Gatherer) getNewest(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (candidate, error) {
	cached, err := g.Objects.Get(ctx, gvk, key)
	if err != nil {
		return candidate{}, err
	}
	return g.newest(ctx, gvk, cached)
}
