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
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

// isSpared reports whether an entry is about a change of the target itself that its policies would withhold
// or refuse if they did not only warn or audit.
func isSpared(e v1alpha1.HistoryEntry) bool {
	return e.Kind == "" && (e.Event == v1alpha1.EventWarned || e.Event == v1alpha1.EventAudited)
}

// renderSpared says what was let through, and by which policies.
func renderSpared(r Refusal, t text.Terminal, wide bool, now time.Time) string {
	var out strings.Builder
	out.WriteString(t.Paint(text.Wait, "Let through "+phrase.Ago(r.Time.Time, now)) + indent +
		t.Paint(text.Strong, strings.ToLower(r.Operation)+" of "+phrase.Target(r.Parent)) + "\n")
	var facts text.Table
	facts.Row("asked by", r.User+repeated(r, now))
	facts.Row("of", strings.Join(r.Paths, ", "))
	facts.Row("effect", "it went on; AllowancePolicy "+strings.Join(r.Policies, ", ")+" would withhold or refuse it if it said Deny")
	if len(r.Initiators) > 0 {
		facts.Row("allowed to", phrase.Who(r.Initiators))
	}
	if wide {
		facts.Row("answer", r.Message)
		facts.Row("record", r.Record)
	}
	out.WriteString(facts.Render(t, indent))
	return out.String()
}
