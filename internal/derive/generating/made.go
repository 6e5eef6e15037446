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

package generating

import (
	"maps"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/derive/flow"
)

// made is what one call of generator.ApplyAll makes, of one resource.
type made struct {
	resource schema.GroupVersionResource
	why      string
	// whether are the places that decide on whether there are such objects, and which.
	whether []flow.Ref
	// reached are the fields, and what they are made of.
	reached []reached
	// sources are the roots of what it is or may be a clone of; true where it is one of no other.
	sources map[string]bool
	// data is true where it may be no clone.
	data bool
}

// reached is a field, nil for any field but metadata, and the places that it is made of.
type reached struct {
	field change.Pattern
	refs  []flow.Ref
	// content is true where the object has all of these but for their metadata and status.
	content bool
}

// objects finds what is applied in a value: an object, a List, or lists of these, nested.
func (d *derivation) objects(a application, v *flow.Value, from []flow.Ref) {
	from = flow.Unique(slices.Concat(from, v.From))
	if items, ok := v.Fields["items"]; ok && isList(v.Fields[fieldKind]) {
		d.objects(a, items, from)
		return
	}
	if v.Item != nil {
		d.objects(a, v.Item, from)
	}
	whole := slices.DeleteFunc(slices.Clone(v.Is), func(r flow.Ref) bool { return len(r.Path) > 0 })
	if len(whole) < len(v.Is) {
		d.note(draft.Note{Field: a.why, Lost: true, Message: "an object that is a part of another one is applied, and of which kind it is cannot be told: " +
			"add entries for its resource to the policies"})
	}
	if len(whole) == 0 && len(v.Fields) == 0 {
		return
	}
	kinds, resources, known := d.kinds(v, whole)
	if !known {
		d.note(draft.Note{Field: a.why, Lost: true, Message: "of which kind an object is that is applied cannot be told: write its apiVersion and kind as texts, " +
			"or add entries for its resource to the policies"})
	}
	for _, kind := range kinds {
		d.made(a, v, kind, d.resource(kind), whole, from)
	}
	for _, resource := range resources {
		kind, _ := d.kindFor(resource)
		d.made(a, v, kind, resource, whole, from)
	}
}

// isList reports whether a kind may be that of a List.
func isList(kind *flow.Value) bool {
	return kind == nil || len(kind.Texts) == 0 || kind.Open || slices.ContainsFunc(kind.Texts, func(k string) bool { return strings.HasSuffix(k, "List") })
}

// kinds returns what an object may be: the kinds that are written out, and the resources of which it
// is a clone.
func (d *derivation) kinds(v *flow.Value, whole []flow.Ref) (kinds []schema.GroupVersionKind, resources []schema.GroupVersionResource, known bool) {
	known = true
	of := func(root string) {
		found, isKnown := d.resourcesAt(root)
		resources, known = append(resources, found...), known && isKnown
	}
	for _, r := range whole {
		of(r.Root)
	}
	kind, version := v.Fields[fieldKind], v.Fields[fieldVersion]
	switch {
	case kind == nil && len(whole) > 0:
	case kind == nil || version == nil:
		known = false
	default:
		for _, r := range kind.Is {
			if len(r.Path) == 1 && r.Path[0].Field == fieldKind {
				of(r.Root)
			} else {
				known = false
			}
		}
		if len(kind.Is) == 0 && (len(kind.Texts) == 0 || kind.Open || len(version.Texts) == 0) {
			known = false
		}
		for _, k := range kind.Texts {
			kinds = append(kinds, d.versions(k, version.Texts)...)
		}
	}
	slices.SortFunc(resources, compareResources)
	return kinds, slices.Compact(resources), known
}

// resourcesAt returns the resources of the objects that a root stands for.
func (d *derivation) resourcesAt(root string) (resources []schema.GroupVersionResource, known bool) {
	switch r := d.reads[root]; {
	case root == rootObject:
		for _, t := range d.triggers {
			resources = append(resources, t.resource)
		}
		return resources, true
	case r != nil && r.isKnown():
		return []schema.GroupVersionResource{r.resource}, true
	default:
		return nil, false
	}
}

// versions returns a kind in the versions that may be its own: of several, those that are served.
func (d *derivation) versions(kind string, of []string) []schema.GroupVersionKind {
	var all, known []schema.GroupVersionKind
	for _, version := range of {
		gv, err := schema.ParseGroupVersion(version)
		if err != nil {
			continue
		}
		all = append(all, gv.WithKind(kind))
		if d.opts.ResourceFor == nil {
			continue
		}
		if _, isServed := d.opts.ResourceFor(gv.WithKind(kind)); isServed {
			known = append(known, gv.WithKind(kind))
		}
	}
	if len(known) > 0 {
		return known
	}
	return all
}

// resource returns what a kind is served as.
func (d *derivation) resource(kind schema.GroupVersionKind) schema.GroupVersionResource {
	if d.opts.ResourceFor != nil {
		if resource, known := d.opts.ResourceFor(kind); known {
			return resource
		}
	}
	resource, _ := apimeta.UnsafeGuessKindToResource(kind)
	if d.opts.ResourceFor != nil {
		d.note(draft.Note{Field: "spec.generate", Message: "the resource of the kind " + kind.GroupKind().String() + " is not known, and taken to be " +
			resource.GroupResource().String() + ": give its CustomResourceDefinition, or correct the targets"})
	}
	return resource
}

// made adds an object of one kind.
func (d *derivation) made(a application, v *flow.Value, kind schema.GroupVersionKind, resource schema.GroupVersionResource, whole, from []flow.Ref) {
	m := &made{resource: resource, why: a.why, sources: map[string]bool{}}
	m.whether = flow.Unique(slices.Concat(a.under, a.namespace.All(), from, v.Fields[fieldKind].All(), v.Fields[fieldVersion].All()))
	if len(from) > 0 {
		m.reach(nil, from)
	}
	d.sourcesOf(m, v, kind, resource, whole)
	for _, r := range whole {
		m.reached = append(m.reached, reached{refs: []flow.Ref{r}, content: true})
		for _, name := range []string{fieldLabels, fieldAnnotations} {
			m.reach(metadata(name), []flow.Ref{{Root: r.Root, Path: metadata(name)}})
		}
	}
	if v.Item != nil {
		m.reach(nil, v.Item.All())
	}
	for _, name := range slices.Sorted(maps.Keys(v.Fields)) {
		switch name {
		case fieldVersion, fieldKind, "status":
		case "metadata":
			d.metadata(m, v.Fields[name])
		default:
			at := name
			if name == "stringData" && kind.Group == "" && kind.Kind == "Secret" {
				at = "data" // The API server keeps it there.
			}
			m.content(change.Pattern{flow.FieldSegment(at)}, v.Fields[name])
		}
	}
	d.all = append(d.all, m)
}

func metadata(name string) change.Pattern {
	return change.Pattern{flow.FieldSegment("metadata"), flow.FieldSegment(name)}
}

func (m *made) reach(field change.Pattern, refs []flow.Ref) {
	if len(refs) > 0 {
		m.reached = append(m.reached, reached{field: field, refs: refs})
	}
}

// content adds the fields that a value is for. Where all that a map holds may be absent, the map itself
// is what changes: the API server keeps no empty ones. A list is one field.
func (m *made) content(at change.Pattern, v *flow.Value) {
	if v.Item != nil || v.Listed || len(v.Fields) == 0 || mayBeEmpty(v) {
		m.reach(at, v.All())
		return
	}
	m.reach(at, flow.Unique(slices.Concat(v.Is, v.From)))
	for _, name := range slices.Sorted(maps.Keys(v.Fields)) {
		m.content(slices.Concat(at, change.Pattern{flow.FieldSegment(name)}), v.Fields[name])
	}
}

// mayBeEmpty reports whether all that a map holds may be absent. What is absent of an object leaves its
// field out.
func mayBeEmpty(v *flow.Value) bool {
	for _, held := range v.Fields {
		if !held.Gone && (held.Solid || len(held.Is)+len(held.From) == 0) {
			return false
		}
	}
	return true
}

// metadata adds what the metadata of an object is made of.
func (d *derivation) metadata(m *made, v *flow.Value) {
	for _, name := range []string{"name", "namespace"} {
		m.whether = flow.Unique(slices.Concat(m.whether, v.Field(name).All()))
	}
	for _, name := range []string{fieldLabels, fieldAnnotations} {
		held := v.Field(name)
		if len(held.Is)+len(held.From) > 0 || held.Item != nil {
			m.reach(metadata(name), held.All())
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(held.Fields)) {
			m.reach(append(metadata(name), flow.FieldSegment(key)), held.Fields[key].All())
		}
	}
	for _, name := range []string{"finalizers", "ownerReferences"} {
		if held, written := v.Fields[name]; written && len(held.All()) > 0 {
			d.unbounded(m.resource, metadata(name))
		}
	}
}

// sourcesOf finds what an object is a clone of: what was read and is applied, or has the same kind and
// name.
func (d *derivation) sourcesOf(m *made, v *flow.Value, kind schema.GroupVersionKind, resource schema.GroupVersionResource, whole []flow.Ref) {
	for _, r := range whole {
		m.sources[r.Root] = len(whole) == 1
	}
	if len(whole) > 0 {
		return
	}
	m.data = true
	name := v.Field("metadata").Field("name")
	for _, key := range slices.Sorted(maps.Keys(d.reads)) {
		r := d.reads[key]
		other, known := d.kindFor(r.resource)
		if r.resource != resource && (!known || other.GroupKind() != kind.GroupKind()) {
			continue
		}
		same := len(name.Is) == 1 && len(name.From) == 0 && len(name.Texts) == 0 &&
			name.Is[0].Root == key && name.Is[0].Path.String() == "metadata.name"
		written := text(name)
		switch {
		case same:
			m.sources[key], m.data = true, false
		case written != nil && r.name != nil:
			if *written == *r.name {
				m.sources[key], m.data = true, false
			}
		case !r.list || written == nil || r.name == nil:
			m.sources[key] = false
		}
	}
}
