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
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// happening is an entry of a history.
type happening struct {
	Event     string     `json:"event"`
	User      string     `json:"user"`
	Operation string     `json:"operation"`
	Kind      string     `json:"kind"`
	Time      time.Time  `json:"time"`
	FirstTime *time.Time `json:"firstTime"`
	Count     int        `json:"count"`
}

// first is when that happened first which an entry tells of.
func (h *happening) first() time.Time {
	if h.FirstTime != nil {
		return *h.FirstTime
	}
	return h.Time
}

// counted are the events of which an entry tells each time that they happen; those of a ledger are told once for each change.
var counted = []string{denials, exercised, "Refused"}

// isLike reports whether two entries are of the same by the same.
func (h *happening) isLike(other *happening) bool {
	return h.Event == other.Event && h.User == other.User && h.Operation == other.Operation && h.Kind == other.Kind
}

// goesOn reports whether an entry tells of what an older one told of, and perhaps of the same once more.
func (h *happening) goesOn(old *happening) bool {
	return h.isLike(old) && !h.Time.Before(old.Time) && !h.first().After(old.Time)
}

// checkHistory looks whether a history has the newest first, whether each goes on from the one before, of which it leaves out the
// oldest alone, and whether it counts what happens again.
func (c *checker) checkHistory(record *audit.Life, told []saying) {
	for i := range told {
		now := told[i].History
		at := told[i].By.Received
		for k := 1; k < len(now); k++ {
			if now[k-1].Time.Before(now[k].Time) {
				c.findf(Stale, at, record, nil, "its history has %s of %s before %s, which is newer", now[k-1].Event, now[k-1].Time.Format(audit.Clock), now[k].Event)
				return
			}
		}
		if i > 0 && !c.goesOnFrom(record, told[i-1].History, now, at) {
			return
		}
	}
}

// goesOnFrom reports whether a history goes on from an older one.
func (c *checker) goesOnFrom(record *audit.Life, before, now []happening, at time.Time) bool {
	for k := range before {
		old := &before[k]
		if !slices.Contains(counted, old.Event) {
			continue
		}
		those := alikeIn(now, old)
		isOldest := !slices.ContainsFunc(now, func(h happening) bool { return h.Time.Before(old.Time) })
		switch {
		case !isOldest && !slices.ContainsFunc(those, func(h happening) bool { return h.goesOn(old) }):
			c.findf(Stale, at, record, nil, "its history has %s of %s no more, and has what is older", old.Event, old.Time.Format(audit.Clock))
			return false
		case len(those) == 1 && len(alikeIn(before, old)) == 1 && those[0].first().Equal(old.first()) && those[0].Time.After(old.Time) && those[0].Count <= max(old.Count, 1):
			c.findf(Stale, at, record, nil, "its history says %s of %s again, and counts no more than %d", old.Event, old.Time.Format(audit.Clock), those[0].Count)
			return false
		}
	}
	return true
}

// alikeIn returns the entries of a history that are of the same by the same as one.
func alikeIn(history []happening, one *happening) []happening {
	return slices.DeleteFunc(slices.Clone(history), func(h happening) bool { return !h.isLike(one) })
}
