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
	"errors"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	krocel "github.com/kubernetes-sigs/kro/pkg/cel"
	"github.com/kubernetes-sigs/kro/pkg/graph/parser"

	"kausality.io/operator/internal/derive/flow"
)

// schemaRoot is the root of what the instance holds, as kro's expressions call it.
const schemaRoot = "schema"

// iteratorRoot returns the root of an iterator, by its name. No id has such a character.
func iteratorRoot(name string) string { return "@" + name }

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

// follow finds what the value of an expression depends on.
func follow(e ast.Expr, names flow.Scope) (*flow.Value, error) {
	v, err := flow.Follow(e, names, nil)
	if unknown, is := errors.AsType[*flow.UnknownError](err); is {
		return nil, fmt.Errorf("%q is neither a resource of the graph nor an iterator", unknown.Name)
	}
	return v, err
}
