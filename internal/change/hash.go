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

// CanonicalHash returns a hash of v in 32 hexadecimal digits. Empty values are as good
// as absent, whatever Find counts: it is for content that its own controllers write
// anew, with empty structs of their Go types. So values between which Find sees no
// difference have equal hashes, and so do those that differ in empty values alone.
//
// It is no secret: whoever can guess the value can tell that the hash is of it, so
// callers that store the hash of a value that is not public must mix in a key of
// their own.
func CanonicalHash(v any) string {
	return comparison{tolerateEmpty: true}.hash(v)
}

// StrictHash returns a hash like CanonicalHash in which {} and [] are values: two values
// have equal hashes just where Find, without Options, sees no difference.
func StrictHash(v any) string {
	return comparison{}.hash(v)
}

// HashOfCounted returns the CanonicalHash of everything in obj that counts without a
// policy naming it, empty values apart. It says which content of an object a pending
// grant is for (D11).
func HashOfCounted(obj map[string]any) string {
	return CanonicalHash(counted(obj))
}

func (c comparison) hash(v any) string {
	encoded, _ := c.appendCanonical(nil, place{}, v)
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:hashSize])
}

// appendCanonical appends a text of v to b that is the same for all values that
// are equal at that place, and differs for others. It reports as well whether v is
// as good as absent.
func (c comparison) appendCanonical(b []byte, at place, v any) (encoded []byte, absent bool) {
	switch v := v.(type) {
	case map[string]any:
		return c.appendMap(b, at, v)
	case []any:
		return c.appendList(b, v)
	case nil:
		return appendAbsent(b), true
	}
	return appendScalar(b, at, v), false
}

// appendAbsent appends what stands for all values that are as good as absent.
func appendAbsent(b []byte) []byte {
	return append(b, "null"...)
}

func (c comparison) appendMap(b []byte, at place, m map[string]any) (encoded []byte, absent bool) {
	start := len(b)
	absent = c.tolerateEmpty
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		mark := len(b)
		b = strconv.AppendQuote(b, name)
		b = append(b, ':')
		var heldAbsent bool
		if b, heldAbsent = c.appendCanonical(b, at.field(name), m[name]); heldAbsent {
			b = b[:mark]
			continue
		}
		b = append(b, ',')
		absent = false
	}
	if absent {
		return appendAbsent(b[:start]), true
	}
	return append(b, '}'), false
}

func (c comparison) appendList(b []byte, list []any) (encoded []byte, absent bool) {
	if len(list) == 0 && c.tolerateEmpty {
		return appendAbsent(b), true
	}
	b = append(b, '[')
	for _, item := range list {
		b, _ = c.appendCanonical(b, place{}, item)
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
