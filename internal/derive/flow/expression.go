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
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kausality.io/operator/internal/change"
)

// FieldSegment returns the segment of a field.
func FieldSegment(name string) change.Segment {
	return change.Segment{Type: fieldpath.SegmentField, Field: name}
}

// IndexSegment returns the segment of an item.
func IndexSegment(i uint) change.Segment {
	return change.Segment{Type: fieldpath.SegmentIndex, Index: i}
}

// Scope is what the names in an expression stand for.
type Scope map[string]*Value

// With returns the scope in which a name stands for something.
func (s Scope) With(name string, v *Value) Scope {
	if name == "" {
		return s
	}
	out := make(Scope, len(s)+1)
	maps.Copy(out, s)
	out[name] = v
	return out
}

// maxDepth bounds how deep expressions are followed into each other.
const maxDepth = 200

// UnknownError says that a name in an expression stands for nothing.
type UnknownError struct{ Name string }

// Error implements error.
func (e *UnknownError) Error() string { return fmt.Sprintf("%q is not known", e.Name) }

// Call is a call of a function, as who follows an expression sees it.
type Call struct {
	ast.CallExpr
	// Names are what is known where the call is.
	Names Scope
	// Under are the places that decide on whether it is called at all, and how often.
	Under []Ref
	// Follow finds what the value of an argument depends on.
	Follow func(ast.Expr) *Value
}

// Calls follows a call itself, and reports false of those that are followed as any.
type Calls func(*Call) (*Value, bool)

// follower follows one expression.
type follower struct {
	calls Calls
	under []Ref
	depth int
	err   error
}

// Follow finds what the value of an expression depends on. Without calls, all functions are followed
// as any.
func Follow(e ast.Expr, names Scope, calls Calls) (*Value, error) {
	f := &follower{calls: calls}
	v := f.walk(e, names)
	return v, f.err
}

// beneath follows what is evaluated or not as some places have it.
func (f *follower) beneath(decided []Ref, follow func() *Value) *Value {
	outer := f.under
	f.under = Unique(slices.Concat(outer, decided))
	defer func() { f.under = outer }()
	return follow()
}

func (f *follower) fail(format string, args ...any) *Value {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
	return &Value{}
}

func (f *follower) walk(e ast.Expr, names Scope) *Value {
	f.depth++
	defer func() { f.depth-- }()
	if f.depth > maxDepth {
		return f.fail("an expression is nested more than %d levels deep", maxDepth)
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return literal(e)
	case ast.IdentKind:
		name := strings.TrimPrefix(e.AsIdent(), ".")
		if v, known := names[name]; known {
			return v
		}
		if isType(name) {
			return &Value{}
		}
		if f.err == nil {
			f.err = &UnknownError{Name: name}
		}
		return &Value{}
	case ast.SelectKind:
		s := e.AsSelect()
		v := f.walk(s.Operand(), names).Field(s.FieldName())
		if s.IsTestOnly() {
			return Computed(v)
		}
		return v
	case ast.CallKind:
		return f.call(e.AsCall(), names)
	case ast.ListKind:
		return f.list(e.AsList(), names)
	case ast.MapKind:
		return f.entries(e.AsMap(), names)
	case ast.StructKind:
		return f.structure(e.AsStruct(), names)
	case ast.ComprehensionKind:
		return f.comprehension(e.AsComprehension(), names)
	default:
		return f.fail("an expression is of a form that is not known")
	}
}

// isType reports whether a name is that of a type, as in type(x) == string.
func isType(name string) bool {
	switch name {
	case "bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint", "optional_type":
		return true
	default:
		return false
	}
}

func literal(e ast.Expr) *Value {
	switch v := e.AsLiteral().(type) {
	case types.Null:
		return &Value{Gone: true}
	case types.String:
		return &Value{Solid: v != "", Texts: []string{string(v)}}
	default:
		return &Value{}
	}
}

func (f *follower) list(l ast.ListExpr, names Scope) *Value {
	out := &Value{Fixed: len(l.OptionalIndices()) == 0, Listed: true}
	of := make([]*Value, 0, len(l.Elements()))
	for _, e := range l.Elements() {
		of = append(of, f.walk(e, names))
	}
	if len(of) > 0 {
		out.Item = Either(of...)
		out.Solid = true
	}
	return out
}

func (f *follower) entries(m ast.MapExpr, names Scope) *Value {
	out := &Value{Fields: map[string]*Value{}, Solid: true}
	for _, entry := range m.Entries() {
		e := entry.AsMapEntry()
		v := f.walk(e.Value(), names)
		if e.IsOptional() {
			v.Gone = true
		}
		out = inserted(out, e.Key(), f.walk(e.Key(), names), v)
	}
	return out
}

// inserted returns a map with one more value.
func inserted(m *Value, key ast.Expr, of, v *Value) *Value {
	name, constant := text(key)
	if !constant {
		return Either(m, &Value{Item: v}).But(of.All()...)
	}
	return Either(m, &Value{Fields: map[string]*Value{name: v}})
}

func (f *follower) structure(s ast.StructExpr, names Scope) *Value {
	out := &Value{}
	for _, entry := range s.Fields() {
		out = Computed(out, f.walk(entry.AsStructField().Value(), names))
	}
	return out
}

// comprehension follows what macros such as map, filter and exists are made of: a fold
// over a list or map. That of cel.bind and optMap folds nothing, and gives a name only.
func (f *follower) comprehension(c ast.ComprehensionExpr, names Scope) *Value {
	start := f.walk(c.AccuInit(), names)
	if never(c.LoopCondition()) {
		return f.walk(c.Result(), names.With(c.AccuVar(), start))
	}
	over := f.walk(c.IterRange(), names)
	inner := names.With(c.IterVar(), over.Element())
	if c.HasIterVar2() {
		// The first is an index or a key, which depends on what there is.
		inner = names.With(c.IterVar(), over.Size()).With(c.IterVar2(), over.Element())
	}
	accu := start
	f.beneath(over.Size().From, func() *Value {
		for range 3 {
			on := Computed(f.walk(c.LoopCondition(), inner.With(c.AccuVar(), accu))).From
			step := f.beneath(on, func() *Value { return f.walk(c.LoopStep(), inner.With(c.AccuVar(), accu)) })
			next := Either(accu, step)
			if next.same(accu) {
				accu = next
				break
			}
			accu = next
		}
		return nil
	})
	accu = accu.But(Computed(f.walk(c.LoopCondition(), inner.With(c.AccuVar(), accu))).From...)
	result := *f.walk(c.Result(), inner.With(c.AccuVar(), accu))
	result.Fixed, result.Solid, result.Listed = false, false, accu.Listed
	result.Sized = over.isSized()
	return result.ofAll(over)
}

// ofAll returns a result of all items of a list or map. Where nothing of them is in it, how
// many there are is.
func (v *Value) ofAll(over *Value) *Value {
	all := v.All()
	for _, item := range over.Element().Is {
		if !within(all, item) {
			return v.But(over.Size().From...)
		}
	}
	return v.But(over.From...)
}

// within reports whether one of the places is in what a ref is about.
func within(refs []Ref, in Ref) bool {
	for _, r := range refs {
		if r.Root == in.Root && !r.Length && len(r.Path) >= len(in.Path) && in.Path.Touches(change.Path(r.Path)) {
			return true
		}
	}
	return false
}

// never reports whether a condition is false by itself.
func never(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.False
}

// text returns what a literal string says.
func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// number returns what a literal index says.
func number(e ast.Expr) (uint, bool) {
	if e.Kind() != ast.LiteralKind {
		return 0, false
	}
	i, ok := e.AsLiteral().(types.Int)
	return uint(max(i, 0)), ok && i >= 0
}

// call follows a call of a function or an operator. What is not told apart here depends
// on all its arguments.
func (f *follower) call(c ast.CallExpr, names Scope) *Value {
	if f.calls != nil {
		own := &Call{c, names, f.under, func(e ast.Expr) *Value { return f.walk(e, names) }}
		if v, known := f.calls(own); known {
			return v
		}
	}
	args, name := c.Args(), c.FunctionName()
	if c.IsMemberFunction() && isNamespace(c.Target(), names) {
		name = qualifier(c.Target()) + "." + name
	}
	switch name {
	case operators.Conditional:
		on := f.walk(args[0], names).All()
		return f.beneath(on, func() *Value { return Either(f.walk(args[1], names), f.walk(args[2], names)) }).But(on...)
	case operators.LogicalAnd, operators.LogicalOr:
		first := f.walk(args[0], names)
		return Computed(first, f.beneath(first.All(), func() *Value { return f.walk(args[1], names) }))
	case operators.OptSelect:
		field, _ := text(args[1])
		return f.walk(args[0], names).Field(field).Optional()
	case operators.Index:
		return f.index(args, names)
	case operators.OptIndex:
		return f.index(args, names).Optional()
	case operators.Add:
		return plus(f.walk(args[0], names), f.walk(args[1], names))
	case "cel.@mapInsert":
		if len(args) == 3 {
			return inserted(f.walk(args[0], names), args[1], f.walk(args[1], names), f.walk(args[2], names))
		}
		return Either(f.walk(args[0], names), f.walk(args[1], names))
	case "omit", "optional.none":
		return &Value{Gone: true}
	}
	of := f.arguments(c, names)
	if known, ok := functions[name]; ok && known.arguments == len(of) {
		return known.of(of)
	}
	return Computed(of...)
}

// functions lists the functions that return an argument, or a value that contains one.
var functions = map[string]struct {
	arguments int
	of        func([]*Value) *Value
}{
	"dyn":                     {1, func(of []*Value) *Value { return of[0] }},
	"value":                   {1, func(of []*Value) *Value { return of[0].There() }},
	"optional.of":             {1, func(of []*Value) *Value { return of[0].There() }},
	"optional.ofNonZeroValue": {1, func(of []*Value) *Value { return of[0].Optional() }},
	"or":                      {2, func(of []*Value) *Value { return Either(of[0].There(), of[1]) }},
	"orValue":                 {2, func(of []*Value) *Value { return Either(of[0].There(), of[1]) }},
	"merge":                   {2, func(of []*Value) *Value { return Either(of...) }},
	"deepMerge":               {2, func(of []*Value) *Value { return Either(of...) }},
	"first":                   {1, func(of []*Value) *Value { return of[0].Element().But(of[0].Size().From...).Optional() }},
	"last":                    {1, func(of []*Value) *Value { return of[0].Element().But(of[0].Size().From...).Optional() }},
	"size":                    {1, func(of []*Value) *Value { return of[0].Size() }},
}

// arguments follows the arguments of a function, and what it is a method of. The first part
// of a name such as random.seededString is none of these.
func (f *follower) arguments(c ast.CallExpr, names Scope) []*Value {
	var of []*Value
	if c.IsMemberFunction() && !isNamespace(c.Target(), names) {
		of = append(of, f.walk(c.Target(), names))
	}
	for _, arg := range c.Args() {
		of = append(of, f.walk(arg, names))
	}
	return of
}

// isNamespace reports whether the target of a call is the first part of the name of the function, as math
// is in math.greatest.
func isNamespace(e ast.Expr, names Scope) bool {
	for e.Kind() == ast.SelectKind {
		e = e.AsSelect().Operand()
	}
	if e.Kind() != ast.IdentKind {
		return false
	}
	_, known := names[e.AsIdent()]
	return !known
}

// qualifier returns the first part of the name of a function.
func qualifier(e ast.Expr) string {
	if e.Kind() == ast.SelectKind {
		return qualifier(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName()
	}
	return e.AsIdent()
}

func (f *follower) index(args []ast.Expr, names Scope) *Value {
	v := f.walk(args[0], names)
	if name, ok := text(args[1]); ok {
		return v.Field(name)
	}
	if i, ok := number(args[1]); ok {
		return v.At(IndexSegment(i))
	}
	return v.Element().But(f.walk(args[1], names).All()...)
}

// plus returns a sum, a text of two parts, or a list of the items of two lists.
func plus(a, b *Value) *Value {
	if !a.Listed && !b.Listed {
		out := Computed(a, b)
		// A text of which one part is never empty is not either.
		out.Solid = a.Solid || b.Solid
		return out
	}
	out := &Value{Listed: true, Fixed: a.Fixed && b.Fixed, Sized: a.isSized() && b.isSized(), From: Unique(slices.Concat(a.From, b.From))}
	var of []*Value
	for _, v := range []*Value{a, b} {
		if len(v.Is) > 0 || v.Item != nil {
			item := *v.Element()
			item.From = nil
			of = append(of, item.But(v.Element().From...))
		}
	}
	if len(of) > 0 {
		out.Item = Either(of...)
	}
	return out
}
