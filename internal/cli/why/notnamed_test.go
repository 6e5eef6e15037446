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
	"strings"
	"testing"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/decision"
)

// Who may not use what the parent allows is told so, and the controller of the parent's kind no change that would not
// help it.
func TestNotNamed(t *testing.T) {
	const controller, stranger = "system:serviceaccount:kube-system:deployment-controller", "system:serviceaccount:shop:robot"
	for user, want := range map[string]struct {
		does, doesNot string
	}{
		controller: {"add it to spec.subjects of AllowancePolicy deployment", "a change of spec.template"},
		stranger:   {"a change of spec.template", "add it to"},
	} {
		denied := denialOf(time.Minute, "Create", "web-2", "create")
		denied.User = user
		denied.Message = "whose allowances " + user + " " + decision.MayNotUse + "ServiceAccount kube-system/deployment-contoller."
		rec := recordOf("web", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{denied}})
		report := collect([]v1alpha1.AllowanceRecord{rec}, scene{Policies: policies(t)}, nil)
		got := strings.Join(strings.Fields(renderRefusal(report.Refusals[0], "", text.Terminal{Width: text.DefaultWidth}, false, now)), " ")
		said := "because " + user + " may not use what Deployment/web allows: that is for Group platform-team"
		if !strings.Contains(got, said) || !strings.Contains(got, want.does) || strings.Contains(got, want.doesNot) {
			t.Errorf("of %s is said %q; want %q and %q, and not %q", user, got, said, want.does, want.doesNot)
		}
	}
}
