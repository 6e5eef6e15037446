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

package approved

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"kausality.io/operator/internal/change"
)

// sealPrefix begins a sealed value: one that is not kept. Its fingerprint stands in its
// place, from which can be told whether the object holds the value again. One without a
// fingerprint is like no other value.
const sealPrefix = "kausality.io/sealed:"

func sealed(fingerprint string) string { return sealPrefix + fingerprint }

func isSealed(v any) (fingerprint string, ok bool) {
	text, isText := v.(string)
	if !isText {
		return "", false
	}
	return strings.CutPrefix(text, sealPrefix)
}

// fingerprintSize is how many bytes of a digest are kept: enough that nobody can make
// another value with the same.
const fingerprintSize = 16

// fingerprint identifies a value of an object. It is kept with the object: whoever can
// read it can read what it is compared with.
func fingerprint(uid string, v any) string {
	sum := sha256.Sum256([]byte(uid + "|" + canonical(v)))
	return hex.EncodeToString(sum[:fingerprintSize])
}

// digestOf identifies content.
func digestOf(content map[string]any) string {
	return fingerprint("", content)
}

// canonical is a text that is the same for values that are the same, nulls left out.
func canonical(v any) string {
	raw, err := json.Marshal(withoutNulls(v))
	if err != nil {
		// It is what JSON was decoded to.
		panic("approved: a value that cannot be encoded: " + err.Error())
	}
	return string(raw)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if value != nil {
				out[name] = withoutNulls(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutNulls(item)
		}
		return out
	default:
		return v
	}
}

// worthSealing is how long a value is at least that takes less room when it is sealed.
const worthSealing = 2*fingerprintSize + len(sealPrefix)

// sealLargest seals the largest field of content, or of one of its fields. It returns
// nil where nothing would get smaller by that.
func sealLargest(content map[string]any, uid string) map[string]any {
	var outer, inner string
	largest := worthSealing
	for name, value := range content {
		fields, isMap := value.(map[string]any)
		if !isMap {
			if n := len(canonical(value)); n > largest {
				outer, inner, largest = name, "", n
			}
			continue
		}
		for field, held := range fields {
			if n := len(canonical(held)); n > largest {
				outer, inner, largest = name, field, n
			}
		}
	}
	if outer == "" {
		return nil
	}
	out := maps.Clone(content)
	if inner == "" {
		out[outer] = sealed(fingerprint(uid, out[outer]))
		return out
	}
	fields, _ := out[outer].(map[string]any)
	fields = maps.Clone(fields)
	fields[inner] = sealed(fingerprint(uid, fields[inner]))
	out[outer] = fields
	return out
}

// unseal puts the values of an object in the place of sealed ones that are the same. It
// returns what it was given where nothing is sealed.
func unseal(content, obj any, uid string, schema change.Schema, path change.Path) any {
	if !containsSealed(content) {
		return content
	}
	if print, ok := isSealed(content); ok {
		if print != "" && obj != nil && fingerprint(uid, obj) == print {
			return obj
		}
		return content
	}
	switch c := content.(type) {
	case map[string]any:
		o, _ := obj.(map[string]any)
		out := make(map[string]any, len(c))
		for name, value := range c {
			out[name] = unseal(value, o[name], uid, schema, path.Field(name))
		}
		return out
	case []any:
		o, _ := obj.([]any)
		out := make([]any, len(c))
		for i, item := range c {
			var other any
			if at, ok := change.Counterpart(c, o, i, schema, path); ok {
				other = o[at]
			}
			out[i] = unseal(item, other, uid, schema, path.Index(i))
		}
		return out
	default:
		return content
	}
}

func containsSealed(v any) bool {
	if _, ok := isSealed(v); ok {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			if containsSealed(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, containsSealed)
	}
	return false
}
