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
	"slices"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// checkOthers judges what people who may initiate above a child were refused of it, and controllers gone wrong: that it ends, and
// what changes of its content alone.
func (c *checker) checkOthers(w *childWrite, parent *audit.Life) {
	person := !slices.Contains(c.trusted(), w.User)
	makes := person && w.found == nil && len(w.child.Owners) == 1
	if person && !c.surelyAbove(w) || !makes && !w.isPlain() {
		return
	}
	if c.surelyNot(w, parent) {
		c.report.Denials++
		return
	}
	why := c.surely(w, parent)
	if why == "" || !c.isSteady(w, parent) || !c.isSure(parent, w.Write) && !c.isWritten(w, parent, why) {
		return
	}
	c.report.Denials++
	if forgotten(parent, c.started, w.Received) {
		c.report.Known[Forgotten]++
		return
	}
	promise := Refused
	if person {
		promise = Barred
	}
	c.findf(promise, w.Received, w.life, parent, "%s is refused, which is %s: %s", w, why, w.Message)
}

// isPlain reports whether a request ends a child, or changes nothing of it that says more than its content.
func (w *childWrite) isPlain() bool {
	if w.found == nil || w.found.Deleting {
		return false
	}
	return !slices.ContainsFunc(w.changes, func(ch audit.Change) bool {
		return ch.Verb == audit.Makes || audit.Within(ch.Path, audit.OwnersPath) || audit.Within(ch.Path, audit.LabelsPath)
	}) && (w.Verb == audit.VerbDelete || slices.Equal(w.found.Finalizers, w.child.Finalizers))
}

// isSteady reports whether all that a request depends on has been as it is for long: the parent was not new, and nothing but its
// controller has made the child, nor has anybody changed whose it is, or whose the parent is.
func (c *checker) isSteady(w *childWrite, parent *audit.Life) bool {
	states := c.statesOf(parent)
	// One that is suspended has nothing left to do once none of its Pods is at work, whatever it goes on with later.
	if slices.ContainsFunc(parent.Versions, func(v *audit.Version) bool { return v.Status.Is("Suspended") }) {
		return false
	}
	for _, i := range parent.Current(w.Received.Add(-sure), w.Answered) {
		if states[i].initializing || parent.Versions[i].Deleting {
			return false
		}
	}
	l := w.life
	if w.found == nil {
		l = parent // It is to be made.
	}
	for range deepest {
		above := l.First().Controller()
		if above == nil {
			return true
		}
		by := l.First().By
		if !by.Creates() || by.Posing || by.User != controllers[above.Kind] || slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
			return len(v.Owners) != 1 || !v.Owners[0].Same(l.First().Owners[0])
		}) {
			return false
		}
		if l = c.lives[above.UID]; l == nil {
			return false
		}
	}
	return false
}

// surelyAbove reports whether somebody may certainly initiate above a child: on its parent, by a policy that names the child's kind,
// or further up, as long as policies name the next kind down.
func (c *checker) surelyAbove(w *childWrite) bool {
	from, to := w.Received.Add(-lag-policylog.Moment), w.Answered.Add(lag)
	l, resource := c.parentOf(w), w.Resource
	for depth := 0; l != nil && depth < deepest; depth++ {
		v := l.FoundAt(to)
		naming := slices.DeleteFunc(c.rulesOf(l).During(v.Kind, v.Controller() != nil, from, to), func(p *policylog.Policy) bool { return !p.Bounds(resource, nil) })
		if len(naming) == 0 {
			return false
		}
		if policylog.Knows(naming, w.Write, true) {
			return true
		}
		l, resource = c.parentAt(l, w.Received), resourceOf(v.Kind)
	}
	return false
}
