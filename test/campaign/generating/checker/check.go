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
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/generating/model"
)

// Kinds has the kinds whose writes are judged, by their resources.
var Kinds = audit.Kinds{"configmaps": model.ConfigMap, "seeds": model.Seed}

// Promise is what a finding is about.
type Promise string

// What is promised.
const (
	Caused Promise = "nothing is written without a cause"
	Quiet  Promise = "nothing is written at rest"
	Kept   Promise = "what is wanted is not deleted"
	Others Promise = "what no policy made is left alone"
)

// Stretch is the time from one rest to the end of the next.
type Stretch struct {
	// From is when the last rest had ended, Rest when the next one began, and To when it ended.
	From, Rest, To time.Time
	// Concerned is since when something was done that concerns an object.
	Concerned map[model.ID]time.Time
	// Unwanted is since when an object was not wanted, for a moment at least.
	Unwanted map[model.ID]time.Time
}

// Note notes what an act is about that began at a time.
func (s *Stretch) Note(at time.Time, e model.Effect) {
	for to, ids := range map[*map[model.ID]time.Time][]model.ID{&s.Concerned: e.Concerned, &s.Unwanted: e.Unwanted} {
		if *to == nil {
			*to = map[model.ID]time.Time{}
		}
		for _, id := range ids {
			if _, known := (*to)[id]; !known {
				(*to)[id] = at
			}
		}
	}
}

// Finding is a promise that was not kept.
type Finding struct {
	Promise Promise
	ID      model.ID
	Write   string
	At      time.Time
}

// String says what was found.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Promise, f.ID, f.Write) }

// Report is what a checker says.
type Report struct {
	Findings []Finding
	// Writes and Deletes of the account were looked at.
	Writes, Deletes int
}

// Check judges all writes of an account that a log has.
func Check(log *audit.Log, account string, stretches []Stretch) Report {
	c := checker{account: account, made: map[types.UID]bool{}, stretches: stretches}
	for _, w := range log.Writes {
		if w.Succeeded() && w.Subresource == "" {
			c.check(w)
		}
	}
	return c.Report
}

type checker struct {
	Report
	account   string
	stretches []Stretch
	// made are the objects that a policy made and nobody has claimed.
	made map[types.UID]bool
}

func (c *checker) check(w *audit.Write) {
	if w.User != c.account {
		switch {
		case w.Object == nil:
		case w.Creates():
			c.made[w.UID] = false
		default:
			c.made[w.UID] = c.made[w.UID] && w.Object.Annotations[v1alpha1.AnnotationGeneratedFrom] != ""
		}
		return
	}
	c.Writes++
	found := func(p Promise) {
		c.Findings = append(c.Findings, Finding{
			Promise: p, ID: model.ID{Kind: Kinds[w.Resource], Namespace: w.Namespace, Name: w.Name}, Write: w.String(), At: w.Received,
		})
	}
	if w.Removes() {
		c.Deletes++
	}
	made, known := c.made[w.UID]
	if !w.Creates() && known && !made {
		found(Others)
	}
	if w.Creates() {
		c.made[w.UID] = true
	}
	for i := range c.stretches {
		if s := &c.stretches[i]; !w.Received.Before(s.From) && w.Received.Before(s.To) {
			c.within(s, w, found)
		}
	}
}

// within judges a write by what was done in its stretch of time.
func (c *checker) within(s *Stretch, w *audit.Write, found func(Promise)) {
	id := model.ID{Kind: Kinds[w.Resource], Namespace: w.Namespace, Name: w.Name}
	isSince := func(of map[model.ID]time.Time) bool {
		at, ok := of[id]
		return ok && !w.Received.Before(at)
	}
	if !w.Received.Before(s.Rest) {
		found(Quiet)
		return
	}
	if !isSince(s.Concerned) {
		found(Caused)
	}
	if w.Removes() && !isSince(s.Unwanted) {
		found(Kept)
	}
}
