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
	"kausality.io/operator/internal/cli/phrase"
)

// Overwritten is a change of what was refused that somebody else was let through with before: what the parent says was there,
// or on its way, and they put something else in its place under the allowance of that.
type Overwritten struct {
	// Time of it, and User who did it.
	Time metav1.Time `json:"time"`
	User string      `json:"user"`
	// Paths that they changed, and Initiator whose allowance that was.
	Paths     []string `json:"paths"`
	Initiator string   `json:"initiator,omitempty"`
}

// overwritten returns who has changed a child before somebody was refused to change it, nil where nobody has, or who was
// refused was let through with the same since.
func overwritten(history []v1alpha1.HistoryEntry, refused v1alpha1.HistoryEntry) *Overwritten {
	var last *v1alpha1.HistoryEntry
	for i := range history {
		e := &history[i]
		isOfIt := e.Event == v1alpha1.EventExercised && e.Operation == refused.Operation && e.Kind == refused.Kind && !refused.Time.Before(&e.Time) &&
			slices.ContainsFunc(refused.Names, func(name string) bool { return slices.Contains(e.Names, name) }) && areOf(e.Paths, refused.Paths)
		if isOfIt && (last == nil || last.Time.Before(&e.Time)) {
			last = e
		}
	}
	if last == nil || last.User == refused.User {
		return nil
	}
	return &Overwritten{Time: last.Time, User: last.User, Paths: last.Paths, Initiator: last.Initiator}
}

// text says who has overwritten what.
func (o *Overwritten) text(now time.Time) string {
	by := fmt.Sprintf("%s was changed by %s, %s", strings.Join(o.Paths, ", "), o.User, phrase.Ago(o.Time.Time, now))
	if o.Initiator != "" && o.Initiator != o.User {
		by += ", by what " + o.Initiator + " had allowed"
	}
	return by
}
