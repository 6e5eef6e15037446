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

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// rule compiles a rule; one with anything wrong in it is out as a whole. Without
// the one condition that does not compile it would allow more than was meant, and
// without its last entry anything.
func (c *compiler) rule(index int, r v1alpha1.Rule, path *field.Path) (Rule, bool) {
	out := Rule{Index: index}
	sound := c.soundly(func() {
		out.Trigger = c.trigger(r.Trigger, path.Child("trigger"))
		out.Conditions = c.conditions(r.Conditions, path.Child("conditions"))
		out.Capture = c.captures(r.Capture, path.Child("capture"))
		out.Entries, out.Through = c.ruleEntries(r.Policies, path.Child("policies"))
	})
	return out, sound
}

func (c *compiler) trigger(text string, path *field.Path) change.Pattern {
	pattern, ok := c.pattern(text, path)
	if !ok {
		return pattern
	}
	if reason := uncounted(pattern, c.actions); reason != "" {
		c.report(field.Invalid(path, text, reason))
	}
	return pattern
}

func (c *compiler) captures(texts []string, path *field.Path) []Capture {
	var out []Capture
	for i, text := range texts {
		if slices.Contains(texts[:i], text) {
			c.report(field.Duplicate(path.Index(i), text))
		}
		if pattern, ok := c.pattern(text, path.Index(i)); ok {
			out = append(out, Capture{Text: text, Pattern: pattern})
		}
	}
	return out
}

func (c *compiler) pattern(text string, path *field.Path) (change.Pattern, bool) {
	pattern, err := change.ParsePattern(text)
	if err != nil {
		c.report(field.Invalid(path, text, "not a field path: "+err.Error()))
		return change.Pattern{}, false
	}
	return pattern, true
}

// maintaining compiles what needs no allowance. An entry with anything wrong in it
// is out: without its conditions or subjects it would be open to more, for ever.
func (c *compiler) maintaining(entries []v1alpha1.MaintainingEntry, path *field.Path) []MaintainingEntry {
	var out []MaintainingEntry
	for i, e := range entries {
		var compiled MaintainingEntry
		at := path.Index(i)
		if c.soundly(func() {
			c.notThrough(e.PolicyEntry, at)
			compiled.Entry = c.entry(e.PolicyEntry, at)
			compiled.Subjects = slices.Clone(e.Subjects)
			for j, s := range e.Subjects {
				c.subject(s, at.Child("subjects").Index(j))
			}
			compiled.Conditions = c.conditions(e.Conditions, at.Child("conditions"))
			if e.Relation == v1alpha1.RelationExternal {
				c.report(field.NotSupported(at.Child("relation"), e.Relation,
					[]v1alpha1.Relation{v1alpha1.RelationControllerChild}))
			}
		}) {
			out = append(out, compiled)
		}
	}
	return out
}
