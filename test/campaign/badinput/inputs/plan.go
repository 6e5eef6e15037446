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

package inputs

import (
	"hash/fnv"
	"iter"
	"math/rand/v2"
)

// Change puts a value into a field.
type Change struct {
	Field Field
	Value Value
}

// String says what is changed, and not the value.
func (c Change) String() string { return c.Field.String() + ": " + c.Value.Name }

// Plan returns an endless sequence of changes, in an order that follows from the seed and the
// name of what is changed. At first each field has its turn once, then every field meets
// every value, and that again in another order.
func Plan(seed uint64, name string, fields []Field, values []Value) iter.Seq2[int, Change] {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	random := rand.New(rand.NewPCG(seed, hash.Sum64()))
	return func(yield func(int, Change) bool) {
		n := 0
		for _, f := range random.Perm(len(fields)) {
			if !yield(n, Change{fields[f], values[random.IntN(len(values))]}) {
				return
			}
			n++
		}
		for len(fields) > 0 {
			for _, both := range random.Perm(len(fields) * len(values)) {
				if !yield(n, Change{fields[both%len(fields)], values[both/len(fields)]}) {
					return
				}
				n++
			}
		}
	}
}
