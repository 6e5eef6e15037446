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

package lineage

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/change"
)

// The fields among Crossplane's books by which people say what becomes of an object. A composite
// resource without claims has them under crossplaneField.
const (
	compositionRefField = "compositionRef"
	selectorField       = "compositionSelector"
	revisionRefField    = "compositionRevisionRef"
	revisionSelector    = "compositionRevisionSelector"
	updatePolicyField   = "compositionUpdatePolicy"
	connectionField     = "writeConnectionSecretToRef"
	crossplaneField     = "crossplane"

	// automatic is the update policy where none is said: Crossplane goes to each new revision.
	automatic = "Automatic"
	// manual is that by which it stays at a revision.
	manual = "Manual"
)

// filledIn lists the fields that Crossplane sets itself where people leave them out.
var filledIn = sets.New(compositionRefField, revisionRefField, connectionField, resourceRefField)

// Choice is what an object says in a field of Crossplane's books that is for people to say.
type Choice struct {
	// Path of the field.
	Path change.Path
	// Value of the field, or what Crossplane takes it for where it is absent; nil for none.
	Value any
}

// Choices returns what a claim or composite resource says in such fields, and nothing for other
// kinds. The revision is none of it while Crossplane goes to the newest by itself, and neither is
// what it composes, nor the claim, which is the parent.
func Choices(kinds Kinds, obj *unstructured.Unstructured) []Choice {
	kind := obj.GroupVersionKind().GroupKind()
	if !KeepsBooks(kinds, kind) {
		return nil
	}
	if kinds.HasCategory(kind, CategoryClaim) {
		return append(choicesAt(spec, specOf(obj)), Choice{Path: spec.Field(resourceRefField), Value: specOf(obj)[resourceRefField]})
	}
	section := specOf(obj)
	if under, ok := section[crossplaneField].(map[string]any); ok {
		return choicesAt(spec.Field(crossplaneField), under)
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(section)), compositionFields.Has) {
		return choicesAt(spec, section)
	}
	// Nothing tells yet where the kind has them.
	return append(choicesAt(spec, section), choicesAt(spec.Field(crossplaneField), nil)...)
}

var spec = change.MustParsePath(fieldSpec)

// specOf returns the spec of an object, nil where it has none.
func specOf(obj *unstructured.Unstructured) map[string]any {
	section, _ := obj.Object[fieldSpec].(map[string]any)
	return section
}

// choicesAt returns what a section with Crossplane's books says.
func choicesAt(at change.Path, section map[string]any) []Choice {
	names := []string{compositionRefField, selectorField, revisionSelector, updatePolicyField, connectionField}
	if isManual(section) {
		names = append(names, revisionRefField)
	}
	out := make([]Choice, 0, len(names)+1)
	for _, name := range names {
		value := section[name]
		if value == nil && name == updatePolicyField {
			value = automatic
		}
		out = append(out, Choice{Path: at.Field(name), Value: value})
	}
	return out
}

// KeepsBooks reports whether Crossplane keeps its books in objects of a kind.
func KeepsBooks(kinds Kinds, kind schema.GroupKind) bool {
	return kinds.HasCategory(kind, CategoryClaim) || kinds.HasCategory(kind, CategoryComposite)
}

// isManual reports whether a section with Crossplane's books has it stay at a revision.
func isManual(section map[string]any) bool { return section[updatePolicyField] == manual }

// IsBook reports whether a field is called as one in which Crossplane keeps its books, or is within
// one, whatever the kind.
func IsBook(path change.Path) bool {
	return len(path) > 1 && path[0].Field == fieldSpec && books.Has(path[1].Field)
}

// IsFilledIn reports whether such a field is one that Crossplane fills in where it is absent.
func IsFilledIn(path change.Path) bool {
	return IsBook(path) && filledIn.Has(path[len(path)-1].Field)
}

// IsUpdatePolicy reports whether such a field says whether Crossplane goes to new revisions by itself.
func IsUpdatePolicy(path change.Path) bool {
	return IsBook(path) && path[len(path)-1].Field == updatePolicyField
}

// FilledInFrom returns the fields that decide what Crossplane writes at a path of an object where it
// keeps its books: what it fills in because somebody took it away is that field itself. Only the newest
// revision is what it is, whichever there was before.
func FilledInFrom(path change.Path, obj map[string]any) []change.Path {
	at := path[:1]
	section, _ := obj[fieldSpec].(map[string]any)
	if path[1].Field == crossplaneField {
		if len(path) == 2 {
			return []change.Path{path}
		}
		at = path[:2]
		section, _ = section[crossplaneField].(map[string]any)
	}
	of := func(name string) change.Path { return at.Field(name) }
	switch name := path[len(at)].Field; {
	case name == compositionRefField:
		return []change.Path{of(name), of(selectorField)}
	case name == revisionRefField && isManual(section):
		return []change.Path{of(name), of(compositionRefField), of(revisionSelector), of(updatePolicyField)}
	case name == revisionRefField:
		return []change.Path{of(compositionRefField), of(revisionSelector), of(updatePolicyField)}
	default:
		return []change.Path{of(name)}
	}
}
