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
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kausality.io/operator/internal/change"
)

// seal stands in the place of an approved value that is not kept: the fingerprint of
// the value, by which it is known when the object holds it again, or nothing where not
// even that is known. It is no value that an object could have, so that nothing that
// somebody writes is like it.
type seal string

// sealPrefix begins the text of a seal. A string of an object that begins so is sealed
// itself, so that it is not read as a seal.
const sealPrefix = "kausality.io/sealed:"

// MarshalText writes what sealsIn reads.
func (s seal) MarshalText() ([]byte, error) { return []byte(sealPrefix + string(s)), nil }

// sealsIn returns a decoded value with its seals.
func sealsIn(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, held := range v {
			v[name] = sealsIn(held)
		}
	case []any:
		for i, item := range v {
			v[i] = sealsIn(item)
		}
	case string:
		if text, ok := strings.CutPrefix(v, sealPrefix); ok {
			return seal(text)
		}
	}
	return v
}

// sealAlike seals the strings of a value that would be read as a seal.
func sealAlike(v any, uid string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, held := range v {
			out[name] = sealAlike(held, uid)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = sealAlike(item, uid)
		}
		return out
	case string:
		if strings.HasPrefix(v, sealPrefix) {
			return seal(fingerprint(uid, v))
		}
	}
	return v
}

// fingerprintSize is how many bytes of a digest are kept: enough that nobody can make
// another value with the same.
const fingerprintSize = 16

// fingerprint identifies a value of an object. It is kept with the object: whoever can
// read it can read what it is compared with. It does not depend on what of the value is
// sealed, and is empty where that is not known.
func fingerprint(uid string, v any) string {
	if s, ok := v.(seal); ok {
		return string(s)
	}
	h := sha256.New()
	write(h, "of", uid)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] == nil {
				continue
			}
			below := fingerprint(uid, v[name])
			if below == "" {
				return ""
			}
			write(h, "field", name, below)
		}
	case []any:
		write(h, "list")
		for _, item := range v {
			below := fingerprint(uid, item)
			if below == "" {
				return ""
			}
			write(h, "item", below)
		}
	default:
		write(h, "value", canonical(v))
	}
	return hex.EncodeToString(h.Sum(nil)[:fingerprintSize])
}

// write adds texts to a digest, so that where each of them ends matters.
func write(h hash.Hash, texts ...string) {
	for _, text := range texts {
		// A digest takes all that is written to it.
		_, _ = io.WriteString(h, strconv.Itoa(len(text))+":"+text)
	}
}

// digestOf identifies content, with its seals.
func digestOf(content map[string]any) string {
	sum := sha256.Sum256([]byte(canonical(content)))
	return hex.EncodeToString(sum[:fingerprintSize])
}

// canonical returns a text that is the same for values that are the same, nulls left out.
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

// worthSealing is the least length of a value that takes less room when it is sealed, in bytes.
const worthSealing = 2*fingerprintSize + len(sealPrefix) + 2

// sealLonger seals the values of content that are longer than a limit: whole fields of
// it, or what a number of levels below them is. Metadata is told apart down to each
// label and annotation, as its names say which of it counts.
func sealLonger(content map[string]any, levels, limit int, uid string) map[string]any {
	out := make(map[string]any, len(content))
	for name, held := range content {
		if name == "metadata" {
			out[name] = sealBelow(held, max(levels, 2), limit, uid)
		} else {
			out[name] = sealBelow(held, levels, limit, uid)
		}
	}
	return out
}

func sealBelow(v any, levels, limit int, uid string) any {
	if fields, ok := v.(map[string]any); ok && levels > 0 {
		out := make(map[string]any, len(fields))
		for name, held := range fields {
			out[name] = sealBelow(held, levels-1, limit, uid)
		}
		return out
	}
	if len(canonical(v)) > limit {
		return seal(fingerprint(uid, v))
	}
	return v
}

// unknown returns content of which only the names of the fields are known.
func unknown(content map[string]any) map[string]any {
	out := make(map[string]any, len(content))
	for name := range content {
		if name != "metadata" {
			out[name] = seal("")
		}
	}
	return out
}

// unseal puts the values of an object in the place of sealed ones that are the same. It
// returns what it was given where nothing is sealed.
func unseal(content, obj any, uid string, schema change.Schema, path change.Path) any {
	if !containsSeal(content) {
		return content
	}
	switch c := content.(type) {
	case seal:
		if obj != nil && fingerprint(uid, obj) == string(c) {
			return obj
		}
	case map[string]any:
		o, _ := obj.(map[string]any)
		out := make(map[string]any, len(c))
		for name, value := range c {
			out[name] = unseal(value, o[name], uid, schema, path.Field(name))
		}
		return out
	case []any:
		o, _ := obj.([]any)
		out := slices.Clone(c)
		for i, item := range c {
			if !containsSeal(item) {
				continue
			}
			if at, ok := change.Counterpart(c, o, i, schema, path); ok {
				out[i] = unseal(item, o[at], uid, schema, path.Index(i))
			}
		}
		return out
	}
	return content
}

func containsSeal(v any) bool {
	switch v := v.(type) {
	case seal:
		return true
	case map[string]any:
		for _, value := range v {
			if containsSeal(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, containsSeal)
	}
	return false
}
