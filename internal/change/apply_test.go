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
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
)

// apply makes the changes that Find found in an old object, which gives the new
// one again, but for what is as good as absent.
func apply(obj map[string]any, changes []Change) map[string]any {
	applied, _ := applyBelow(obj, changes, 0).(map[string]any)
	return applied
}

// applyBelow makes the changes in v, which is where the first depth segments of
// their paths lead.
func applyBelow(v any, changes []Change, depth int) any {
	if len(changes) == 0 {
		return v
	}
	if len(changes) == 1 && len(changes[0].Path) == depth {
		return changes[0].New
	}
	if changes[0].Path[depth].Type == fieldpath.SegmentIndex {
		list, _ := v.([]any)
		return applyToList(list, changes, depth)
	}
	m := map[string]any{}
	maps.Copy(m, mapOrNil(v))
	for s, below := range bySegment(changes, depth) {
		m[s.Field] = applyBelow(m[s.Field], below, depth+1)
	}
	return m
}

// applyToList removes items, by their old index, then inserts others, and makes
// what else changed, by the new one.
func applyToList(list []any, changes []Change, depth int) []any {
	var (
		applied  = slices.Clone(list)
		removed  []int
		inserted []Change
		within   []Change
	)
	for _, c := range changes {
		switch whole := len(c.Path) == depth+1; {
		case whole && c.Verb == Delete:
			removed = append(removed, int(c.Path[depth].Index))
		case whole && c.Verb == Insert:
			inserted = append(inserted, c)
		default:
			within = append(within, c)
		}
	}
	for _, i := range slices.Backward(removed) {
		applied = slices.Delete(applied, i, i+1)
	}
	for _, c := range inserted {
		applied = slices.Insert(applied, int(c.Path[depth].Index), c.New)
	}
	for s, below := range bySegment(within, depth) {
		applied[s.Index] = applyBelow(applied[s.Index], below, depth+1)
	}
	return applied
}

// bySegment sorts changes by one segment of their paths.
func bySegment(changes []Change, depth int) map[Segment][]Change {
	sorted := map[Segment][]Change{}
	for _, c := range changes {
		s := c.Path[depth]
		sorted[s] = append(sorted[s], c)
	}
	return sorted
}

// prune returns v without what is as good as absent.
func prune(v any, opts Options) any {
	switch v := v.(type) {
	case map[string]any:
		pruned := map[string]any{}
		for name, held := range v {
			if p := prune(held, opts); p != nil {
				pruned[name] = p
			}
		}
		if len(pruned) == 0 && opts.TolerateEmpty {
			return nil
		}
		return pruned
	case []any:
		if len(v) == 0 && opts.TolerateEmpty {
			return nil
		}
		pruned := make([]any, len(v))
		for i, item := range v {
			pruned[i] = prune(item, opts)
		}
		return pruned
	}
	return v
}
