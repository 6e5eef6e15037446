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
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
)

// Changes returns the changes of the fields that say who the parents are. They count
// like those of spec: else dropping the owner would be the way around every
// bound (D5). Of the parents, the first counts, and those that bind holds for.
//
// All of a reference counts but the version and what is only for the garbage collector:
// controllers know their children by the UID, and most tools by the name. Both versions
// of an object may have it under another index. Of a parent that is named by labels, what
// else its controller finds its children by counts as well.
func Changes(kinds Kinds, old, updated *unstructured.Unstructured, binds func(Ref) bool) []change.Change {
	before, after := owning(kinds, old), owning(kinds, updated)
	counts := func(i int, ref Ref) bool { return i == 0 || binds(ref) }
	var changes []change.Change
	for i, ref := range before {
		at := slices.IndexFunc(after, ref.SameParent)
		switch {
		case at < 0 && counts(i, ref):
			changes = append(changes, refChange(ref, ref.Path, change.Delete))
		case at >= 0 && (counts(i, ref) || counts(at, after[at])):
			changes = append(changes, ref.renamed(after[at])...)
			changes = append(changes, ref.relabeled(old, updated)...)
		}
	}
	for i, ref := range after {
		if counts(i, ref) && !slices.ContainsFunc(before, ref.SameParent) {
			changes = append(changes, refChange(ref, ref.Path, change.Insert))
		}
	}
	return append(changes, Marked(old, updated)...)
}

// owning returns the parents of obj but for those because of which a GeneratingPolicy made it:
// what it says of these is one thing (Marked).
func owning(kinds Kinds, obj *unstructured.Unstructured) []Ref {
	return slices.DeleteFunc(Parents(kinds, obj), func(ref Ref) bool { return ref.Generator != "" })
}

// renamed returns the changes that make of a reference another one to the same object.
func (r Ref) renamed(to Ref) []change.Change {
	if r.Mutual || r.Category != "" {
		return nil // It has no UID, and is another one by another name; or see relabeled.
	}
	var changes []change.Change
	for _, field := range []struct {
		name    string
		differs bool
	}{
		{"apiVersion", r.GVK.Group != to.GVK.Group},
		{"kind", r.GVK.Kind != to.GVK.Kind},
		{"name", r.Name != to.Name},
		{"controller", r.Controller != to.Controller},
	} {
		if field.differs {
			changes = append(changes, refChange(to, to.Path+"."+field.name, change.Mutate))
		}
	}
	return changes
}

// refChange returns a change of a reference, with the UID that it is about.
func refChange(ref Ref, path string, verb change.Verb) change.Change {
	parsed, err := change.ParsePath(path)
	if err != nil {
		// The paths are this package's own.
		panic("lineage: a path of its own that does not parse: " + path)
	}
	return change.Change{Path: parsed, Verb: verb, Old: string(ref.UID), New: string(ref.UID)}
}

// IsOwner reports whether a change is one of a reference by UID, in ownerReferences or by
// labels, and of which parent.
func IsOwner(c change.Change) (uid string, ok bool) {
	if !IsReference(c.Path) {
		return "", false
	}
	uid, ok = c.Old.(string)
	return uid, ok
}

// IsLineage reports whether the path is one that says who the parent is, or by which
// the parent knows its child.
func IsLineage(path change.Path) bool {
	return IsReference(path) || IsLabel(path)
}
