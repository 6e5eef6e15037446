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
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// rulesByID has the lists of anyRules told apart by a key that only a schema knows.
type rulesByID struct{}

func (rulesByID) ListKeys(path Path) []string {
	if path[len(path)-1] == fieldSegment("rules") {
		return []string{"id"}
	}
	return nil
}

func (rulesByID) IsQuantity(Path) bool { return false }

// anyRules are lists of items with keys, with such lists in them.
func anyRules(depth int) *rapid.Generator[[]any] {
	item := rapid.Custom(func(t *rapid.T) any {
		key := rapid.SampledFrom([]string{"id", "name"}).Draw(t, "key")
		out := map[string]any{key: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "value of the key")}
		for _, field := range []string{"image", "size"} {
			if rapid.IntRange(0, 3).Draw(t, field) > 0 {
				out[field] = rapid.SampledFrom([]any{"x", "y"}).Draw(t, "value")
			}
		}
		if depth > 0 && rapid.Bool().Draw(t, "nested") {
			out[listOf(key)] = anyRules(depth-1).Draw(t, "items")
		}
		return out
	})
	return rapid.SliceOfN(item, 0, 5)
}

func listOf(key string) string {
	if key == "id" {
		return "rules"
	}
	return "things"
}

// keyed returns those items of lists that have the key of the list, the first of each, and so
// below.
func keyed(list string, items []any) []any {
	key := map[string]string{"rules": "id", "things": "name"}[list]
	seen := map[any]bool{}
	out := []any{}
	for _, item := range items {
		item := mapOrNil(item)
		if id := item[key]; id == nil || seen[id] {
			continue
		}
		seen[item[key]] = true
		copied := map[string]any{}
		for name, held := range item {
			if below, ok := held.([]any); ok {
				held = keyed(name, below)
			}
			copied[name] = held
		}
		out = append(out, copied)
	}
	return out
}

// keyedLeaves adds the values of a list by the keys of the items that they are in, each with the
// pattern that names it in every item.
func keyedLeaves(list, at, pattern string, items []any, out map[string][2]any) {
	key := map[string]string{"rules": "id", "things": "name"}[list]
	at, pattern = at+"."+list, pattern+"."+list+"[*]"
	for _, item := range items {
		item := mapOrNil(item)
		for name, held := range item {
			place, named := fmt.Sprintf("%s[%s]", at, item[key]), pattern+"."+name
			if below, ok := held.([]any); ok {
				keyedLeaves(name, place, pattern, below, out)
				continue
			}
			out[place+"."+name] = [2]any{named, held}
		}
	}
}

func TestPropertyPatternsMatchWhatDiffersInAnItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]string{"rules", "things"}).Draw(t, "list")
		before := keyed(list, anyRules(2).Draw(t, "before"))
		after := keyed(list, anyRules(2).Draw(t, "after"))
		if rapid.Bool().Draw(t, "much in common") {
			after = shuffled(t, list, before)
		}
		changes := Find(map[string]any{"spec": map[string]any{list: before}}, map[string]any{"spec": map[string]any{list: after}}, Options{Schema: rulesByID{}})
		was, is := map[string][2]any{}, map[string][2]any{}
		keyedLeaves(list, "spec", "spec", before, was)
		keyedLeaves(list, "spec", "spec", after, is)
		check := func(at string, a, b [2]any) {
			if cmp.Equal(a, b) {
				return
			}
			text, _ := a[0].(string)
			pattern, err := ParsePattern(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				if place, ok := pattern.Matches(c, rulesByID{}); ok && pattern.Covers(place) {
					return
				}
			}
			t.Fatalf("%s is %v and then %v, but %s matches none of %v", at, a, b, pattern, changes)
		}
		for at, leaf := range was {
			check(at, leaf, is[at])
		}
		for at, leaf := range is {
			check(at, leaf, was[at])
		}
	})
}

// shuffled returns items of which some have traded their keys, their places, or both.
func shuffled(t *rapid.T, list string, items []any) []any {
	key := map[string]string{"rules": "id", "things": "name"}[list]
	out := make([]any, 0, len(items))
	for _, item := range items {
		copied := map[string]any{}
		for name, held := range mapOrNil(item) {
			if below, ok := held.([]any); ok {
				held = shuffled(t, name, below)
			}
			copied[name] = held
		}
		out = append(out, copied)
	}
	if rapid.Bool().Draw(t, "trade keys") {
		keys := make([]any, 0, len(out))
		for _, item := range out {
			keys = append(keys, mapOrNil(item)[key])
		}
		for i, id := range rapid.Permutation(keys).Draw(t, "keys") {
			mapOrNil(out[i])[key] = id
		}
	}
	if rapid.Bool().Draw(t, "trade places") {
		out = rapid.Permutation(out).Draw(t, "places")
	}
	if len(out) > 0 && rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
		out = out[1:]
	}
	return out
}
