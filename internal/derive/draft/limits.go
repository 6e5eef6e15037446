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
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// What the definition of AllowancePolicies has room for.
const (
	maxRules     = 64
	maxEntries   = 32
	maxMutations = 32
	maxPath      = 512
)

// What an entry of a ledger takes besides the paths in it: its frame, and the names of the
// parent and of who changed it, which may be long.
const (
	entryFrame = 160
	entryNames = 384
)

// Fit makes what was collected coarser until a policy has room for it, and the ledger of a
// parent for all that one write may allow which changes every field.
func (d *Draft) Fit() {
	d.shorten()
	for len(d.triggers) > maxRules {
		d.mergeTriggers()
	}
	for _, resource := range d.children {
		for d.mutations(resource) > maxMutations {
			d.mergeFields(resource)
		}
	}
	for !d.earns() {
		resource, ok := d.widest()
		if !ok {
			break
		}
		d.mergeFields(resource)
	}
	if !d.earns() {
		d.allowAll()
	}
	d.crowded()
	d.settleSolid()
}

// crowded lets triggers allow anything that reach more resources than one rule names, where
// there is no room for as many rules as they need.
func (d *Draft) crowded() {
	rules := 0
	for _, c := range d.triggers {
		rules += max(1, (len(c.of)+maxEntries-1)/maxEntries)
	}
	if rules <= maxRules {
		return
	}
	for _, c := range d.triggers {
		if len(c.of) > maxEntries {
			c.of = nil
		}
	}
	d.Note(Note{Field: "spec.rules", Message: fmt.Sprintf("what reaches more than %d resources allows anything to all of them, as a policy has %d rules", maxEntries, maxRules)})
}

// each calls f for the targets of a resource.
func (d *Draft) each(resource schema.GroupVersionResource, f func(*target)) {
	for _, c := range append(slices.Collect(maps.Values(d.triggers)), d.maintaining) {
		if t, ok := c.of[resource]; ok {
			f(t)
		}
	}
}

// paths of the fields of a resource that may change for whatever reason.
func (d *Draft) paths(resource schema.GroupVersionResource) map[string]change.Pattern {
	out := map[string]change.Pattern{}
	d.each(resource, func(t *target) {
		for key, f := range t.fields {
			out[key] = f.path
		}
	})
	return out
}

// mutations returns the highest number of fields of a resource that one reason has.
func (d *Draft) mutations(resource schema.GroupVersionResource) int {
	most := 0
	d.each(resource, func(t *target) { most = max(most, len(t.fields)) })
	return most
}

// shorten replaces paths that are too long by those above them.
func (d *Draft) shorten() {
	for _, resource := range d.children {
		for key, path := range d.paths(resource) {
			if len(key) > maxPath {
				d.replace(resource, shorter(path))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.triggers)) {
		if len(key) > maxPath {
			d.replaceTriggers(shorter(d.triggers[key].trigger))
		}
	}
}

func shorter(path change.Pattern) change.Pattern {
	for len(path) > 1 && len(path.String()) > maxPath {
		path = path[:len(path)-1]
	}
	return path
}

// mergeTriggers makes one of the triggers that have most in common.
func (d *Draft) mergeTriggers() {
	patterns := map[string]change.Pattern{}
	for key, c := range d.triggers {
		patterns[key] = c.trigger
	}
	above := deepest(patterns)
	if above == nil {
		// Nothing stands for several labels and annotations that are triggers: others write
		// such too.
		keys := slices.Sorted(maps.Keys(d.triggers))
		last := keys[len(keys)-1]
		for _, key := range keys {
			if change.Path(d.triggers[key].trigger).IsMetadata() {
				last = key
			}
		}
		delete(d.triggers, last)
		d.Note(Note{Field: last, Lost: true, Message: fmt.Sprintf("no rule was derived, as a policy has %d: its changes allow nothing", maxRules)})
		return
	}
	d.replaceTriggers(above)
}

func (d *Draft) replaceTriggers(above change.Pattern) {
	into := &Changes{trigger: above}
	for _, key := range slices.Sorted(maps.Keys(d.triggers)) {
		c := d.triggers[key]
		if !covers(above, c.trigger) {
			continue
		}
		delete(d.triggers, key)
		for resource, t := range c.of {
			into.target(resource).merge(t)
		}
	}
	d.triggers[above.String()] = into
	d.Note(Note{Field: above.String(), Message: fmt.Sprintf("one rule stands for all fields below, as a policy has %d", maxRules)})
}

func (t *target) merge(other *target) {
	t.membership, t.made = t.membership || other.membership, t.made || other.made
	t.any, t.all = t.any || other.any, t.all || other.all
	for key, f := range other.fields {
		if known, ok := t.fields[key]; ok {
			known.solid = known.solid && f.solid
			continue
		}
		t.fields[key] = &field{f.path, f.solid}
	}
}

// mergeFields makes one of the fields of a resource that have most in common.
func (d *Draft) mergeFields(resource schema.GroupVersionResource) {
	if above := deepest(d.paths(resource)); above != nil {
		d.replace(resource, above)
		return
	}
	if d.unbindMetadata(resource) {
		return
	}
	d.each(resource, func(t *target) {
		if len(t.fields) > 0 {
			t.fields, t.any = map[string]*field{}, true
		}
	})
	d.Note(Note{Field: "*", Message: fmt.Sprintf("any field of %s is allowed where single ones were derived, as there is no room for more in a policy or a ledger", resource.Resource)})
}

// unbindMetadata has labels and annotations of a resource not bounded any more, and reports whether
// some were. They count only where they are named one by one: to allow any field for their sake would
// let whoever may change a label change all else.
func (d *Draft) unbindMetadata(resource schema.GroupVersionResource) bool {
	unbound := false
	unbind := func(c *Changes) (empty bool) {
		t, ok := c.of[resource]
		if !ok {
			return false
		}
		named := len(t.fields)
		maps.DeleteFunc(t.fields, func(_ string, f *field) bool { return change.Path(f.path).IsMetadata() })
		if len(t.fields) == named {
			return false
		}
		unbound = true
		if len(t.mutations()) == 0 {
			delete(c.of, resource)
		}
		return len(c.of) == 0
	}
	// A rule without entries would allow anything.
	maps.DeleteFunc(d.triggers, func(_ string, c *Changes) bool { return unbind(c) })
	unbind(d.maintaining)
	if unbound {
		d.Note(Note{Field: "metadata", Message: fmt.Sprintf("labels and annotations of %s are not bounded, as there is no room for them in a policy or a ledger", resource.Resource)})
	}
	return unbound
}

// replace puts one field of a resource in place of all below it.
func (d *Draft) replace(resource schema.GroupVersionResource, above change.Pattern) {
	d.each(resource, func(t *target) {
		merged := false
		for key, f := range t.fields {
			if covers(above, f.path) {
				delete(t.fields, key)
				merged = true
			}
		}
		if merged {
			t.fields[above.String()] = &field{path: above}
		}
	})
	d.Note(Note{Field: above.String(), Message: fmt.Sprintf("of %s it is allowed as a whole where fields below were derived, as there is no room for more in a policy or a ledger", resource.Resource)})
}

// deepest returns the longest path above two or more of the patterns, nil where there is none
// that a policy may name: below metadata there are only single labels and annotations.
func deepest(patterns map[string]change.Pattern) change.Pattern {
	var out change.Pattern
	keys := slices.Sorted(maps.Keys(patterns))
	for i, key := range keys {
		for _, other := range keys[i+1:] {
			above := inCommon(patterns[key], patterns[other])
			if len(above) > len(out) && !change.Path(above).IsMetadata() {
				out = above
			}
		}
	}
	return out
}

func inCommon(p, q change.Pattern) change.Pattern {
	n := 0
	for n < min(len(p), len(q)) && p[n] == q[n] {
		n++
	}
	return slices.Clone(p[:n])
}

func covers(above, path change.Pattern) bool {
	return len(above) <= len(path) && slices.Equal(above, path[:len(above)])
}

// widest returns the resource with most fields.
func (d *Draft) widest() (resource schema.GroupVersionResource, ok bool) {
	most := 0
	for _, r := range d.children {
		if n := len(d.paths(r)); n > most {
			resource, most = r, n
		}
	}
	return resource, most > 0
}

// earns reports whether a ledger has room for what all triggers together allow.
func (d *Draft) earns() bool {
	entries, bytes := 0, 0
	for _, resource := range d.children {
		add := func(mutation string, trigger int) {
			entries++
			bytes += entryFrame + entryNames + len(d.kind) + len(resource.Group) + len(resource.Resource) + len(mutation) + trigger
		}
		longest := map[string]int{}
		for _, c := range d.triggers {
			t, ok := c.of[resource]
			if !ok {
				continue
			}
			for _, mutation := range t.mutations() {
				longest[mutation] = max(longest[mutation], len(c.trigger.String()))
			}
		}
		for mutation, trigger := range longest {
			add(mutation, trigger)
		}
	}
	return entries <= ledger.MaxEntries && bytes <= ledger.MaxBytes
}

// mutations returns what the entries of a ledger say that a target allows.
func (t *target) mutations() []string {
	if t.all {
		return []string{v1alpha1.Any}
	}
	out := slices.Sorted(maps.Keys(t.fields))
	if t.any {
		out = append(out, "* of fields")
	}
	switch {
	case t.membership:
		out = append(out, "create", "delete")
	case t.made:
		out = append(out, "create")
	}
	return out
}

// allowAll makes of each trigger one that allows all to the resources that it reaches, and
// where these are too many, anything.
func (d *Draft) allowAll() {
	for _, c := range d.triggers {
		for _, t := range c.of {
			*t = target{all: true}
		}
	}
	d.Note(Note{Field: "spec.rules", Message: "what a field reaches may be changed, created and deleted, as there is no room for more in a ledger"})
	if d.earns() {
		return
	}
	for _, c := range d.triggers {
		c.of = nil
	}
	d.Note(Note{Field: "spec.rules", Message: "each field that reaches a child allows anything to all of them, as there is no room for more in a ledger"})
}

// settleSolid says the same of a field wherever it is named, so that it is one entry of a
// ledger.
func (d *Draft) settleSolid() {
	for _, resource := range d.children {
		may := map[string]bool{}
		d.each(resource, func(t *target) {
			for key, f := range t.fields {
				may[key] = may[key] || !f.solid
			}
		})
		d.each(resource, func(t *target) {
			for key, f := range t.fields {
				f.solid = !may[key]
			}
		})
	}
}

// Rules returns those of the triggers, in the order of these.
func (d *Draft) Rules() []v1alpha1.Rule {
	var out []v1alpha1.Rule
	for _, key := range slices.SortedFunc(maps.Keys(d.triggers), strings.Compare) {
		entries := d.entries(d.triggers[key])
		if len(entries) == 0 {
			out = append(out, v1alpha1.Rule{Trigger: key})
			continue
		}
		for part := range slices.Chunk(entries, maxEntries) {
			out = append(out, v1alpha1.Rule{Trigger: key, Policies: part})
		}
	}
	return out
}
