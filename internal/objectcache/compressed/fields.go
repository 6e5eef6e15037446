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
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// hashIndex is the one index of an informer: by the buckets of hashes. An index with
	// an entry for each value would take more memory than the objects.
	hashIndex = "hash"
	// uidIndex is that of an informer whose objects are looked up by UID.
	uidIndex = "uid"
	// bucketCount is how many buckets there are.
	bucketCount = 4096
)

// bucketNames are the values of the index.
var bucketNames = func() (names [bucketCount]string) {
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}()

var seed = maphash.MakeSeed()

// hashOf returns the hash of the value of a field.
func hashOf(field, value string) uint32 {
	return uint32(maphash.String(seed, field+"\x00"+value)) //nolint:gosec // Half of it is a hash, too.
}

func bucket(hash uint32) string { return bucketNames[hash%bucketCount] }

// uidField is what the hash of a UID is of, as if it were a field.
const uidField = "metadata.uid"

// UIDHash returns the hash of a UID.
func UIDHash(uid types.UID) uint32 { return uidHash(uid) }

func uidHash(uid types.UID) uint32 { return hashOf(uidField, string(uid)) }

// UIDIndexers index packed objects so that WithUID finds them.
func UIDIndexers[T any]() toolscache.Indexers {
	return toolscache.Indexers{uidIndex: func(item any) ([]string, error) {
		if packed, ok := item.(*Object[T]); ok {
			return []string{bucket(packed.uid)}, nil
		}
		return nil, nil
	}}
}

// WithUID returns the objects of an informer with UIDIndexers that may have a UID: most
// often the one that has it, or none.
func WithUID[T any](indexer toolscache.Indexer, uid types.UID) []*Object[T] {
	items, err := indexer.ByIndex(uidIndex, bucket(uidHash(uid)))
	if err != nil {
		return nil // Nobody indexes them.
	}
	var out []*Object[T]
	for _, item := range items {
		if packed, ok := item.(*Object[T]); ok && packed.MayHaveUID(uid) {
			out = append(out, packed)
		}
	}
	return out
}

// buckets returns the buckets of several hashes.
func buckets(hashes []uint32) []string {
	names := make([]string, 0, len(hashes))
	for _, hash := range hashes {
		names = append(names, bucket(hash))
	}
	return names
}

// fields are those by which objects are indexed. Its zero value is ready for use.
type fields struct {
	mu      sync.RWMutex
	extract map[string]client.IndexerFunc
}

// add adds a field, and reports whether it is the first.
func (f *fields) add(field string, extract client.IndexerFunc) (first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.extract == nil {
		f.extract = map[string]client.IndexerFunc{}
	}
	f.extract[field] = extract
	return len(f.extract) == 1
}

// hashes returns the hashes of all values of an object.
func (f *fields) hashes(obj client.Object) []uint32 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var out []uint32
	for field, extract := range f.extract {
		for _, value := range extract(obj) {
			out = append(out, hashOf(field, value))
		}
	}
	return slices.Clip(out)
}

// check returns what of a selector cannot be looked up.
func (f *fields) check(selector apifields.Selector) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, r := range selector.Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return fmt.Errorf("by %s: only exact matches can be looked up", r.Field)
		}
		if f.extract[r.Field] == nil {
			return fmt.Errorf("by %s: there is no such index", r.Field)
		}
	}
	return nil
}

// mayMatch reports whether an object with these hashes may be what a selector is for.
func (f *fields) mayMatch(hashes []uint32, selector apifields.Selector) bool {
	if selector == nil {
		return true
	}
	for _, r := range selector.Requirements() {
		if !slices.Contains(hashes, hashOf(r.Field, r.Value)) {
			return false
		}
	}
	return true
}

// match reports whether an object is what a selector is for.
func (f *fields) match(obj client.Object, selector apifields.Selector) bool {
	if selector == nil {
		return true
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, r := range selector.Requirements() {
		if !slices.Contains(f.extract[r.Field](obj), r.Value) {
			return false
		}
	}
	return true
}
