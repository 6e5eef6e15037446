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

package decision

import (
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// cause is the beginning of a chain: who started it, and the way to the parent.
type cause struct {
	initiator string
	trace     []v1alpha1.TraceHop
	// begins is true where the chain begins with the requester.
	begins bool
}

// step is an act of a holder of which the cause is asked for: one of its changes, for the
// rules of one policy, or its creation or deletion.
type step struct {
	act Act
	// initiates is true where the policies whose entries are asked for let the requester
	// initiate.
	initiates bool
	// approved is true for a change that was made before and is approved now.
	approved bool
	// readBy is true where the policy has entries for readers of the holder.
	readBy bool
	// fills is true where the requester may fill in fields of the holder as a part of its creation.
	fills bool
	// usable are the allowances that may cover the act.
	usable []permit
}

// causeOf finds the cause of a step by the first of these that holds (D2, "Chain"):
//
//  1. a person who may initiate starts one;
//  2. an allowance of the parent covers the very act: its trace goes on;
//  3. a service account that may initiate starts one, but where the deletion of the
//     parent explains the creation or deletion;
//  4. a controller carries out a command that somebody with a right to it gave;
//  5. what let the request through must be able to go on further down: what
//     happens below a parent that is being deleted goes back to who deleted it,
//     an upgrade to who agreed to it, and what its controller fills in of a holder
//     that is initializing to who created that;
//     while the holder is initializing without bounds, and where a section or
//     adoption let the change through, or the requester breaks the glass, the
//     requester starts one that says so.
//
// Else a change has no cause; a creation or a deletion always has one, whoever makes the
// request, if nobody else.
func (in *Input) causeOf(s step, v Verdict) (cause, bool) {
	changes := s.act.Operation == Update
	if s.initiates && !in.Requester.IsController() {
		return in.start(), true
	}
	if e, ok := justification(s.usable, s.act); ok {
		return cause{initiator: e.Initiator, trace: in.parentTrace(e.Trace)}, true
	}
	if s.initiates && changes {
		return in.start(), true
	}
	if c, ok := in.commanded(s); ok {
		return c, true
	}
	if s.approved {
		return cause{}, false
	}
	if in.BreakGlass != "" && changes {
		return in.startFrom(ReasonBreakGlass), true
	}
	if d, ok := in.fromDeletion(v); ok {
		return d, true
	}
	if s.initiates {
		return in.start(), true
	}
	if v.Upgrade != nil {
		return in.startFromUpgrade(v.Upgrade), true
	}
	if changes && s.fills && s.act.Change.Verb == change.Insert && !s.readBy {
		return in.creation(), true
	}
	if changes && in.initializingUnbounded() && !s.readBy { // What others read is never only its maker's.
		return in.startFrom(ReasonInitializing), true
	}
	if carries(v.Reason) {
		return in.startFrom(v.Reason), true
	}
	return in.start(), !changes
}

// chain finds the cause of a change, for a rule of one policy.
func (g *granter) chain(p *policy.Policy, c change.Change, approved bool) (cause, bool) {
	return g.causeOf(step{
		act:       Act{Operation: Update, Change: c},
		initiates: p.MayInitiate(g.Requester) || approved && g.AncestorInitiator,
		approved:  approved,
		usable:    g.usable,
		readBy:    len(p.Throughs()) > 0,
		fills:     g.mayFill(p) && !g.Child.withholds(c.Path),
	}, g.verdict)
}

// mayFill reports whether the holder is initializing and the requester is a controller that the policy
// names. Many controllers write defaults into the spec of a new object before they do anything else.
// Observed of the RabbitMQ operator: its default image was withheld, and the object got no children at
// all. Policies with External entries are left out, as the gate knows what providers fill in.
func (in *Input) mayFill(p *policy.Policy) bool {
	return in.Child.Phase() == v1alpha1.PhaseInitializing && in.Requester.IsController() && p.Names(in.Requester) &&
		!slices.ContainsFunc(p.Entries(), policy.Entry.IsExternal)
}

// creation returns the cause of the creation of a holder that is initializing.
func (in *Input) creation() cause {
	e := in.Child.Ledger[slices.IndexFunc(in.Child.Ledger, ledger.Entry.IsCreation)]
	return cause{initiator: e.Initiator, trace: slices.Clone(e.Trace)}
}

// chainOfHolder finds the cause of the creation or deletion of a holder.
func (in *Input) chainOfHolder(op Operation, v Verdict) cause {
	o, _ := in.causeOf(step{act: Act{Operation: op}, initiates: origin(in), usable: in.usable()}, v)
	return o
}

// fromDeletion returns the cause of what happens to a child because its parent is going
// or gone.
func (in *Input) fromDeletion(v Verdict) (cause, bool) {
	d := in.CausedByDeletion(v)
	if d == nil {
		return cause{}, false
	}
	return cause{initiator: d.Initiator, trace: slices.Clone(d.Trace)}, true
}

// CausedByDeletion returns the deletion of the parent where that is why the request
// passes: its phase lets it through, or the garbage collector follows it. Else it
// is nil.
func (in *Input) CausedByDeletion(v Verdict) *v1alpha1.Deletion {
	if v.Reason == ReasonDeleting || v.Reason == ReasonPlatform && in.Operation == Delete {
		return in.Deletion
	}
	return nil
}

// start begins a chain with the requester; its first hop is the holder itself.
func (in *Input) start() cause {
	return cause{initiator: in.Requester.Username, begins: true}
}

// startFrom begins a chain with the requester whose first hop says what let the
// request through: on the parent, or on the holder itself where it is a root.
func (in *Input) startFrom(reason Reason) cause {
	field := fieldFor(reason)
	first := in.hop(field, nil)
	if in.ParentState == ParentFound {
		first = in.parentHop(field)
	}
	if reason == ReasonBreakGlass {
		first.Attestations = map[string]string{BreakGlassAttestation: in.BreakGlass}
	}
	return cause{initiator: in.Requester.Username, trace: []v1alpha1.TraceHop{first}, begins: true}
}

// BreakGlassAttestation is what the first hop of a chain attests that began with
// broken glass: the reason that was given.
const BreakGlassAttestation = "metadata.annotations[" + v1alpha1.AnnotationBreakGlass + "]"

// carries reports whether what a reason lets through must be able to go on further
// down without an allowance, or its chain is stuck half-way.
func carries(r Reason) bool {
	switch r {
	case ReasonInitializing, ReasonMaintaining, ReasonDeleting, ReasonReleased, ReasonDiscarding, ReasonReturning,
		ReasonAdopting, ReasonBreakGlass, ReasonWarned, ReasonAudited:
		return true
	default:
		return false
	}
}

// fieldFor returns the field of a hop that stands for a reason, such as
// "(maintaining)".
func fieldFor(r Reason) string {
	if r == ReasonAdopting {
		return "(adopted)"
	}
	return "(" + strings.ToLower(string(r)) + ")"
}

// initializingUnbounded reports whether the holder itself is initializing and none
// of its policies bounds that. Where nothing but time tells that it is, people are not free
// for it: observed of a kind whose status never tells, a stranger could change anything for
// ten minutes after the creation of an object.
func (in *Input) initializingUnbounded() bool {
	return in.Child.Phase() == v1alpha1.PhaseInitializing && (!in.Child.Blind || in.Requester.IsController()) &&
		!slices.ContainsFunc(in.OwnPolicies, func(p *policy.Policy) bool { return p.Initializing != nil })
}

// hop returns the hop of the holder itself.
func (in *Input) hop(field string, attestations map[string]string) v1alpha1.TraceHop {
	return v1alpha1.TraceHop{
		Kind:         in.Child.GVK.Kind,
		Name:         in.Child.Name,
		Generation:   in.Child.Generation,
		Field:        field,
		Attestations: attestations,
	}
}

// parentHop returns a hop of the parent, as the first of a trace that goes on to the child.
func (in *Input) parentHop(field string) v1alpha1.TraceHop {
	hop := v1alpha1.TraceHop{Kind: in.Parent.GVK.Kind, Name: in.Parent.Name, Generation: in.Parent.Generation, Field: field}
	return in.acrossToChild([]v1alpha1.TraceHop{hop})[0]
}

// acrossToChild returns a trace that ends with the parent as it goes on to the child.
func (in *Input) acrossToChild(trace []v1alpha1.TraceHop) []v1alpha1.TraceHop {
	return ledger.Across(trace, in.Parent.Namespace, in.Child.Namespace)
}

// parentTrace returns the trace of one of the parent's entries. A parent that was
// created under generateName did not know its own name then.
func (in *Input) parentTrace(trace []v1alpha1.TraceHop) []v1alpha1.TraceHop {
	out := slices.Clone(trace)
	for i := range out {
		if out[i].Name == "" && out[i].Kind == in.Parent.GVK.Kind {
			out[i].Name = in.Parent.Name
		}
	}
	return out
}
