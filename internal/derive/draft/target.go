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

package draft

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// Changes are what may happen to some children, by a trigger or without one.
type Changes struct {
	trigger change.Pattern
	of      map[schema.GroupVersionResource]*target
}

// target is what may happen to the objects of one resource.
type target struct {
	// membership is true where objects may come and go, made where they may come.
	membership, made bool
	fields           map[string]*field
	// any field is meant, and all that may be done to objects.
	any, all bool
}

// field is one that may change.
type field struct {
	path  change.Pattern
	solid bool
}

func (c *Changes) target(resource schema.GroupVersionResource) *target {
	if c.of == nil {
		c.of = map[schema.GroupVersionResource]*target{}
	}
	if c.of[resource] == nil {
		c.of[resource] = &target{fields: map[string]*field{}}
	}
	return c.of[resource]
}

// Member lets objects of a resource come and go.
func (c *Changes) Member(resource schema.GroupVersionResource) { c.target(resource).membership = true }

// Made lets objects of a resource come.
func (c *Changes) Made(resource schema.GroupVersionResource) { c.target(resource).made = true }

// Any lets any field of a resource change, but for metadata.
func (c *Changes) Any(resource schema.GroupVersionResource) { c.target(resource).any = true }

// Reach lets a field of a resource change. It is solid where the field always has a value, and never
// the zero value.
func (c *Changes) Reach(resource schema.GroupVersionResource, at change.Pattern, solid bool) {
	t, key := c.target(resource), at.String()
	if known, ok := t.fields[key]; ok {
		known.solid = known.solid && solid
		return
	}
	t.fields[key] = &field{at, solid}
}

// entry of a policy about one resource.
func entry(resource schema.GroupVersionResource, t *target, verbs ...string) v1alpha1.PolicyEntry {
	group := resource.Group
	e := v1alpha1.PolicyEntry{
		Target:   v1alpha1.Target{APIGroup: &group, APIVersion: resource.Version, Resource: resource.Resource},
		Relation: v1alpha1.RelationControllerChild,
		Verbs:    verbs,
	}
	if t == nil || t.any || t.all {
		return e
	}
	for _, key := range slices.Sorted(maps.Keys(t.fields)) {
		m := v1alpha1.FieldMutation{JSONPath: key}
		if t.fields[key].solid {
			m.Verbs = []v1alpha1.MutationVerb{v1alpha1.MutationMutate}
		}
		e.Mutations = append(e.Mutations, m)
	}
	return e
}

// verbs returns what may be done to objects.
func (t *target) verbs() []string {
	if t.all {
		return []string{v1alpha1.Any}
	}
	var verbs []string
	if t.membership || t.made {
		verbs = append(verbs, verbCreate)
	}
	if len(t.fields) > 0 || t.any {
		verbs = append(verbs, verbUpdate)
	}
	if t.membership {
		verbs = append(verbs, verbDelete)
	}
	return verbs
}

// entries of all targets, in the order in which they came.
func (d *Draft) entries(c *Changes) []v1alpha1.PolicyEntry {
	var out []v1alpha1.PolicyEntry
	for _, resource := range d.children {
		t, ok := c.of[resource]
		if !ok {
			continue
		}
		out = append(out, entry(resource, t, t.verbs()...))
		if metadata := t.metadata(); t.any && len(metadata.fields) > 0 {
			// Any field is none of metadata.
			out = append(out, entry(resource, metadata, verbUpdate))
		}
	}
	return out
}

// metadata returns what may happen to metadata, field by field.
func (t *target) metadata() *target {
	out := &target{fields: map[string]*field{}}
	for key, f := range t.fields {
		if change.Path(f.path).IsMetadata() {
			out.fields[key] = f
		}
	}
	return out
}

// The verbs of entries.
const (
	verbCreate = "Create"
	verbDelete = "Delete"
	verbUpdate = "Update"
)
