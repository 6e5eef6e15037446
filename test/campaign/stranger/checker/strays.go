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
