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
	"sync"
	"weak"
)

// recentObjects is how many objects of a kind are known that were unpacked lately: more than
// are read several times in one moment, and not many more, as their packed texts are kept for
// as long, of versions that the cache does not have any more, too.
const recentObjects = 256

// recent are objects that were unpacked lately, for as long as somebody uses them, or the
// garbage collector has not come by. To have each packed object know that takes memory for
// all that were ever unpacked. Its zero value is ready for use.
type recent[T any] struct {
	mu       sync.RWMutex
	unpacked map[*Object[T]]weak.Pointer[T]
}

// get returns an object that was unpacked lately, nil where it has to be unpacked again.
func (r *recent[T]) get(o *Object[T]) *T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.unpacked[o].Value()
}

// add remembers what was unpacked of o.
func (r *recent[T]) add(o *Object[T], obj *T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unpacked) >= recentObjects {
		clear(r.unpacked)
	}
	if r.unpacked == nil {
		r.unpacked = map[*Object[T]]weak.Pointer[T]{}
	}
	r.unpacked[o] = weak.Make(obj)
}
