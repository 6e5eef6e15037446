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
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admission/v1"
)

// operations are the values of request.operation.
var operations = []string{string(admissionv1.Create), string(admissionv1.Update), string(admissionv1.Delete)}

// operations looks whether what the operation of a request is compared with is one.
func (j *judging) operations(compared ast.Expr, with ...ast.Expr) {
	if !isOperation(compared) {
		return
	}
	for _, e := range with {
		if e.Kind() != ast.LiteralKind {
			continue
		}
		if text, ok := e.AsLiteral().(types.String); ok && !slices.Contains(operations, string(text)) {
			j.add(fmt.Sprintf("it compares request.operation with %q: that is one of %s", string(text), strings.Join(operations, ", ")))
		}
	}
}

// isOperation reports whether an expression is request.operation.
func isOperation(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind || e.AsSelect().FieldName() != "operation" {
		return false
	}
	of := e.AsSelect().Operand()
	return of.Kind() == ast.IdentKind && of.AsIdent() == "request"
}
