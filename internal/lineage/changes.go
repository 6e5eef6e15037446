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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
)

// Changes are the changes of the fields that say who the parent is. They count
// like those of spec: else dropping the owner would be the way around every
// bound (D5).
func Changes(kinds Kinds, old, updated *unstructured.Unstructured) []change.Change {
	before, hadBefore := Parent(kinds, old)
	after, hasAfter := Parent(kinds, updated)
	if hadBefore == hasAfter && before.sameParent(after) {
		return nil
	}
	var changes []change.Change
	if hadBefore {
		changes = append(changes, refChange(before, change.Delete))
	}
	if hasAfter {
		changes = append(changes, refChange(after, change.Insert))
	}
	return changes
}

// Adopter returns the parent that an update gives a child that did not have it, and false
// where it gives it none. A parent that has to point back is not one: whoever names it
// gets nothing before it does.
func Adopter(kinds Kinds, old, updated *unstructured.Unstructured) (Ref, bool) {
	before, hadBefore := Parent(kinds, old)
	after, hasAfter := Parent(kinds, updated)
	if !hasAfter || after.Mutual || hadBefore && before.sameParent(after) {
		return Ref{}, false
	}
	return after, true
}

func refChange(ref Ref, verb change.Verb) change.Change {
	path, err := change.ParsePath(ref.Path)
	if err != nil {
		// The paths are this package's own.
		panic("lineage: a path of its own that does not parse: " + ref.Path)
	}
	return change.Change{Path: path, Verb: verb, Old: string(ref.UID), New: string(ref.UID)}
}

// IsLineage tells whether the path is one that says who the parent is, or by which
// the parent knows its child.
func IsLineage(path change.Path) bool {
	return len(path) > 1 && path.IsMetadata() && path[1].Field == "ownerReferences" || IsLabel(path)
}
