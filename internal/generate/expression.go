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

package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/nullsafe"
)

// expression is a compiled expression.
type expression struct {
	field   *field.Path
	program cel.Program
	output  *cel.Type
	// names are the variables that it uses itself, those of the policy as variables.NAME.
	names sets.Set[string]
	// usesOld, usesRequest and usesNamespace are true where it, or a variable that it uses, uses
	// oldObject, request or namespaceObject.
	usesOld, usesRequest, usesNamespace bool
}

// compile compiles an expression, and returns nil where that is not possible. later are the
// variables that are declared, those included that the expression cannot use yet.
func (c *compiler) compile(env *cel.Env, source string, at *field.Path, later sets.Set[string]) *expression {
	switch {
	case strings.TrimSpace(source) == "":
		c.errs = append(c.errs, field.Required(at, ""))
		return nil
	case len(source) > MaxExpression:
		c.errs = append(c.errs, field.TooLong(at, "", MaxExpression))
		return nil
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		c.invalid(at, source, nullsafe.CompileError(issues).Error())
		return nil
	}
	if problems := c.wrong(parsed.NativeRep().Expr(), later); len(problems) > 0 {
		c.invalid(at, source, strings.Join(problems, "; "))
		return nil
	}
	c.noteSources(parsed)
	nullsafe.Rewrite(parsed, env.Variables())
	wrapWhole(parsed)
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		c.invalid(at, source, nullsafe.CompileError(issues).Error())
		return nil
	}
	program, err := env.Program(checked, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		c.invalid(at, source, fmt.Sprintf("the expression cannot be run: %v", err))
		return nil
	}
	x := &expression{field: at, program: program, output: checked.OutputType(), names: sets.New[string]()}
	c.noteUses(x, checked)
	return x
}

// noteUses notes what a checked expression uses, itself and by variables.
func (c *compiler) noteUses(x *expression, checked *cel.Ast) {
	for _, reference := range checked.NativeRep().ReferenceMap() {
		if len(reference.OverloadIDs) > 0 || reference.Name == "" {
			continue
		}
		x.names.Insert(reference.Name)
		if name, ok := strings.CutPrefix(reference.Name, varVariables+"."); ok {
			c.used.Insert(name)
			if v := c.out.variables[name]; v != nil {
				x.usesOld, x.usesRequest, x.usesNamespace = x.usesOld || v.usesOld, x.usesRequest || v.usesRequest, x.usesNamespace || v.usesNamespace
			}
		}
	}
	x.usesOld = x.usesOld || x.names.Has(varOldObject)
	x.usesRequest = x.usesRequest || x.names.Has(varRequest)
	x.usesNamespace = x.usesNamespace || x.names.Has(varNamespace)
	c.out.needsRequest = c.out.needsRequest || x.usesRequest
	c.out.usesNamespace = c.out.usesNamespace || x.usesNamespace
}

// wrong says what of a parsed expression cannot work, whatever the trigger: variables that
// are not declared, and constants that name nothing.
func (c *compiler) wrong(e ast.Expr, later sets.Set[string]) []string {
	var problems []string
	say := func(format string, args ...any) {
		if problem := fmt.Sprintf(format, args...); !slices.Contains(problems, problem) {
			problems = append(problems, problem)
		}
	}
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			if s := e.AsSelect(); isIdent(s.Operand(), varVariables) {
				name := s.FieldName()
				switch _, declared := c.out.variables[name]; {
				case declared:
				case later.Has(name):
					say("variables.%s is declared after it: a variable may use those before it", name)
				default:
					say("variables.%s is not declared in spec.variables", name)
				}
			}
		case ast.CallKind:
			wrongCall(e.AsCall(), say)
		default:
		}
	}))
	return problems
}

// wrongCall says which constants a call cannot have.
func wrongCall(call ast.CallExpr, say func(string, ...any)) {
	if !call.IsMemberFunction() {
		return
	}
	function, args := call.FunctionName(), call.Args()
	switch {
	case isIdent(call.Target(), varResource) && len(args) >= 3:
		wrongRead(function, args, say)
	case isIdent(call.Target(), varGenerator) && len(args) == 2:
		wrongNamespace("generator."+function, args[0], say)
	case function == "setField" && len(args) == 2:
		if path, ok := constant(args[0]); ok {
			if _, err := change.ParsePath(path); err != nil {
				say("setField: %v", err)
			}
		}
	}
}

// wrongRead says which constants a call of resource.Get or resource.List cannot have.
func wrongRead(function string, args []ast.Expr, say func(string, ...any)) {
	version, isVersion := constant(args[0])
	resource, isResource := constant(args[1])
	if isVersion && isResource {
		if _, err := resourceOf(version, resource); err != nil {
			say("resource.%s: %v", function, err)
		}
	}
	if isResource && len(validation.IsDNS1035Label(resource)) > 0 {
		say("resource.%s: %q is no resource: it is the plural, in lower case, such as configmaps", function, resource)
	}
	wrongNamespace("resource."+function, args[2], say)
	if len(args) == 4 && strings.EqualFold(function, "get") {
		if name, ok := constant(args[3]); ok && name == "" {
			say("resource.%s: the name is empty", function)
		}
	}
}

// wrongNamespace says that a constant can be no namespace.
func wrongNamespace(function string, arg ast.Expr, say func(string, ...any)) {
	if namespace, ok := constant(arg); ok && namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		say("%s: %q can be no namespace", function, namespace)
	}
}

// isIdent reports whether an expression is a name.
func isIdent(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}

// constant returns what a literal string says, and false for any other expression.
func constant(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// Parse parses an expression as Compile does. Its names and types are not checked: whoever follows it
// has compiled the policy before.
func Parse(source string) (ast.Expr, error) {
	env, err := readingEnv()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil, nullsafe.CompileError(issues)
	}
	return parsed.NativeRep().Expr(), nil
}
