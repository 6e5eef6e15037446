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

package kro

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
// instance and of who changed it, which may be long.
const (
	entryFrame = 160
	entryNames = 384
)

// fit makes what was collected coarser until a policy has room for it, and the ledger of an
// instance for all that one write may allow which changes every field.
func (b *builder) fit() {
	b.shorten()
	for len(b.triggers) > maxRules {
		b.mergeTriggers()
	}
	for _, resource := range b.children {
		for b.mutations(resource) > maxMutations {
			b.mergeFields(resource)
		}
	}
	for !b.earns() {
		resource, ok := b.widest()
		if !ok {
			break
		}
		b.mergeFields(resource)
	}
	if !b.earns() {
		b.allowAll()
	}
	b.crowded()
	b.settleSolid()
}

// crowded lets triggers allow anything that reach more resources than one rule names, where
// there is no room for as many rules as they need.
func (b *builder) crowded() {
	rules := 0
	for _, c := range b.triggers {
		rules += max(1, (len(c.of)+maxEntries-1)/maxEntries)
	}
	if rules <= maxRules {
		return
	}
	for _, c := range b.triggers {
		if len(c.of) > maxEntries {
			c.of = nil
		}
	}
	b.note(Note{Field: "spec.rules", Message: fmt.Sprintf("what reaches more than %d resources allows anything to all of them, as a policy has %d rules", maxEntries, maxRules)})
}

// each calls f for the targets of a resource.
func (b *builder) each(resource schema.GroupVersionResource, f func(*target)) {
	for _, c := range append(slices.Collect(maps.Values(b.triggers)), b.maintaining) {
		if t, ok := c.of[resource]; ok {
			f(t)
		}
	}
}

// paths of the fields of a resource that may change for whatever reason.
func (b *builder) paths(resource schema.GroupVersionResource) map[string]change.Pattern {
	out := map[string]change.Pattern{}
	b.each(resource, func(t *target) {
		for key, f := range t.fields {
			out[key] = f.path
		}
	})
	return out
}

// mutations returns the highest number of fields of a resource that one reason has.
func (b *builder) mutations(resource schema.GroupVersionResource) int {
	most := 0
	b.each(resource, func(t *target) { most = max(most, len(t.fields)) })
	return most
}

// shorten replaces paths that are too long by those above them.
func (b *builder) shorten() {
	for _, resource := range b.children {
		for key, path := range b.paths(resource) {
			if len(key) > maxPath {
				b.replace(resource, shorter(path))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.triggers)) {
		if len(key) > maxPath {
			b.replaceTriggers(shorter(b.triggers[key].trigger))
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
func (b *builder) mergeTriggers() {
	patterns := map[string]change.Pattern{}
	for key, c := range b.triggers {
		patterns[key] = c.trigger
	}
	above := deepest(patterns)
	if above == nil {
		// Labels and annotations: kro writes such itself, so that only single ones can be
		// triggers.
		keys := slices.Sorted(maps.Keys(b.triggers))
		last := keys[len(keys)-1]
		for _, key := range keys {
			if change.Path(b.triggers[key].trigger).IsMetadata() {
				last = key
			}
		}
		delete(b.triggers, last)
		b.note(Note{Field: last, Lost: true, Message: fmt.Sprintf("no rule was derived, as a policy has %d: its changes allow nothing", maxRules)})
		return
	}
	b.replaceTriggers(above)
}

func (b *builder) replaceTriggers(above change.Pattern) {
	into := &changes{trigger: above}
	for _, key := range slices.Sorted(maps.Keys(b.triggers)) {
		c := b.triggers[key]
		if !covers(above, c.trigger) {
			continue
		}
		delete(b.triggers, key)
		for resource, t := range c.of {
			into.target(resource).merge(t)
		}
	}
	b.triggers[above.String()] = into
	b.note(Note{Field: above.String(), Message: fmt.Sprintf("one rule stands for all fields below, as a policy has %d", maxRules)})
}

func (t *target) merge(other *target) {
	t.membership = t.membership || other.membership
	for key, f := range other.fields {
		if known, ok := t.fields[key]; ok {
			known.solid = known.solid && f.solid
			continue
		}
		t.fields[key] = &field{f.path, f.solid}
	}
}

// mergeFields makes one of the fields of a resource that have most in common.
func (b *builder) mergeFields(resource schema.GroupVersionResource) {
	if above := deepest(b.paths(resource)); above != nil {
		b.replace(resource, above)
		return
	}
	if b.unbindMetadata(resource) {
		return
	}
	b.each(resource, func(t *target) {
		if len(t.fields) > 0 {
			t.fields, t.any = map[string]*field{}, true
		}
	})
	b.note(Note{Field: "*", Message: fmt.Sprintf("any field of %s is allowed where single ones were derived, as there is no room for more in a policy or a ledger", resource.Resource)})
}

// unbindMetadata has labels and annotations of a resource not bounded any more, and reports whether
// some were. They count only where they are named one by one: to allow any field for their sake would
// let whoever may change a label change all else.
func (b *builder) unbindMetadata(resource schema.GroupVersionResource) bool {
	unbound := false
	unbind := func(c *changes) (empty bool) {
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
	maps.DeleteFunc(b.triggers, func(_ string, c *changes) bool { return unbind(c) })
	unbind(b.maintaining)
	if unbound {
		b.note(Note{Field: "metadata", Message: fmt.Sprintf("labels and annotations of %s are not bounded, as there is no room for them in a policy or a ledger", resource.Resource)})
	}
	return unbound
}

// replace puts one field of a resource in place of all below it.
func (b *builder) replace(resource schema.GroupVersionResource, above change.Pattern) {
	b.each(resource, func(t *target) {
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
	b.note(Note{Field: above.String(), Message: fmt.Sprintf("of %s it is allowed as a whole where fields below were derived, as there is no room for more in a policy or a ledger", resource.Resource)})
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
func (b *builder) widest() (resource schema.GroupVersionResource, ok bool) {
	most := 0
	for _, r := range b.children {
		if n := len(b.paths(r)); n > most {
			resource, most = r, n
		}
	}
	return resource, most > 0
}

// earns reports whether a ledger has room for what all triggers together allow.
func (b *builder) earns() bool {
	entries, bytes := 0, 0
	for _, resource := range b.children {
		add := func(mutation string, trigger int) {
			entries++
			bytes += entryFrame + entryNames + len(b.instance.Kind) + len(resource.Group) + len(resource.Resource) + len(mutation) + trigger
		}
		longest := map[string]int{}
		for _, c := range b.triggers {
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
	if t.membership {
		out = append(out, "create", "delete")
	}
	return out
}

// allowAll makes of each trigger one that allows all to the resources that it reaches, and
// where these are too many, anything.
func (b *builder) allowAll() {
	for _, c := range b.triggers {
		for _, t := range c.of {
			*t = target{all: true}
		}
	}
	b.note(Note{Field: "spec.rules", Message: "what a field reaches may be changed, created and deleted, as there is no room for more in a ledger"})
	if b.earns() {
		return
	}
	for _, c := range b.triggers {
		c.of = nil
	}
	b.note(Note{Field: "spec.rules", Message: "each field that reaches a child allows anything to all of them, as there is no room for more in a ledger"})
}

// settleSolid says the same of a field wherever it is named, so that it is one entry of a
// ledger.
func (b *builder) settleSolid() {
	for _, resource := range b.children {
		may := map[string]bool{}
		b.each(resource, func(t *target) {
			for key, f := range t.fields {
				may[key] = may[key] || !f.solid
			}
		})
		b.each(resource, func(t *target) {
			for key, f := range t.fields {
				f.solid = !may[key]
			}
		})
	}
}

// rules of the triggers, in the order of these.
func (b *builder) rules() []v1alpha1.Rule {
	var out []v1alpha1.Rule
	for _, key := range slices.SortedFunc(maps.Keys(b.triggers), strings.Compare) {
		entries := b.entries(b.triggers[key])
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
