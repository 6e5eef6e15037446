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

package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/internal/change"
)

// FieldManager is the one by which objects are applied.
const FieldManager = "kausality-generator"

// isBeingDeleted reports whether an object is on its way out.
func isBeingDeleted(there *Existing) bool {
	metadata, _ := there.Content["metadata"].(map[string]any)
	return metadata["deletionTimestamp"] != nil
}

// isIntact reports whether an object that was applied is still as it was: nobody else has
// taken a field of it. Values are not compared. The API server defaults and normalizes
// them, and what it keeps of who set a field is exact: whoever changes a field that was
// applied, or a list that is one value, is its manager from then on.
func isIntact(wanted, there map[string]any) bool {
	owned, ok := ownedFields(there, wanted["apiVersion"])
	if !ok {
		return false
	}
	for name, value := range wanted {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			metadata, _ := value.(map[string]any)
			fields, _ := owned["f:metadata"].(map[string]any)
			for name, value := range metadata {
				if name != "name" && name != "namespace" && !hasField(name, value, fields) {
					return false
				}
			}
		default:
			if !hasField(name, value, owned) {
				return false
			}
		}
	}
	return true
}

// ownedFields returns the fields of an object that were applied, as its managedFields have them.
// Those of another version of its kind may have other names.
func ownedFields(there map[string]any, apiVersion any) (map[string]any, bool) {
	metadata, _ := there["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, held := range entries {
		entry, _ := held.(map[string]any)
		if entry["manager"] == FieldManager && entry["operation"] == "Apply" && entry["apiVersion"] == apiVersion && entry["subresource"] == nil {
			fields, ok := entry["fieldsV1"].(map[string]any)
			return fields, ok
		}
	}
	return nil, false
}

// hasField reports whether a field is among those that are owned, with all below it.
func hasField(name string, value any, owned map[string]any) bool {
	entry, ok := owned["f:"+name].(map[string]any)
	if !ok {
		return isEmpty(value)
	}
	return covers(entry, value)
}

// isEmpty reports whether there is nothing in a value that somebody could own: the API server
// does not keep an empty list, or a map of strings that is empty.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// covers reports whether an entry of managedFields owns a value. An entry with nothing in it
// owns it as a whole.
func covers(entry map[string]any, value any) bool {
	if len(entry) == 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		for name, held := range value {
			if !hasField(name, held, entry) {
				return false
			}
		}
	case []any:
		for _, item := range value {
			if !hasItem(item, entry) {
				return false
			}
		}
	}
	return true
}

// hasItem reports whether an item of a list is among those that are owned: by its keys, or
// by its value.
func hasItem(item any, owned map[string]any) bool {
	for name, held := range owned {
		entry, _ := held.(map[string]any)
		kind, text, _ := strings.Cut(name, ":")
		var key any
		if kind != "k" && kind != "v" || json.Unmarshal([]byte(text), &key) != nil {
			continue
		}
		// An item is never owned as a whole: its keys at least are fields of their own.
		if kind == "v" && isSame(key, item) || kind == "k" && len(entry) > 0 && hasKeys(item, key) && covers(entry, item) {
			return true
		}
	}
	return false
}

// hasKeys reports whether an item has these keys. One that it does not have may have been
// defaulted.
func hasKeys(item, keys any) bool {
	fields, _ := item.(map[string]any)
	named, _ := keys.(map[string]any)
	matches := false
	for name, value := range named {
		held, has := fields[name]
		if has && !isSame(value, held) {
			return false
		}
		matches = matches || has
	}
	return matches
}

// isSame compares two values of JSON, in which a whole number may be held in two ways.
func isSame(a, b any) bool {
	if x, ok := b.(int64); ok {
		b = float64(x)
	}
	return equality.Semantic.DeepEqual(a, b)
}

// otherData returns the keys of a ConfigMap or a Secret that are not wanted: these are data as a
// whole, and what somebody puts beside it is read like the rest.
func otherData(wanted, there map[string]any) []change.Path {
	if wanted["apiVersion"] != "v1" || wanted["kind"] != "ConfigMap" && wanted["kind"] != "Secret" {
		return nil
	}
	var out []change.Path
	for _, name := range []string{"binaryData", "data"} {
		want, _ := wanted[name].(map[string]any)
		have, _ := there[name].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(have)) {
			if _, ok := want[key]; !ok {
				out = append(out, change.Path{}.Field(name).Field(key))
			}
		}
	}
	return out
}
