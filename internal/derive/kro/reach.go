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
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/flow"
)

// reach is one way in which something reaches the objects of a resource.
type reach struct {
	node *node
	from found
	// field that is reached, nil where it is whether there is an object.
	field change.Pattern
	// solid is true where the field always has a value, and never the zero value.
	solid bool
	// inclusion is true where it is a condition on there being such an object.
	inclusion bool
	// held is true where the object does not change with it, as its name does.
	held bool
	// why says what in the graph makes it so.
	why string
}

// fieldValue is an expression in a template, and the field that it is for.
type fieldValue struct {
	at    change.Pattern
	value *flow.Value
	// text is the expression, as the template has it.
	text string
}

// reaches finds what reaches the objects of a resource.
func (g *graph) reaches(n *node) ([]reach, error) {
	var out []reach
	memberships, err := g.memberships(n)
	if err != nil {
		return nil, err
	}
	out = append(out, memberships...)
	fields, err := n.fields()
	if err != nil {
		return nil, err
	}
	held, err := g.held(n)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		refs := slices.DeleteFunc(f.value.All(), held.holds)
		found, err := g.sourcesOf(n, refs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.at, err)
		}
		for _, from := range found.sorted() {
			r := reach{node: n, from: from, field: identified(f.at), solid: f.value.Solid, why: why(f.text, from.via)}
			if held.sources[from.key()] {
				r.held = true
				r.why += "; it is in the name, so that the object is another one then"
			}
			out = append(out, r)
		}
	}
	for _, m := range g.nodes {
		if m != n && m.sameObject(n) {
			out = append(out, instead(n, m, memberships)...)
		}
	}
	return out, nil
}

// identified returns the field that changes where one does that may tell the items of a list
// apart: the item is another one then.
func identified(at change.Pattern) change.Pattern {
	last := len(at) - 1
	if last < 2 || at[last-1] != change.Wildcard || !slices.Contains(change.MergeKeys(at[last-2].Field), at[last].Field) {
		return at
	}
	return at[:last]
}

// sameObject reports whether two resources of a graph are one object by their names. Then
// only one of them is included at a time, and the other one's fields become its own.
func (n *node) sameObject(m *node) bool {
	if n.external || m.external || n.kind.GroupKind() != m.kind.GroupKind() {
		return false
	}
	a, _ := n.template["metadata"].(map[string]any)
	b, _ := m.template["metadata"].(map[string]any)
	return a["name"] == b["name"] && a["namespace"] == b["namespace"]
}

// instead returns the fields that change where one of two resources that are one object takes
// the place of the other.
func instead(n, m *node, memberships []reach) []reach {
	var out []reach
	for _, at := range unlike(n.template, m.template, nil) {
		at = n.stored(at)
		for _, r := range memberships {
			if !r.inclusion {
				continue
			}
			r.field, r.why = at, r.why+", as it takes the place of "+m.id
			out = append(out, r)
		}
	}
	return out
}

// unlike returns the fields in which two templates differ.
func unlike(a, b any, at change.Pattern) []change.Pattern {
	in, isMap := a.(map[string]any)
	other, isOther := b.(map[string]any)
	if !isMap || !isOther {
		if equality.Semantic.DeepEqual(a, b) || isIdentity(at) {
			return nil
		}
		return []change.Pattern{at}
	}
	var out []change.Pattern
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out = append(out, unlike(in[name], other[name], slices.Concat(at, change.Pattern{flow.FieldSegment(name)}))...)
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if _, both := in[name]; !both {
			out = append(out, slices.Concat(at, change.Pattern{flow.FieldSegment(name)}))
		}
	}
	return out
}

// maxShown is how much of an expression is shown.
const maxShown = 120

// why says what in the graph lets something reach a field.
func why(what string, via []string) string {
	what = strings.Join(strings.Fields(what), " ")
	if runes := []rune(what); len(runes) > maxShown {
		what = string(runes[:maxShown]) + "…"
	}
	if len(via) == 0 {
		return what
	}
	return what + ", via " + strings.Join(via, ", ")
}

// memberships finds what decides on whether there are objects of a resource, and which.
func (g *graph) memberships(n *node) ([]reach, error) {
	var out []reach
	add := func(what string, inclusion bool, refs []flow.Ref) error {
		found, err := g.sourcesOf(n, refs)
		for _, from := range found.sorted() {
			out = append(out, reach{node: n, from: from, inclusion: inclusion, why: why(what, from.via)})
		}
		return err
	}
	for _, m := range n.identity() {
		if m.err != nil {
			return nil, fmt.Errorf("metadata.%s: %w", m.field, m.err)
		}
		if err := add("metadata."+m.field+": "+m.text, false, m.value.All()); err != nil {
			return nil, fmt.Errorf("metadata.%s: %w", m.field, err)
		}
	}
	for _, a := range n.forEach {
		// Which items there are is in the identity, which has all iterators.
		if err := add("forEach "+a.name+": "+a.text, false, a.list.From); err != nil {
			return nil, fmt.Errorf("forEach %s: %w", a.name, err)
		}
	}
	for _, m := range g.needed(n, map[string]bool{}) {
		conditions, err := m.conditions()
		if err != nil {
			return nil, err
		}
		what := "includeWhen"
		if m != n {
			what = "includeWhen of " + m.id
		}
		for _, c := range conditions {
			if err := add(what+": "+c.text, true, c.refs); err != nil {
				return nil, fmt.Errorf("includeWhen: %w", err)
			}
		}
	}
	return out, nil
}

// condition is one on there being an object of a resource.
type condition struct {
	text string
	// refs are what it depends on.
	refs []flow.Ref
}

// conditions of a resource.
func (n *node) conditions() ([]condition, error) {
	out := make([]condition, 0, len(n.includeWhen))
	for i, e := range n.includeWhen {
		v, err := follow(e, n.names)
		if err != nil {
			return nil, fmt.Errorf("includeWhen: %w", err)
		}
		out = append(out, condition{n.conditionTexts[i], v.All()})
	}
	return out, nil
}

// needed returns a resource and all those without which it is left out.
func (g *graph) needed(n *node, seen map[string]bool) []*node {
	if seen[n.id] {
		return nil
	}
	seen[n.id] = true
	out := []*node{n}
	for _, id := range n.needs {
		out = append(out, g.needed(g.byID[id], seen)...)
	}
	return out
}

// fields returns the fields of a template that expressions make, but for its identity and for
// what is never stored of it.
func (n *node) fields() ([]fieldValue, error) {
	c := &fieldCollector{node: n}
	for _, name := range slices.Sorted(maps.Keys(n.template)) {
		switch name {
		case "apiVersion", "kind", "status":
		default:
			c.walk(n.template[name], n.stored(change.Pattern{flow.FieldSegment(name)}))
		}
	}
	return c.out, c.err
}

type fieldCollector struct {
	*node
	out []fieldValue
	err error
}

// walk finds the expressions in a part of the template. It reports whether that part may
// be absent as a whole.
func (c *fieldCollector) walk(has any, at change.Pattern) (gone bool) {
	switch has := has.(type) {
	case string:
		v, isExpression, err := c.expression(has)
		if err != nil {
			c.fail(at, err)
			return false
		}
		if !isExpression || isIdentity(at) {
			return false
		}
		c.emit(at, v, has)
		return v.Gone
	case map[string]any:
		return c.container(at, len(has), func(each func(bool)) {
			for _, name := range slices.Sorted(maps.Keys(has)) {
				each(c.walk(has[name], slices.Concat(at, change.Pattern{flow.FieldSegment(name)})))
			}
		})
	case []any:
		return c.container(at, len(has), func(each func(bool)) {
			for _, item := range has {
				each(c.walk(item, slices.Concat(at, change.Pattern{change.Wildcard})))
			}
		})
	default:
		return false
	}
}

// container walks what a map or a list holds. Where all of that may be absent, so may the
// map or list itself: the types of Kubernetes leave empty ones out. Then its fields are
// reached by way of itself.
func (c *fieldCollector) container(at change.Pattern, size int, walk func(each func(bool))) (gone bool) {
	mark, absent := len(c.out), 0
	walk(func(itemGone bool) {
		if itemGone {
			absent++
		}
	})
	if size == 0 || absent < size || len(at) < 2 || at[0].Field == "metadata" {
		return false
	}
	for i := range c.out[mark:] {
		c.out[mark+i].at = at
		c.out[mark+i].value = flow.Computed(c.out[mark+i].value)
	}
	return true
}

func (c *fieldCollector) fail(at change.Pattern, err error) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: %w", at, err)
	}
}

func isIdentity(at change.Pattern) bool {
	text := at.String()
	return text == "metadata.name" || text == "metadata.namespace"
}

// emit lists the fields that a value is for: what an expression writes out, each for itself.
func (c *fieldCollector) emit(at change.Pattern, v *flow.Value, text string) {
	if refs := flow.Unique(slices.Concat(v.Is, v.From)); len(refs) > 0 || len(v.Fields) == 0 && v.Item == nil {
		c.out = append(c.out, fieldValue{at, &flow.Value{From: refs, Solid: v.Solid && !v.Gone}, text})
	}
	for _, key := range slices.Sorted(maps.Keys(v.Fields)) {
		field := v.Fields[key]
		if isOnly(v, field) {
			c.out = append(c.out, fieldValue{at, flow.Computed(field), text})
			continue
		}
		c.emit(slices.Concat(at, change.Pattern{flow.FieldSegment(key)}), field, text)
	}
	switch {
	case v.Item == nil:
	case v.Fixed && !v.Item.Gone:
		c.emit(slices.Concat(at, change.Pattern{change.Wildcard}), v.Item, text)
	default:
		c.out = append(c.out, fieldValue{at, flow.Computed(v.Item), text})
	}
}

// isOnly reports whether a map that is written out may become empty with one of its values.
func isOnly(v, field *flow.Value) bool {
	if !field.Gone {
		return false
	}
	for _, other := range v.Fields {
		if !other.Gone {
			return false
		}
	}
	return true
}

// heldParts are what the identity of an object holds as it is: as long as the object is
// there, that is the same.
type heldParts struct {
	// refs are iterators, or fields of them.
	refs []flow.Ref
	// sources by key.
	sources map[string]bool
}

// holds reports whether a place is, or is within, part of the identity.
func (h heldParts) holds(r flow.Ref) bool {
	return slices.ContainsFunc(h.refs, func(held flow.Ref) bool {
		return held.Root == r.Root && len(held.Path) <= len(r.Path) && slices.Equal(held.Path, r.Path[:len(held.Path)])
	})
}

// held finds what stands in the name or the namespace as it is. Two names of several parts
// may be the same although two of these differ: that is not told apart.
func (g *graph) held(n *node) (heldParts, error) {
	out := heldParts{sources: map[string]bool{}}
	for _, field := range []string{"name", "namespace"} {
		for _, r := range g.verbatim(n, change.Pattern{flow.FieldSegment("metadata"), flow.FieldSegment(field)}) {
			if strings.HasPrefix(r.Root, iteratorRoot("")) {
				out.refs = append(out.refs, r)
				continue
			}
			from, err := g.sourcesOf(n, []flow.Ref{r})
			if err != nil {
				return out, err
			}
			for key := range from {
				out.sources[key] = true
			}
		}
	}
	return out, nil
}

// verbatim returns the places whose content a field of a template has as it is.
func (g *graph) verbatim(n *node, path change.Pattern) []flow.Ref {
	var at any = n.template
	for _, s := range path {
		in, _ := at.(map[string]any)
		at = in[s.Field]
	}
	text, _ := at.(string)
	expression, isExpression, err := expressionIn(text)
	if err != nil || !isExpression {
		return nil
	}
	e, err := parse(expression)
	if err != nil {
		return nil
	}
	var out []flow.Ref
	for _, r := range verbatim(e, n.names) {
		switch m := g.byID[r.Root]; {
		case m == nil:
			out = append(out, r)
		case !m.external && !m.collection():
			// What the other resource has there may be made of more.
			out = append(out, g.verbatim(m, r.Path)...)
		}
	}
	return out
}

// verbatim returns the places whose content stands in a text as it is.
func verbatim(e ast.Expr, names flow.Scope) []flow.Ref {
	if e.Kind() == ast.CallKind {
		c := e.AsCall()
		switch {
		case c.FunctionName() == operators.Add:
			return slices.Concat(verbatim(c.Args()[0], names), verbatim(c.Args()[1], names))
		case c.FunctionName() == "string" && !c.IsMemberFunction() && len(c.Args()) == 1:
			return verbatim(c.Args()[0], names)
		case c.FunctionName() != operators.Index:
			return nil
		}
	}
	if e.Kind() != ast.IdentKind && e.Kind() != ast.SelectKind && e.Kind() != ast.CallKind {
		return nil
	}
	v, err := follow(e, names)
	if err != nil || len(v.Is) != 1 || len(v.From) > 0 || v.Item != nil || v.Fields != nil || slices.Contains(v.Is[0].Path, change.Wildcard) {
		return nil
	}
	return v.Is
}
