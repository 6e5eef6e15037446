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
		if !slices.Contains(childKinds, l.First().Kind) {
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
	parent, states := c.carriedFrom(v)
	if len(written) == 0 || parent == nil {
		return
	}
	c.report.Contents++
	for _, n := range written {
		switch c.comesOf(parent, states, v, n) {
		case approvedAbove:
		case takenBack:
			c.report.Known[Moment]++
		case letThrough:
			c.report.Known[Unasked]++
		default:
			c.findf(Smuggled, v.By.Received, l, parent, "it has what act %d wrote, which nobody approved of; %s", n, v.By)
		}
	}
}

// carriedFrom returns the parent of which a controller carries on what it wrote into a version, with what the model
// says of it: nil where somebody else wrote it, which is judged as a change of a child, or where the parent bounds nothing.
func (c *checker) carriedFrom(v *audit.Version) (*audit.Life, []*state) {
	if v.By.Verb == audit.VerbDelete || v.By.Subresource == "status" || c.keepsAlive(v.By) || !slices.Contains(c.trusted(), v.By.User) {
		return nil, nil
	}
	above := v.Controller()
	if above == nil || c.lives[above.UID] == nil {
		return nil, nil
	}
	parent := c.lives[above.UID]
	from, to := v.By.Received.Add(-lag), v.By.Answered
	governed := slices.ContainsFunc(c.rulesOf(parent).During(parent.First().Kind, parent.FoundAt(to).Controller() != nil, from, to), func(p *policylog.Policy) bool {
		return slices.ContainsFunc(append(p.Sections(), nil), func(s *policylog.Section) bool { return p.Bounds(v.By.Resource, s) })
	})
	states := c.statesOf(parent)
	if !governed || states == nil || parent.GoneBefore(to) || c.orphaned(parent, to) || c.adopting(parent, to) {
		return nil, nil
	}
	return parent, states
}

// What a value that a controller carries on comes of.
const (
	approvedAbove = "it was approved above"
	takenBack     = "it was taken back above a moment ago"
	letThrough    = "nobody was asked"
	unapproved    = ""
)

// comesOf returns what the value of an act comes of that a controller wrote into a version.
func (c *checker) comesOf(parent *audit.Life, states []*state, v *audit.Version, n int) string {
	switch from, to := v.By.Received.Add(-lag), v.By.Answered; {
	case c.Played[n] || c.approvedIn(parent, states, n, from, to):
		return approvedAbove
	case c.excused(v.By, parent):
		return letThrough // So is what is made of it later.
	case v.Kind == kinds[revisions] && hadBefore(parent, n, to):
		return approvedAbove // A history has all that there was, and nothing is made of what it has but what is approved.
	case wasTakenBack(parent, n, v.By.Received.Add(-late), to) && !c.wasDenied(v, n):
		return takenBack
	}
	return unapproved
}

// launders returns the acts whose values a controller wrote into a version although nobody approved of them above: by
// that they are approved no more than they were, for what is below.
func (c *checker) launders(l *audit.Life, v *audit.Version) []int {
	written := carried(v)
	if len(written) == 0 {
		return nil
	}
	parent, states := c.carriedFrom(v)
	if parent == nil || slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return c.initiates(l, v, w) }) {
		return nil
	}
	return slices.DeleteFunc(written, func(n int) bool { return c.comesOf(parent, states, v, n) != unapproved })
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

// hadBefore reports whether any version of an object that may have been there by a time had a value.
func hadBefore(parent *audit.Life, n int, by time.Time) bool {
	return slices.ContainsFunc(parent.Versions, func(v *audit.Version) bool { return v.By.Received.Before(by) && slices.Contains(v.Marks, n) })
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
