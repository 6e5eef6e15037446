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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// The verbs of a system outside by which a child follows what it was let through for
// without an allowance. Deleting is never among them.
var followingVerbs = []string{gate.VerbCreate, externalUpdate}

const externalUpdate = "Update"

// external returns the entries that a child behind a gate gets: what lets the request
// through may go on outside the cluster, as far as the parent's External entries say
// (D16). They leave out the target, which is what the child itself stands for.
func (in *Input) external(v Verdict) []v1alpha1.Allowance {
	if in.Gate == nil || in.ParentState != ParentFound || in.Parent.OneSided {
		return nil
	}
	switch v.Reason {
	case ReasonOwn:
		return in.creating()
	case ReasonUnchanged, ReasonFinishing, ReasonPlatform, ReasonBookkeeping:
		return nil
	default:
	}
	var grant Grant
	usable, entries := in.usable(), in.outsideEntries()
	for _, act := range in.Acts() {
		if in.isRelease(act) {
			continue
		}
		for _, s := range in.outside(act, v, usable, entries) {
			grant.add(in.opening(s, act))
		}
	}
	return grant.Allowances
}

// source is a permission of the parent to do something outside.
type source struct {
	cause
	verbs []string
}

// opening returns the entry of the child that follows from a permission of the parent.
func (in *Input) opening(s source, act Act) v1alpha1.Allowance {
	field := act.String()
	if act.Operation == Create {
		field = v1alpha1.FieldCreated
	}
	return v1alpha1.Allowance{
		Relation:   v1alpha1.RelationExternal,
		Mutations:  slices.Sorted(slices.Values(s.verbs)),
		Generation: in.Child.Generation,
		Initiator:  s.initiator,
		Trace:      append(slices.Clone(s.trace), in.hop(field, nil)),
	}
}

// outside returns the permissions of the parent, those of the entries, that go with what
// lets one act through: what is usable, or the reason of the verdict.
func (in *Input) outside(act Act, v Verdict, usable []permit, entries ledger.Ledger) []source {
	if caused := covering(usable, act); len(caused) > 0 {
		return in.sources(entries, goOnWith(caused))
	}
	switch v.Reason {
	case ReasonUnbounded:
		// Nothing bounds the child itself; what is outside is bounded all the same.
		if in.MayExercise() {
			return in.sources(entries, func(ledger.Entry) bool { return true })
		}
		return nil
	case ReasonInitializing:
		return in.sources(entries, ledger.Entry.IsCreation)
	case ReasonDeleting:
		return in.deletingSources(v)
	case ReasonUpgrade:
		return in.upgradeSources(v.Upgrade)
	case ReasonAdopting, ReasonBreakGlass, ReasonWarned, ReasonAudited:
		return []source{{cause: in.startFrom(v.Reason), verbs: followingVerbs}}
	default:
		return nil
	}
}

// outsideEntries returns the entries of the parent's ledger that permit something
// outside which the child stands for. While a change of the parent is withheld there
// are none, and none once it is being deleted.
func (in *Input) outsideEntries() ledger.Ledger {
	if in.Parent.Deleting || in.Parent.isWithheld() || in.IsStray() {
		return nil
	}
	return in.Parent.Ledger.Without(func(e ledger.Entry) bool {
		switch {
		case e.IsGate():
			return true // about the parent itself
		case e.IsExternal():
			return !in.Gate.Matches(e.External)
		default:
			return e.Kind != v1alpha1.Any || len(e.Mutations) == 0
		}
	})
}

// sources returns the permissions in those of the entries for which go on holds.
func (in *Input) sources(entries ledger.Ledger, goOn func(ledger.Entry) bool) []source {
	var out []source
	for _, e := range entries {
		if goOn(e) {
			out = append(out, source{
				cause: cause{initiator: e.Initiator, trace: in.acrossToChild(in.parentTrace(e.Trace))},
				verbs: e.Mutations,
			})
		}
	}
	return out
}

// goOnWith tells which permissions go on with what the entries cover: those of the
// same people. A ledger keeps one entry by each person for the same thing (D4), that
// of their latest change or of the first of several fields, so that nothing narrower
// than who made the change can be told from it.
func goOnWith(covering ledger.Ledger) func(ledger.Entry) bool {
	return func(x ledger.Entry) bool {
		return slices.ContainsFunc(covering, func(e ledger.Entry) bool { return e.Initiator == x.Initiator })
	}
}

// deletingSources returns what the External entries of the deleting section say, where it
// lets an act through. A maintaining section has none: what needs no change of the
// parent changes nothing outside.
func (in *Input) deletingSources(v Verdict) []source {
	verbs := in.deletingVerbs(in.Parent.Policies)
	if len(verbs) == 0 || in.IsStray() {
		return nil
	}
	from, ok := in.fromDeletion(v)
	if !ok {
		from = in.startFrom(ReasonDeleting)
	}
	return []source{{cause: from, verbs: verbs}}
}

// deletingVerbs returns the verbs that the External entries of the policies' deleting
// sections have for what the child stands for.
func (in *Input) deletingVerbs(policies []*policy.Policy) []string {
	var verbs []string
	for _, p := range policies {
		if p.Deleting == nil {
			continue
		}
		for _, e := range p.Deleting.Entries {
			if e.IsExternal() && in.Gate.Matches(e.External) {
				verbs = append(verbs, e.ExternalVerbs...)
			}
		}
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

// ExternalDeletion reports whether what a child stands for outside may be deleted along
// with it, for which somebody has to say so: no section permits it by being left out
// (D16). parentPolicies are those that bound the parent's deletion, which are not in
// effect any more once it is gone.
func (in *Input) ExternalDeletion(v Verdict, parentPolicies []*policy.Policy) bool {
	if in.Gate == nil || !v.Allowed {
		return false
	}
	if v.Reason == ReasonBreakGlass {
		return true
	}
	if v.Reason == ReasonOrigin && deletes(in.deletingVerbs(in.OwnPolicies)) {
		return true
	}
	if in.ParentState == ParentFound {
		caused := covering(in.usable(), Act{Operation: Delete})
		if len(caused) > 0 {
			return slices.ContainsFunc(in.sources(in.outsideEntries(), goOnWith(caused)),
				func(s source) bool { return deletes(s.verbs) })
		}
	}
	going := in.ParentState == ParentGone || in.ParentState == ParentFound && in.Parent.Deleting
	return going && !in.wasStray() && in.Deletion != nil && deletes(in.deletingVerbs(parentPolicies))
}

func deletes(verbs []string) bool {
	return slices.Contains(verbs, gate.VerbDelete) || slices.Contains(verbs, v1alpha1.Any)
}

// aboutItself makes the entries that a child behind a gate is granted by its own
// policies, for what it stands for, open its own gate.
func (in *Input) aboutItself(allowances []v1alpha1.Allowance) []v1alpha1.Allowance {
	if in.Gate == nil {
		return allowances
	}
	var grant Grant
	for _, a := range allowances {
		switch {
		case a.Relation == v1alpha1.RelationExternal && in.Gate.Matches(a.External):
			a.External = nil
		case a.Kind == v1alpha1.Any && len(a.Mutations) > 0:
			grant.add(v1alpha1.Allowance{
				Relation: v1alpha1.RelationExternal, Mutations: a.Mutations,
				Generation: a.Generation, Initiator: a.Initiator, Trace: a.Trace,
			})
		}
		grant.add(a)
	}
	return grant.Allowances
}
