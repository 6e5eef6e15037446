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

package denial

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

const controller = "system:serviceaccount:app:controller"

func at(second int) metav1.Time { return metav1.Date(2026, 11, 29, 12, 0, second, 0, time.UTC) }

// denied is a denial of an update of a Secret in second 5.
var denied = &v1alpha1.Decision{
	Time: at(5), Result: "Denied", Operation: "Update", Kind: "Secret", Name: "s1", User: controller, Paths: []string{"data.x"},
}

func entry(second int, event v1alpha1.HistoryEvent, change func(*v1alpha1.HistoryEntry)) v1alpha1.HistoryEntry {
	e := v1alpha1.HistoryEntry{
		Time: at(second), Event: event, User: controller, Operation: "Update", Kind: "Secret", Names: []string{"s2", "s1"}, Paths: []string{"data.w", "data.x"},
	}
	if change != nil {
		change(&e)
	}
	return e
}

func grant(second int, event v1alpha1.HistoryEvent) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{Time: at(second), Event: event, User: "alice", Operation: "Update"}
}

func TestPassed(t *testing.T) {
	refused := entry(5, v1alpha1.EventDenied, nil)
	tests := map[string]struct {
		history []v1alpha1.HistoryEntry
		want    bool
	}{
		"nothing is known":                                      {},
		"it was denied":                                         {history: []v1alpha1.HistoryEntry{refused}},
		"it was let through later":                              {history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventExercised, nil), refused}, want: true},
		"it was let through before":                             {history: []v1alpha1.HistoryEntry{refused, entry(4, v1alpha1.EventExercised, nil)}},
		"in the same second, after it":                          {history: []v1alpha1.HistoryEntry{entry(5, v1alpha1.EventExercised, nil), refused}, want: true},
		"in the same second, before it":                         {history: []v1alpha1.HistoryEntry{refused, entry(5, v1alpha1.EventExercised, nil)}},
		"the denial is not in it":                               {history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventAllowed, nil)}, want: true},
		"the denial is not in it, and it is of the same second": {history: []v1alpha1.HistoryEntry{entry(5, v1alpha1.EventAllowed, nil)}},
		"the denial is not in it, and another one before is":    {history: []v1alpha1.HistoryEntry{entry(5, v1alpha1.EventAllowed, nil), entry(3, v1alpha1.EventDenied, nil)}},
		"the glass was broken for it":                           {history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventBreakGlass, nil), refused}, want: true},
		"somebody else was": {
			history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventExercised, func(e *v1alpha1.HistoryEntry) { e.User = "alice" }), refused},
		},
		"another child was": {
			history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventExercised, func(e *v1alpha1.HistoryEntry) { e.Names = e.Names[:1] }), refused},
		},
		"another field was": {
			history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventExercised, func(e *v1alpha1.HistoryEntry) { e.Paths = e.Paths[:1] }), refused},
		},
		"another operation was": {
			history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventExercised, func(e *v1alpha1.HistoryEntry) { e.Operation = "Create" }), refused},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Passed(tt.history, denied); got != tt.want {
				t.Errorf("passed: %v", got)
			}
		})
	}
}

func TestAnswered(t *testing.T) {
	refused := entry(5, v1alpha1.EventDenied, nil)
	found := grant(6, v1alpha1.EventGranted)
	found.Operation = ""
	tests := map[string]struct {
		history []v1alpha1.HistoryEntry
		want    bool
	}{
		"nothing is known":             {},
		"nothing came":                 {history: []v1alpha1.HistoryEntry{refused}},
		"a change by who may":          {history: []v1alpha1.HistoryEntry{grant(6, v1alpha1.EventGranted), refused}, want: true},
		"an approval":                  {history: []v1alpha1.HistoryEntry{grant(6, v1alpha1.EventApproved), refused}, want: true},
		"what was withheld has ended":  {history: []v1alpha1.HistoryEntry{grant(6, v1alpha1.EventReleased), refused}, want: true},
		"in the same second, after it": {history: []v1alpha1.HistoryEntry{grant(5, v1alpha1.EventGranted), refused}, want: true},
		"before it":                    {history: []v1alpha1.HistoryEntry{refused, grant(5, v1alpha1.EventGranted)}},
		"something is withheld":        {history: []v1alpha1.HistoryEntry{grant(6, v1alpha1.EventWithheld), refused}},
		"an allowance has ended":       {history: []v1alpha1.HistoryEntry{grant(6, v1alpha1.EventConsumed), refused}},
		"the watch found a change":     {history: []v1alpha1.HistoryEntry{found, refused}},
		"denied again after it":        {history: []v1alpha1.HistoryEntry{entry(7, v1alpha1.EventDenied, nil), grant(6, v1alpha1.EventGranted)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Answered(tt.history, denied); got != tt.want {
				t.Errorf("answered: %v", got)
			}
		})
	}
}

func TestPassedFor(t *testing.T) {
	refused := entry(5, v1alpha1.EventDenied, nil)
	alices := func(change func(*v1alpha1.HistoryEntry)) v1alpha1.HistoryEntry {
		return entry(6, v1alpha1.EventAllowed, func(e *v1alpha1.HistoryEntry) {
			e.User = "alice"
			if change != nil {
				change(e)
			}
		})
	}
	first := func(second int) *metav1.Time {
		at := at(second)
		return &at
	}
	deleted := *denied
	deleted.Operation, deleted.Paths = "Delete", []string{"delete"}
	tests := map[string]struct {
		denied  *v1alpha1.Decision
		history []v1alpha1.HistoryEntry
		want    string
	}{
		"nothing is known":         {},
		"whoever it was did":       {history: []v1alpha1.HistoryEntry{entry(6, v1alpha1.EventAllowed, nil), refused}},
		"somebody else did":        {history: []v1alpha1.HistoryEntry{alices(nil), refused}, want: "alice"},
		"somebody else did before": {history: []v1alpha1.HistoryEntry{refused, alices(func(e *v1alpha1.HistoryEntry) { e.Time = at(4) })}},
		"somebody else was denied": {history: []v1alpha1.HistoryEntry{alices(func(e *v1alpha1.HistoryEntry) { e.Event = v1alpha1.EventDenied }), refused}},
		"something else":           {history: []v1alpha1.HistoryEntry{alices(func(e *v1alpha1.HistoryEntry) { e.Paths = e.Paths[:1] }), refused}},
		"of another child":         {history: []v1alpha1.HistoryEntry{alices(func(e *v1alpha1.HistoryEntry) { e.Names = e.Names[:1] }), refused}},
		"of several, maybe before": {history: []v1alpha1.HistoryEntry{alices(func(e *v1alpha1.HistoryEntry) { e.FirstTime = first(4) }), refused}},
		"of several, all later":    {history: []v1alpha1.HistoryEntry{alices(func(e *v1alpha1.HistoryEntry) { e.FirstTime = first(6) }), refused}, want: "alice"},
		"of several, of this one last": {
			history: []v1alpha1.HistoryEntry{alices(func(e *v1alpha1.HistoryEntry) { e.FirstTime, e.Names = first(4), []string{"s1", "s2"} }), refused}, want: "alice",
		},
		"an eviction for a deletion": {
			denied:  &deleted,
			history: []v1alpha1.HistoryEntry{alices(func(e *v1alpha1.HistoryEntry) { e.Operation, e.Paths = "Eviction", []string{"delete"} })}, want: "alice",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.denied == nil {
				tt.denied = denied
			}
			if got := PassedFor(tt.history, tt.denied); got != tt.want {
				t.Errorf("passed for %q, want %q", got, tt.want)
			}
		})
	}
}
