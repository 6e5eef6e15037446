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
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	gatecrossplane "kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// Keys of audit annotations; the API server puts the name of the webhook before
// them.
const (
	auditGranted  = "granted"
	auditReason   = "reason"
	auditParent   = "parent"
	auditPolicies = "policies"
	auditTrace    = "trace"
	auditUncov    = "uncovered"
	auditGlass    = "break-glass"
	auditGate     = "gate"
	auditStray    = "stray"
	auditTarget   = "scales"
	auditUncaused = "uncaused"
)

// composedManager is the prefix of the field managers under which Crossplane
// applies composed resources. Any error but Invalid makes it give up on the
// whole composite, siblings included (D13).
const composedManager = gatecrossplane.ComposedManager

// denied answers a request that nothing covers.
func denied(r *request, f *facts, v decision.Verdict) admission.Response {
	resp := admission.Denied(denial(f, v))
	if strings.HasPrefix(r.fieldManager, composedManager) {
		resp.Result.Code = http.StatusUnprocessableEntity
		resp.Result.Reason = metav1.StatusReasonInvalid
	}
	resp.AuditAnnotations = auditAnnotations(f, v)
	return resp
}

// refused answers a write whose uncaused change a policy does not let stand, or
// which, as a scale, could not carry that it is withheld.
func refused(f *facts, grant decision.Grant) admission.Response {
	paths := withheldPaths(grant.Withheld)
	message := fmt.Sprintf("the change of %s of %s was refused: %s",
		strings.Join(paths, ", "), objectText(f.Child.GVK.Kind, f.Child.Name), f.uncaused(paths, grant.Problems))
	if len(grant.Problems) == 0 {
		message += f.whoMayInitiate(paths)
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Refused", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}

// whoMayInitiate says who may initiate a change of the paths, or have it made by changing what is above.
func (f *facts) whoMayInitiate(paths []string) string {
	who := f.approversOf(paths)
	switch {
	case len(who) == 0:
		return ""
	case !f.isAct(paths) && decision.ApproversAbove(f.OwnPolicies, f.initiatorsAbove, paths...):
		return "; " + anyOf(who) + " may have it made by changing what owns " + objectText(f.Child.GVK.Kind, f.Child.Name)
	default:
		return "; " + anyOf(who) + " may"
	}
}

// auditAnnotations returns what the audit log of the API server keeps of a verdict.
func auditAnnotations(f *facts, v decision.Verdict) map[string]string {
	out := map[string]string{auditReason: string(v.Reason)}
	if f.ParentState == decision.ParentFound {
		out[auditParent] = f.Parent.GVK.Kind + "/" + f.Parent.Name
	}
	if len(v.Policies) > 0 {
		out[auditPolicies] = strings.Join(names(v.Policies), ",")
	}
	if initiator, trace := f.causeOf(v); initiator != "" {
		if text, err := json.Marshal(trace); err == nil {
			out[auditTrace] = initiator + " " + string(text)
		}
	}
	if len(v.Uncovered) > 0 {
		out[auditUncov] = listed(v.Uncovered)
	}
	if v.Reason == decision.ReasonBreakGlass {
		out[auditGlass] = f.glass.reason
	}
	if v.Allowed && f.AdoptsWithoutCause() {
		out[auditStray] = fmt.Sprintf("%s/%s adopts it without a cause", f.adopter.Kind, f.adopter.Name)
	}
	return out
}

// warnings returns what the requester of an admitted write is told.
func warnings(ctx context.Context, r *request, o *outcome) []string {
	var out []string
	if o.verdict.Reason == decision.ReasonWarned {
		out = append(out, "kausality: "+denial(o.facts, o.verdict))
	}
	out = append(out, deletionWarnings(r, o)...)
	out = append(out, actionWarnings(r, o)...)
	if o.verdict.Reason == decision.ReasonOrphan && len(o.index.Policies()) > 0 {
		out = append(out, fmt.Sprintf("kausality: %s names the owner %s %s, which does not exist; nothing bounds it",
			objectText(o.Child.GVK.Kind, o.Child.Name), o.goneParent, o.goneName))
	}
	if o.abandoned != "" {
		out = append(out, "kausality: "+o.abandoned)
	}
	out = append(out, o.unservedWarnings()...)
	if o.AdoptsWithoutCause() {
		out = append(out, "kausality: "+o.strayNotice(r))
	}
	if len(o.grant.Withheld) > 0 {
		out = append(out, withheldWarning(ctx, o.facts, o.grant.Withheld, o.grant.Problems))
	}
	return slices.Concat(out, o.sparedWarnings(r), r.misplaced(o.facts), o.waiting(o.grant), o.leftWithheld(r), o.takenBack(r))
}

// ledgerWarnings returns what the requester is told about annotations that have no
// effect as written.
func (r *request) ledgerWarnings(o *outcome) []string {
	var out []string
	subject := objectText(r.gvk.Kind, r.objectName())
	if o.ledgerError != nil {
		out = append(out, fmt.Sprintf("kausality: the ledger of %s could not be read and counts as empty: %v", subject, o.ledgerError))
	}
	if o.grant.TooLarge != nil {
		out = append(out, "kausality: "+r.tooLarge(o))
	}
	if !o.Operator && !o.copied() && o.forges(r) {
		out = append(out, fmt.Sprintf("kausality: what a request says about %s has no effect; the ledger of %s stays as it is",
			ledger.AnnotationKey(r.new, ledger.NameAllowances), subject))
	}
	if o.approve.asked && (r.again == nil || !r.again.elsewhere) {
		out = append(out, r.approvalWarnings(o)...)
	}
	return out
}

// approvalWarnings returns what the requester is told of an approval that has not the effect that it asks for.
func (r *request) approvalWarnings(o *outcome) []string {
	var out []string
	a, subject := o.approve, objectText(r.gvk.Kind, r.objectName())
	unruled := o.unruled()
	switch {
	case !a.allowed:
		out = append(out, fmt.Sprintf("kausality: %s may not approve changes of %s%s", o.Requester.Username, subject, whoMay(o.initiators)))
	case len(a.since) > 0:
		out = append(out, fmt.Sprintf("kausality: not approved on %s, as it was changed since somebody looked at it: %s; look at it again",
			subject, strings.Join(a.since, ", ")))
	case len(a.settled) > 0:
		out = append(out, fmt.Sprintf("kausality: nothing is withheld of %s any more at %s, and there is nothing to approve: it is approved already, "+
			"or what was there before is back", subject, strings.Join(a.settled, ", ")))
	case a.adoption && o.IsStray() && !o.mayApproveAdoption():
		out = append(out, fmt.Sprintf("kausality: %s stays a stray of %s: %s may not initiate all that follows from it",
			subject, o.parentText(), o.Requester.Username))
	case len(o.grant.Problems) > 0:
		out = append(out, fmt.Sprintf("kausality: not all of %s is approved, as it does not meet %s", subject, problemsText(o.grant.Problems)))
	case len(o.notApproved()) > 0:
		out = append(out, fmt.Sprintf("kausality: the change of %s of %s stays withheld, as %s%s",
			strings.Join(o.notApproved(), ", "), subject, o.mayNotInitiate(o.notApproved()), whoMayApprove(o.approversOf(o.notApproved()))))
	case len(a.changes) > 0 && len(o.grant.Allowances) == 0 && !o.approves() && len(unruled) == 0:
		out = append(out, fmt.Sprintf("kausality: nothing of %s was approved: no rule that %s may initiate is about it", subject, o.Requester.Username))
	}
	// Whatever becomes of the other paths: nothing came of these.
	if len(a.unknown) > 0 {
		out = append(out, fmt.Sprintf("kausality: not approved on %s, as they are no field paths: %s", subject, strings.Join(a.unknown, ", ")))
	}
	if len(a.missing) > 0 {
		out = append(out, fmt.Sprintf("kausality: %s has no field %s"+decision.NothingThere, subject, strings.Join(a.missing, ", ")))
	}
	if a.allowed && a.adoption && o.outsideNote != "" && o.mayApproveAdoption() {
		out = append(out, fmt.Sprintf("kausality: %s is no stray of %s any more, and what is allowed of that covers what it stands for outside.%s "+
			"Where it is another's, take the owner reference of %s off it before anything is changed or deleted", subject, o.parentText(), o.outsideNote, o.parentText()))
	}
	if a.allowed && len(unruled) > 0 {
		out = append(out, fmt.Sprintf("kausality: the change of %s of %s is not approved: no rule of a policy in effect that denies is about it, so that nothing holds "+
			"back what follows from it; put back what was there, change it, or approve it once such a rule is back", strings.Join(withheldPaths(unruled), ", "), subject))
	}
	// The validating hook is not asked about what only approves.
	return append(out, o.waiting(o.grant, o.notApproved()...)...)
}

// notApproved returns what the request asks to approve and is withheld all the same.
func (o *outcome) notApproved() []string {
	var out []string
	for _, e := range decision.Withheld(o.grant.Standing) {
		path, err := change.ParsePath(e.Mutation)
		asked := func(c change.Change) bool { return err == nil && c.Path.Overlaps(path) }
		if slices.ContainsFunc(o.approve.changes, asked) {
			out = append(out, e.Mutation)
		}
	}
	return out
}

func whoMayApprove(approvers []string) string {
	if len(approvers) == 0 {
		return ""
	}
	return whoMay(approvers) + " approve it"
}

func whoMay(initiators []string) string {
	if len(initiators) == 0 {
		return ""
	}
	return "; " + anyOf(initiators) + " may"
}

// forges reports whether the request writes a ledger that would permit something
// which the stored one does not. What this webhook itself has written for the request, or
// writes now, is no forgery: it is there where another webhook has this one asked again.
func (o *outcome) forges(r *request) bool {
	key := ledger.AnnotationKey(r.new, ledger.NameAllowances)
	said := annotation(r.new, key)
	if said == "" || r.again != nil && !r.again.elsewhere || r.old != nil && annotation(r.old, key) == said {
		return false
	}
	asked, err := r.ledgerAsked()
	if err != nil || len(asked) == 0 {
		return false
	}
	var stored ledger.Ledger
	if r.old != nil {
		stored, _ = r.ledgers.of(r.old) // One that cannot be read counts as empty.
	}
	return slices.ContainsFunc(asked, func(e ledger.Entry) bool {
		return !hasID(stored, e) && !holds(o.next, e) && (r.old == nil || !e.IsWithheld())
	})
}

// describe returns a verdict as the parent's record keeps it.
func describe(r *request, f *facts, verdict decision.Verdict) v1alpha1.Decision {
	d := v1alpha1.Decision{
		Result:    result(verdict.Reason),
		Reason:    string(verdict.Reason),
		Operation: operationText(r),
		User:      r.requester.Username,
		Kind:      r.gvk.Kind,
		Name:      r.objectName(),
		Policies:  names(verdict.Policies),
	}
	if f.ParentState == decision.ParentFound && r.namespace != f.parent.Namespace {
		d.Namespace = r.namespace
	}
	acts := f.Acts()
	if len(verdict.Uncovered) > 0 {
		acts = verdict.Uncovered
		d.Message = denial(f, verdict)
		d.ChildInitiators = slices.Compact(slices.Sorted(slices.Values(f.initiatorsOn(verdict))))
		for _, act := range f.LettingGo(verdict.Uncovered) {
			d.LettingGo = append(d.LettingGo, act.String())
		}
	}
	if verdict.Reason == decision.ReasonBreakGlass {
		d.Message = fmt.Sprintf("%s of %s, for the reason %q", listed(verdict.Uncovered), objectText(d.Kind, d.Name), f.glass.reason)
	}
	if verdict.Reason == decision.ReasonStray {
		d.Message = f.strayNotice(r)
	}
	d.Paths = recordedPaths(acts)
	d.Initiator, d.Trace = f.causeOf(verdict)
	return d
}

// describeCauses returns what caused an admitted request, where that is more than one thing.
func describeCauses(verdict decision.Verdict) []record.Cause {
	if len(verdict.Causes) < 2 || verdict.Upgrade != nil {
		return nil
	}
	out := make([]record.Cause, 0, len(verdict.Causes))
	for _, c := range verdict.Causes {
		out = append(out, record.Cause{Initiator: c.Initiator, Trace: c.Trace, Paths: recordedPaths(c.Acts)})
	}
	return out
}

// recordedPaths returns what records tell of acts: no more than the first of them.
func recordedPaths(acts []decision.Act) []string {
	const most = 16
	acts = acts[:min(len(acts), most)]
	out := make([]string, 0, len(acts))
	for _, a := range acts {
		out = append(out, a.String())
	}
	return out
}

func result(reason decision.Reason) string {
	switch reason {
	case decision.ReasonBreakGlass:
		return record.ResultBrokeGlass
	case decision.ReasonDenied, decision.ReasonWarned, decision.ReasonAudited:
		return string(reason)
	default:
		return record.ResultAllowed
	}
}

func operationText(r *request) string {
	switch {
	case r.subresource == subresourceEviction:
		return "Eviction"
	case r.subresource == subresourceScale:
		return "Scale"
	case r.operation == decision.Create:
		return "Create"
	case r.operation == decision.Delete:
		return "Delete"
	default:
		return "Update"
	}
}
