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
	"slices"

	"kausality.io/operator/internal/change"
)

// Object is a holder at one time, with what its policies say of it.
type Object struct {
	// UID keys fingerprints.
	UID string
	// Generation of the object, zero where its kind has none.
	Generation int64
	// Version is the apiVersion that Fields are of, empty where there is one alone.
	Version string
	// Fields are all of the object.
	Fields map[string]any
	// Schema is what is declared about its kind, nil where nothing is known of it.
	Schema change.Schema
	// Metadata are the patterns of metadata that policies name as triggers.
	Metadata []change.Pattern
	// Triggers reports whether a rule that withholds is about a change.
	Triggers func(change.Change) bool
	// Concerns reports whether such a rule is about a field at, above or below a path.
	// It is asked where the approved value is not kept, so that Triggers cannot tell;
	// nil where no rule is.
	Concerns func(change.Path) bool
	// Ignores reports whether a field is computed, and so nobody's to approve; nil
	// where no field is.
	Ignores func(change.Path) bool
	// Settled reports whether the status says for sure that the controllers of the object have
	// finished acting on it; nil where nothing does.
	Settled func() bool
	// Observed is the generation that the status is about, zero where it does not say.
	Observed int64
}

// content returns what of an object can be withheld, with the metadata that patterns name. It
// shares values with the object.
func content(fields map[string]any, patterns []change.Pattern) map[string]any {
	out := change.Counted(fields)
	if out == nil {
		out = map[string]any{}
	}
	if metadata := change.NamedMetadata(fields, patterns); metadata != nil {
		out["metadata"] = metadata
	}
	return out
}

// find lists the differences between content and an object, in order of their paths.
func (o *Object) find(content map[string]any, patterns []change.Pattern) []change.Change {
	found := change.Find(content, o.Fields, change.Options{Metadata: patterns, Schema: o.Schema})
	if o.Ignores == nil {
		return found
	}
	return slices.DeleteFunc(found, func(c change.Change) bool { return o.Ignores(c.Path) })
}

// counts reports whether a rule that withholds is about a difference.
func (o *Object) counts(c change.Change) bool {
	return o.Triggers(c) || o.Concerns != nil && containsSeal(c.Old) && o.Concerns(c.Path)
}

// clone returns a value that can be modified without the other.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, held := range v {
			out[name] = clone(held)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	default:
		return v
	}
}
