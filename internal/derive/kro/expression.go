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
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	krocel "github.com/kubernetes-sigs/kro/pkg/cel"
	"github.com/kubernetes-sigs/kro/pkg/graph/parser"

	"kausality.io/operator/internal/change"
)

func fieldSegment(name string) change.Segment {
	return change.Segment{Type: fieldpath.SegmentField, Field: name}
}

func indexSegment(i uint) change.Segment {
	return change.Segment{Type: fieldpath.SegmentIndex, Index: i}
}

// scope is what the names in an expression stand for.
type scope map[string]*value

// with returns the scope in which a name stands for something.
func (s scope) with(name string, v *value) scope {
	if name == "" {
		return s
	}
	out := make(scope, len(s)+1)
	maps.Copy(out, s)
	out[name] = v
	return out
}

// expressionIn returns the expression that kro makes of the text of a field, and whether
// there is one in it.
func expressionIn(text string) (string, bool, error) {
	found, _, err := parser.ParseSchemalessResource(map[string]any{"field": text})
	if err != nil {
		return "", false, err
	}
	if len(found) == 0 {
		return "", false, nil
	}
	return found[0].Expression.Original, true, nil
}

// environment is kro's, in which expressions are parsed.
var environment = sync.OnceValues(func() (*celgo.Env, error) { return krocel.DefaultEnvironment() })

// parse reads an expression as kro does. Its names and types are not checked.
func parse(expression string) (ast.Expr, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("preparing kro's expression language: %w", err)
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil, fmt.Errorf("${%s} cannot be parsed: %w", expression, issues.Err())
	}
	return parsed.NativeRep().Expr(), nil
}

// maxDepth bounds how deep expressions are followed into each other.
const maxDepth = 200

// follower follows one expression.
type follower struct {
	depth int
	err   error
}

// follow finds what the value of an expression depends on.
func follow(e ast.Expr, names scope) (*value, error) {
	f := &follower{}
	v := f.walk(e, names)
	return v, f.err
}

func (f *follower) fail(format string, args ...any) *value {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
	return &value{}
}

func (f *follower) walk(e ast.Expr, names scope) *value {
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
			return &value{}
		}
		return f.fail("%q is neither a resource of the graph nor an iterator", name)
	case ast.SelectKind:
		s := e.AsSelect()
		v := f.walk(s.Operand(), names).field(s.FieldName())
		if s.IsTestOnly() {
			return computed(v)
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

func literal(e ast.Expr) *value {
	switch v := e.AsLiteral().(type) {
	case types.Null:
		return &value{gone: true}
	case types.String:
		return &value{solid: v != ""}
	default:
		return &value{}
	}
}

func (f *follower) list(l ast.ListExpr, names scope) *value {
	out := &value{fixed: len(l.OptionalIndices()) == 0, listed: true}
	of := make([]*value, 0, len(l.Elements()))
	for _, e := range l.Elements() {
		of = append(of, f.walk(e, names))
	}
	if len(of) > 0 {
		out.item = either(of...)
		out.solid = true
	}
	return out
}

func (f *follower) entries(m ast.MapExpr, names scope) *value {
	out := &value{fields: map[string]*value{}, solid: true}
	for _, entry := range m.Entries() {
		e := entry.AsMapEntry()
		v := f.walk(e.Value(), names)
		if e.IsOptional() {
			v.gone = true
		}
		out = inserted(out, e.Key(), f.walk(e.Key(), names), v)
	}
	return out
}

// inserted returns a map with one more value.
func inserted(m *value, key ast.Expr, of, v *value) *value {
	name, constant := text(key)
	if !constant {
		return either(m, &value{item: v}).but(of.all()...)
	}
	return either(m, &value{fields: map[string]*value{name: v}})
}

func (f *follower) structure(s ast.StructExpr, names scope) *value {
	out := &value{}
	for _, entry := range s.Fields() {
		out = computed(out, f.walk(entry.AsStructField().Value(), names))
	}
	return out
}

// comprehension follows what macros such as map, filter and exists are made of: a fold
// over a list or map. That of cel.bind and optMap folds nothing, and gives a name only.
func (f *follower) comprehension(c ast.ComprehensionExpr, names scope) *value {
	start := f.walk(c.AccuInit(), names)
	if never(c.LoopCondition()) {
		return f.walk(c.Result(), names.with(c.AccuVar(), start))
	}
	over := f.walk(c.IterRange(), names)
	inner := names.with(c.IterVar(), over.element())
	if c.HasIterVar2() {
		// The first is an index or a key, which depends on what there is.
		inner = names.with(c.IterVar(), over.size()).with(c.IterVar2(), over.element())
	}
	accu := start
	for range 3 {
		step := f.walk(c.LoopStep(), inner.with(c.AccuVar(), accu))
		next := either(accu, step)
		if next.same(accu) {
			accu = next
			break
		}
		accu = next
	}
	accu = accu.but(computed(f.walk(c.LoopCondition(), inner.with(c.AccuVar(), accu))).from...)
	result := *f.walk(c.Result(), inner.with(c.AccuVar(), accu))
	result.fixed, result.solid, result.listed = false, false, accu.listed
	return result.ofAll(over)
}

// ofAll returns a result of all items of a list or map. Where nothing of them is in it, how
// many there are is.
func (v *value) ofAll(over *value) *value {
	all := v.all()
	for _, item := range over.element().is {
		if !within(all, item) {
			return v.but(over.size().from...)
		}
	}
	return v.but(over.from...)
}

// within reports whether one of the places is in what a ref is about.
func within(refs []ref, in ref) bool {
	for _, r := range refs {
		if r.root == in.root && !r.length && len(r.path) >= len(in.path) && in.path.Touches(change.Path(r.path)) {
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
func (f *follower) call(c ast.CallExpr, names scope) *value {
	args, name := c.Args(), c.FunctionName()
	if c.IsMemberFunction() && isNamespace(c.Target(), names) {
		name = qualifier(c.Target()) + "." + name
	}
	switch name {
	case operators.Conditional:
		return either(f.walk(args[1], names), f.walk(args[2], names)).but(f.walk(args[0], names).all()...)
	case operators.OptSelect:
		field, _ := text(args[1])
		return f.walk(args[0], names).field(field).optional()
	case operators.Index:
		return f.index(args, names)
	case operators.OptIndex:
		return f.index(args, names).optional()
	case operators.Add:
		return plus(f.walk(args[0], names), f.walk(args[1], names))
	case "cel.@mapInsert":
		if len(args) == 3 {
			return inserted(f.walk(args[0], names), args[1], f.walk(args[1], names), f.walk(args[2], names))
		}
		return either(f.walk(args[0], names), f.walk(args[1], names))
	case "omit", "optional.none":
		return &value{gone: true}
	}
	of := f.arguments(c, names)
	if known, ok := functions[name]; ok && known.arguments == len(of) {
		return known.of(of)
	}
	return computed(of...)
}

// functions are those whose result is, or has, what one of the arguments is.
var functions = map[string]struct {
	arguments int
	of        func([]*value) *value
}{
	"dyn":                     {1, func(of []*value) *value { return of[0] }},
	"value":                   {1, func(of []*value) *value { return of[0].there() }},
	"optional.of":             {1, func(of []*value) *value { return of[0].there() }},
	"optional.ofNonZeroValue": {1, func(of []*value) *value { return of[0].optional() }},
	"or":                      {2, func(of []*value) *value { return either(of[0].there(), of[1]) }},
	"orValue":                 {2, func(of []*value) *value { return either(of[0].there(), of[1]) }},
	"merge":                   {2, func(of []*value) *value { return either(of...) }},
	"deepMerge":               {2, func(of []*value) *value { return either(of...) }},
	"first":                   {1, func(of []*value) *value { return of[0].element().but(of[0].size().from...).optional() }},
	"last":                    {1, func(of []*value) *value { return of[0].element().but(of[0].size().from...).optional() }},
	"size":                    {1, func(of []*value) *value { return of[0].size() }},
}

// arguments follows the arguments of a function, and what it is a method of. The first part
// of a name such as random.seededString is none of these.
func (f *follower) arguments(c ast.CallExpr, names scope) []*value {
	var of []*value
	if c.IsMemberFunction() && !isNamespace(c.Target(), names) {
		of = append(of, f.walk(c.Target(), names))
	}
	for _, arg := range c.Args() {
		of = append(of, f.walk(arg, names))
	}
	return of
}

// isNamespace reports whether what stands before the name of a function is part of the name.
func isNamespace(e ast.Expr, names scope) bool {
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

func (f *follower) index(args []ast.Expr, names scope) *value {
	v := f.walk(args[0], names)
	if name, ok := text(args[1]); ok {
		return v.field(name)
	}
	if i, ok := number(args[1]); ok {
		return v.at(indexSegment(i))
	}
	return v.element().but(f.walk(args[1], names).all()...)
}

// plus returns a sum, a text of two parts, or a list of the items of two lists.
func plus(a, b *value) *value {
	if !a.listed && !b.listed {
		out := computed(a, b)
		// A text of which one part is never empty is not either.
		out.solid = a.solid || b.solid
		return out
	}
	out := &value{listed: true, fixed: a.fixed && b.fixed, from: unique(slices.Concat(a.from, b.from))}
	var of []*value
	for _, v := range []*value{a, b} {
		if len(v.is) > 0 || v.item != nil {
			item := *v.element()
			item.from = nil
			of = append(of, item.but(v.element().from...))
		}
	}
	if len(of) > 0 {
		out.item = either(of...)
	}
	return out
}
