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

package convert

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// fromAncestor returns the spec that a policy of kausal.io stands for, nil where there is
// none. Its match becomes a rule for each field, with the conditions and captures of
// all.
func (c *converter) fromAncestor(spec map[string]any) map[string]any {
	c.others(spec, "spec.", "match", "subjects", "allow")
	match, ok := spec["match"].(map[string]any)
	if !ok {
		c.losef("spec.match", "without it the policy is about nothing")
		return nil
	}
	c.others(match, "spec.match.", "kind", "fields", "cel", "capture")
	parent, ok := c.kind(match["kind"], "spec.match.kind")
	if !ok {
		return nil
	}
	if policy.ExemptKind(parent.GroupKind()) {
		c.losef("spec.match.kind", "Kausality is never asked about a %s", parent.Kind)
		return nil
	}
	out := map[string]any{
		"for": map[string]any{"apiGroup": parent.Group, "apiVersion": parent.Version, "kind": parent.Kind},
	}
	if subjects := list(spec["subjects"]); len(subjects) > 0 {
		out["subjects"] = c.subjects(subjects, "spec.subjects")
	}
	var entries []any
	c.each(spec, "spec", "allow", func(allow map[string]any, path string) {
		if entry, ok := c.allow(allow, path); ok {
			entries = append(entries, entry)
		}
	})
	if len(entries) == 0 {
		c.losef("spec.allow", "it allows nothing that can be converted, and a rule that allows nothing would allow anything")
		return nil
	}
	fields := list(match["fields"])
	if len(fields) == 0 {
		c.losef("spec.match.fields", "no field triggers the policy")
	}
	out["rules"] = rules(match, fields, entries)
	c.notef("spec", "kausal.io knows no phases: here the children of each %s are unrestricted while that is new or being deleted, "+
		"unless you add the sections initializing and deleting", parent.Kind)
	return out
}

// rules returns a rule for each field.
func rules(match map[string]any, fields, entries []any) []any {
	out := make([]any, 0, len(fields))
	for _, field := range fields {
		rule := map[string]any{"trigger": field, "policies": runtime.DeepCopyJSONValue(entries)}
		if cel := list(match["cel"]); len(cel) > 0 {
			rule["conditions"] = cel
		}
		if capture := list(match["capture"]); len(capture) > 0 {
			rule["capture"] = capture
		}
		out = append(out, rule)
	}
	return out
}

// allow returns the entry that an item of allow stands for.
func (c *converter) allow(allow map[string]any, path string) (map[string]any, bool) {
	c.others(allow, path+".", "kind", "relation", "mutations")
	if relation, given := allow["relation"]; given && relation != "Child" {
		c.losef(path+".relation", "kausal.io knows the relation Child only")
		return nil, false
	}
	child, ok := c.kind(allow["kind"], path+".kind")
	if !ok {
		return nil, false
	}
	resource, _ := c.kinds.ResourceFor(child)
	entry := map[string]any{
		"target":    map[string]any{"apiGroup": resource.Group, "apiVersion": resource.Version, "resource": resource.Resource},
		"relation":  string(v1alpha1.RelationControllerChild),
		"mutations": allow["mutations"],
	}
	c.mutations(entry, path)
	if entry["verbs"] == nil {
		c.losef(path+".mutations", "it names neither a field nor create nor delete, and so allows nothing")
		return nil, false
	}
	return entry, true
}

// kind finds the kind of a name, which kausal.io gives without its group.
func (c *converter) kind(name any, path string) (schema.GroupVersionKind, bool) {
	kind, ok := name.(string)
	if !ok || kind == "" {
		c.losef(path, "it names no kind")
		return schema.GroupVersionKind{}, false
	}
	found := c.kinds.Named(kind)
	if len(found) == 0 {
		c.losef(path, "the kind %s is not known: give its CustomResourceDefinition with --crds", kind)
		return schema.GroupVersionKind{}, false
	}
	if len(found) > 1 {
		groups := make([]string, 0, len(found))
		for _, gvk := range found {
			groups = append(groups, gvk.GroupVersion().String())
		}
		c.notef(path, "there is a kind %s in %s; it is taken for that in %s", kind, strings.Join(groups, " and "), groups[0])
	}
	return found[0], true
}
