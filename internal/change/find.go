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
)

// Options adapt Find to policies and to the kind of the objects.
type Options struct {
	// Metadata are the patterns below metadata that policies name. No other
	// metadata counts. Patterns that do not begin with metadata are ignored.
	Metadata []Pattern

	// Schema is what is declared about the fields of the kind, nil where nothing is
	// known of it.
	Schema Schema

	// TolerateEmpty makes empty values as good as absent: lists without items, and
	// maps in which everything is empty. It is for clients that write an object as
	// their own Go types know it, with empty structs that nobody asked for. The zero
	// value counts them: {} may open what its absence keeps closed.
	TolerateEmpty bool
}

// maxChanges is how many changes below one field are told apart. If there are
// more, they are one Mutate of that field, so that a request of a few megabytes
// cannot cost hundreds.
const maxChanges = 10_000

// Find lists the changes that count between two versions of an object, in order
// of their paths and then verbs.
//
// A subtree that was added or removed is one Insert or Delete of its topmost
// field. Null is as good as absent, and empty values are where Options say so; what
// is emptied and stays is a Delete of what it held. Numbers compare by value, and so
// do strings where Kubernetes holds quantities. Items of a list are aligned by the
// merge keys of its schema, else by those that are usual in Kubernetes, else by a
// name that is unique in all items, else by index. An item is there even where it is
// null. If items that both versions have stand in another order, that is one Mutate
// of the list, as order may matter.
func Find(oldObj, newObj map[string]any, opts Options) []Change {
	f := newFinder(opts.Schema)
	f.tolerateEmpty = opts.TolerateEmpty
	for name, held := range pairs(oldObj, newObj) {
		if !uncounted.Has(name) {
			f.field(name, held)
		}
	}
	f.metadata(oldObj, newObj, opts.Metadata)
	slices.SortFunc(f.changes, Change.Compare)
	return f.changes
}

// finder walks two versions of an object side by side, once.
type finder struct {
	comparison

	schema Schema
	// path is where the walk is. What is kept of it must be copied.
	path    Path
	changes []Change
}

func newFinder(schema Schema) finder {
	if schema == nil {
		schema = noSchema{}
	}
	return finder{schema: schema, path: make(Path, 0, 16)}
}

// absence says in which of two versions what they hold is as good as absent.
type absence struct {
	old, new bool
}

// field compares what two maps hold under one name.
func (f *finder) field(name string, v pair) absence {
	f.path = append(f.path, fieldSegment(name))
	absent := f.value(v)
	f.path = f.path[:len(f.path)-1]
	return absent
}

// item compares two items of lists that are aligned with each other. Both are
// there even where they are empty, so unlike a field an item is not inserted by
// getting its first value.
func (f *finder) item(i int, v pair) {
	f.path = append(f.path, indexSegment(i))
	if _, descended := f.descend(v); !descended && !f.same(v) {
		f.add(Mutate, v)
	}
	f.path = f.path[:len(f.path)-1]
}

// value compares what a field holds.
func (f *finder) value(v pair) absence {
	if v.isShared() {
		absent := f.isAbsent(v.old)
		return absence{absent, absent}
	}
	mark := len(f.changes)
	absent, descended := f.descend(v)
	if !descended {
		absent = absence{f.isAbsent(v.old), f.isAbsent(v.new)}
	}
	switch {
	case absent.old && absent.new:
	case absent.old:
		f.replace(mark, Insert, v)
	case absent.new:
		f.replace(mark, Delete, v)
	case !descended && !f.same(v):
		f.add(Mutate, v)
	}
	return absent
}

// same reports whether both versions hold the same at the present path.
func (f *finder) same(v pair) bool {
	return f.equal(placeOf(f.path), v.old, v.new) || f.schema.IsQuantity(f.path) && sameQuantity(v.old, v.new)
}

// descend compares two maps or two lists by what they hold, unless that is too
// deep. Anything else is left to the caller.
func (f *finder) descend(v pair) (absent absence, descended bool) {
	if len(f.path) == maxSegments {
		return absence{}, false
	}
	switch o := v.old.(type) {
	case map[string]any:
		if n, ok := v.new.(map[string]any); ok {
			return f.fields(o, n), true
		}
	case []any:
		if n, ok := v.new.([]any); ok {
			f.list(o, n)
			return absence{f.isAbsent(o), f.isAbsent(n)}, true
		}
	}
	return absence{}, false
}

// fields compares two maps. It learns on the way whether they are empty, where that
// makes them absent: looking that up first at each level would make deep objects
// expensive.
func (f *finder) fields(oldMap, newMap map[string]any) absence {
	mark := len(f.changes)
	absent := absence{f.tolerateEmpty, f.tolerateEmpty}
	for name, held := range pairs(oldMap, newMap) {
		below := f.field(name, held)
		absent.old = absent.old && below.old
		absent.new = absent.new && below.new
		if f.tooMany(mark) {
			f.replace(mark, Mutate, pair{oldMap, newMap})
			return absence{f.isAbsent(oldMap), f.isAbsent(newMap)}
		}
	}
	return absent
}

// tooMany reports whether more changes were found since mark than are told apart.
func (f *finder) tooMany(mark int) bool {
	return len(f.changes)-mark > maxChanges
}

// replace puts one change of the present field in place of those that were found
// below it since mark.
func (f *finder) replace(mark int, verb Verb, v pair) {
	clear(f.changes[mark:])
	f.changes = f.changes[:mark]
	f.add(verb, v)
}

// add reports a change of the present field.
func (f *finder) add(verb Verb, v pair) {
	c := Change{Path: slices.Clone(f.path), Verb: verb}
	if verb != Insert {
		c.Old = v.old
	}
	if verb != Delete {
		c.New = v.new
	}
	f.changes = append(f.changes, c)
}
