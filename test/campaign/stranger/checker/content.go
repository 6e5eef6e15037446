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

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/marks"
	"kausality.io/operator/test/campaign/policylog"
)

// late is how long after a value was taken back, or overruled, a controller may still carry it
// out: docs/bypasses.md has it among what is not stopped, where it is milliseconds. The rest is
// for machines that are busy.
const late = 5 * time.Second

// known is for how long at least the operator knows what was taken back after it had denied it.
const known = 50 * time.Second

// Moment is why a stranger's value that nobody approved of is known.
const Moment = "taken back in the very moment in which its controller tries again"

// checkContents looks for values of strangers in what controllers made.
func (c *checker) checkContents() {
	for _, l := range c.all {
		if !slices.Contains([]string{kinds[replicaSets], kinds[pods], kinds[jobs], kinds[configMaps]}, l.First().Kind) {
			continue
		}
		for _, v := range l.Versions {
			c.checkContent(l, v)
		}
	}
}

// carried returns the acts whose values a version has, and the one before had not. Labels and
// annotations of Pods and Jobs come from templates.
func carried(v *audit.Version) []int {
	written := slices.Clone(v.Marks)
	before := []int{}
	if v.Before != nil {
		before = v.Before.Marks
	}
	if v.Before == nil && (v.Kind == kinds[pods] || v.Kind == kinds[jobs]) {
		written = slices.Concat(written, marks.Of(v.Labels), marks.Of(foreign(v.Annotations)))
	}
	slices.Sort(written)
	return slices.DeleteFunc(slices.Compact(written), func(n int) bool { return slices.Contains(before, n) })
}

// foreign returns annotations that are not Kausality's.
func foreign(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.Contains(key, "kausality.io/") })
	return out
}

func (c *checker) checkContent(l *audit.Life, v *audit.Version) {
	written := carried(v)
	if len(written) == 0 || v.By.Verb == audit.VerbDelete || c.keepsAlive(v.By) || !slices.Contains(c.trusted(), v.By.User) {
		return // What a stranger writes there is judged as a change of a child.
	}
	if v.By.Subresource == "status" {
		return
	}
	above := v.Controller()
	if above == nil || c.lives[above.UID] == nil {
		return
	}
	parent := c.lives[above.UID]
	from, to := v.By.Received.Add(-lag), v.By.Answered
	governed := slices.ContainsFunc(c.rulesOf(parent).During(parent.First().Kind, parent.FoundAt(to).Controller() != nil, from, to), func(p *policylog.Policy) bool {
		return slices.ContainsFunc(append(p.Sections(), nil), func(s *policylog.Section) bool { return p.Bounds(v.By.Resource, s) })
	})
	states := c.statesOf(parent)
	if !governed || states == nil || parent.GoneBefore(to) || c.orphaned(parent, to) || c.adopting(parent, to) {
		return
	}
	c.report.Contents++
	for _, n := range written {
		if c.Played[n] || c.approvedIn(parent, states, n, from, to) {
			continue
		}
		if wasTakenBack(parent, n, v.By.Received.Add(-late), v.By.Answered) && !c.wasDenied(v, n) {
			c.report.Known[Moment]++
			continue
		}
		c.findf(Smuggled, v.By.Received, l, parent, "it has what act %d wrote, which nobody approved of; %s", n, v.By)
	}
}

// trusted returns the controllers.
func (c *checker) trusted() []string {
	var out []string
	for _, user := range controllers {
		out = append(out, user)
	}
	return out
}

// approvedIn reports whether a value was approved in a version that was current.
func (c *checker) approvedIn(parent *audit.Life, states []*state, n int, from, to time.Time) bool {
	if c.disturbed(parent, from.Add(-policylog.Moment), to) {
		return true
	}
	return slices.ContainsFunc(parent.Current(from, to), func(i int) bool { return states[i].approved[n] })
}

// wasDenied reports whether the same had been tried with the same value within the minute before, and denied: then
// the operator knows the value, and stops what is made of a template with it. A value within a longer text it may not know.
func (c *checker) wasDenied(v *audit.Version, n int) bool {
	return v.By.Creates() && v.Kind != kinds[configMaps] && slices.ContainsFunc(c.Log.Writes, func(w *audit.Write) bool {
		since := v.By.Received.Sub(w.Answered)
		return since > lag && since < known && w.User == v.By.User && w.Resource == v.By.Resource && w.Namespace == v.By.Namespace &&
			(w.Verb == audit.VerbCreate || w.Name == v.By.Name) && slices.Contains(w.Tried, n)
	})
}

// wasTakenBack reports whether a value was in a version that another one without it replaced in an interval. A
// request to replace it may be answered late. A value that the next version has as well was not taken back.
func wasTakenBack(parent *audit.Life, n int, from, to time.Time) bool {
	for i, v := range parent.Versions[:len(parent.Versions)-1] {
		next := parent.Versions[i+1]
		if slices.Contains(v.Marks, n) && !slices.Contains(next.Marks, n) && !v.Until.Before(from) && next.By.Received.Before(to) {
			return true
		}
	}
	return false
}
