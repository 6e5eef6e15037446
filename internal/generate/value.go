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
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"kausality.io/operator/internal/change"
)

// native converts a value of CEL to what JSON holds. What is null or absent is left out of maps and
// lists. Errors name types, never values.
func native(v ref.Val) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, errors.New("a number is larger than JSON objects of Kubernetes can have")
		}
		return int64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, errors.New("a number is not finite")
		}
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Timestamp:
		return v.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.String(), nil
	case apiservercel.Quantity:
		return v.String(), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return native(v.GetValue())
	case *object:
		return pruned(v.content), nil
	case traits.Mapper:
		return nativeMap(v)
	case traits.Lister:
		return nativeList(v)
	}
	return nil, fmt.Errorf("a value of type %s cannot be part of an object", v.Type().TypeName())
}

func nativeMap(m traits.Mapper) (any, error) {
	if fields, ok := m.Value().(map[string]any); ok && isPlain(fields) {
		return pruned(fields), nil
	}
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("the key of a map is a %s, not a string", key.Type().TypeName())
		}
		held, err := native(m.Get(key))
		if err != nil {
			return nil, err
		}
		if held != nil {
			out[string(name)] = held
		}
	}
	return out, nil
}

func nativeList(l traits.Lister) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		held, err := native(it.Next())
		if err != nil {
			return nil, err
		}
		if held != nil {
			out = append(out, held)
		}
	}
	return out, nil
}

// isPlain reports whether a map holds what JSON has, and no values of CEL.
func isPlain(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return true
	case map[string]any:
		for _, held := range v {
			if !isPlain(held) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(held any) bool { return !isPlain(held) })
	}
	return false
}

// pruned returns a copy without nulls.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, held := range v {
			if held = pruned(held); held != nil {
				out[name] = held
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, held := range v {
			if held = pruned(held); held != nil {
				out = append(out, held)
			}
		}
		return out
	}
	return v
}

// replaced returns a value with another one at a path. It shares with the old one what is beside
// the path, and changes nothing of it.
func replaced(in any, path change.Path, to any) (any, error) {
	if len(path) == 0 {
		return to, nil
	}
	if path[0].Type == fieldpath.SegmentIndex {
		list, ok := in.([]any)
		if !ok || path[0].Index >= uint(len(list)) {
			return nil, fmt.Errorf("there is no item %d of a list", path[0].Index)
		}
		held, err := replaced(list[path[0].Index], path[1:], to)
		if err != nil {
			return nil, err
		}
		list = slices.Clone(list)
		if held == nil {
			return slices.Delete(list, int(path[0].Index), int(path[0].Index)+1), nil
		}
		list[path[0].Index] = held
		return list, nil
	}
	fields, ok := in.(map[string]any)
	if !ok && in != nil {
		return nil, fmt.Errorf("the field %s would be of a value that has no fields", path[0].Field)
	}
	held, err := replaced(fields[path[0].Field], path[1:], to)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(fields)
	if out == nil {
		out = map[string]any{}
	}
	if held == nil {
		delete(out, path[0].Field)
	} else {
		out[path[0].Field] = held
	}
	return out, nil
}
