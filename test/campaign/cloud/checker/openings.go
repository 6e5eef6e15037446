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
)

// Opening is a while in which the gate of a managed resource was open for creation or
// for changes.
type Opening struct {
	// Resource is the managed resource, and Traits are the ways of its provider.
	Resource, Traits string
	Span
	// Work is when the cloud had done the last that it was asked for meanwhile; zero
	// where that was nothing.
	Work time.Time
	// Outage is set where somebody was away in between.
	Outage bool
}

// Beyond returns how long the gate was open after the last work was done.
func (o Opening) Beyond() time.Duration {
	if o.To.Before(o.Work) {
		return 0
	}
	return o.To.Sub(o.Work)
}

// openings notes when a managed resource was open.
func (c *checker) openings(managed *object) {
	var open *Opening
	for _, v := range managed.versions {
		is := len(v.open()) > 0 && !v.deleting()
		switch {
		case is && open == nil:
			open = &Opening{
				Resource: managed.place.String(), Traits: v.Metadata.Annotations[traitsKey], Span: Span{From: v.from()},
			}
		case !is && open != nil:
			open.To = v.write.Answered
			c.note(managed, *open)
			open = nil
		}
	}
}

func (c *checker) note(managed *object, o Opening) {
	for _, call := range c.Calls {
		if call.resource() == managed.place && !call.Received.Before(o.From) && !call.Received.After(o.To) && call.Ended.After(o.Work) {
			o.Work = call.Ended
		}
	}
	o.Outage = slices.ContainsFunc(c.Outages, func(s Span) bool { return s.From.Before(o.To) && s.To.After(o.From) })
	c.verdict.Openings = append(c.verdict.Openings, o)
}

// Percentile returns the p-th percentile of durations, and zero of none.
func Percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)*p/100]
}
