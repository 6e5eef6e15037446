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

package decision

import (
	"slices"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// takenBack returns the fields in which a child is about to get what was withheld of its
// parent and is there no more (D2): its controller has not heard yet that it was taken back,
// or changed. It tries again.
func (in *Input) takenBack() []change.Path {
	if in.ParentState != ParentFound || len(in.Parent.TakenBack) == 0 {
		return nil
	}
	known := in.Parent.Known()
	m, _ := known.Child(in.Child.GVK.GroupKind())
	switch {
	case in.Operation == Delete:
		return nil
	case in.Operation == Update || m.Template == nil:
		// What such a controller makes beside, as its revisions, has numbers of its own.
		return in.repeated(known.HasTemplates())
	case in.isOfOlderRevision(m):
		return nil
	}
	now, _ := m.Template.Value(in.Parent.Fields)
	for _, before := range in.Parent.TakenBack {
		if found := in.carried(before, m, now); len(found) > 0 {
			return found
		}
	}
	return nil
}

// isOfOlderRevision reports whether the child is of a revision that is older than the one
// that is withheld or taken back.
func (in *Input) isOfOlderRevision(m knowledge.Child) bool {
	return m.Ordinals != nil && in.Parent.CurrentRevision != in.Parent.UpdateRevision && in.isOf(in.Parent.CurrentRevision, m.Ordinals)
}

// carried returns the fields of the template in which the child has what was withheld before,
// where the present template has something else.
func (in *Input) carried(before *approved.Standing, m knowledge.Child, now any) []change.Path {
	then, _ := m.Template.Value(before.Object.Fields)
	made := any(metadataAndSpec(in.Child.New))
	if m.At != nil {
		made, _ = m.At.Value(in.Child.New)
	}
	t := templates{approved: underTemplate(now), present: underTemplate(then), child: underTemplate(made)}
	var out []change.Path
	for _, d := range change.Find(t.approved, t.present, change.Options{}) {
		there := d
		there.Path = append(slices.Clone(m.Template), d.Path[1:]...)
		withheld := slices.ContainsFunc(before.Withheld(), func(w approved.Difference) bool {
			return isPartOf(there, w, before.Object.Schema)
		})
		if withheld && t.has(d) {
			out = append(out, there.Path)
		}
	}
	return out
}

// metadataAndSpec returns what a template may say of an object.
func metadataAndSpec(object map[string]any) map[string]any {
	return map[string]any{"metadata": object["metadata"], "spec": object["spec"]}
}

// has reports whether the child has what the template has at the place of a difference from
// what is approved, apart from what was added to it, or has not what the template has not.
func (t *templates) has(d change.Change) bool {
	var value any
	if at, found := t.place(d); found {
		value, _ = at.Value(t.child)
	}
	switch {
	case d.New == nil:
		return hasNothingOf(d.Old, value)
	case value == nil:
		return false
	}
	under := underFieldOf(d.Path)
	return !slices.ContainsFunc(change.Find(under(d.New), under(value), change.Options{}), func(c change.Change) bool {
		return c.Verb != change.Insert
	})
}

// hasNothingOf reports whether a value has nothing of what was taken out: none of the leaves
// of a map, to which others may have been added.
func hasNothingOf(taken, value any) bool {
	old, wasMap := taken.(map[string]any)
	now, isMap := value.(map[string]any)
	if value == nil || !wasMap || !isMap || len(old) == 0 {
		return value == nil
	}
	for key, below := range old {
		if _, there := now[key]; there && !hasNothingOf(below, now[key]) {
			return false
		}
	}
	return true
}
