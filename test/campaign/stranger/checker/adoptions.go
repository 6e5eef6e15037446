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
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

const (
	// seen is for how long an object has to be settled for the operator to see it.
	seen = 5 * time.Second
	// tardy is for how long its record may say all the same that it is adopting.
	tardy = 7 * time.Second
)

// reporting are the kinds whose status tells when they have settled.
var reporting = []string{kinds[deployments], kinds[replicaSets], kinds[statefulSets], kinds[daemonSets]}

// checkAdoptions looks for records that say that an object is adopting, so that nothing bounds its children, long after
// it has settled, while an operator ran all the time and no policy came or went.
func (c *checker) checkAdoptions() {
	if c.Said == "" || len(c.Log.Writes) == 0 {
		return
	}
	end := c.Log.Writes[len(c.Log.Writes)-1].Answered
	for _, record := range c.all {
		if record.First().Kind != kinds[records] {
			continue
		}
		uid, _ := record.First().At("spec", "targetRef", "uid").(string)
		l := c.lives[types.UID(uid)]
		if l == nil || !slices.Contains(reporting, l.First().Kind) {
			continue
		}
		for from, to := range adoptions(record, end) {
			// The policy is in effect by then.
			settling := c.settledFor(l, from.Add(2*policylog.Moment))
			late := settling.Add(tardy)
			if settling.IsZero() || !late.Before(to) || l.GoneBefore(late) || !l.Asked.IsZero() && l.Asked.Before(late) {
				continue
			}
			restarted := slices.ContainsFunc(c.started, func(t time.Time) bool { return t.After(settling.Add(-time.Second)) && t.Before(late) })
			if !restarted && !c.disturbed(l, settling, late) {
				c.findf(Unending, late, record, l, "it says that %s is adopting, which has settled at %s", l, settling.Format(audit.Clock))
			}
		}
	}
}

// adoptions yields from when to when a record says that its object is adopting.
func adoptions(record *audit.Life, end time.Time) func(func(from, to time.Time) bool) {
	return func(yield func(from, to time.Time) bool) {
		var from time.Time
		for _, v := range record.Versions {
			var status struct {
				Adopting bool `json:"adopting"`
			}
			_ = json.Unmarshal(v.RawStatus, &status) // What does not parse is found elsewhere.
			switch {
			case status.Adopting && from.IsZero():
				from = v.By.Answered
			case !status.Adopting && !from.IsZero():
				if !yield(from, v.By.Answered) {
					return
				}
				from = time.Time{}
			}
		}
		if !from.IsZero() {
			yield(from, end)
		}
	}
}

// settledFor returns when an object had settled, from some time on, for as long as it takes to see it.
func (c *checker) settledFor(l *audit.Life, from time.Time) time.Time {
	for i, v := range l.Versions {
		since := v.By.Answered
		if since.Before(from) {
			since = from
		}
		if c.isReport(v) {
			until := v.Until
			for _, next := range l.Versions[i+1:] {
				if !settled(next) || !settledAt(next, next.Generation) {
					break
				}
				until = next.Until
			}
			if settled(v) && settledAt(v, v.Generation) && until.Sub(since) > seen {
				return since
			}
		}
	}
	return time.Time{}
}
