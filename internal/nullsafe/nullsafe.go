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

package nullsafe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// Rewrite makes the selections of a parsed expression null-safe, before it is checked. The
// variables are those that it may use; a name with a dot, such as variables.source, is one
// variable, from which selections start.
func Rewrite(parsed *cel.Ast, variables []*decls.VariableDecl) {
	tree := parsed.NativeRep()
	n := &rewriter{fac: ast.NewExprFactory(), info: tree.SourceInfo(), nextID: ast.MaxID(tree)}
	for _, v := range variables {
		// A declared type tells what there is; its fields are never absent.
		if v.Type() == cel.DynType {
			n.names = append(n.names, v.Name())
		}
	}
	n.value(tree.Expr())
}

// rewriter rewrites one expression.
type rewriter struct {
	fac    ast.ExprFactory
	info   *ast.SourceInfo
	nextID int64
	// names are the variables of unknown content, those of comprehensions
	// included. Selections from other names, such as google.protobuf.Timestamp,
	// are qualified names and stay what they are.
	names []string
}

// value rewrites e so that a selection yields what it finds, or null.
func (n *rewriter) value(e ast.Expr) { n.rewrite(e, fnValue) }

// items rewrites e so that a selection yields what it finds, or an empty list.
func (n *rewriter) items(e ast.Expr) { n.rewrite(e, fnItems) }

func (n *rewriter) rewrite(e ast.Expr, wrapper string) {
	switch {
	case n.selects(e):
		// Whoever writes a.?b wants the optional value.
		if asked := n.open(e); !asked {
			n.wrap(e, wrapper)
		}
		return
	case n.isQualified(e):
		if wrapper == fnItems {
			n.wrap(e, wrapper)
		}
		return
	}
	switch e.Kind() {
	case ast.CallKind:
		n.call(e)
	case ast.ComprehensionKind:
		n.comprehension(e.AsComprehension())
	case ast.SelectKind:
		n.value(e.AsSelect().Operand())
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			n.value(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			n.value(entry.AsMapEntry().Key())
			n.value(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			n.value(field.AsStructField().Value())
		}
	case ast.IdentKind, ast.LiteralKind, ast.UnspecifiedExprKind:
	}
}

func (n *rewriter) call(e ast.Expr) {
	call := e.AsCall()
	switch name := call.FunctionName(); {
	case name == FunctionHas:
		selection := call.Args()[0]
		if !n.isQualified(selection) {
			n.open(selection)
		}
		e.SetKindCase(n.fac.NewCall(e.ID(), fnPresent, selection))
	case name == operators.In && len(call.Args()) == 2:
		n.value(call.Args()[0])
		n.items(call.Args()[1])
	case name == overloads.Size && call.IsMemberFunction():
		n.items(call.Target())
	case name == overloads.Size && len(call.Args()) == 1:
		n.items(call.Args()[0])
	default:
		if call.IsMemberFunction() {
			n.value(call.Target())
		}
		for _, arg := range call.Args() {
			n.value(arg)
		}
	}
}

func (n *rewriter) comprehension(c ast.ComprehensionExpr) {
	n.items(c.IterRange())
	n.value(c.AccuInit())
	outer := n.names
	n.names = append(slices.Clip(n.names), c.IterVar(), c.IterVar2(), c.AccuVar())
	n.value(c.LoopCondition())
	n.value(c.LoopStep())
	n.value(c.Result())
	n.names = outer
}

// selects returns true for a selection that may find nothing.
func (n *rewriter) selects(e ast.Expr) bool {
	operand, ok := n.operand(e)
	for ok {
		e = operand
		operand, ok = n.operand(e)
		if !ok {
			return e.Kind() != ast.IdentKind || slices.Contains(n.names, e.AsIdent())
		}
	}
	return false
}

// operand returns what a selection starts from. A qualified name is none.
func (n *rewriter) operand(e ast.Expr) (ast.Expr, bool) {
	if n.isQualified(e) {
		return nil, false
	}
	return selectionOperand(e)
}

// isQualified reports whether e is the name of a variable that has a dot in it.
func (n *rewriter) isQualified(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind {
		return false
	}
	operand := e.AsSelect().Operand()
	return operand.Kind() == ast.IdentKind && slices.Contains(n.names, operand.AsIdent()+"."+e.AsSelect().FieldName())
}

// open turns a selection, and the selections that it starts from, into optional
// ones. It is true where one of them was optional as written.
func (n *rewriter) open(e ast.Expr) (asked bool) {
	operand, _ := selectionOperand(e)
	if _, ok := n.operand(operand); ok {
		asked = n.open(operand)
	} else {
		n.value(operand)
	}
	if e.Kind() == ast.SelectKind {
		field := n.fac.NewLiteral(n.newID(e.ID()), types.String(e.AsSelect().FieldName()))
		e.SetKindCase(n.fac.NewCall(e.ID(), operators.OptSelect, operand, field))
		return asked
	}
	call := e.AsCall()
	if call.FunctionName() != operators.Index {
		asked = true
	}
	if call.FunctionName() != operators.OptSelect {
		n.value(call.Args()[1])
	}
	if call.FunctionName() == operators.Index {
		e.SetKindCase(n.fac.NewCall(e.ID(), operators.OptIndex, call.Args()...))
	}
	return asked
}

// wrap puts a function call around e, in place.
func (n *rewriter) wrap(e ast.Expr, function string) {
	var inner ast.Expr
	if e.Kind() == ast.SelectKind {
		selection := e.AsSelect()
		inner = n.fac.NewSelect(n.newID(e.ID()), selection.Operand(), selection.FieldName())
	} else {
		call := e.AsCall()
		inner = n.fac.NewCall(n.newID(e.ID()), call.FunctionName(), call.Args()...)
	}
	e.SetKindCase(n.fac.NewCall(e.ID(), function, inner))
}

// newID returns the identifier of a new node that, for error messages, stands
// where the node with the old one does.
func (n *rewriter) newID(old int64) int64 {
	n.nextID++
	if where, ok := n.info.GetOffsetRange(old); ok {
		n.info.SetOffsetRange(n.nextID, where)
	}
	return n.nextID
}

// selectionOperand returns what a selection, optional or not, starts from.
func selectionOperand(e ast.Expr) (ast.Expr, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), true
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptSelect, operators.OptIndex:
			return call.Args()[0], true
		}
	default:
	}
	return nil, false
}

// CompileError puts all that CEL has to say about an expression into one line.
func CompileError(issues *cel.Issues) error {
	problems := make([]string, 0, len(issues.Errors()))
	for _, e := range issues.Errors() {
		problems = append(problems, fmt.Sprintf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, e.Message))
	}
	return errors.New("the expression does not compile: " + strings.Join(problems, "; "))
}
