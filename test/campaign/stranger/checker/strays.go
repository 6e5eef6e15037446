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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// noted is a stray that a record tells of.
type noted struct {
	UID  types.UID `json:"uid"`
	Time time.Time `json:"time"`
}

// checkApprovedStrays looks for children that records tell of as strays, although somebody who may has approved
// of who owns them, or of all of them, since they were adopted.
func (c *checker) checkApprovedStrays() {
	for _, l := range c.all {
		if l.First().Kind != kinds[records] {
			continue
		}
		found := map[types.UID]bool{}
		for _, v := range l.Versions {
			var status struct {
				Strays []noted `json:"strays"`
			}
			if json.Unmarshal(v.RawStatus, &status) != nil {
				continue
			}
			for _, s := range status.Strays {
				child := c.lives[s.UID]
				if child == nil || found[s.UID] || !c.isApprovedStray(child, s, v) {
					continue
				}
				found[s.UID] = true
				c.findf(Stuck, v.By.Received, child, c.parentAt(child, v.By.Received), "its parent's record tells of it as a stray, which was approved of")
			}
		}
	}
}

// straying is what the operator says of an adoption without a cause.
const straying = "Stray"

// checkAdopted looks whether an adoption that had no cause for certain is taken for one: else allowances and healing reach what
// somebody else made.
func (c *checker) checkAdopted(w *childWrite) {
	adopted, ok := c.strays[w.life.UID]
	parent := c.parentOf(w)
	if !ok || !adopted.sure || !adopted.at.Equal(w.Received) || !c.Whole || slices.Contains(w.Reasons, straying) || c.excused(w.Write, parent) ||
		c.adopting(parent, w.Answered) || c.disturbed(parent, w.Received.Add(-lag-policylog.Moment), w.Answered.Add(lag)) || strings.Join(w.Reasons, "") == "" ||
		parent.FoundAt(w.Answered).Deleting || c.mayInitiateThere(w) {
		return
	}
	c.findf(Uncovered, w.Received, w.life, parent, "%s adopts it without a cause, which the operator takes for %v", w, w.Reasons)
}

// mayInitiateThere reports whether who adopts may begin something with the child or its parent.
func (c *checker) mayInitiateThere(w *childWrite) bool {
	return c.initiatesOn(c.parentOf(w), w.Write) || c.initiatesOn(w.life, w.Write)
}

// parentAt returns what controls a child at a time, nil where that is not known.
func (c *checker) parentAt(child *audit.Life, at time.Time) *audit.Life {
	above := child.FoundAt(at).Controller()
	if above == nil {
		return nil
	}
	return c.lives[above.UID]
}

// isApprovedStray reports whether a stray was approved of after it was adopted, and long before a version of the
// record. Records tell of times by the second.
func (c *checker) isApprovedStray(child *audit.Life, s noted, record *audit.Version) bool {
	of, _ := record.At("spec", "targetRef", "uid").(string)
	return slices.ContainsFunc(child.Versions, func(v *audit.Version) bool {
		// Another object may have wanted to adopt it, and came too late.
		if above := v.Controller(); above == nil || string(above.UID) != of {
			return false
		}
		if !v.ApprovesOwners() || !v.By.Received.After(s.Time.Add(lag)) || !v.By.Answered.Before(record.By.Received.Add(-lag)) {
			return false
		}
		return !c.disturbed(child, v.By.Received.Add(-lag), v.By.Answered.Add(lag)) &&
			!slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return !v.Approves(w) || !c.initiates(child, v, w) || w.Unasked })
	})
}
