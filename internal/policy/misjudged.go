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

package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/nullsafe"
)

// An expression says nothing of its own of what it compares: object is of no type for CEL,
// as what there is of it may come and go. So one that compares a string with a number
// compiles, and never holds. What is declared of a kind, and what its objects have, tells.

// Fields tells what there is below a variable of an expression.
type Fields interface {
	// TypeOf is what kind of value is at the pattern, empty where that is not known.
	TypeOf(pattern change.Pattern) change.ValueType
	// Undeclared says why nothing has what the pattern names, empty where something may.
	Undeclared(pattern change.Pattern) string
}

// Misjudged says of each expression of a policy what it compares in vain, and which fields
// it asks for that the kind does not have.
func Misjudged(spec *v1alpha1.AllowancePolicySpec, declared Declared) []string {
	m := misjudged{declared: declared}
	parent := schema.GroupVersionKind{Group: spec.For.APIGroup, Version: spec.For.APIVersion, Kind: spec.For.Kind}
	path := field.NewPath("spec")
	if s := spec.Initializing; s != nil && (&compiler{}).initializingWhen(s.When, nil) != nil {
		at := path.Child("initializing", "when")
		m.look(parent, initializingScope, s.When, at)
		if always, same := constant(initializingScope, s.When); same && always {
			m.add(at, "it is always true: each object stays Initializing for ever, and anybody may do to its children what this section lets them")
		}
	}
	if s := spec.Consumption; s != nil && s.When != "" {
		at := path.Child("consumption", "when")
		m.look(parent, consumptionScope, s.When, at)
		if problem := misconsumes(s.When); problem != "" {
			m.add(at, problem)
		}
	}
	m.known(parent, spec.Knowledge, path.Child("knowledge"))
	if s := spec.Maintaining; s != nil {
		for i := range s.Policies {
			m.beforeCreation(&s.Policies[i], path.Child("maintaining", "policies").Index(i))
			if child, served := declared.KindFor(ResourceOf(s.Policies[i].Target)); served {
				m.conditions(child, s.Policies[i].Conditions, path.Child("maintaining", "policies").Index(i), "the entry lets nothing through")
			}
		}
	}
	for i := range spec.Rules {
		m.conditions(parent, spec.Rules[i].Conditions, path.Child("rules").Index(i),
			"the rule allows nothing, and every change of what it is about is withheld")
	}
	return m.found
}

// misjudged collects what is wrong with expressions.
type misjudged struct {
	declared Declared
	found    []string
}

func (m *misjudged) add(at *field.Path, problem string) {
	m.found = append(m.found, fmt.Sprintf("%s: %s", at, problem))
}

// look looks at an expression about objects of a kind.
func (m *misjudged) look(kind schema.GroupVersionKind, in scope, source string, at *field.Path) {
	for _, problem := range misjudges(in, source, declaredFields{m.declared, kind}) {
		m.add(at, problem)
	}
}

// conditions looks at the conditions of a rule or an entry. otherwise says what it means that one never holds.
func (m *misjudged) conditions(kind schema.GroupVersionKind, sources []string, at *field.Path, otherwise string) {
	for i, source := range sources {
		at := at.Child("conditions").Index(i)
		m.look(kind, changeScope, source, at)
		if always, same := constant(changeScope, source); same && !always {
			m.add(at, "it is never true: "+otherwise)
		}
	}
}

// misconsumes says what is wrong with when allowances end, empty for nothing.
func misconsumes(when string) string {
	switch always, same := constant(consumptionScope, when); {
	case same && always:
		return "it is always true: what a change allows would end at once"
	case same:
		return "it is never true: what a change allows would not end"
	case !looksAtGeneration(when):
		return "it looks at no generation: what the status said before a change would end at once " +
			"what the change allows; compare object.status.observedGeneration with allowance.generation"
	default:
		return ""
	}
}

// declaredFields are those that a kind is declared to have.
type declaredFields struct {
	Declared
	kind schema.GroupVersionKind
}

// TypeOf implements Fields.
func (d declaredFields) TypeOf(pattern change.Pattern) change.ValueType {
	return d.Declared.TypeOf(d.kind, pattern)
}

// Undeclared implements Fields.
func (d declaredFields) Undeclared(pattern change.Pattern) string {
	why := d.Declared.Undeclared(d.kind, pattern)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("in kind %s, %s", d.kind.Kind, why)
}

// objectFields are those that an object has.
type objectFields map[string]any

// TypeOf implements Fields.
func (o objectFields) TypeOf(pattern change.Pattern) change.ValueType {
	for _, path := range pattern.Expand(o) {
		if value, ok := path.Value(o); ok {
			return change.TypeOfValue(value)
		}
	}
	return ""
}

// Undeclared implements Fields: an object may come by anything yet.
func (objectFields) Undeclared(change.Pattern) string { return "" }

// Misjudges says what the condition compares in vain in an object.
func (c *Condition) Misjudges(object map[string]any) []string {
	return misjudges(c.scope, c.source, objectFields(object))
}

// misjudges says what is wrong with an expression that compiles, by what is known of the
// fields of objects.
func misjudges(in scope, source string, fields Fields) []string {
	tree := parsed(in, source)
	if tree == nil {
		return nil
	}
	j := judging{fields: fields, bound: map[string]inferred{}}
	if all := j.infer(tree.NativeRep().Expr()); all.valueType != "" && all.valueType != change.ValueBool {
		j.add(fmt.Sprintf("it yields %s, which is neither true nor false: that does not hold", all.told()))
	}
	return j.found
}

// parsed returns the tree of an expression, nil where it is none.
func parsed(in scope, source string) *cel.Ast {
	env, err := in()
	if err != nil {
		return nil
	}
	tree, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil
	}
	return tree
}

// constant returns the value of an expression that reads no variable. same is false for an expression that
// reads one, and for one that cannot be evaluated.
func constant(in scope, source string) (value, same bool) {
	tree := parsed(in, source)
	if tree == nil {
		return false, false
	}
	looks := false
	ast.PostOrderVisit(tree.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		looks = looks || e.Kind() == ast.IdentKind
	}))
	if looks {
		return false, false
	}
	condition, err := compileCondition(in, source)
	if err != nil {
		return false, false
	}
	value, err = condition.Eval(context.Background(), Activation{})
	return value, err == nil
}

// looksAtGeneration reports whether an expression selects a generation of anything, or goes
// by the allowance in another way.
func looksAtGeneration(source string) bool {
	tree := parsed(consumptionScope, source)
	if tree == nil {
		return true
	}
	found := false
	ast.PostOrderVisit(tree.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		name := ""
		switch e.Kind() {
		case ast.SelectKind:
			name = e.AsSelect().FieldName()
		case ast.IdentKind:
			name = e.AsIdent()
		case ast.LiteralKind:
			name, _ = e.AsLiteral().Value().(string)
		default:
		}
		found = found || slices.Contains([]string{"generation", "observedGeneration", varAllowance}, name)
	}))
	return found
}

// inferred is what is known of the value of a part of an expression.
type inferred struct {
	valueType change.ValueType
	// in is the variable that the value is a part of, empty for none, and at is where.
	in string
	at change.Pattern
	// text is how the value is told of.
	text string
}

// judging goes through an expression.
type judging struct {
	fields Fields
	// bound are the variables of comprehensions.
	bound map[string]inferred
	found []string
}

func (j *judging) add(problem string) {
	if !slices.Contains(j.found, problem) {
		j.found = append(j.found, problem)
	}
}

// infer finds out of what type the value of e is, and what is wrong within e.
func (j *judging) infer(e ast.Expr) inferred {
	switch e.Kind() {
	case ast.IdentKind:
		return j.ident(e.AsIdent())
	case ast.LiteralKind:
		return literal(e)
	case ast.SelectKind:
		return j.below(j.infer(e.AsSelect().Operand()), fieldpath.Field(e.AsSelect().FieldName()))
	case ast.CallKind:
		return j.call(e.AsCall())
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			j.infer(element)
		}
		return inferred{valueType: change.ValueList, text: "a list"}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			j.infer(entry.AsMapEntry().Key())
			j.infer(entry.AsMapEntry().Value())
		}
		return inferred{valueType: change.ValueMap, text: "a map"}
	case ast.ComprehensionKind:
		return j.comprehension(e.AsComprehension())
	default:
		return inferred{}
	}
}

func (j *judging) ident(name string) inferred {
	if known, ok := j.bound[name]; ok {
		return known
	}
	switch name {
	case varObject, varOldObject, varAllowance:
		return inferred{valueType: change.ValueMap, in: name, text: name}
	default:
		return inferred{}
	}
}

func literal(e ast.Expr) inferred {
	switch e.AsLiteral().(type) {
	case types.String:
		return inferred{valueType: change.ValueText, text: "a string"}
	case types.Int, types.Uint, types.Double:
		return inferred{valueType: change.ValueNumber, text: "a number"}
	case types.Bool:
		return inferred{valueType: change.ValueBool, text: "true or false"}
	default:
		return inferred{} // Anything can be null.
	}
}

// below returns what a value has at a segment.
func (j *judging) below(v inferred, segment change.Segment) inferred {
	if v.in == "" {
		return inferred{}
	}
	out := inferred{in: v.in, at: append(slices.Clone(v.at), segment)}
	out.text = v.in + "." + out.at.String()
	if v.in == varAllowance {
		if name := out.at[0].Field; !slices.Contains(allowanceHas, name) {
			j.add("an allowance has no field " + name + ": it has " + strings.Join(allowanceHas, ", "))
		}
		out.valueType = allowanceFields[out.at.String()]
		return out
	}
	if why := j.fields.Undeclared(out.at); why != "" {
		j.add(why)
		return inferred{}
	}
	out.valueType = j.fields.TypeOf(out.at)
	return out
}

// allowanceFields are the types of what an allowance has.
var allowanceFields = map[string]change.ValueType{
	kindField: change.ValueText, "apiGroup": change.ValueText, "mutation": change.ValueText, "relation": change.ValueText,
	"initiator": change.ValueText, "content": change.ValueText, "generation": change.ValueNumber,
}

// allowanceHas are all the fields of an allowance.
var allowanceHas = []string{
	"apiGroup", "content", "external", "generation", "initiator", kindField, "mutation", "mutations", "relation", "through", "trace", "verbs",
}

// anyItem stands for each item of a list, and each value of a map.
var anyItem = change.Wildcard

const (
	neverEqual   = "these are never equal"
	withoutOrder = "that cannot be evaluated, and does not hold"
)

// relations are the operators that compare, with what comes of comparing values of
// different types.
var relations = map[string]string{
	operators.Equals:        neverEqual,
	operators.NotEquals:     neverEqual,
	operators.Less:          withoutOrder,
	operators.LessEquals:    withoutOrder,
	operators.Greater:       withoutOrder,
	operators.GreaterEquals: withoutOrder,
}

// results are the types of what functions return.
var results = map[string]change.ValueType{
	operators.LogicalAnd: change.ValueBool, operators.LogicalOr: change.ValueBool, operators.LogicalNot: change.ValueBool,
	overloads.TypeConvertInt: change.ValueNumber, overloads.TypeConvertUint: change.ValueNumber, overloads.TypeConvertDouble: change.ValueNumber,
	overloads.TypeConvertString: change.ValueText, overloads.TypeConvertBool: change.ValueBool, overloads.Size: change.ValueNumber,
	nullsafe.FunctionHas: change.ValueBool, operators.In: change.ValueBool,
}

func (j *judging) call(call ast.CallExpr) inferred {
	name, args := call.FunctionName(), call.Args()
	if call.IsMemberFunction() {
		j.infer(call.Target())
	}
	known := make([]inferred, 0, len(args))
	for i, arg := range args {
		if i == 1 && name == operators.OptSelect {
			break // Whoever writes a.?b knows that there may be none.
		}
		known = append(known, j.infer(arg))
	}
	switch consequence, compares := relations[name]; {
	case name == operators.Index:
		return j.index(known[0], args[1])
	case compares:
		j.compare(known[0], known[1], consequence)
		j.operations(args[0], args[1])
		j.operations(args[1], args[0])
		return inferred{valueType: change.ValueBool, text: "true or false"}
	case name == operators.In:
		if args[1].Kind() == ast.ListKind {
			j.operations(args[0], args[1].AsList().Elements()...)
		}
		j.contained(known[0], known[1], args[1])
	case name == operators.Conditional && known[1].valueType == known[2].valueType:
		return inferred{valueType: known[1].valueType, text: string(known[1].valueType)}
	}
	return inferred{valueType: results[name], text: string(results[name])}
}

// index returns what a value has at an index or key.
func (j *judging) index(v inferred, key ast.Expr) inferred {
	if key.Kind() == ast.LiteralKind {
		if k, ok := key.AsLiteral().(types.String); ok {
			return j.below(v, fieldpath.Field(string(k)))
		}
	}
	return j.below(v, anyItem)
}

// contained looks whether a list may have a value.
func (j *judging) contained(v, list inferred, e ast.Expr) {
	switch {
	case e.Kind() == ast.ListKind:
		for _, element := range e.AsList().Elements() {
			j.compare(v, j.infer(element), neverEqual)
		}
	case list.valueType == change.ValueList:
		j.compare(v, j.below(list, anyItem), neverEqual)
	}
}

// compare looks whether two values can be compared.
func (j *judging) compare(a, b inferred, consequence string) {
	if a.valueType == "" || b.valueType == "" || a.valueType == b.valueType {
		return
	}
	help := ""
	if slices.Contains([]change.ValueType{a.valueType, b.valueType}, change.ValueText) &&
		slices.Contains([]change.ValueType{a.valueType, b.valueType}, change.ValueNumber) {
		help = "; int() makes a number of a string"
	}
	j.add(fmt.Sprintf("it compares %s with %s: %s%s", a.told(), b.told(), consequence, help))
}

// told names a value, with its type where that does not say it all.
func (v inferred) told() string {
	if v.text == string(v.valueType) || v.in == "" {
		return string(v.valueType)
	}
	return fmt.Sprintf("%s (%s)", v.text, v.valueType)
}

func (j *judging) comprehension(c ast.ComprehensionExpr) inferred {
	items := j.infer(c.IterRange())
	outer := j.bound
	j.bound = map[string]inferred{}
	maps.Copy(j.bound, outer)
	item, key := inferred{}, inferred{}
	switch items.valueType {
	case change.ValueList:
		item = j.below(items, anyItem)
		key = inferred{valueType: change.ValueNumber, text: "a number"}
	case change.ValueMap:
		item = j.below(items, anyItem)
		key = inferred{valueType: change.ValueText, text: "a string"}
	default:
	}
	switch {
	case c.HasIterVar2():
		j.bound[c.IterVar()], j.bound[c.IterVar2()] = key, item
	case items.valueType == change.ValueMap:
		j.bound[c.IterVar()] = key
	default:
		j.bound[c.IterVar()] = item
	}
	j.infer(c.AccuInit())
	j.bound[c.AccuVar()] = inferred{}
	j.infer(c.LoopCondition())
	j.infer(c.LoopStep())
	j.bound = outer
	return inferred{}
}
