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

package explain

import (
	"testing"

	"kausality.io/operator/internal/lifecycle"
)

// TestExplainWhatIsNotFollowed says so of what Crossplane does not follow for a while, once.
func TestExplainWhatIsNotFollowed(t *testing.T) {
	for status, want := range map[string]int{"False": 1, "True": 0} {
		s := see(t, deployment(t))
		s.obj.obj.Object["spec"] = map[string]any{"crossplane": map[string]any{}}
		s.obj.obj.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Responsive", "status": status}}}
		report := build(s)
		if len(report.Notes) != want || want > 0 && report.Notes[0] != "Deployment/web waits: "+lifecycle.Unresponsive(s.obj.obj)+"." {
			t.Errorf("Responsive %s: notes %q, progress %q", status, report.Notes, report.Progress)
		}
	}
}
