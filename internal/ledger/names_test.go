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

package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMeant has the keys that people write.
func TestMeant(t *testing.T) {
	for name, want := range map[string]string{
		"aprove":       NameApprove,
		"approved":     NameApprove,
		"Approve":      NameApprove,
		"breakglass":   NameBreakGlass,
		"break_glass":  NameBreakGlass,
		"break-glas":   NameBreakGlass,
		"orphaned":     "orphan",
		"releasegate":  "release-gate",
		"foo":          "",
		"glass":        "",
		"":             "",
		"changed-by":   "",
		"gate-content": "",
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, Meant(name)); diff != "" {
				t.Errorf("meant (-want +got):\n%s", diff)
			}
		})
	}
}
