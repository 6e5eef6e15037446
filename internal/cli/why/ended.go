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

package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/record"
)

// Ended is the end of what was withheld of a parent when something was refused because of it.
type Ended struct {
	// Time at which that was found.
	Time metav1.Time `json:"time"`
	// Paths of what was withheld, and User who changed it, where that is known.
	Paths []string `json:"paths"`
	User  string   `json:"user,omitempty"`
	// TakenBack is true where nobody approved it, or made a change of it that counts: what was refused is wanted no more.
	TakenBack bool `json:"takenBack"`
}

// endedSince returns what has ended of what was withheld of a record's target when a child was refused, nil where
// nothing has.
func endedSince(rec *v1alpha1.AllowanceRecord, refused v1alpha1.HistoryEntry) *Ended {
	history := rec.Status.History
	isLater := func(e v1alpha1.HistoryEntry) bool { return !e.Time.Before(&refused.Time) }
	for i, e := range history {
		if e.Event != v1alpha1.EventReleased || record.IsCarriedOut(e) || !isLater(e) {
			continue
		}
		earlier := history[i+1:] // What was withheld after that is another change.
		began := slices.IndexFunc(earlier, func(w v1alpha1.HistoryEntry) bool {
			return w.Event == v1alpha1.EventWithheld && areOf(w.Paths, e.Paths)
		})
		if began >= 0 && refused.Time.Before(&earlier[began].Time) {
			continue // It was withheld later.
		}
		ended := &Ended{Time: e.Time, Paths: e.Paths}
		if began >= 0 {
			ended.User = earlier[began].User
		}
		// What somebody makes of the field once that has ended says nothing of how it did.
		ended.TakenBack = !slices.ContainsFunc(history, func(c v1alpha1.HistoryEntry) bool {
			return (c.Event == v1alpha1.EventApproved || c.Event == v1alpha1.EventGranted) && isLater(c) && !record.Since(&c).After(e.Time.Time) && areOf(c.Paths, e.Paths)
		})
		return ended
	}
	return nil
}

// areOf reports whether one of several fields is one of others, above it, or below.
func areOf(paths, of []string) bool {
	return slices.ContainsFunc(paths, func(text string) bool {
		path, err := change.ParsePath(text)
		return err == nil && slices.ContainsFunc(of, func(other string) bool {
			at, err := change.ParsePath(other)
			return err == nil && at.Overlaps(path)
		})
	})
}

// text says what has ended.
func (e *Ended) text(parent v1alpha1.TargetReference, now time.Time) string {
	what := fmt.Sprintf("the change of %s of %s", strings.Join(e.Paths, ", "), phrase.Target(parent))
	if e.User != "" {
		what += " by " + e.User
	}
	what += " that was withheld then "
	if e.TakenBack {
		return what + "was taken back, as was found " + phrase.Ago(e.Time.Time, now) + ": nobody waits for this any more, and there is nothing to do"
	}
	return what + "was approved, or made again by who may, as was found " + phrase.Ago(e.Time.Time, now)
}
