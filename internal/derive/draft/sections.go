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
	"fmt"

	"kausality.io/operator/api/v1alpha1"
)

// Initializing returns what may be done until a parent has settled for the first time: make
// its children, and follow what they say meanwhile.
func (d *Draft) Initializing() *v1alpha1.InitializingSection {
	if len(d.children) == 0 {
		return nil
	}
	if len(d.children) > maxEntries {
		d.Note(Note{Field: "spec.initializing", Message: fmt.Sprintf(
			"left out, as there are children of %d kinds and a section names %d: until a parent has settled for the first time its children are not bounded",
			len(d.children), maxEntries)})
		return nil
	}
	out := &v1alpha1.InitializingSection{}
	for _, resource := range d.children {
		t := target{membership: false, made: true}
		if m := d.maintaining.of[resource]; m != nil {
			t = *m
			t.made = true
		}
		out.Policies = append(out.Policies, entry(resource, &t, t.verbs()...))
	}
	out.Policies = append(out.Policies, d.pruned(len(out.Policies))...)
	return out
}

// pruned returns the entries by which children that parents get no more may go, as far as there is room beside
// so many other entries.
func (d *Draft) pruned(beside int) []v1alpha1.PolicyEntry {
	out := make([]v1alpha1.PolicyEntry, 0, len(d.former))
	for _, resource := range d.former[:min(len(d.former), maxEntries-beside)] {
		out = append(out, entry(resource, nil, verbDelete))
	}
	return out
}

// Maintained returns what may be done without a change of the parent. What neither this nor a rule lets
// happen is named all the same, with nothing that it lets happen: of a resource that a policy does not
// name for steady parents, anything may be done by anybody.
func (d *Draft) Maintained() *v1alpha1.MaintainingSection {
	entries := d.entries(d.maintaining)
	if len(entries) > maxEntries {
		for _, e := range entries[maxEntries:] {
			d.Note(Note{Field: "spec.maintaining", Lost: true, Message: fmt.Sprintf(
				"%s are left out, as a section names %d resources: what follows other objects there is refused until the parent changes",
				e.Target.Resource, maxEntries)})
		}
		entries = entries[:maxEntries]
	}
	entries = append(entries, d.bounded(entries)...)
	if len(entries) == 0 {
		return nil
	}
	out := &v1alpha1.MaintainingSection{}
	for _, e := range entries {
		out.Policies = append(out.Policies, v1alpha1.MaintainingEntry{PolicyEntry: e})
	}
	return out
}

// Deleting returns what may be done while a parent is being deleted.
func (d *Draft) Deleting() *v1alpha1.DeletingSection {
	if len(d.children) == 0 {
		return nil
	}
	if len(d.children) > maxEntries {
		d.Note(Note{Field: "spec.deleting", Message: fmt.Sprintf(
			"left out, as there are children of %d kinds and a section names %d: while a parent is being deleted its children are not bounded",
			len(d.children), maxEntries)})
		return nil
	}
	out := &v1alpha1.DeletingSection{}
	for _, resource := range d.children {
		out.Policies = append(out.Policies, entry(resource, nil, verbDelete))
	}
	out.Policies = append(out.Policies, d.pruned(len(out.Policies))...)
	return out
}
