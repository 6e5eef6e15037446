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
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Objects rarely have every field that an expression names, and stock CEL fails
// on the first that is absent. So each selection, a.b or a['b'], becomes the
// optional selection of the same field (a.?b, a[?'b']), which CEL evaluates as
// fast, and what it finds goes through one of three functions. Their names begin
// with @, which no user can write.
const (
	// FunctionHas is has(x) between parsing and checking.
	FunctionHas = "@has"
	// fnPresent is true where a selection finds something other than null.
	fnPresent = "@present"
	// fnValue is what a selection finds, or null.
	fnValue = "@value"
	// fnItems is what a selection finds, or an empty list in place of null: for
	// size(), for the right side of in, and for all(), exists(), map() and so on.
	fnItems = "@items"
)

// Options declare the functions that Rewrite puts in, and replace the macro has(), which
// in stock CEL refuses has(a['b']) and fails where a itself is absent.
func Options() []cel.EnvOption {
	unary := func(name string, result *cel.Type, f func(ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name+"_dyn", []*cel.Type{cel.DynType}, result, cel.UnaryBinding(f)))
	}
	return []cel.EnvOption{
		cel.Macros(cel.GlobalMacro(operators.Has, 1, expandHas)),
		unary(fnPresent, cel.BoolType, func(v ref.Val) ref.Val {
			return types.Bool(found(v) != types.NullValue)
		}),
		unary(fnValue, cel.DynType, found),
		unary(fnItems, cel.DynType, func(v ref.Val) ref.Val {
			if v = found(v); v != types.NullValue {
				return v
			}
			return noItems
		}),
	}
}

var noItems = types.NewRefValList(types.DefaultTypeAdapter, nil)

// found unpacks the result of an optional selection: null where there is none.
func found(v ref.Val) ref.Val {
	opt, ok := v.(*types.Optional)
	if !ok {
		return v
	}
	if !opt.HasValue() {
		return types.NullValue
	}
	return opt.GetValue()
}

func expandHas(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	if _, ok := selectionOperand(args[0]); !ok {
		return nil, eh.NewError(args[0].ID(), "has() needs a selection, such as has(object.spec.x) or has(object.metadata.labels['x'])")
	}
	return eh.NewCall(FunctionHas, args[0]), nil
}
