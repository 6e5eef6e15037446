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

package kro

import (
	"slices"
	"strings"

	"kausality.io/operator/internal/change"
)

// ref is a place whose content a value depends on.
type ref struct {
	// root is what the path begins at: the instance, a resource of the graph by its id,
	// or an iterator by iteratorRoot.
	root string
	// path below the root.
	path change.Pattern
	// length is true where only how many items there are counts.
	length bool
}

// schemaRoot is the root of what the instance holds, as kro's expressions call it.
const schemaRoot = "schema"

// iteratorRoot returns the root of an iterator, by its name. No id has such a character.
func iteratorRoot(name string) string { return "@" + name }

func (r ref) below(s change.Segment) ref {
	return ref{root: r.root, path: slices.Concat(r.path, change.Pattern{s})}
}

func (r ref) key() string {
	if r.length {
		return r.root + "#" + r.path.String()
	}
	return r.root + "/" + r.path.String()
}

// value is what is known of the value of an expression without evaluating it. It may be
// more than one thing, such as either branch of a condition.
type value struct {
	// is are the places of which it holds the content: a field of the value is that
	// field of one of them.
	is []ref
	// from are the places that decide on it as a whole.
	from []ref
	// fields are the keys of a map that the expression writes out.
	fields map[string]*value
	// item is what each item of a list may be, or each value of a map whose keys are
	// not written out.
	item *value
	// fixed is true of a list whose items are written out one by one.
	fixed bool
	// listed is true of a list, whatever is known of its items.
	listed bool
	// gone is true where there may be no value at all.
	gone bool
	// solid is true where the value can be neither absent nor the zero value of its
	// type, which the types of Kubernetes leave out.
	solid bool
}

// all returns the places that the value depends on in any way.
func (v *value) all() []ref {
	if v == nil {
		return nil
	}
	out := slices.Concat(v.is, v.from, v.item.all())
	for _, field := range v.fields {
		out = append(out, field.all()...)
	}
	return unique(out)
}

// computed returns a value that depends on others in ways that are not followed.
func computed(of ...*value) *value {
	out := &value{}
	for _, v := range of {
		out.from = append(out.from, v.all()...)
	}
	out.from = unique(out.from)
	return out
}

// but returns the value, which these decide on as well.
func (v *value) but(decided ...ref) *value {
	if len(decided) == 0 {
		return v
	}
	out := *v
	out.from = unique(slices.Concat(v.from, decided))
	return &out
}

// either returns a value that may be any of these.
func either(of ...*value) *value {
	out := &value{fixed: true, solid: true}
	for _, v := range of {
		if v == nil {
			continue
		}
		out.is = append(out.is, v.is...)
		out.from = append(out.from, v.from...)
		for key, field := range v.fields {
			if out.fields == nil {
				out.fields = map[string]*value{}
			}
			if there, ok := out.fields[key]; ok {
				field = either(there, field)
			}
			out.fields[key] = field
		}
		switch {
		case out.item == nil:
			out.item = v.item
		case v.item != nil:
			out.item = either(out.item, v.item)
		}
		out.fixed = out.fixed && v.fixed
		out.listed = out.listed || v.listed
		out.gone = out.gone || v.gone
		out.solid = out.solid && v.solid
	}
	out.is, out.from = unique(out.is), unique(out.from)
	return out
}

// field returns what a map holds under a key.
func (v *value) field(name string) *value {
	out := &value{from: v.from, gone: v.gone}
	for _, r := range v.is {
		out.is = append(out.is, r.below(fieldSegment(name)))
	}
	return orOf(out, v.fields[name], v.item)
}

// at returns an item of a list, or a value of a map, that a number or something computed names.
func (v *value) at(s change.Segment) *value {
	out := &value{from: v.from, gone: v.gone}
	for _, r := range v.is {
		out.is = append(out.is, r.below(s))
	}
	of := make([]*value, 0, 1+len(v.fields))
	of = append(of, v.item)
	for _, field := range v.fields {
		of = append(of, field)
	}
	return orOf(out, of...)
}

// element returns any item of a list, and any value of a map.
func (v *value) element() *value { return v.at(change.Wildcard) }

// orOf returns a value, or any of those of the others that there are. What decides on the value
// decides on all of it.
func orOf(v *value, others ...*value) *value {
	var of []*value
	if len(v.is) > 0 {
		of = append(of, &value{is: v.is})
	}
	for _, other := range others {
		if other != nil {
			of = append(of, other)
		}
	}
	if len(of) == 0 {
		return v
	}
	out := either(of...).but(v.from...)
	if v.gone {
		return out.optional()
	}
	return out
}

// size returns how many items a list has, or how many keys a map.
func (v *value) size() *value {
	out := &value{from: slices.Clone(v.from)}
	for _, r := range v.is {
		r.length = true
		out.from = append(out.from, r)
	}
	if v.item != nil && !v.fixed {
		out.from = append(out.from, v.item.all()...)
	}
	out.from = unique(out.from)
	return out
}

// optional returns a value that there may not be.
func (v *value) optional() *value {
	out := *v
	out.gone, out.solid = true, false
	return &out
}

// there returns a value that there is, where it might not have been.
func (v *value) there() *value {
	out := *v
	out.gone = false
	return &out
}

// same reports whether two values are known to be of the same.
func (v *value) same(w *value) bool {
	return slices.Equal(keysOf(v.all()), keysOf(w.all()))
}

func keysOf(refs []ref) []string {
	out := make([]string, 0, len(refs))
	for _, r := range refs {
		out = append(out, r.key())
	}
	return out
}

// unique sorts places, each once.
func unique(refs []ref) []ref {
	slices.SortFunc(refs, func(a, b ref) int { return strings.Compare(a.key(), b.key()) })
	return slices.CompactFunc(refs, func(a, b ref) bool { return a.key() == b.key() })
}
