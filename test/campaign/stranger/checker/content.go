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
	"strings"
	"time"
)

// late is how long after a value was taken back, or overruled, a controller may still carry it
// out: docs/bypasses.md has it among what is not stopped, where it is milliseconds. The rest is
// for machines that are busy.
const late = 5 * time.Second

// checkContents looks for values of strangers in what controllers made.
func (c *checker) checkContents() {
	for _, l := range c.all {
		if !slices.Contains([]string{kinds[replicaSets], kinds[pods], kinds[jobs], kinds[configMaps]}, l.first().kind) {
			continue
		}
		for _, v := range l.versions {
			c.checkContent(l, v)
		}
	}
}

// carried are the acts whose values a version has, and the one before had not. Labels and
// annotations of Pods and Jobs come from templates.
func carried(v *version) []int {
	marks := slices.Clone(v.marks)
	before := []int{}
	if v.before != nil {
		before = v.before.marks
	}
	if v.before == nil && (v.kind == kinds[pods] || v.kind == kinds[jobs]) {
		marks = slices.Concat(marks, marksOf(v.labels), marksOf(foreign(v.annotations)))
	}
	slices.Sort(marks)
	return slices.DeleteFunc(slices.Compact(marks), func(n int) bool { return slices.Contains(before, n) })
}

// foreign are annotations that are not Kausality's.
func foreign(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.Contains(key, "kausality.io/") })
	return out
}

func (c *checker) checkContent(l *life, v *version) {
	marks := carried(v)
	if len(marks) == 0 || v.by.verb == verbDelete || c.keepsAlive(v.by) || !slices.Contains(c.trusted(), v.by.user) {
		return // What a stranger writes there is judged as a change of a child.
	}
	if v.by.sub == "status" {
		return
	}
	above := v.controller()
	if above == nil || c.lives[above.UID] == nil {
		return
	}
	parent := c.lives[above.UID]
	from, to := v.by.received.Add(-lag), v.by.answered
	governed := slices.ContainsFunc(c.rules.during(parent.first().kind, parent.foundAt(to).controller() != nil, from, to), func(p *policy) bool {
		return slices.ContainsFunc(append(p.sections(), nil), func(s *section) bool { return p.bounds(v.by.resource, s) })
	})
	states := c.statesOf(parent)
	if !governed || states == nil || parent.goneBefore(to) || c.orphaned(parent, to) || c.adopting(parent, to) {
		return
	}
	c.report.Contents++
	for _, n := range marks {
		if c.Played[n] || c.approvedIn(parent, states, n, from, to) {
			continue
		}
		if wasThere(parent, n, v.by.received.Add(-late), v.by.answered) {
			c.report.Known["taken back in the very moment in which its controller tries again"]++
			continue
		}
		c.findf(Smuggled, v.by.received, l, parent, "it has what act %d wrote, which nobody approved of; %s", n, v.by)
	}
}

// trusted are the controllers.
func (c *checker) trusted() []string {
	var out []string
	for _, user := range controllers {
		out = append(out, user)
	}
	return out
}

// approvedIn reports whether a value was approved in a version that was current.
func (c *checker) approvedIn(parent *life, states []*state, n int, from, to time.Time) bool {
	if c.disturbed(parent, from.Add(-moment), to) {
		return true
	}
	return slices.ContainsFunc(parent.current(from, to), func(i int) bool { return states[i].approved[n] })
}

// wasThere reports whether a value was in a version that another one replaced in an interval. A
// request to replace it may be answered late.
func wasThere(parent *life, n int, from, to time.Time) bool {
	for i, v := range parent.versions[:len(parent.versions)-1] {
		if slices.Contains(v.marks, n) && !v.until.Before(from) && parent.versions[i+1].by.received.Before(to) {
			return true
		}
	}
	return false
}
