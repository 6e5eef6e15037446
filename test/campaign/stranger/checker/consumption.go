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
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// lingers is for how long an allowance may be in a ledger after its object has settled.
const lingers = seen + tardy

// checkConsumption looks for allowances of objects that have settled, by the policy or by what its controller reports, and that
// stay so for long while an operator runs and no policy comes or goes.
func (c *checker) checkConsumption() {
	if c.Said == "" || len(c.Log.Writes) == 0 {
		return
	}
	end := c.Log.Writes[len(c.Log.Writes)-1].Answered
	for _, l := range c.all {
		if slices.Contains(reporting, l.First().Kind) {
			c.checkEndOfAllowances(l, end)
		}
	}
}

// checkEndOfAllowances looks for those of one object.
func (c *checker) checkEndOfAllowances(l *audit.Life, end time.Time) {
	since := map[string]time.Time{} // From when on each allowance has been too much.
	found := map[string]bool{}
	for _, v := range l.Versions {
		spent, until := c.spent(l, v), lastOf(l, v, end)
		maps.DeleteFunc(since, func(key string, _ time.Time) bool { _, still := spent[key]; return !still })
		for _, key := range slices.Sorted(maps.Keys(spent)) {
			if _, known := since[key]; !known {
				since[key] = v.By.Answered
			}
			if at := c.tooLong(l, since[key], until); !at.IsZero() && !found[key] {
				found[key] = true
				c.findf(Outlived, at, l, nil, "its ledger still allows %s, though it has settled at %s%s", key, since[key].Format(audit.Clock), spent[key])
			}
		}
	}
}

// lastOf returns until when a version was there: what was asked to end goes, and is shown no more.
func lastOf(l *audit.Life, v *audit.Version, end time.Time) time.Time {
	until := v.Until
	for _, t := range []time.Time{end, l.Asked, l.Gone} {
		if !t.IsZero() && t.Before(until) {
			until = t
		}
	}
	return until
}

// elsewhereTold are the kinds of whose allowances the record tells when they are over: writing the object costs its controller a look
// at all that is below it, so that the operator leaves that for later.
var elsewhereTold = []string{kinds[jobs], kinds[things], kinds[others]}

// lasting returns the allowances of an object of these kinds that a record lists although its controller reports that it is done.
func (c *checker) lasting(v *audit.Version, active []entry) []string {
	if v.Deleting || !slices.Contains(elsewhereTold, v.Kind) || !settled(v) || !settledAt(v, v.Generation) || !c.isReported(v) {
		return nil
	}
	var out []string
	for i := range active {
		if e := &active[i]; e.Relation == "" && e.Generation > 0 && e.Generation <= v.Generation {
			out = append(out, fmt.Sprintf("%s of %s for generation %d by %s", e.Mutation, e.Kind, e.Generation, e.Initiator))
		}
	}
	return out
}

// quietSince returns since when nothing has happened to an object or its children: their allowances last until that is so for some
// time, as their status may lag.
func (c *checker) quietSince(l *audit.Life, from, to time.Time) time.Time {
	for _, t := range c.othersAbout(l) {
		if t.After(from) && t.Before(to) {
			from = t
		}
	}
	return from
}

// spent returns the allowances of a version that have been used up, with what there is to say about that.
func (c *checker) spent(l *audit.Life, v *audit.Version) map[string]string {
	var entries []entry
	if v.Deleting || yaml.Unmarshal([]byte(ledgerOf(v.Object)), &entries) != nil {
		return nil // What goes needs no ledger any more.
	}
	out := map[string]string{}
	for i := range entries {
		e := &entries[i]
		// What is for the next generation, as no status tells of it, lasts until that comes.
		if e.Relation != "" || e.Generation > v.Status.ObservedGeneration {
			continue
		}
		meant := settled(v) && settledAt(v, v.Generation) && c.isReported(v)
		used, written := c.consumed(l, v, e.Generation)
		key := fmt.Sprintf("%s of %s for generation %d by %s", e.Mutation, e.Kind, e.Generation, e.Initiator)
		switch {
		case used, meant && !written:
			out[key] = ""
		case meant:
			out[key] = ", by what its controller reports: as consumption.when of its policy is written, it has not"
		}
	}
	return out
}

// isReported reports whether the controller wrote the status of a version, or it has always been as it is: what somebody else
// says there may lack what the operator goes by.
func (c *checker) isReported(v *audit.Version) bool {
	for ; v.Before != nil; v = v.Before {
		if v.By.User != c.Operator && string(v.RawStatus) != string(v.Before.RawStatus) {
			return !v.By.Posing && c.isReport(v)
		}
	}
	return true
}

// consumed reports whether the oldest policy in effect for an object that says when an allowance has been used up says that of one.
func (c *checker) consumed(l *audit.Life, v *audit.Version, generation int64) (used, written bool) {
	all := c.rulesOf(l).During(v.Kind, v.Controller() != nil, v.By.Answered, v.By.Answered)
	slices.SortStableFunc(all, func(a, b *policylog.Policy) int { return a.Since.Compare(b.Since) })
	for _, p := range all {
		if used, known := p.Consumed(v.Object, generation); known {
			return used, true
		}
	}
	return false, false
}

// tooLong returns when an allowance has been too much for too long that has been so from one time to another, zero where it
// has not: an operator that has just begun, and one whose policies change, may take its time.
func (c *checker) tooLong(l *audit.Life, from, to time.Time) time.Time {
	return c.tooLongFor(l, from, to, lingers)
}

// tooLongFor returns when something has been otherwise than it is to be for longer than the operator may take.
func (c *checker) tooLongFor(l *audit.Life, from, to time.Time, most time.Duration) time.Time {
	begins := []time.Time{from}
	for _, t := range c.started {
		if ready := t.Add(time.Second + beginning); ready.After(from) {
			begins = append(begins, ready)
		}
	}
	for _, s := range c.lapses {
		if s.to.After(from) && s.from.Before(to) {
			begins = append(begins, s.to.Add(beginning))
		}
	}
	for _, p := range c.rulesOf(l) {
		for _, t := range []time.Time{p.From, p.Until} {
			if t.After(from) && t.Before(to) {
				begins = append(begins, t.Add(policylog.Moment))
			}
		}
	}
	for _, began := range begins {
		at := began.Add(most)
		restarted := slices.ContainsFunc(c.started, func(t time.Time) bool { return t.After(began.Add(-time.Second)) && t.Before(at) })
		if at.Before(to) && !restarted && !c.disturbed(l, began.Add(-policylog.Moment), at) && len(c.rulesOf(l).During(l.First().Kind, l.FoundAt(at).Controller() != nil, began, at)) > 0 {
			return at
		}
	}
	return time.Time{}
}
