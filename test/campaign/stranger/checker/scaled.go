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

// GoesOn says that no autoscaler goes on from a number that waits: it scales in the name of its own controller, which may initiate.
const GoesOn Promise = "an autoscaler that goes on from a number that waits"

// checkGoesOn looks whether what an autoscaler is to scale, as somebody makes or changes it, has a number that waits.
func (c *checker) checkGoesOn(l *audit.Life, v *audit.Version, kind, name string) {
	w := v.By
	for _, target := range c.byName[kind+"/"+v.Namespace+"/"+name] {
		if !target.First().By.Answered.Before(w.Received.Add(-lag)) || target.GoneBefore(w.Answered) || !c.isRuled(target, w) || c.excused(w, target) {
			continue
		}
		if c.waitsAt(target, w, numbers) {
			c.findf(GoesOn, w.Received, l, target, "%s has it go on from the number of %s, which is withheld", w, target)
		}
	}
}

// waitsAt reports whether each version of an object that there was around a request has something that is withheld of a field.
func (c *checker) waitsAt(l *audit.Life, w *audit.Write, field []string) bool {
	states, found := c.statesOf(l), l.Current(w.Received.Add(-lag), w.Answered)
	return states != nil && len(found) > 0 && !slices.ContainsFunc(found, func(i int) bool {
		return l.Versions[i].Deleting || !slices.ContainsFunc(states[i].held, func(h held) bool { return !h.loose && audit.Within(h.path, field) })
	})
}

// isRuled reports whether a policy was certainly in effect for an object when a request came, and none came or went.
func (c *checker) isRuled(l *audit.Life, w *audit.Write) bool {
	from, to := w.Received.Add(-lag), w.Answered
	return !c.disturbed(l, from.Add(-policylog.Moment), to) && !c.adopting(l, to) && !c.orphaned(l, to) &&
		len(c.rulesOf(l).During(l.First().Kind, l.FoundAt(to).Controller() != nil, from, to)) > 0
}

// checkScaled looks for numbers that somebody changes who may not, and that wait, while an autoscaler goes by them.
func (c *checker) checkScaled() {
	for _, l := range c.all {
		if controllers[l.First().Kind] == "" {
			continue
		}
		for i, v := range l.Versions {
			if i == 0 || v.By.Subresource != "" || v.By.Removes() || v.Deleting || c.keepsAlive(v.By) {
				continue
			}
			for _, ch := range audit.ContentChanges(v.Before.Object, v.Object) {
				if audit.Related(ch.Path, numbers) && c.leaves(l, i) && c.scaler(l, v.By) != nil {
					c.checkField(l, i, ch, GoesOn)
				}
			}
		}
	}
}

// leaves reports whether a version has a number that is withheld.
func (c *checker) leaves(l *audit.Life, i int) bool {
	states := c.statesOf(l)
	return i < len(states) && slices.ContainsFunc(states[i].held, func(h held) bool { return !h.loose && audit.Within(h.path, numbers) })
}

// scaler returns an autoscaler that has certainly scaled an object since before a request, nil for none.
func (c *checker) scaler(l *audit.Life, w *audit.Write) *audit.Life {
	for _, one := range c.all {
		if one.First().Kind != kinds[autoscalers] || one.First().Namespace != w.Namespace || one.GoneBefore(w.Answered) || !one.Asked.IsZero() && one.Asked.Before(w.Answered) {
			continue
		}
		found := one.Current(w.Received.Add(-lag), w.Answered)
		if len(found) > 0 && one.First().By.Answered.Before(w.Received.Add(-lag)) && !slices.ContainsFunc(found, func(i int) bool {
			kind, name := scaledBy(one.Versions[i])
			return kind != l.First().Kind || name != w.Name
		}) {
			return one
		}
	}
	return nil
}
