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
	"maps"
	"net/http"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// Gates knows the kinds whose objects have a gate (D16).
type Gates interface {
	// Gate returns the system behind objects of a kind, and false where there is none.
	Gate(ctx context.Context, kind schema.GroupVersionKind) (gate.Driver, gate.Kind, bool)
	// IsSystem reports whether the requester is a system behind a gate.
	IsSystem(requester policy.Requester) bool
	// IsComposer reports whether the requester composes objects with a gate.
	IsComposer(requester policy.Requester) bool
}

// gated is what is known of an object whose kind has gates.
type gated struct {
	gate.Driver
	// target is what the object stands for.
	target gate.Target
	// state is what the object said before the request.
	state gate.State
	// kind has the provider that counts for it.
	kind gate.Kind
	// provider is the one under which a policy gates the object; empty where none does.
	provider string
	// standing is what policies want.
	standing gate.Standing
	// parent is the one because of which policies gate the object; nil where none does.
	parent *gate.Parent
	// lost is true where the object has lost the parent because of which it was gated.
	lost bool
	// keeping are the policies by which it keeps a gate that none in effect asks for, and gone is what is above
	// its parent and does not exist, because of which none is; nil where that is not so.
	keeping []*policy.Policy
	gone    *lineage.Ref
	// bySystem is true where the system itself asks.
	bySystem bool
	// byComposer is true where who composes such objects asks.
	byComposer bool
}

// gatherGate finds out whether the object has a gate that the request goes by. One
// that was there before its policy is left alone until the controller adopts it, but
// for its deletion.
func (g *Gatherer) gatherGate(ctx context.Context, r *request, f *facts, chain []policy.Holder) {
	if r.driver == nil || r.subresource != "" {
		return
	}
	var state gate.State
	if r.old != nil {
		state = gate.ReadState(r.old.GetAnnotations())
	}
	place := gate.PlaceOf(r.driver, r.current(), r.gateKind, state.Provider,
		slices.Concat(f.Parent.Policies, f.boundsOfGone(), f.OwnPolicies)...)
	f.gate = &gated{
		Driver: r.driver, target: place.Target, kind: place.Kind, provider: place.Provider(), standing: place.Standing, state: state,
		bySystem: g.Gates.IsSystem(r.requester), byComposer: g.Gates.IsComposer(r.requester),
	}
	f.gate.parent, f.gate.lost = f.gatedAsChild(r, chain), g.hasLostParent(ctx, r, f, state)
	g.gatherKept(ctx, r, f, len(chain))
	governed := f.gate.standing.Gated()
	if r.old != nil {
		governed = f.gate.state.Adopted() || governed && r.operation == decision.Delete
	}
	if governed {
		f.Gate = place.Target
	}
}

// boundsOfGone returns the policies that were selected when a parent was deleted that is
// gone.
func (f *facts) boundsOfGone() []*policy.Policy {
	if f.ParentState != decision.ParentGone || f.Deletion == nil {
		return nil
	}
	var out []*policy.Policy
	for _, p := range f.index.Policies() {
		if slices.Contains(f.Deletion.Policies, p.Name) {
			out = append(out, p)
		}
	}
	return out
}

// withoutSwitch returns the changes but for those of the gate's switch, which is computed
// whatever a request says, so that nobody has to judge them. The operator
// moves it to adopt an object.
func (f *facts) withoutSwitch(changes []change.Change) []change.Change {
	if f.Gate == nil && (f.gate == nil || !f.Operator) {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c change.Change) bool { return f.gate.IsSwitch(c.Path) })
}

// identity returns the fields that say what the object stands for outside, which count like
// the spec wherever they are. What the system behind the gate writes there it has found
// out, and nobody has to judge it.
func (f *facts) identity(r *request) []change.Pattern {
	if f.gate == nil || f.gate.bySystem || r.old == nil || r.new == nil {
		return nil
	}
	sameName := f.gate.IsNamed(r.new, f.gate.NameOf(r.old)) ||
		f.gate.state.Name != "" && f.gate.IsNamed(r.new, f.gate.state.Name) // put back
	return slices.DeleteFunc(slices.Clone(f.gate.Identity()), func(p change.Pattern) bool {
		return sameName && change.Path(p).IsMetadata()
	})
}

// setRenames finds the changes by which an object with a gate would stand for something
// else outside.
func (f *facts) setRenames(r *request, declared change.Schema) {
	identity := f.identity(r)
	if len(identity) == 0 {
		return
	}
	for _, c := range f.Changes {
		if f.Gate != nil && slices.ContainsFunc(identity, func(p change.Pattern) bool { _, ok := p.Matches(c, declared); return ok }) {
			f.Renames = append(f.Renames, c)
		}
	}
	f.Outside = f.gate.IsOutside(r.old)
	f.GatedBy = f.gate.by()
	f.Identity = f.gate.Identity()
}

// names reports whether an admitted request says what the object is to stand for
// outside, or approves what it stands for.
func (f *facts) names(v decision.Verdict) bool {
	if f.gate.bySystem || !v.Allowed {
		return false
	}
	return len(f.Renames) > 0 || f.approve.all || slices.ContainsFunc(f.approve.changes, func(c change.Change) bool {
		return slices.ContainsFunc(f.gate.Identity(), func(p change.Pattern) bool { return p.Overlaps(change.Pattern(c.Path)) })
	})
}

// isLateInitialization reports whether all that an update does is that the system fills
// in what it has found out.
func (f *facts) isLateInitialization(r *request) bool {
	if f.gate == nil || !f.gate.bySystem || r.operation != decision.Update || len(f.Changes) == 0 {
		return false
	}
	elsewhere := func(c change.Change) bool { return c.Path.IsMetadata() || lineage.IsLineage(c.Path) }
	return !slices.ContainsFunc(f.Changes, elsewhere) && f.gate.IsLateInitialization(r.old, r.new)
}

// isUncreated reports whether the operator asks for an object whether what it stands for, which was never
// there, may be created by now.
func (f *facts) isUncreated(r *request) bool {
	return f.Gate != nil && f.Operator && r.operation == decision.Update && r.new != nil && gate.IsUncreated(f.gate, r.old, f.Child.Ledger)
}

// gateSetting returns what the request makes of the gate.
func (o *outcome) gateSetting(r *request) gate.Setting {
	if o.Gate == nil || r.new == nil {
		return gate.Setting{}
	}
	return o.gate.Compute(gate.Write{
		Old: r.old, New: r.new, Kind: o.gate.kind, Provider: o.gate.provider, Ledger: o.next,
		Parent: o.gate.parent, Releases: o.releases(r),
		Brings: o.grant.OpensGate(), BySystem: o.gate.bySystem, Names: o.names(o.verdict),
		ByAuthor: o.byAuthor(r), Again: o.isSetAgain(r), User: r.requester.Username, FieldManager: r.fieldManager, Approved: approvedFields(o.grant.Standing),
	})
}

// approvedFields returns the fields of an object without what is withheld of it, nil where
// nothing is.
func approvedFields(st *approved.Standing) map[string]any {
	if st == nil || len(st.Withheld()) == 0 {
		return nil
	}
	return st.Content()
}

// byAuthor reports whether the requester says what the object is to be like: of what is
// composed that is the system that composes, of anything else whoever may initiate on it.
func (f *facts) byAuthor(r *request) bool {
	if metav1.GetControllerOf(r.new) != nil {
		return f.gate.byComposer
	}
	return policy.MayInitiate(r.requester, f.OwnPolicies)
}

// gatePatches returns what turns the new object of a request into the one whose gate is
// set, and whose annotations about it are nobody's but ours: want are all its
// annotations, which they change.
func (o *outcome) gatePatches(r *request, want map[string]string) []jsonpatch.Operation {
	if o.gate == nil || o.Operator && !o.grant.OpensGate() {
		return nil
	}
	state := o.gate.state
	var ops []jsonpatch.Operation
	if o.Gate != nil {
		state = o.setting.State
		ops = o.gate.Patch(r.new, o.setting)
	}
	for _, key := range gate.StateKeys() {
		delete(want, key)
	}
	maps.Copy(want, state.Annotations())
	if state.Held != nil {
		want[o.gate.PauseAnnotation()] = isTrue
	}
	if !o.mayOrphan(r) {
		r.restore(want, v1alpha1.AnnotationOrphan)
	}
	delete(want, v1alpha1.AnnotationReleaseGate)
	return ops
}

// mayOrphan reports whether the requester may let what is outside the cluster be when
// the object goes: whoever may initiate on the object, or above it, or may have on what
// was above it and is gone.
func (f *facts) mayOrphan(r *request) bool {
	return f.AncestorInitiator || policy.MayInitiate(r.requester, f.OwnPolicies) || f.mayRelease(r) ||
		f.ParentState == decision.ParentGone && slices.ContainsFunc(f.index.Policies(), func(p *policy.Policy) bool { return f.wasAbove(p) && p.MayInitiate(r.requester) })
}

// wasAbove reports whether a policy is for the kind of the parent that is gone, or for one
// that its deletion came from. What the policy selects cannot be told any more; else what
// is held would stay for ever.
func (f *facts) wasAbove(p *policy.Policy) bool {
	return p.For.Kind == f.goneParent || f.Deletion != nil && slices.ContainsFunc(f.Deletion.Trace, func(hop v1alpha1.TraceHop) bool {
		return hop.Kind == p.For.Kind
	})
}

// asksToOrphan reports whether the request sets the annotation for that.
func (r *request) asksToOrphan() bool {
	return r.new != nil && annotation(r.new, v1alpha1.AnnotationOrphan) != r.stored(v1alpha1.AnnotationOrphan)
}

// gateWarnings tell the requester what the gate does with the request.
func (o *outcome) gateWarnings(r *request) []string {
	if o.gate == nil || o.Operator {
		return nil
	}
	var out []string
	object := objectText(r.gvk.Kind, r.objectName())
	if r.asksToOrphan() {
		unclear := gate.UnclearOrphan(r.new.GetAnnotations())
		switch {
		case !o.mayOrphan(r):
			out = append(out, fmt.Sprintf("kausality: %s of %s is for who may initiate on it or above it, and was left as it was", v1alpha1.AnnotationOrphan, object))
		case unclear != "":
			out = append(out, fmt.Sprintf("kausality: %s: %s", object, unclear))
		}
	}
	if warning := o.releaseWarning(r); warning != "" {
		out = append(out, warning)
	}
	if o.Gate == nil {
		return out
	}
	if field := o.setting.Unheeded; field != "" {
		out = append(out, fmt.Sprintf("kausality: what this request says of %s of %s counts for nothing, and was left as it was: %s", field, object, o.whoseSwitch(r)))
	}
	if warning := o.ceilingWarning(r); warning != "" {
		out = append(out, warning)
	}
	if unsupported := o.setting.Unsupported; len(unsupported) > 0 {
		out = append(out, fmt.Sprintf("kausality: %s may be changed outside (%s), and its provider knows no management policies for that alone; allow Create as well, or update the provider",
			object, strings.Join(unsupported, ", ")))
	}
	return out
}

// ceilingWarning tells the requester that the ceiling, which they have set, or which stays, keeps back what is allowed;
// empty where it does not. What is composed has a template for that.
func (o *outcome) ceilingWarning(r *request) string {
	keptBack := o.setting.KeptBack
	if len(keptBack) == 0 || o.gate.bySystem || metav1.GetControllerOf(r.new) != nil {
		return ""
	}
	object, field := objectText(r.gvk.Kind, r.objectName()), o.gate.SwitchPath()
	lift := fmt.Sprintf("leave %s out, or allow everything by it, where that is not what you want, such as in what was exported", field)
	if r.old == nil || !slices.Equal(o.setting.State.Ceiling, o.gate.state.Ceiling) {
		text := fmt.Sprintf("kausality: as %s of %s says so, nothing of %s is let through to what it stands for outside, whatever is allowed",
			field, object, strings.Join(keptBack, ", "))
		if slices.Contains(keptBack, gate.VerbDelete) {
			text += ", and that stays when the object is deleted"
		}
		return text + "; " + lift
	}
	granted := gate.Verbs(ledger.Ledger{}.Merge(o.grant.Allowances...), keptBack)
	if len(granted) == 0 {
		return ""
	}
	return fmt.Sprintf("kausality: what this request allows (%s) does not get to what %s stands for outside, as somebody who may has limited that (%s); %s",
		strings.Join(granted, ", "), object, v1alpha1.AnnotationGateCeiling, lift)
}

// staysOutside reports whether a deletion, by which what the object stands for might go as well, leaves that where
// it is, as the object's author wants.
func (o *outcome) staysOutside(ctx context.Context, r *request) bool {
	return o.Gate != nil && r.operation == decision.Delete && !o.Operator &&
		o.deletesOutside(o.asked(ctx, o.verdict)) && !o.gate.DeletesOutside(r.old)
}

// staysWarning tells of that.
func (o *outcome) staysWarning(r *request) string {
	return fmt.Sprintf("kausality: %s is deleted, and what it stands for outside stays, though it might be deleted as well: %s. "+
		"Nothing in the cluster tells of it any more; delete it outside, or make an object for it anew and delete that",
		objectText(r.gvk.Kind, r.objectName()), gate.Keeps(o.gate.state))
}

// whoseSwitch says who has a say in how far the gate may open.
func (o *outcome) whoseSwitch(r *request) string {
	switch {
	case metav1.GetControllerOf(r.new) != nil:
		return "it is for what composes the object; change that"
	case len(o.initiators) > 0:
		return anyOf(o.initiators) + " may change it"
	default:
		return "nobody may initiate changes of the object"
	}
}

// wouldWait reports whether a request changes what stands for something outside, and
// only policies that do not say Deny want that to wait for an allowance. What the
// verdict warns of is said already.
func (f *facts) wouldWait(ctx context.Context, r *request, v decision.Verdict) bool {
	if f.gate == nil || f.Gate != nil || r.new == nil || f.Operator || f.gate.bySystem || !v.Allowed ||
		f.gate.standing.Gated() || len(f.gate.standing.Reporting) == 0 || f.leavesContent(r) {
		return false
	}
	in := f.Input
	in.Gate = f.gate.target
	grant := decision.Grants(ctx, &in, v)
	return !grant.OpensGate()
}

// sayWouldWait tells the requester, where a policy says Warn, and the audit log.
func (f *facts) sayWouldWait(r *request, resp *admission.Response) {
	reporting := names(f.gate.standing.Reporting)
	if resp.AuditAnnotations == nil {
		resp.AuditAnnotations = map[string]string{}
	}
	resp.AuditAnnotations[auditGate] = "would wait: " + strings.Join(reporting, ",")
	if slices.ContainsFunc(f.gate.standing.Reporting, func(p *policy.Policy) bool { return p.Action == v1alpha1.ActionWarn }) {
		resp.Warnings = append(resp.Warnings, fmt.Sprintf("kausality: nothing allows %s to change what %s stands for; it would wait if AllowancePolicy %s said Deny",
			f.gate.System(), objectText(r.gvk.Kind, r.objectName()), strings.Join(reporting, ", ")))
	}
}

// leavesContent reports whether an update leaves what the object says outside as it is, so
// that its gate needs nothing from the parent.
func (f *facts) leavesContent(r *request) bool {
	return r.old != nil && f.gate.Content(r.old) == f.gate.Content(r.new)
}

// doubtsGate reports whether a change of what stands for something outside goes on
// nowhere, as far as the cache knows: its gate would stay closed (D2).
func (o *outcome) doubtsGate(r *request) bool {
	if o.Gate == nil || r.new == nil || !o.verdict.Allowed || o.grant.OpensGate() || o.Child.Deleting {
		return false
	}
	switch o.verdict.Reason {
	case decision.ReasonOwn, decision.ReasonBookkeeping, decision.ReasonPlatform:
		return false
	default:
		return !o.leavesContent(r)
	}
}

// gateDeviation says what is wrong with the gate that the object would be stored
// with: another webhook may have written after ours, or ours was not asked. What a
// system writes for itself is never refused (D16).
func (o *outcome) gateDeviation(r *request) string {
	if o.Gate == nil || r.new == nil || o.verdict.Reason == decision.ReasonOwn || o.gate.bySystem {
		return ""
	}
	has, _ := r.ledgerAsked() // What cannot be read opens nothing.
	for _, e := range o.next {
		if e.IsGate() && !holds(has, e) {
			return "it would lack what was allowed"
		}
	}
	for _, e := range has {
		if e.IsGate() && !hasKey(o.next, e) && !hasID(o.stored, e) {
			return "it would have what nobody allowed"
		}
	}
	content := o.setting.State.Content
	if state := gate.ReadState(r.new.GetAnnotations()); content != state.Content || o.setting.State.Name != state.Name {
		return "what it was allowed for would not be known"
	}
	var lets []string
	switch {
	case o.Child.Deleting:
		lets = o.gate.Lets(r.old)
	case content == o.gate.Content(r.new) && o.gate.IsNamed(r.new, o.setting.State.Name):
		lets = gate.Verbs(o.next, o.gate.Verbs())
	}
	for _, verb := range o.gate.Lets(r.new) {
		if !slices.Contains(lets, verb) {
			return "it would let " + verb + " through"
		}
	}
	return ""
}

// refusedGate answers a request whose object would be stored with a gate that is not
// set right. Who made it tries again: most often the mutating webhook was not asked.
func refusedGate(r *request, f *facts, why string) admission.Response {
	message := fmt.Sprintf("the gate of %s is not set right: %s; the mutating webhook of Kausality was not asked, or another one has written after it; try again",
		objectText(f.Child.GVK.Kind, r.objectName()), why)
	resp := admission.Denied(message)
	resp.Result.Code = http.StatusConflict
	resp.Result.Reason = metav1.StatusReasonConflict
	resp.AuditAnnotations = map[string]string{auditReason: "Gate", auditPolicies: strings.Join(names(f.gate.by()), ",")}
	return resp
}

// keptByOperator returns the ledger without the entries about the object itself that the
// operator takes out: its controller has seen that what they allow has been done.
func (f *facts) keptByOperator(r *request, kept ledger.Ledger) ledger.Ledger {
	if !f.Operator || f.gate == nil || r.new == nil {
		return kept
	}
	has, err := r.ledgerAsked()
	if err != nil {
		return kept
	}
	return kept.Without(func(e ledger.Entry) bool { return e.IsGate() && !hasID(has, e) })
}
