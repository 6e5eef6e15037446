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

package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/selector"
)

// Through says which objects read the objects of a policy, without owning them: what a
// change of one of these leads to happens to the children of its readers, or to its
// readers.
type Through struct {
	// Kind of the readers; zero where the API server does not serve it.
	Kind schema.GroupKind
	// Version in which they are named.
	Version string
	// SelectedBy is where a reader has the label selector of what it reads, and
	// NamespacesSelectedBy that of the namespaces: nil is its own. SelectedBy is nil where
	// names say who reads what.
	SelectedBy, NamespacesSelectedBy change.Path
	// NamedBy is where a reader has the name of what it reads.
	NamedBy []change.Pattern
	// Names is where an object has the name of its reader.
	Names []change.Pattern
}

// ThroughEntry is what may happen to the children of readers, or to readers.
type ThroughEntry struct {
	Entry
	// Readers are whose children may be changed, or who may be changed.
	Readers Through
}

// Read is an object that others may read, as selectors see it.
type Read struct {
	// Object has its name and namespace.
	Object *unstructured.Unstructured
	// Content is what the object holds, or held when that was approved.
	Content map[string]any
	// Labels are those of the object, and NamespaceLabels those of its namespace, nil
	// where it has none.
	Labels, NamespaceLabels map[string]string
}

// IsRead reports whether reader reads the object.
func (t *Through) IsRead(reader *unstructured.Unstructured, o Read) bool {
	switch {
	case t.SelectedBy != nil:
		return selects(t.SelectedBy, reader, o.Labels) && t.reaches(reader, o)
	case len(t.NamedBy) > 0:
		return sameNamespace(reader, o.Object) && slices.Contains(texts(t.NamedBy, reader.Object), o.Object.GetName())
	default:
		return sameNamespace(reader, o.Object) && slices.Contains(texts(t.Names, o.Content), reader.GetName())
	}
}

// NamesIn returns the names of what reader reads, where it has these.
func (t *Through) NamesIn(reader *unstructured.Unstructured) []string {
	return texts(t.NamedBy, reader.Object)
}

// NamesOf returns the names of readers that an object has, where it has these.
func (t *Through) NamesOf(obj map[string]any) []string { return texts(t.Names, obj) }

// OwnNamespace reports whether reader reads nothing but what is in its own namespace, or in
// none.
func (t *Through) OwnNamespace(reader *unstructured.Unstructured) bool {
	if t.SelectedBy == nil {
		return true
	}
	if reader.GetNamespace() == "" || t.NamespacesSelectedBy == nil {
		return reader.GetNamespace() != ""
	}
	value, ok := t.NamespacesSelectedBy.Value(reader.Object)
	return !ok || value == nil
}

// reaches reports whether reader looks into the namespace of the object. A reader outside
// of namespaces looks into all of them where it does not say.
func (t *Through) reaches(reader *unstructured.Unstructured, o Read) bool {
	if o.Object.GetNamespace() == "" {
		return true
	}
	if t.OwnNamespace(reader) {
		return sameNamespace(reader, o.Object)
	}
	return t.NamespacesSelectedBy == nil || selects(t.NamespacesSelectedBy, reader, o.NamespaceLabels)
}

// sameNamespace reports whether nothing but names tells two objects apart: a namespace that
// only one of them has does not.
func sameNamespace(a, b *unstructured.Unstructured) bool {
	return a.GetNamespace() == b.GetNamespace() || a.GetNamespace() == "" || b.GetNamespace() == ""
}

// selects reports whether the selector at a path of reader matches labels. Where there is
// none, it matches nothing.
func selects(at change.Path, reader *unstructured.Unstructured, of map[string]string) bool {
	value, _ := at.Value(reader.Object)
	compiled, ok := selector.Parse(value)
	return ok && compiled.Matches(labels.Set(of))
}

// texts returns the strings at the patterns, without empty ones.
func texts(patterns []change.Pattern, obj map[string]any) []string {
	var out []string
	for _, p := range patterns {
		for _, path := range p.Expand(obj) {
			value, _ := path.Value(obj)
			if text, ok := value.(string); ok && text != "" && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// Throughs returns the entries of all rules about the children of readers, or about readers.
func (p *Policy) Throughs() []ThroughEntry {
	var out []ThroughEntry
	for i := range p.Rules {
		out = append(out, p.Rules[i].Through...)
	}
	return out
}

// ReadBy returns the policies whose objects readers of a kind read, where they say something
// of a kind of children of these, or of readers themselves. The slice must not be changed.
func (i *Index) ReadBy(reader, target schema.GroupKind) []*Policy {
	if i == nil {
		return nil
	}
	return i.readBy[reading{reader, target}]
}

// reading is what the objects of a policy are read by, and what that has a bearing on.
type reading struct{ reader, target schema.GroupKind }

// noteReaders has the index know by which kinds the objects of p are read.
func (i *Index) noteReaders(p *Policy) {
	for _, e := range p.Throughs() {
		at := reading{e.Readers.Kind, e.Kind}
		if !at.reader.Empty() && !at.target.Empty() && !slices.Contains(i.readBy[at], p) {
			i.readBy[at] = append(i.readBy[at], p)
		}
	}
}
