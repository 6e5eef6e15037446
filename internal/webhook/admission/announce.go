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

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/record"
)

// announce tells people of a decision about a child that was refused, or for which
// the glass was broken.
func (v *Validator) announce(r *request, f *facts, d v1alpha1.Decision) {
	n := eventrecorder.Notice{Action: d.Operation, About: f.parent}
	switch d.Result {
	case record.ResultDenied:
		n.Reason, n.Text = eventrecorder.Denied, d.User+" was refused: "+d.Message
	case record.ResultBrokeGlass:
		n.Reason, n.Text = eventrecorder.BreakGlass, d.User+" broke the glass: "+d.Message
	default:
		return
	}
	tellChild(r, &n)
	v.Notices.Post(n)
}

// tellChild has a notice about the parent tell of the child, too. Where its creation is refused, there is none, and each
// attempt has another name for it.
func tellChild(r *request, n *eventrecorder.Notice) {
	if r.operation != decision.Create || n.Reason == eventrecorder.BreakGlass {
		child := r.target()
		n.Child = &child
		return
	}
	if base := r.new.GetGenerateName(); base != "" {
		n.Text = strings.ReplaceAll(n.Text, r.objectName(), base+"*")
	}
}

// announceRefusal tells people of an object that a change of it was refused for its
// own policies.
func (v *Validator) announceRefusal(r *request, resp admission.Response) {
	if r.dryRun || r.old == nil {
		return
	}
	v.Notices.Post(eventrecorder.Notice{
		Reason: eventrecorder.Denied, Action: operationText(r), About: r.target(),
		Text: r.requester.Username + " was refused: " + resp.Result.Message,
	})
}

// announceFull tells people of an object, and its record, that a change of it allows
// nothing, as its ledger has no room.
func (g *Gatherer) announceFull(r *request, o *outcome) {
	if r.dryRun || r.old == nil || o.grant.TooLarge == nil {
		return
	}
	text := r.tooLarge(o)
	g.Notices.Post(eventrecorder.Notice{Reason: eventrecorder.LedgerFull, Action: operationText(r), About: r.target(), Text: text})
	g.Records.Observe(record.Outcome{Target: r.target(), Full: text})
}

// tooLarge says why a change allows nothing whose allowances have no room.
func (r *request) tooLarge(o *outcome) string {
	return fmt.Sprintf("this change of %s allows nothing, as its ledger is full: %v; AllowancePolicy %s grants too much at once, or attests to too much",
		objectText(r.gvk.Kind, r.objectName()), o.grant.TooLarge, strings.Join(names(o.OwnPolicies), ", "))
}
