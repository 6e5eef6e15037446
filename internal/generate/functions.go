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
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kausality.io/operator/internal/change"
)

// The types of the variables that have functions of their own.
var (
	resourcesType = types.NewOpaqueType("kausality.Resources")
	generatorType = types.NewOpaqueType("kausality.Generator")
)

// functions declares what expressions can call beside Kubernetes' own functions. Kyverno writes some of
// them in other ways; they mean the same.
func functions() []cel.EnvOption {
	var out []cel.EnvOption
	for _, name := range []string{"Get", "get"} {
		out = append(out, cel.Function(name, cel.MemberOverload("resource_"+name,
			[]*cel.Type{resourcesType, cel.StringType, cel.StringType, cel.StringType, cel.StringType}, cel.DynType,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				return of(args[0]).get(text(args[1]), text(args[2]), text(args[3]), text(args[4]))
			}))))
	}
	for _, name := range []string{"List", "list"} {
		out = append(out, cel.Function(name,
			cel.MemberOverload("resource_"+name,
				[]*cel.Type{resourcesType, cel.StringType, cel.StringType, cel.StringType}, cel.DynType,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					return of(args[0]).list(text(args[1]), text(args[2]), text(args[3]), nil)
				})),
			cel.MemberOverload("resource_"+name+"_labels",
				[]*cel.Type{resourcesType, cel.StringType, cel.StringType, cel.StringType, cel.MapType(cel.StringType, cel.StringType)}, cel.DynType,
				cel.FunctionBinding(func(args ...ref.Val) ref.Val {
					labels, ok := args[4].(traits.Mapper)
					if !ok {
						return types.MaybeNoSuchOverloadErr(args[4])
					}
					return of(args[0]).list(text(args[1]), text(args[2]), text(args[3]), labels)
				}))))
	}
	for _, name := range []string{"ApplyAll", "Apply", "apply"} {
		out = append(out, cel.Function(name, cel.MemberOverload("generator_"+name,
			[]*cel.Type{generatorType, cel.StringType, cel.DynType}, cel.BoolType,
			cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				return of(args[0]).apply(text(args[1]), args[2])
			}))))
	}
	return append(out, cel.Function("setField", cel.MemberOverload("dyn_setField",
		[]*cel.Type{cel.DynType, cel.StringType, cel.DynType}, cel.DynType,
		cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			return setField(args[0], text(args[1]), args[2])
		}))))
}

// same returns its argument.
func same(v ref.Val) ref.Val { return v }

// text returns the value of an argument that is a string, as its overload says.
func text(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// of returns the evaluation that a variable with functions belongs to.
func of(v ref.Val) *evaluation {
	h, _ := v.(*handle)
	return h.run
}

// handle is the value of resource or generator: nothing but what its functions need.
type handle struct {
	is  *types.Type
	run *evaluation
}

var _ ref.Val = (*handle)(nil)

// ConvertToNative implements ref.Val.
func (h *handle) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s is no value", h.is.TypeName())
}

// ConvertToType implements ref.Val.
func (h *handle) ConvertToType(to ref.Type) ref.Val {
	if to == types.TypeType {
		return h.is
	}
	return types.NewErr("%s is no value", h.is.TypeName())
}

// Equal implements ref.Val.
func (h *handle) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(h) == other) }

// Type implements ref.Val.
func (h *handle) Type() ref.Type { return h.is }

// Value implements ref.Val.
func (h *handle) Value() any { return h.is.TypeName() }

// object is an object that was read, or the trigger, as a map that remembers where it is from.
type object struct {
	traits.Mapper
	// content is what the map holds, nulls included.
	content map[string]any
	// from is the object that was read.
	from ID
	// placed is true where setField gave it a namespace.
	placed bool
	// cleaned is true where it has lost already what a copy does not get.
	cleaned bool
}

func newObject(content map[string]any, from ID) *object {
	return &object{Mapper: asMap(content), content: content, from: from}
}

// asMap returns an object as CEL sees it.
func asMap(content map[string]any) traits.Mapper {
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, content)
}

// setField returns an object with another value at a path. Null takes the field away; of
// what is not there it makes nothing.
func setField(target ref.Val, at string, value ref.Val) ref.Val {
	if target == types.NullValue {
		return target
	}
	path, err := change.ParsePath(at)
	if err != nil {
		return types.WrapErr(&Error{Reason: ReasonEvaluation, Detail: fmt.Sprintf("setField: %q is no path: %v", at, err)})
	}
	to, err := native(value)
	if err != nil {
		return types.WrapErr(&Error{Reason: ReasonEvaluation, Detail: fmt.Sprintf("setField: the value for %s: %v", at, err)})
	}
	read, isRead := target.(*object)
	var content any
	switch {
	case isRead && !read.cleaned:
		content = cleaned(read.content)
	case isRead:
		content = read.content
	default:
		if _, ok := target.(traits.Mapper); !ok {
			return types.MaybeNoSuchOverloadErr(target)
		}
		if content, err = native(target); err != nil {
			return types.WrapErr(&Error{Reason: ReasonEvaluation, Detail: fmt.Sprintf("setField: %v", err)})
		}
	}
	changed, err := replaced(content, path, to)
	if err != nil {
		return types.WrapErr(&Error{Reason: ReasonEvaluation, Detail: fmt.Sprintf("setField: %s: %v", at, err)})
	}
	fields, _ := changed.(map[string]any)
	if !isRead {
		return asMap(fields)
	}
	out := newObject(fields, read.from)
	out.cleaned = true
	out.placed = read.placed || at == "metadata" || path.String() == "metadata.namespace"
	return out
}
