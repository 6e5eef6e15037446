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
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/lineage"
)

// ignored are the parents that holders name and that are none for them, as their records
// say. There are hardly ever any, and then looking costs nothing. The zero value has none.
type ignored struct {
	any atomic.Bool
	mu  sync.RWMutex
	of  map[types.UID][]string
}

// Ignore has parents of an object ignored from now on, by their ids, and no others: none
// where parents is empty.
func (c *Cache) Ignore(child types.UID, parents []string) {
	c.ignored.mu.Lock()
	defer c.ignored.mu.Unlock()
	if len(parents) == 0 {
		delete(c.ignored.of, child)
	} else {
		if c.ignored.of == nil {
			c.ignored.of = map[types.UID][]string{}
		}
		c.ignored.of[child] = parents
	}
	c.ignored.any.Store(len(c.ignored.of) > 0)
}

// Ignores implements scope.Getter.
func (c *Cache) Ignores(_ context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool {
	if !c.ignored.any.Load() {
		return false
	}
	c.ignored.mu.RLock()
	defer c.ignored.mu.RUnlock()
	parents, ok := c.ignored.of[obj.GetUID()]
	return ok && slices.Contains(parents, parent.ID())
}
