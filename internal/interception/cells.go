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

package interception

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
)

// maxCells is how many cells what is left of the namespaces may be cut into. Selectors of
// one label each never get there, nor do those that share a label; it is a bound for what
// nobody writes.
const maxCells = 32

// values are what a label may be: one of some, or any but some, and perhaps missing. What
// selectors say of one label, and the opposite of each thing that they say, has this form,
// and so has all of that together.
type values struct {
	missing bool
	// but is true where the label may be anything but what is listed.
	but    bool
	listed sets.Set[string]
}

func valuesOf(r labels.Requirement) values {
	switch r.Operator() {
	case selection.Exists:
		return values{but: true, listed: sets.New[string]()}
	case selection.DoesNotExist:
		return values{missing: true, listed: sets.New[string]()}
	case selection.NotIn, selection.NotEquals:
		return values{missing: true, but: true, listed: sets.New(r.ValuesUnsorted()...)}
	default: // In and its like; no LabelSelector has others.
		return values{listed: sets.New(r.ValuesUnsorted()...)}
	}
}

// anyValues is no restriction.
var anyValues = values{missing: true, but: true, listed: sets.New[string]()}

func (v values) not() values {
	return values{missing: !v.missing, but: !v.but, listed: v.listed}
}

func (v values) and(w values) values {
	both := values{missing: v.missing && w.missing}
	switch {
	case v.but && w.but:
		both.but, both.listed = true, v.listed.Union(w.listed)
	case v.but:
		both.listed = w.listed.Difference(v.listed)
	case w.but:
		both.listed = v.listed.Difference(w.listed)
	default:
		both.listed = v.listed.Intersection(w.listed)
	}
	return both
}

func (v values) or(w values) values { return v.not().and(w.not()).not() }

func (v values) equal(w values) bool {
	return v.missing == w.missing && v.but == w.but && v.listed.Equal(w.listed)
}

// none returns true where no label satisfies them.
func (v values) none() bool { return !v.missing && !v.but && v.listed.Len() == 0 }

// sayable returns true where a LabelSelector can say it: it cannot say "missing, or one of".
func (v values) sayable() bool { return !v.missing || v.but || v.listed.Len() == 0 }

// cell is a set of namespaces: those whose labels are as it says.
type cell map[string]values

func (c cell) of(key string) values {
	if v, ok := c[key]; ok {
		return v
	}
	return anyValues
}

// with returns the cell with one label restricted further, and false where nothing is left.
func (c cell) with(key string, v values) (cell, bool) {
	v = c.of(key).and(v)
	if v.none() {
		return nil, false
	}
	narrower := maps.Clone(c)
	if v.equal(anyValues) {
		delete(narrower, key)
	} else {
		narrower[key] = v
	}
	return narrower, true
}

// split cuts a cell along requirements, all of which hold in the one cell in, nil where
// that is empty, and of which some does not in each of the cells out.
func (c cell) split(requirements labels.Requirements) (in cell, out []cell) {
	in = c
	for _, r := range requirements {
		v := valuesOf(r)
		if rest, ok := in.with(r.Key(), v.not()); ok {
			out = append(out, rest)
		}
		var ok bool
		if in, ok = in.with(r.Key(), v); !ok {
			return nil, out
		}
	}
	return in, out
}

// divide divides the namespaces of a cell by selectors: every one in which any of them
// matches is in exactly one of the cells in, every other in exactly one of the cells out.
// One webhook has one selector, whose requirements all have to hold, so that it takes
// several to say "any of these", or "none of these".
func divide(c cell, selectors []labels.Selector) (in, out []cell) {
	out = []cell{c}
	for _, selector := range selectors {
		requirements, selectable := selector.Requirements()
		if !selectable {
			continue
		}
		if len(out) > maxCells && len(requirements) > 1 {
			// Along one requirement nothing is cut into more pieces. It selects more
			// namespaces than the selector.
			requirements = requirements[:1]
		}
		var rest []cell
		for _, each := range out {
			matching, others := each.split(requirements)
			if matching != nil {
				in = append(in, matching)
			}
			rest = append(rest, others...)
		}
		out = merged(rest)
	}
	return merged(in), merged(out)
}

// part is a cell, and the selectors, by their text, that match in all of it. None of the
// others matches anywhere in it.
type part struct {
	cell
	matching sets.Set[string]
}

// partition divides the namespaces of a cell by selectors into parts. Where these would be
// too many, all selectors count as one, which matches wherever any does.
func partition(c cell, selectors []labels.Selector) []part {
	parts := []part{{cell: c, matching: sets.New[string]()}}
	for _, selector := range selectors {
		requirements, selectable := selector.Requirements()
		if !selectable {
			continue
		}
		byMatching := map[string][]cell{}
		sorted := map[string]sets.Set[string]{}
		add := func(matching sets.Set[string], cells ...cell) {
			// One that selects everything has no text.
			key := strings.Repeat("|", matching.Len()) + strings.Join(sets.List(matching), "|")
			byMatching[key], sorted[key] = append(byMatching[key], cells...), matching
		}
		for _, p := range parts {
			in, out := p.split(requirements)
			if in != nil {
				add(p.matching.Clone().Insert(selector.String()), in)
			}
			add(p.matching, out...)
		}
		parts = nil
		for _, key := range slices.Sorted(maps.Keys(byMatching)) {
			for _, each := range merged(byMatching[key]) {
				parts = append(parts, part{cell: each, matching: sorted[key]})
			}
		}
		if len(parts) > maxCells {
			return unite(c, selectors)
		}
	}
	return parts
}

func unite(c cell, selectors []labels.Selector) []part {
	all := sets.New[string]()
	for _, selector := range selectors {
		all.Insert(selector.String())
	}
	in, out := divide(c, selectors)
	parts := make([]part, 0, len(in)+len(out))
	for _, each := range in {
		parts = append(parts, part{cell: each, matching: all})
	}
	for _, each := range out {
		parts = append(parts, part{cell: each, matching: sets.New[string]()})
	}
	return parts
}

// merged puts those cells together that differ in one label only.
func merged(cells []cell) []cell {
	for i := 0; i < len(cells); i++ {
		for j := i + 1; j < len(cells); j++ {
			if both, ok := merge(cells[i], cells[j]); ok {
				cells[i] = both
				cells = slices.Delete(cells, j, j+1)
				i, j = -1, len(cells) // What it is now may go together with others.
			}
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.text(), b.text()) })
	return cells
}

func merge(a, b cell) (cell, bool) {
	var differs []string
	for key := range sets.KeySet(a).Union(sets.KeySet(b)) {
		if !a.of(key).equal(b.of(key)) {
			differs = append(differs, key)
		}
	}
	switch len(differs) {
	case 0:
		return a, true
	case 1:
		key := differs[0]
		v := a.of(key).or(b.of(key))
		if !v.sayable() {
			return nil, false
		}
		both := maps.Clone(a)
		delete(both, key)
		return both.with(key, v)
	}
	return nil, false
}

// selector returns the cell as the API server takes it.
func (c cell) selector() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	say := func(key string, operator metav1.LabelSelectorOperator, listed ...string) {
		selector.MatchExpressions = append(selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: listed})
	}
	for _, key := range slices.Sorted(maps.Keys(c)) {
		v := c[key]
		listed := sets.List(v.listed)
		switch {
		case v.but && v.missing:
			say(key, metav1.LabelSelectorOpNotIn, listed...)
		case v.but:
			say(key, metav1.LabelSelectorOpExists)
			if len(listed) > 0 {
				say(key, metav1.LabelSelectorOpNotIn, listed...)
			}
		case v.missing:
			say(key, metav1.LabelSelectorOpDoesNotExist)
		default:
			say(key, metav1.LabelSelectorOpIn, listed...)
		}
	}
	return selector
}

// text returns the same for equal cells only.
func (c cell) text() string {
	expressions := c.selector().MatchExpressions
	parts := make([]string, 0, len(expressions))
	for _, e := range expressions {
		parts = append(parts, e.Key+" "+string(e.Operator)+" "+strings.Join(e.Values, ","))
	}
	return strings.Join(parts, ";")
}
