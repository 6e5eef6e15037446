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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// bareFor is how long the API server may go on with a DELETE after we have refused it.
	bareFor = 5 * time.Second
	// maxBare bounds of how many objects that is known.
	maxBare = 4096
)

// bare remembers which objects had no finalizer that keeps them when a DELETE of them was refused for that. The API server
// deletes an object at once if it had no finalizers when the API server first read it. It asks about that version, from its
// cache, and, once that is refused, about the stored one. *Observed*: the provider had put its finalizer
// back in between, so that the second answer let the DELETE through, and the object was gone with the finalizer on it.
// The zero value knows of nothing.
type bare struct {
	once  sync.Once
	known *cache.LRUExpireCache
}

func (b *bare) cache() *cache.LRUExpireCache {
	b.once.Do(func() { b.known = cache.NewLRUExpireCache(maxBare) })
	return b.known
}

// note remembers an object.
func (b *bare) note(uid types.UID) { b.cache().Add(uid, true, bareFor) }

// has reports whether the API server may still go by what an object was without.
func (b *bare) has(uid types.UID) bool {
	_, noted := b.cache().Get(uid)
	return noted
}
