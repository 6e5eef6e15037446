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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// Entry is what may happen to one resource, or to one system outside the cluster.
type Entry struct {
	// Resource is the target in the cluster; zero in an External entry.
	Resource schema.GroupVersionResource
	// Kind of the resource; zero where the API server does not serve it, and in
	// an External entry.
	Kind schema.GroupKind
	// External identifies the system outside the cluster; nil otherwise.
	External map[string]string
	// ExternalVerbs are verbs of that system; "*" is all of them.
	ExternalVerbs []string
	// Create and Delete allow to create and to delete whole objects.
	Create, Delete bool
	// Fields are the fields that may change; none where it is empty.
	Fields []FieldBound
}

// FieldBound is a field that may change, in some ways.
type FieldBound struct {
	// Pattern covers the field and what is below it.
	Pattern change.Pattern
	// Verbs are the ways; nil is all.
	Verbs []v1alpha1.MutationVerb
}

// IsExternal returns true for entries about a system outside the cluster.
func (e Entry) IsExternal() bool { return e.External != nil }

// AllowsOutside reports whether the entry allows a verb of a system outside the cluster.
func (e Entry) AllowsOutside(verb string) bool {
	return e.IsExternal() && (slices.Contains(e.ExternalVerbs, verb) || slices.Contains(e.ExternalVerbs, v1alpha1.Any))
}

// AllowsField reports whether the entry allows the change of a field.
func (e Entry) AllowsField(c change.Change) bool {
	return slices.ContainsFunc(e.Fields, func(f FieldBound) bool { return f.allows(c) })
}

// NamesField reports whether the entry allows the change of a field by its name, or the name of something
// below it: not by that of what it is a part of, nor by a wildcard.
func (e Entry) NamesField(name change.Pattern, c change.Change) bool {
	return slices.ContainsFunc(e.Fields, func(f FieldBound) bool {
		return f.allows(c) && len(f.Pattern) >= len(name) && slices.Equal(f.Pattern[:len(name)], name)
	})
}

func (f FieldBound) allows(c change.Change) bool {
	return (len(f.Verbs) == 0 || slices.Contains(f.Verbs, v1alpha1.MutationVerb(c.Verb))) && f.Pattern.Covers(c.Path)
}

// Section bounds one phase of a parent's life.
type Section struct {
	// Entries are what may happen; there is at least one.
	Entries []Entry

	// implied are the kinds that the section restricts without allowing anything.
	implied []schema.GroupKind
}

// Names reports whether the section names the resource of the kind as a
// ControllerChild target, or bounds it by implication; what it does not name it does
// not restrict.
func (s *Section) Names(kind schema.GroupKind) bool {
	return !kind.Empty() && (slices.Contains(s.implied, kind) ||
		slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Kind == kind }))
}

// MaintainingEntry is what needs no allowance while the parent is steady (D9).
type MaintainingEntry struct {
	Entry
	// Subjects are who may do it; where empty, who may use the allowances of the
	// parent (MayExercise).
	Subjects []v1alpha1.Subject
	// Conditions on the child; all must hold.
	Conditions []*Condition
}

// MatchesSubject reports whether the requester is one of the entry's own subjects.
func (m MaintainingEntry) MatchesSubject(r Requester) bool {
	return slices.ContainsFunc(m.Subjects, func(s v1alpha1.Subject) bool { return matches(s, r) })
}

// Who names the entry's own subjects, for messages.
func (m MaintainingEntry) Who() []string {
	names := make([]string, 0, len(m.Subjects))
	for _, s := range m.Subjects {
		names = append(names, subjectText(s))
	}
	return names
}

// Rule is what a change of a parent allows.
type Rule struct {
	// Index of the rule in spec.rules, for messages.
	Index int
	// Trigger is the field whose change triggers the rule.
	Trigger change.Pattern
	// Conditions on the parent; all must hold.
	Conditions []*Condition
	// Capture are the fields whose values enter the trace.
	Capture []Capture
	// Entries are what the change allows of the parent's own children.
	Entries []Entry
	// Through are what it allows of the children of those that read the parent, or of
	// these.
	Through []ThroughEntry
}

// AllowsAnything reports whether a change allows anything of the parent's own children: the
// rule names no resource at all.
func (r *Rule) AllowsAnything() bool { return len(r.Entries)+len(r.Through) == 0 }

// Capture is a field of the parent whose value enters the trace.
type Capture struct {
	// Text is the path as the policy has it.
	Text string
	// Pattern finds the field.
	Pattern change.Pattern
}
