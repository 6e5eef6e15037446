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

package policy

import "sync/atomic"

// Active holds the snapshot of the policies that requests are judged by. Its zero
// value has none. A request takes the snapshot once and uses it throughout.
type Active struct {
	index atomic.Pointer[Index]
}

var noPolicies = NewIndex(nil)

// Index returns the present snapshot, never nil.
func (a *Active) Index() *Index {
	if i := a.index.Load(); i != nil {
		return i
	}
	return noPolicies
}

// Set replaces the snapshot for all requests that begin after it.
func (a *Active) Set(i *Index) { a.index.Store(i) }
