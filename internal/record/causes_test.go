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

package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

// TestByCause has the history tell of each cause of a write by itself, with what it caused.
func TestByCause(t *testing.T) {
	hop := func(field string) []v1alpha1.TraceHop {
		return []v1alpha1.TraceHop{{Kind: "Shop", Name: "web", Field: field}}
	}
	d := v1alpha1.Decision{
		Result: ResultAllowed, Operation: "Update", Kind: "Bucket", Name: "b", Initiator: "alice", Trace: hop("spec.tier"),
		Paths: []string{"spec.other", "spec.size", "spec.tier"},
	}
	entry := func(initiator, field string, paths ...string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{
			Event: v1alpha1.EventExercised, Operation: "Update", Kind: "Bucket", Names: []string{"b"}, Initiator: initiator, Trace: hop(field), Paths: paths,
		}
	}
	tier, size := Cause{Initiator: "alice", Trace: hop("spec.tier"), Paths: []string{"spec.tier"}}, Cause{Initiator: "bob", Trace: hop("spec.size"), Paths: []string{"spec.size"}}
	for name, tt := range map[string]struct {
		causes []Cause
		want   []v1alpha1.HistoryEntry
	}{
		"one":     {causes: []Cause{tier}, want: []v1alpha1.HistoryEntry{entry("alice", "spec.tier", d.Paths...)}},
		"unnamed": {want: []v1alpha1.HistoryEntry{entry("alice", "spec.tier", d.Paths...)}},
		"two": {causes: []Cause{tier, size}, want: []v1alpha1.HistoryEntry{
			entry("alice", "spec.tier", "spec.other", "spec.tier"), entry("bob", "spec.size", "spec.size"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, WithHistory(nil, byCause(d, tt.causes)...)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStraysOutliveTheirParent keeps them with what is known of a parent that is gone: the garbage collector deletes
// them after it.
func TestStraysOutliveTheirParent(t *testing.T) {
	status := &v1alpha1.AllowanceRecordStatus{Strays: []v1alpha1.StrayChild{{UID: "stray"}}, SetAside: []v1alpha1.SetAsideChild{{}}}
	End(status, minute(1).Time)
	if len(status.Strays) != 1 || status.SetAside != nil {
		t.Errorf("strays %v, set aside %v", status.Strays, status.SetAside)
	}
}
