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

package change

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
)

// hashSize is how many bytes of a digest are kept: enough that nobody can craft
// two values with the same hash, to have one approved and the other carried out.
const hashSize = 16

// CanonicalHash is a hash of v in 32 hexadecimal digits. Values between which
// Find sees no difference have equal hashes. It is no secret: whoever can guess
// the value can tell that the hash is of it, so callers that store the hash of a
// value that is not public must mix in a key of their own.
func CanonicalHash(v any) string {
	encoded, _ := appendCanonical(nil, place{}, v)
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:hashSize])
}

// HashOfCounted is the CanonicalHash of everything in obj that counts without a
// policy naming it. It tells which content of an object a pending grant is for
// (D11).
func HashOfCounted(obj map[string]any) string {
	return CanonicalHash(counted(obj))
}

// appendCanonical appends a text of v to b that is the same for all values that
// are equal at that place, and differs for others. It tells as well whether v is
// empty.
func appendCanonical(b []byte, at place, v any) (encoded []byte, empty bool) {
	switch v := v.(type) {
	case map[string]any:
		return appendMap(b, at, v)
	case []any:
		return appendList(b, v)
	case nil:
		return appendEmpty(b), true
	}
	return appendScalar(b, at, v), false
}

// appendEmpty appends what stands for all empty values.
func appendEmpty(b []byte) []byte {
	return append(b, "null"...)
}

func appendMap(b []byte, at place, m map[string]any) (encoded []byte, empty bool) {
	start := len(b)
	empty = true
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		mark := len(b)
		b = strconv.AppendQuote(b, name)
		b = append(b, ':')
		var heldEmpty bool
		if b, heldEmpty = appendCanonical(b, at.field(name), m[name]); heldEmpty {
			b = b[:mark]
			continue
		}
		b = append(b, ',')
		empty = false
	}
	if empty {
		return appendEmpty(b[:start]), true
	}
	return append(b, '}'), false
}

func appendList(b []byte, list []any) (encoded []byte, empty bool) {
	if len(list) == 0 {
		return appendEmpty(b), true
	}
	b = append(b, '[')
	for _, item := range list {
		b, _ = appendCanonical(b, place{}, item)
		b = append(b, ',')
	}
	return append(b, ']'), false
}

func appendScalar(b []byte, at place, v any) []byte {
	if at.holdsQuantity() {
		if q, ok := quantityOf(v); ok {
			return append(append(b, 'q'), q...)
		}
	}
	if n, ok := numberOf(v); ok {
		return append(b, n.String()...)
	}
	switch v := v.(type) {
	case string:
		return strconv.AppendQuote(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, foreign(v)...)
}
