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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"kausality.io/operator/internal/objectcache/compressed"
)

// maxArrivals is how many holders are known to have come, those that came last: far more than come
// within the minute for which somebody asks.
const maxArrivals = 1 << 15

// arrivals are the holders that came while this process looked, though they may be gone before anybody
// has looked at them. It is safe for concurrent use.
type arrivals struct{ came *lru.Cache }

func newArrivals() *arrivals { return &arrivals{lru.New(maxArrivals)} }

// add notes a holder as an informer tells of it.
func (a *arrivals) add(obj any) {
	if packed, ok := obj.(interface{ UIDHash() uint32 }); ok {
		a.came.Add(packed.UIDHash(), nil)
	}
}

// Came reports whether a holder with a UID came while this process looked, even if it is gone. It
// remembers the latest ones.
func (c *Cache) Came(uid types.UID) bool {
	_, came := c.subscribers.arrivals.came.Get(compressed.UIDHash(uid))
	return came
}
