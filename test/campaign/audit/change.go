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

// Package audit reads what the audit log of an API server tells of changes: who asked for what
// when, what came of it, and the life of each object from version to version. It judges
// nothing, and shares no code with the operator.
package audit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// Change is what happened to a field, or to the whole object where there is no path.
type Change struct {
	Path          []string
	Verb          string
	Before, After any
}

// Verbs of changes.
const (
	Inserts = "Insert"
	Drops   = "Delete"
	Mutates = "Mutate"
	Makes   = "Create"
	Ends    = "End"
)

func (c Change) String() string { return strings.TrimSpace(strings.Join(c.Path, ".") + " " + c.Verb) }

// Whole reports whether all of the object comes or goes.
func (c Change) Whole() bool { return c.Verb == Makes || c.Verb == Ends }

// Within reports whether a path is another one, or below it.
func Within(path, top []string) bool {
	if len(path) < len(top) {
		return false
	}
	for i := range top {
		if top[i] != "*" && top[i] != path[i] {
			return false
		}
	}
	return true
}

// Related reports whether one of two paths is within the other.
func Related(a, b []string) bool { return Within(a, b) || Within(b, a) }

// Diff returns the changes from one value to another; items of lists are told by their place.
func Diff(path []string, before, after any) []Change {
	before, after = Absent(before), Absent(after)
	switch {
	case equality.Semantic.DeepEqual(before, after):
		return nil
	case before == nil:
		return []Change{{path, Inserts, nil, after}}
	case after == nil:
		return []Change{{path, Drops, before, nil}}
	}
	var out []Change
	below := func(key string, before, after any) {
		out = append(out, Diff(append(slices.Clip(path), key), before, after)...)
	}
	switch before := before.(type) {
	case map[string]any:
		after, ok := after.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(before)
		maps.Copy(keys, after)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			below(key, before[key], after[key])
		}
		return out
	case []any:
		after, ok := after.([]any)
		if !ok {
			break
		}
		for i := range max(len(before), len(after)) {
			below(strconv.Itoa(i), item(before, i), item(after, i))
		}
		return out
	}
	return []Change{{path, Mutates, before, after}}
}

// Absent returns nothing for what JSON knows as such.
func Absent(value any) any {
	if list, ok := value.([]any); ok && list == nil {
		return nil
	}
	if fields, ok := value.(map[string]any); ok && fields == nil {
		return nil
	}
	return value
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// OwnersPath and LabelsPath are where owners and labels are.
var (
	OwnersPath = []string{"metadata", "ownerReferences"}
	LabelsPath = []string{"metadata", "labels"}
)

// ContentChanges returns the changes outside of metadata. A binding does not show the Pod that it
// changes, so its node counts for nothing.
func ContentChanges(before, after *Object) []Change {
	var out []Change
	if before.Content != after.Content {
		out = Diff(nil, before.Fields, after.Fields)
	}
	if after.Kind != "Pod" {
		return out
	}
	return slices.DeleteFunc(out, func(c Change) bool { return Within(c.Path, []string{"spec", "nodeName"}) })
}

// OwnerChanges returns the changes of who owns the object: the version of the reference does not count.
func OwnerChanges(before, after *Object) []Change {
	var out []Change
	// Another reference to an owner that there is makes no other owner, and takes none away. One that names it otherwise
	// counts when it comes: the garbage collector takes both away where one of them names nobody.
	again := func(o Owner) bool {
		return !o.Controller && slices.ContainsFunc(before.Owners, func(b Owner) bool { return b.UID == o.UID && !b.Same(o) && slices.ContainsFunc(after.Owners, b.Same) })
	}
	for _, o := range before.Owners {
		if !again(o) && !slices.ContainsFunc(after.Owners, o.Same) {
			out = append(out, Change{OwnersPath, Drops, o, nil})
		}
	}
	for _, o := range after.Owners {
		if !slices.ContainsFunc(before.Owners, o.Same) && (!again(o) || !slices.ContainsFunc(before.Owners, o.namesAs)) {
			out = append(out, Change{OwnersPath, Inserts, nil, o})
		}
	}
	return out
}

// Same reports whether two references say the same, in whatever version.
func (o Owner) Same(other Owner) bool {
	o.APIVersion, other.APIVersion = groupOf(o.APIVersion), groupOf(other.APIVersion)
	return o == other
}

// namesAs reports whether two references name one object, whoever of them controls.
func (o Owner) namesAs(other Owner) bool {
	o.Controller = other.Controller
	return o.Same(other)
}

// groupOf returns the group of an API version.
func groupOf(version string) string {
	group, _, found := strings.Cut(version, "/")
	if !found {
		return ""
	}
	return group
}

// Matches reports whether a selector of labels selects an object.
func Matches(selector any, labels map[string]string) bool {
	for key, want := range AsMap(ValueAt(selector, "matchLabels")) {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// AsMap returns a map, or none.
func AsMap(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

// LabelChanges returns the changes of labels.
func LabelChanges(before, after *Object) []Change {
	return Diff(LabelsPath, anyOf(before.Labels), anyOf(after.Labels))
}

// AnnotationChanges returns the changes of annotations.
func AnnotationChanges(before, after *Object) []Change {
	return Diff([]string{"metadata", "annotations"}, anyOf(before.Annotations), anyOf(after.Annotations))
}

func anyOf(all map[string]string) any {
	out := make(map[string]any, len(all))
	for key, value := range all {
		out[key] = value
	}
	return out
}
