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

package admission

import (
	"testing"

	"kausality.io/operator/api/v1alpha1"
)

func TestIsCarriedOutInPart(t *testing.T) {
	const warned, audited, withheld, released, denied = v1alpha1.EventWarned, v1alpha1.EventAudited, v1alpha1.EventWithheld, v1alpha1.EventReleased, v1alpha1.EventDenied
	tests := map[string]struct {
		// latest first.
		history []v1alpha1.HistoryEvent
		want    bool
	}{
		"nothing is known":                         {},
		"only withheld":                            {history: []v1alpha1.HistoryEvent{denied, withheld}},
		"let through while the policy warned":      {history: []v1alpha1.HistoryEvent{denied, warned, withheld}, want: true},
		"let through while it audited":             {history: []v1alpha1.HistoryEvent{audited, withheld}, want: true},
		"changed again after that":                 {history: []v1alpha1.HistoryEvent{withheld, warned, withheld}, want: true},
		"let through before anything was":          {history: []v1alpha1.HistoryEvent{withheld, warned}},
		"let through and taken back some time ago": {history: []v1alpha1.HistoryEvent{withheld, released, warned, withheld}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rec := &v1alpha1.AllowanceRecord{}
			for _, e := range tt.history {
				rec.Status.History = append(rec.Status.History, v1alpha1.HistoryEntry{Event: e})
			}
			if got := isCarriedOutInPart(rec); got != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
	if isCarriedOutInPart(nil) {
		t.Error("without a record")
	}
}
