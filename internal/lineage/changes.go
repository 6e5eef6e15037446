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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// Counting says which references count besides the first one. By the zero value none does.
type Counting struct {
	// Binds reports whether a reference is to a parent that bounds the object; nil is none.
	Binds func(Ref) bool
	// Added is true where any reference that is added counts, whomever it names: what has another
	// owner is not collected with its parent.
	Added bool
	// Served reports whether a kind is served in its version; nil is in any.
	Served func(schema.GroupVersionKind) bool
}

func (c Counting) counts(i int, ref Ref) bool { return i == 0 || c.Binds != nil && c.Binds(ref) }

// Changes returns the changes of the fields that say who the parents are. They count
// like those of spec: else dropping the owner would be the way around every
// bound (D5). Of the parents, the first counts, and what counting says.
//
// All of a reference counts but the version, as long as it is served, and what is only for the garbage
// collector: controllers know their children by the UID, most tools by the name, and the collector by both. It
// takes all references with a UID away where one of them names nobody, and leaves what it cannot look up. Both
// versions of an object may have a reference under another index. Of a parent that is named by labels, what
// else its controller finds its children by counts as well.
func Changes(kinds Kinds, old, updated *unstructured.Unstructured, counting Counting) []change.Change {
	before, after := owning(kinds, old), owning(kinds, updated)
	kept := map[int]bool{} // Those of after that a reference from before has become.
	counted := map[string]bool{}
	var changes []change.Change
	for i, ref := range before {
		at := counting.become(ref, after)
		kept[at] = true // No index is -1.
		counts := counting.counts(i, ref) || at >= 0 && counting.counts(at, after[at])
		counted[ref.ID()] = counted[ref.ID()] || counts
		switch {
		case slices.IndexFunc(before, ref.SameParent) < i:
			// Of several to one object the first has to stay as it is, and others may go.
		case at < 0 && counts:
			changes = append(changes, refChange(ref, ref.Path, change.Delete))
		case counts:
			changes = append(changes, counting.renamed(ref, after[at])...)
			changes = append(changes, ref.relabeled(old, updated)...)
		}
	}
	for i, ref := range after {
		known := slices.ContainsFunc(before, ref.SameParent)
		another := known && !kept[i] && counted[ref.ID()] && !slices.ContainsFunc(before, func(was Ref) bool {
			was.Controller = ref.Controller // One more that says the same names nobody else.
			return was.SameParent(ref) && len(counting.renamed(was, ref)) == 0
		})
		if another || !known && (counting.Added || counting.counts(i, ref)) {
			changes = append(changes, refChange(ref, ref.Path, change.Insert))
		}
	}
	return append(changes, Marked(old, updated)...)
}

// Behind returns the change of a reference by which another one of the object comes before it, so that the object's
// chain goes on from that.
func Behind(ref Ref) change.Change { return refChange(ref, ref.Path, change.Mutate) }

// become returns the index of what a reference has become in those of the updated object: the same, or else one to
// the same object, and -1 where there is none.
func (c Counting) become(ref Ref, after []Ref) int {
	same := slices.IndexFunc(after, func(now Ref) bool { return ref.SameParent(now) && len(c.renamed(ref, now)) == 0 })
	if same >= 0 {
		return same
	}
	return slices.IndexFunc(after, ref.SameParent)
}

// owning returns the parents of obj but for those because of which a GeneratingPolicy made it:
// what it says of these is one thing (Marked).
func owning(kinds Kinds, obj *unstructured.Unstructured) []Ref {
	return slices.DeleteFunc(Parents(kinds, obj), func(ref Ref) bool { return ref.Generator != "" })
}

// renamed returns the changes that make of a reference another one to the same object.
func (c Counting) renamed(r, to Ref) []change.Change {
	if r.Mutual || r.Category != "" {
		return nil // It has no UID, and is another one by another name; or see relabeled.
	}
	var changes []change.Change
	for _, field := range []struct {
		name    string
		differs bool
	}{
		{"apiVersion", r.GVK.Group != to.GVK.Group || r.GVK.Version != to.GVK.Version && c.Served != nil && !c.Served(to.GVK)},
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
