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

package change

import (
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
)

// list compares two lists.
func (f *finder) list(oldList, newList []any) {
	mark := len(f.changes)
	a, aligned := f.alignment(oldList, newList)
	switch {
	case !aligned:
		f.byIndex(mark, oldList, newList)
	case a.reordered():
		f.add(Mutate, pair{oldList, newList})
	default:
		f.byKey(mark, oldList, newList, a)
	}
	if f.tooMany(mark) {
		f.replace(mark, Mutate, pair{oldList, newList})
	}
}

// alignment finds the items of one list in the other. It fails where items have
// to be compared by index, and where they may be as they stand at the same ones.
func (f *finder) alignment(oldList, newList []any) (alignment, bool) {
	keys := f.keysFor(oldList, newList)
	if keys == nil || samePositions(oldList, newList, keys) {
		return alignment{}, false
	}
	return align(oldList, newList, keys)
}

// byIndex compares the items of two lists at the same indices. It stops when it
// has found too many changes since mark.
func (f *finder) byIndex(mark int, oldList, newList []any) {
	for i := range max(len(oldList), len(newList)) {
		switch {
		case f.tooMany(mark):
			return
		case i >= len(oldList):
			f.whole(i, Insert, pair{nil, newList[i]})
		case i >= len(newList):
			f.whole(i, Delete, pair{oldList[i], nil})
		default:
			f.item(i, pair{oldList[i], newList[i]})
		}
	}
}

// byKey compares the items of two lists that an alignment has found for each
// other. It stops when it has found too many changes since mark.
func (f *finder) byKey(mark int, oldList, newList []any, a alignment) {
	for _, i := range a.removed {
		if f.tooMany(mark) {
			return
		}
		f.whole(i, Delete, pair{oldList[i], nil})
	}
	for i, n := range newList {
		switch from := a.from[i]; {
		case f.tooMany(mark):
			return
		case from == nowhere:
			f.whole(i, Insert, pair{nil, n})
		default:
			f.item(i, pair{oldList[from], n})
		}
	}
}

// whole reports an item that only one of the lists has.
func (f *finder) whole(i int, verb Verb, v pair) {
	f.path = append(f.path, indexSegment(i))
	f.add(verb, v)
	f.path = f.path[:len(f.path)-1]
}

// mergeKeys are the keys of the lists of Kubernetes' own kinds, by the name of
// the list, where they are not just the name of the item. Where several kinds
// use one name for a list, those keys apply whose first one the items have.
var mergeKeys = map[string][][]string{
	"conditions":                {{"type"}},
	"hostAliases":               {{"ip"}},
	"ownerReferences":           {{"uid"}},
	"ports":                     {{"containerPort", "protocol"}, {"port", "protocol"}},
	"topologySpreadConstraints": {{"topologyKey", "whenUnsatisfiable"}},
	"volumeDevices":             {{"devicePath"}},
	"volumeMounts":              {{"mountPath"}},
}

// nameKey is the key of all other lists: containers, env, volumes and the like.
var nameKey = []string{"name"}

// MergeKeys returns the keys by which the items of a list of that name may be told apart
// where no schema says how, for callers that have no object to look at.
func MergeKeys(list string) []string {
	return slices.Concat(append(mergeKeys[list], nameKey)...)
}

// keysFor returns the keys to try for the items of the lists at the present path, nil
// if they cannot have any.
func (f *finder) keysFor(oldList, newList []any) []string {
	if len(oldList) == 0 || len(newList) == 0 {
		return nil
	}
	first, ok := oldList[0].(map[string]any)
	if !ok {
		return nil
	}
	if keys := f.schema.ListKeys(f.path); len(keys) > 0 {
		return keys
	}
	if at := f.path[len(f.path)-1]; at.Type == fieldpath.SegmentField {
		for _, keys := range mergeKeys[at.Field] {
			if _, ok := first[keys[0]]; ok {
				return keys
			}
		}
	}
	return nameKey
}
