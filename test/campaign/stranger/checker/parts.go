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

package checker

import (
	"maps"
	"slices"
	"strconv"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/marks"
	"kausality.io/operator/test/campaign/policylog"
)

// rights are the fields of an object whose changes somebody may begin something with.
type rights struct {
	fields [][]string
	// less is true where rules are about other fields as well.
	less bool
}

func (r *rights) include(path []string) bool {
	return slices.ContainsFunc(r.fields, func(field []string) bool { return audit.Within(path, field) })
}

// rightsTo returns the rights of who made a version, by the policies for its kind that let them
// initiate. If several requests made it, the one that it is known by counts.
func (c *checker) rightsTo(l *audit.Life, v *audit.Version) rights {
	all := c.rulesOf(l).Ever(v.Kind, v.By.Received.Add(-lag), v.By.Answered)
	var r rights
	known := false
	for _, p := range all {
		if policylog.Knows([]*policylog.Policy{p}, v.By, true) {
			known = true
			for _, rule := range p.Rules {
				if rule.Holds(v.Object) {
					r.fields = append(r.fields, policylog.PathOf(rule.Trigger))
				}
			}
		}
	}
	for _, p := range all {
		for _, rule := range p.Rules {
			r.less = r.less || known && !r.include(policylog.PathOf(rule.Trigger))
		}
	}
	return r
}

// begin notes changes by somebody who may begin something with some of them. Where they approve, that
// counts for the same fields. All other changes are withheld as far as rules are about them.
func (s *state) begin(ever, governing []*policylog.Policy, v *audit.Version, r rights, changes []audit.Change, approves bool) {
	isTheirs := func(ch audit.Change) bool { return r.include(ch.Path) }
	theirs := slices.DeleteFunc(slices.Clone(changes), func(ch audit.Change) bool { return !isTheirs(ch) })
	for _, ch := range theirs {
		s.held = slices.DeleteFunc(s.held, func(h held) bool { return audit.Within(h.path, ch.Path) })
		s.approveMarks(marks.Of(ch.After))
	}
	if approves {
		s.held = slices.DeleteFunc(s.held, func(h held) bool {
			if !r.include(h.path) {
				return false
			}
			s.approveMarks(h.marks)
			theirs = append(theirs, audit.Change{Path: h.path})
			return true
		})
	}
	if len(theirs) > 0 {
		s.cause(ever, v, theirs)
	}
	s.withhold(governing, slices.DeleteFunc(slices.Clone(changes), isTheirs))
}

// pieces splits changes that add or remove a map into those of its fields, where rules are about
// these. An item of a list is not split.
func pieces(all []*policylog.Policy, changes []audit.Change) []audit.Change {
	var out []audit.Change
	for _, ch := range changes {
		below := audit.AsMap(ch.After)
		if ch.After == nil {
			below = audit.AsMap(ch.Before)
		}
		if ch.Before != nil && ch.After != nil || len(below) == 0 || isItem(ch.Path) || !isAbove(all, ch.Path) {
			out = append(out, ch)
			continue
		}
		parts := make([]audit.Change, 0, len(below))
		for _, key := range slices.Sorted(maps.Keys(below)) {
			part := audit.Change{Path: append(slices.Clip(ch.Path), key), Verb: ch.Verb}
			if ch.After == nil {
				part.Before = below[key]
			} else {
				part.After = below[key]
			}
			parts = append(parts, part)
		}
		out = append(out, pieces(all, parts)...)
	}
	return out
}

func isItem(path []string) bool {
	if len(path) == 0 {
		return false
	}
	_, err := strconv.Atoi(path[len(path)-1])
	return err == nil
}

// isAbove reports whether a rule is about something in a field.
func isAbove(all []*policylog.Policy, path []string) bool {
	return slices.ContainsFunc(all, func(p *policylog.Policy) bool {
		return slices.ContainsFunc(p.Rules, func(r policylog.Rule) bool {
			trigger := policylog.PathOf(r.Trigger)
			return len(trigger) > len(path) && audit.Within(path, trigger[:len(path)])
		})
	})
}
