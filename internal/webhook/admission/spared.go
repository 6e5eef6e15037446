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
	"fmt"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
)

// What policies that only warn or audit would have withheld or refused is told where what they would
// deny is: to the requester where one of them warns, in the audit log, and in the record of the object.
// A trial of policies shows so whose changes would not be carried out.

// sparedWarnings returns what the requester is told of that.
func (o *outcome) sparedWarnings(r *request) []string {
	if s := o.grant.Spared; s == nil || s.Action != v1alpha1.ActionWarn {
		return nil
	}
	return []string{"kausality: " + o.sparedText(r)}
}

// sparedAudit returns what the audit log keeps of it.
func (o *outcome) sparedAudit() string {
	s := o.grant.Spared
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", sparedReason(s), strings.Join(names(s.Policies), ","), strings.Join(s.Paths, ","))
}

// sparedHistory returns what the history of the object tells of it.
func (o *outcome) sparedHistory(r *request) []v1alpha1.HistoryEntry {
	s := o.grant.Spared
	if s == nil {
		return nil
	}
	return []v1alpha1.HistoryEntry{{
		Event: v1alpha1.HistoryEvent(sparedReason(s)), Reason: string(sparedReason(s)), User: r.requester.Username,
		Operation: operationText(r), Paths: s.Paths, Policies: names(s.Policies), Message: o.sparedText(r),
	}}
}

// sparedReason returns the reason with which a change of a child would pass by the same policies.
func sparedReason(s *decision.Spared) decision.Reason {
	if s.Action == v1alpha1.ActionWarn {
		return decision.ReasonWarned
	}
	return decision.ReasonAudited
}

// sparedText says what would have become of the change, and why.
func (o *outcome) sparedText(r *request) string {
	s := o.grant.Spared
	what := "be withheld"
	if s.Refused || r.subresource == subresourceScale {
		what = "be refused"
	}
	text := fmt.Sprintf("the change of %s of %s would %s if AllowancePolicy %s said Deny: %s", strings.Join(s.Paths, ", "),
		objectText(o.Child.GVK.Kind, o.Child.Name), what, strings.Join(names(s.Policies), ", "), o.uncaused(s.Paths, o.grant.Problems))
	who := policy.InitiatorsFor(s.Policies, s.Paths...)
	if len(who) == 0 {
		who = o.initiatorsAbove
	}
	if len(who) > 0 && len(o.grant.Problems) == 0 {
		text += "; " + anyOf(who) + " may"
	}
	return text
}
