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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

// TestOverwritten tells who has used the allowance of somebody else's change before it was carried out.
func TestOverwritten(t *testing.T) {
	entry := func(event v1alpha1.HistoryEvent, user string, ago time.Duration, path string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{
			Time: before(ago), Event: event, User: user, Operation: "Update", Kind: "XDatabase", Names: []string{"db-x7"}, Paths: []string{path}, Initiator: "alice",
		}
	}
	const crossplane = "system:serviceaccount:crossplane-system:crossplane"
	refused := entry(v1alpha1.EventDenied, crossplane, time.Minute, "spec.size")
	bobs := entry(v1alpha1.EventExercised, "bob", 2*time.Minute, "spec.size")
	for name, tt := range map[string]struct {
		history []v1alpha1.HistoryEntry
		want    string
	}{
		"by somebody else":            {[]v1alpha1.HistoryEntry{bobs}, "spec.size was changed by bob, 2m ago, by what alice had allowed"},
		"carried out since":           {history: []v1alpha1.HistoryEntry{bobs, entry(v1alpha1.EventExercised, crossplane, 90*time.Second, "spec.size")}},
		"another field":               {history: []v1alpha1.HistoryEntry{entry(v1alpha1.EventExercised, "bob", 2*time.Minute, "spec.engine")}},
		"after it was refused":        {history: []v1alpha1.HistoryEntry{entry(v1alpha1.EventExercised, "bob", time.Second, "spec.size")}},
		"what was only refused, too":  {history: []v1alpha1.HistoryEntry{entry(v1alpha1.EventDenied, "bob", 2*time.Minute, "spec.size")}},
		"nothing that is known of it": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if o := overwritten(append(tt.history, refused), refused); o != nil {
				got = o.text(now)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what it says (-want +got):\n%s", diff)
			}
		})
	}
}
