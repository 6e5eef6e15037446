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

package flow

import (
	"slices"
	"strings"

	"kausality.io/operator/internal/change"
)

// Ref is a place whose content a value depends on.
type Ref struct {
	// Root is what the path begins at, such as the parent.
	Root string
	// Path below the root.
	Path change.Pattern
	// Length is true where only how many items there are counts.
	Length bool
}

// Below returns what a place has at a segment.
func (r Ref) Below(s change.Segment) Ref {
	return Ref{Root: r.Root, Path: slices.Concat(r.Path, change.Pattern{s})}
}

// Key tells places apart, and orders them.
func (r Ref) Key() string {
	if r.Length {
		return r.Root + "#" + r.Path.String()
	}
	return r.Root + "/" + r.Path.String()
}

// Value is what is known of the value of an expression without evaluating it. It may be
// more than one thing, such as either branch of a condition.
type Value struct {
	// Is are the places of which it holds the content: a field of the value is that
	// field of one of them.
	Is []Ref
	// From are the places that decide on it as a whole.
	From []Ref
	// Fields are the keys of a map that the expression writes out.
	Fields map[string]*Value
	// Item is what each item of a list may be, or each value of a map whose keys are
	// not written out.
	Item *Value
	// Fixed is true of a list whose items are written out one by one.
	Fixed bool
	// Sized is true of a list where From has all that decides on how many items there are.
	Sized bool
	// Listed is true of a list, whatever is known of its items.
	Listed bool
	// Gone is true where there may be no value at all.
	Gone bool
	// Texts lists the strings that the value may be, as far as constants say.
	Texts []string
	// Open is true where it may be something that is not in Texts.
	Open bool
	// Solid is true where the value can be neither absent nor the zero value of its
	// type, which the types of Kubernetes leave out.
	Solid bool
}

// All returns the places that the value depends on in any way.
func (v *Value) All() []Ref {
	if v == nil {
		return nil
	}
	out := slices.Concat(v.Is, v.From, v.Item.All())
	for _, field := range v.Fields {
		out = append(out, field.All()...)
	}
	return Unique(out)
}

// Computed returns a value that depends on others in ways that are not followed.
func Computed(of ...*Value) *Value {
	out := &Value{}
	for _, v := range of {
		out.From = append(out.From, v.All()...)
	}
	out.From = Unique(out.From)
	return out
}

// But returns the value, which these decide on as well.
func (v *Value) But(decided ...Ref) *Value {
	if len(decided) == 0 {
		return v
	}
	out := *v
	out.From = Unique(slices.Concat(v.From, decided))
	return &out
}

// Either returns a value that may be any of these.
func Either(of ...*Value) *Value {
	out := &Value{Fixed: true, Sized: true, Solid: true}
	for _, v := range of {
		if v == nil {
			continue
		}
		out.Texts = append(out.Texts, v.Texts...)
		out.Open = out.Open || v.Open || len(v.Texts) == 0
		out.Is = append(out.Is, v.Is...)
		out.From = append(out.From, v.From...)
		for key, field := range v.Fields {
			if out.Fields == nil {
				out.Fields = map[string]*Value{}
			}
			if there, ok := out.Fields[key]; ok {
				field = Either(there, field)
			}
			out.Fields[key] = field
		}
		switch {
		case out.Item == nil:
			out.Item = v.Item
		case v.Item != nil:
			out.Item = Either(out.Item, v.Item)
		}
		out.Sized = out.Sized && v.isSized()
		out.Fixed = out.Fixed && v.Fixed
		out.Listed = out.Listed || v.Listed
		out.Gone = out.Gone || v.Gone
		out.Solid = out.Solid && v.Solid
	}
	out.Is, out.From = Unique(out.Is), Unique(out.From)
	slices.Sort(out.Texts)
	out.Texts = slices.Compact(out.Texts)
	return out
}

// Field returns what a map holds under a key.
func (v *Value) Field(name string) *Value {
	out := &Value{From: v.From, Gone: v.Gone}
	for _, r := range v.Is {
		out.Is = append(out.Is, r.Below(FieldSegment(name)))
	}
	return orOf(out, v.Fields[name], v.Item)
}

// At returns an item of a list, or a value of a map, that a number or something computed names.
func (v *Value) At(s change.Segment) *Value {
	out := &Value{From: v.From, Gone: v.Gone}
	for _, r := range v.Is {
		out.Is = append(out.Is, r.Below(s))
	}
	of := make([]*Value, 0, 1+len(v.Fields))
	of = append(of, v.Item)
	for _, field := range v.Fields {
		of = append(of, field)
	}
	return orOf(out, of...)
}

// Element returns any item of a list, and any value of a map.
func (v *Value) Element() *Value { return v.At(change.Wildcard) }

// orOf returns a value, or any of those of the others that there are. What decides on the value
// decides on all of it.
func orOf(v *Value, others ...*Value) *Value {
	var of []*Value
	if len(v.Is) > 0 {
		of = append(of, &Value{Is: v.Is})
	}
	for _, other := range others {
		if other != nil {
			of = append(of, other)
		}
	}
	if len(of) == 0 {
		return v
	}
	out := Either(of...).But(v.From...)
	if v.Gone {
		return out.Optional()
	}
	return out
}

// Size returns how many items a list has, or how many keys a map.
func (v *Value) Size() *Value {
	out := &Value{From: slices.Clone(v.From)}
	for _, r := range v.Is {
		r.Length = true
		out.From = append(out.From, r)
	}
	if v.Item != nil && !v.isSized() {
		out.From = append(out.From, v.Item.All()...)
	}
	out.From = Unique(out.From)
	return out
}

// isSized reports whether From has all that decides on how many items there are.
func (v *Value) isSized() bool {
	return v.Fixed || v.Sized || v.Item == nil && len(v.Is) == 0
}

// Optional returns a value that there may not be.
func (v *Value) Optional() *Value {
	out := *v
	out.Gone, out.Solid = true, false
	return &out
}

// There returns a value that there is, where it might not have been.
func (v *Value) There() *Value {
	out := *v
	out.Gone = false
	return &out
}

// same reports whether two values are known to be of the same.
func (v *Value) same(w *Value) bool {
	return slices.Equal(keysOf(v.All()), keysOf(w.All()))
}

func keysOf(refs []Ref) []string {
	out := make([]string, 0, len(refs))
	for _, r := range refs {
		out = append(out, r.Key())
	}
	return out
}

// Unique sorts places, each once.
func Unique(refs []Ref) []Ref {
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Key(), b.Key()) })
	return slices.CompactFunc(refs, func(a, b Ref) bool { return a.Key() == b.Key() })
}
