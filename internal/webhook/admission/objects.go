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

package admission

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// decoder decodes the two objects of a request together. Most of what a request changes
// is little: what is the same text in both is decoded once. What is decoded so is in
// both objects, which therefore must not be modified in place.
type decoder struct {
	// withManagedFields is true where they count. They are often half of an object,
	// and else nothing is decided by them.
	withManagedFields bool
}

// deepest is how far down parts of two objects are held against each other, of which
// only the rest is decoded once more: to the fields of a Pod template. Going on to the
// end would make deep objects expensive.
const deepest = 5

// objects decodes both objects; either may be missing. Their text is valid JSON, as
// that of which it was a part was decoded.
func (d decoder) objects(before, after runtime.RawExtension) (was, is *unstructured.Unstructured, err error) {
	was, is = &unstructured.Unstructured{}, &unstructured.Unstructured{}
	was.Object, is.Object, err = d.fields(textOf(before), textOf(after), nil)
	if err != nil {
		return nil, nil, err
	}
	if was, err = checked(was, before); err != nil {
		return nil, nil, fmt.Errorf("old object: %w", err)
	}
	if is, err = checked(is, after); err != nil {
		return nil, nil, fmt.Errorf("object: %w", err)
	}
	return was, is, nil
}

// jsonText is a JSON value: as bytes to decode, and as gjson has it.
type jsonText struct {
	raw []byte
	gjson.Result
}

func textOf(obj runtime.RawExtension) jsonText {
	if len(obj.Raw) == 0 {
		return jsonText{}
	}
	return jsonText{raw: obj.Raw, Result: gjson.ParseBytes(obj.Raw)}
}

// checked returns the object, nil where there was none. What is not one gets the error that
// decoding it has.
func checked(obj *unstructured.Unstructured, from runtime.RawExtension) (*unstructured.Unstructured, error) {
	if len(from.Raw) == 0 {
		return nil, nil
	}
	if kind, ok := obj.Object["kind"].(string); ok && kind != "" {
		return obj, nil
	}
	obj = &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(from.Raw); err != nil {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	return obj, nil
}

// fields decodes what two JSON objects hold. Where either is missing, or no JSON
// object, its map is nil.
func (d decoder) fields(before, after jsonText, path []string) (was, is map[string]any, err error) {
	var held map[string]jsonText
	if before.IsObject() {
		was, held = map[string]any{}, map[string]jsonText{}
		before.each(func(name string, value jsonText) bool {
			held[name] = value
			return true
		})
	}
	if after.IsObject() {
		is = map[string]any{}
		after.each(func(name string, value jsonText) bool {
			if d.skips(path, name) {
				return true
			}
			other, both := held[name]
			delete(held, name)
			var old any
			if old, is[name], err = d.value(other, value, append(path, name)); both {
				was[name] = old
			}
			return err == nil
		})
	}
	for name, value := range held {
		if err == nil && !d.skips(path, name) {
			was[name], err = d.one(value, append(path, name))
		}
	}
	return was, is, err
}

// value decodes what two JSON objects hold under one name.
func (d decoder) value(before, after jsonText, path []string) (was, is any, err error) {
	switch {
	case before.Raw == after.Raw:
		is, err = d.one(after, path)
		return is, is, err
	case before.IsObject() && after.IsObject() && len(path) < deepest:
		return d.fields(before, after, path)
	case before.Exists():
		if was, err = d.one(before, path); err != nil {
			return nil, nil, err
		}
	}
	is, err = d.one(after, path)
	return was, is, err
}

// one decodes what is at a path.
func (d decoder) one(value jsonText, path []string) (any, error) {
	if d.withManagedFields || !isMetadata(path) || !value.IsObject() {
		return value.decoded()
	}
	_, is, err := d.fields(jsonText{}, value, path)
	return is, err
}

// skips reports whether a field is left out.
func (d decoder) skips(path []string, name string) bool {
	return !d.withManagedFields && name == "managedFields" && isMetadata(path)
}

func isMetadata(path []string) bool { return len(path) == 1 && path[0] == fieldMetadata }

// each shows the fields of a JSON object.
func (t jsonText) each(show func(name string, value jsonText) bool) {
	t.ForEach(func(key, value gjson.Result) bool {
		return show(nameOf(key), jsonText{raw: t.raw, Result: value})
	})
}

// nameOf returns a copy: a part of the text would keep all of it.
func nameOf(key gjson.Result) string {
	if isPlain(key) {
		return strings.Clone(key.Str)
	}
	var name string
	if err := utiljson.Unmarshal([]byte(key.Raw), &name); err != nil {
		return strings.Clone(key.Str)
	}
	return name
}

// isPlain reports whether a string is what is written, without escapes and the like.
func isPlain(s gjson.Result) bool {
	return s.Type == gjson.String && !strings.Contains(s.Raw, `\`) && utf8.ValidString(s.Raw)
}

// decoded returns the value as the API machinery has it.
func (t jsonText) decoded() (any, error) {
	if isPlain(t.Result) {
		return strings.Clone(t.Str), nil
	}
	var out any
	if err := utiljson.Unmarshal(t.raw[t.Index:t.Index+len(t.Raw)], &out); err != nil {
		return nil, err
	}
	return out, nil
}
