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
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/metrics"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

var glassBroken = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
	Namespace: metrics.Namespace,
	Name:      "glass_broken_total",
	Help:      "Number of requests for objects of a resource that went through, or allowed something, because somebody broke the glass.",
}, []string{metrics.LabelResource})

// Access tells who may break the glass.
type Access interface {
	// MayBreakGlass reports whether a user has v1alpha1.VerbBreakGlass on each of the
	// policies.
	MayBreakGlass(ctx context.Context, user authenticationv1.UserInfo, policies []string) (bool, error)
}

// glass is what a request says about breaking the glass (D13).
type glass struct {
	// asked is true where the request asks for it.
	asked bool
	// blank is true where the request sets the annotation without saying why.
	blank bool
	// allowed is true where the requester may.
	allowed bool
	// noted is true where the mutating hook has left a note of it, which is yet to be taken.
	noted bool
	// stays is true for a reason that serves the deletion of the object only, or actions
	// through its status.
	stays bool
	// earned is true where the mutating hook has made a grant of it, which tells that it was needed.
	earned bool
	// reason that was given.
	reason string
	// policies whose glass it is about.
	policies []string
}

// breaks reports whether the request itself breaks the glass.
func (b glass) breaks(r *request) bool {
	return b.allowed && (!b.stays || r.operation == decision.Delete || r.subresource == subresourceStatus)
}

// glass reads what the request says, and asks who may where it says something. The
// mutating hook has removed the annotation before the validating one sees the
// object: that one finds a note of it in the parent's record, or in the ledger what
// it earned.
func (g *Gatherer) glass(ctx context.Context, r *request, f *facts) glass {
	if r.brokenGlass != "" {
		return glass{asked: true, allowed: true, reason: r.brokenGlass}
	}
	if reason, noted := r.brokenGlassNoted(f); noted {
		return glass{asked: true, allowed: true, noted: true, reason: reason}
	}
	b := r.asksToBreakGlass(f.stored)
	if !b.asked {
		return b
	}
	if r.operation != decision.Delete && f.copied() || r.subresource == subresourceStatus && len(f.Actions)+len(f.Reports) == 0 {
		return glass{}
	}
	concerned := f.Bounding()
	if len(concerned) == 0 {
		concerned = f.OwnPolicies
	}
	if f.Gate != nil && (r.operation == decision.Delete || len(concerned) == 0) {
		concerned = f.withGating(concerned)
	}
	b.policies = names(slices.DeleteFunc(slices.Clone(concerned), func(p *policy.Policy) bool {
		return p.Action != v1alpha1.ActionDeny
	}))
	allowed, err := g.Access.MayBreakGlass(ctx, r.user, b.policies)
	if err != nil {
		// Then the glass stays whole, which the answer says.
		logf.FromContext(ctx).Error(err, "Cannot find out who may break the glass",
			"kind", r.gvk.Kind, "namespace", r.namespace, "name", r.objectName(), "user", r.user.Username)
	}
	b.allowed = allowed && err == nil
	return b
}

// withGating returns policies with those that gate the object: a deletion for which the glass is broken takes
// along what the object stands for.
func (f *facts) withGating(policies []*policy.Policy) []*policy.Policy {
	out := slices.Clone(policies)
	for _, p := range f.gate.by() {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// brokenGlassNoted returns the reason in the note that the mutating hook left for the
// validating one, as the record of the parent has it, or that of an object without one.
func (r *request) brokenGlassNoted(f *facts) (string, bool) {
	rec := f.record
	if f.ParentState == decision.ParentFound {
		rec = f.parentRecord
	}
	if !r.validating || r.dryRun || r.noteTaken || rec == nil {
		return "", false
	}
	note, ok := record.FindBrokenGlass(rec.Status.BrokenGlass, r.noteOfBrokenGlass(""))
	return note.Reason, ok
}

// noteHolder returns the object whose record has the note.
func (r *request) noteHolder(f *facts) v1alpha1.TargetReference {
	if f.ParentState == decision.ParentFound {
		return f.parent
	}
	return r.target()
}

// takeNote takes the note by which a request was decided, which serves this request only.
// Without it, the request is to be decided again.
func (v *Validator) takeNote(ctx context.Context, r *request, f *facts) error {
	if !f.glass.noted {
		return nil
	}
	reason, ok, err := v.Records.TakeBrokenGlass(ctx, r.noteHolder(f), r.noteOfBrokenGlass(""))
	switch {
	case err != nil:
		return err
	case !ok:
		r.noteTaken = true
		return errTaken
	default:
		r.brokenGlass = reason
		return nil
	}
}

// noteOfBrokenGlass returns what the two hooks of a request know it by.
func (r *request) noteOfBrokenGlass(reason string) v1alpha1.BrokenGlass {
	return v1alpha1.BrokenGlass{
		User:      r.user.Username,
		Operation: string(r.operation),
		Kind:      r.gvk.Kind,
		Name:      r.objectName(),
		Reason:    reason,
	}
}

// asksToBreakGlass reads the annotation, which counts only in the request that sets
// it; at a deletion the one that was set for it. before is the object's ledger as it was.
func (r *request) asksToBreakGlass(before ledger.Ledger) glass {
	switch {
	case r.operation == decision.Delete:
		reason := ledger.Annotation(r.old, ledger.NameBreakGlass)
		return lastingGlass(reason, v1alpha1.BreakGlassDelete)
	case r.subresource == subresourceStatus:
		reason := ledger.Annotation(r.old, ledger.NameBreakGlass)
		return lastingGlass(reason, v1alpha1.BreakGlassStatus)
	case r.subresource != "":
		return glass{}
	}
	key := ledger.AnnotationKey(r.new, ledger.NameBreakGlass)
	text, isSet := r.new.GetAnnotations()[key]
	reason := strings.TrimSpace(text)
	if r.hadAnnotation(key) {
		reason, isSet = "", false
	}
	blank := isSet && saysNothing(reason)
	if blank {
		reason = ""
	}
	if reason == "" && r.again != nil {
		reason = r.again.breakGlass // It was taken away before, where another webhook has this one asked again.
	}
	earned := ""
	if reason == "" {
		earned = r.earnedByBrokenGlass(before)
		reason = earned
	}
	return glass{asked: reason != "", blank: blank, stays: forDeletion(reason) || forStatus(reason), earned: earned != "", reason: reason}
}

// lastingGlass returns what an annotation that stays on the object asks for, in a request that a prefix is for.
func lastingGlass(reason, prefix string) glass {
	set, blank := isSetFor(reason, prefix), saysNothing(reason)
	return glass{asked: set && !blank, blank: set && blank, stays: true, reason: reason}
}

// carriesNoReason reports whether nothing that does what the request does can break the glass. A scale
// and an eviction change what the object itself would, and a reason can be set for the status
// before. Of Pods the API server takes ephemeral containers and sizes by sub-resources only, and these
// are not for annotations: a reason in one does not count.
func (r *request) carriesNoReason() bool {
	switch r.subresource {
	case "", subresourceScale, subresourceEviction, subresourceStatus:
		return false
	default:
		return true
	}
}

// forStatus reports whether a reason is for actions through the status, and forDeletion whether it is for the
// deletion. What only says what it is for is no reason.
func forStatus(reason string) bool {
	return isSetFor(reason, v1alpha1.BreakGlassStatus) && !saysNothing(reason)
}

func forDeletion(reason string) bool {
	return isSetFor(reason, v1alpha1.BreakGlassDelete) && !saysNothing(reason)
}

func isSetFor(reason, prefix string) bool {
	return strings.HasPrefix(strings.TrimSpace(reason), prefix)
}

// saysNothing reports whether the annotation has no reason in it: nothing at all, or nothing but what it is for.
func saysNothing(reason string) bool {
	reason = strings.TrimSpace(reason)
	for _, prefix := range []string{v1alpha1.BreakGlassDelete, v1alpha1.BreakGlassStatus} {
		if after, ok := strings.CutPrefix(reason, prefix); ok {
			return strings.TrimSpace(after) == ""
		}
	}
	return reason == ""
}

// earnedByBrokenGlass returns the reason in a grant that the mutating hook made in this
// very request. It is taken for a question only: who writes such a ledger while the
// mutating hook is away has to have the right, too.
func (r *request) earnedByBrokenGlass(before ledger.Ledger) string {
	if !r.validating {
		return ""
	}
	stored, err := r.ledgerAsked()
	if err != nil {
		return ""
	}
	for _, e := range stored {
		if !hasID(before, e) && e.Generation >= r.new.GetGeneration() && e.Initiator == r.user.Username && len(e.Trace) > 0 {
			if reason := e.Trace[0].Attestations[decision.BreakGlassAttestation]; reason != "" {
				return reason
			}
		}
	}
	return ""
}

// noteBrokenGlass leaves a note for the validating hook, which will not see the
// annotation any more. A grant tells it of the glass without one, and an object that is about to be created
// has no record yet.
func (m *Mutator) noteBrokenGlass(ctx context.Context, r *request, o *outcome) error {
	if r.dryRun || !o.leavesNote(r) || r.again != nil && r.again.noted {
		return nil
	}
	return m.Records.BreakGlass(ctx, r.noteHolder(o.facts), r.noteOfBrokenGlass(o.glass.reason))
}

func (o *outcome) leavesNote(r *request) bool {
	switch {
	case o.verdict.Reason == decision.ReasonBreakGlass:
		return true
	case !o.brokeGlass() || startsWithBrokenGlass(o.grant):
		return false
	default:
		return o.ParentState == decision.ParentFound || r.old != nil
	}
}

// keepsBreakGlass reports whether the annotation stays on the object: one that serves
// the deletion, and, as a dry run leaves no notes, one that the validating hook has
// yet to see.
func (r *request) keepsBreakGlass(f *facts) bool {
	return f.glass.allowed && (f.glass.stays || r.dryRun && f.glass.breaks(r))
}

// glassWarning tells the requester what came of the annotation, where something
// was asked.
func (r *request) glassWarning(o *outcome) string {
	b, subject := o.glass, objectText(r.gvk.Kind, r.objectName())
	switch {
	case b.blank && !o.copied() && !o.KeepsBooks():
		return fmt.Sprintf("kausality: no glass of %s is broken without a reason: say in the annotation why", subject)
	case !b.asked:
		return ""
	case !b.allowed:
		return fmt.Sprintf("kausality: %s may not break the glass of %s: that takes the verb %s on AllowancePolicies %s",
			r.user.Username, subject, v1alpha1.VerbBreakGlass, strings.Join(b.policies, ", "))
	case b.stays && r.operation != decision.Delete && r.subresource == "":
		return fmt.Sprintf("kausality: the reason to break the glass stays on %s and serves its %s only", subject, servedBy(b.reason))
	case o.verdict.Reason == decision.ReasonBreakGlass:
		return fmt.Sprintf("kausality: the glass is broken: %s of %s is let through though nothing allows it, and recorded",
			listed(o.verdict.Uncovered), subject)
	case startsWithBrokenGlass(o.grant):
		return fmt.Sprintf("kausality: the glass is broken: what follows from this change of %s is allowed, and recorded", subject)
	case o.brokeGlass():
		return fmt.Sprintf("kausality: the glass is broken: %s of %s is let through, and recorded", listed(o.brokenFor), subject)
	default:
		return fmt.Sprintf("kausality: no glass had to be broken for this request for %s; %s", subject, o.setInstead())
	}
}

// setInstead says which request should have set the annotation. What was withheld before is not let
// through by it: the reason is for what its own request changes, and not for what others did.
func (o *outcome) setInstead() string {
	if held := o.otherWithheld(o.grant); len(held) > 0 {
		return withheldText(held) + ": take that back, and make it again with the annotation in the same request"
	}
	return "set the annotation in the request that needs it"
}

// servedBy returns what a reason serves that stays.
func servedBy(reason string) string {
	if forStatus(reason) {
		return "status"
	}
	return "deletion"
}

// actionWarnings tell the same of an action through the status.
func actionWarnings(r *request, o *outcome) []string {
	if r.subresource != subresourceStatus || !o.glass.asked && !o.glass.blank || len(o.Actions)+len(o.Reports) == 0 {
		return nil
	}
	return []string{r.glassWarning(o)}
}

// deletionWarnings tell the same of a deletion, which no mutating hook sees.
func deletionWarnings(r *request, o *outcome) []string {
	if r.operation != decision.Delete {
		return nil
	}
	var out []string
	if unclear := gate.UnclearOrphan(r.old.GetAnnotations()); o.Gate != nil && unclear != "" {
		out = append(out, fmt.Sprintf("kausality: the deletion of %s is held back: %s", objectText(r.gvk.Kind, r.objectName()), unclear))
	}
	if o.glass.asked || o.glass.blank {
		out = append(out, r.glassWarning(o))
	}
	return out
}

func startsWithBrokenGlass(grant decision.Grant) bool {
	return slices.ContainsFunc(grant.Allowances, func(a v1alpha1.Allowance) bool {
		return len(a.Trace) > 0 && a.Trace[0].Attestations[decision.BreakGlassAttestation] != ""
	})
}
