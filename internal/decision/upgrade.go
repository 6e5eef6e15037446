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
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// Upgrade is what somebody has agreed that a new version of a controller may do to the children
// of a parent that is being upgraded to it (D12).
type Upgrade struct {
	// Name and Generation are those of the UpgradeAllowance.
	Name       string
	Generation int64
	// Initiator is who last changed its spec.
	Initiator string
	// Entries are what it lets through.
	Entries []policy.Entry
	// Moves is true where the parent is being upgraded by it, whoever makes the request.
	Moves bool
}

// upgraded allows where one UpgradeAllowance covers all that nothing else does.
func upgraded(in *Input, judged judgement) (Verdict, bool) {
	if len(in.Upgrades) == 0 || !in.MayUpgrade() {
		return Verdict{}, false
	}
	u := in.upgradeFor(func(u *Upgrade) bool { return in.coversAll(u, judged.uncovered) })
	if u == nil {
		return Verdict{}, false
	}
	return Verdict{Allowed: true, Reason: ReasonUpgrade, Policies: in.Bounding(), Upgrade: u}, true
}

// MayUpgrade reports whether the parent is in a state in which a new version may bring its
// children in line. What is withheld of it, or of what it reads, is never carried out by an
// upgrade, and what it adopted without a cause is not its own.
func (in *Input) MayUpgrade() bool {
	return in.ParentState == ParentFound && !in.Parent.OneSided && !in.Parent.Deleting && !in.Parent.isWithheld() &&
		!isWithheldOf(in.Referents) && len(in.takenBack()) == 0 && !in.IsStray() && len(in.Parent.Surplus) == 0
}

// coversAll reports whether the entries cover all of the acts, of which there is at least one.
// Whose child it is, no version changes.
func (in *Input) coversAll(u *Upgrade, acts []Act) bool {
	kind := in.Child.GVK.GroupKind()
	return len(acts) > 0 && !slices.ContainsFunc(acts, func(act Act) bool {
		return act.Operation == Update && lineage.IsLineage(act.Change.Path) ||
			!slices.ContainsFunc(u.Entries, func(e policy.Entry) bool { return allows(e, kind, act) })
	})
}

// upgradeNaming returns the UpgradeAllowance that covers all of the acts, and names the fields by which the
// child stands for something outside, where these are among them; nil where none does. That somebody has agreed
// to a change of all that a version writes does not say that the child may stand for something else, or that
// what it stands for may be deleted with it.
func (in *Input) upgradeNaming(acts []Act) *Upgrade {
	if !in.MayUpgrade() {
		return nil
	}
	return in.upgradeFor(func(u *Upgrade) bool { return in.coversAll(u, acts) && len(in.NotNamedBy(u, acts)) == 0 })
}

// upgradeFor returns the first UpgradeAllowance that covers what is asked for, nil where none does. One that opens
// the gate of the child comes before one that says nothing of the outside: somebody has agreed to that all the same.
func (in *Input) upgradeFor(covers func(*Upgrade) bool) *Upgrade {
	var first *Upgrade
	for i := range in.Upgrades {
		u := &in.Upgrades[i]
		if !covers(u) {
			continue
		}
		if in.Gate == nil || len(in.upgradeSources(u)) > 0 {
			return u
		}
		if first == nil {
			first = u
		}
	}
	return first
}

// NotNamedBy returns those of the acts that change what the child stands for outside, and whose field no entry of the
// UpgradeAllowance names.
func (in *Input) NotNamedBy(u *Upgrade, acts []Act) []Act {
	kind := in.Child.GVK.GroupKind()
	return slices.DeleteFunc(slices.Clone(acts), func(act Act) bool {
		return !slices.ContainsFunc(in.Identity, func(p change.Pattern) bool {
			return act.Operation == Update && p.Touches(act.Change.Path) && !slices.ContainsFunc(u.Entries, func(e policy.Entry) bool {
				return !e.IsExternal() && e.Kind == kind && e.NamesField(p, act.Change)
			})
		})
	})
}

// startFromUpgrade begins a chain with who agreed to the upgrade.
func (in *Input) startFromUpgrade(u *Upgrade) cause {
	initiator, trace := in.CausedByUpgrade(u)
	return cause{initiator: initiator, trace: trace}
}

// CausedByUpgrade returns who agreed to an upgrade, and the way from there to the parent.
func (in *Input) CausedByUpgrade(u *Upgrade) (initiator string, trace []v1alpha1.TraceHop) {
	return u.Initiator, []v1alpha1.TraceHop{
		{Kind: v1alpha1.KindUpgradeAllowance, Name: u.Name, Generation: u.Generation, Field: v1alpha1.FieldUpgrade},
		in.parentHop(v1alpha1.FieldUpgrade),
	}
}

// upgradeSources returns what the External entries of an UpgradeAllowance say of what the child
// stands for.
func (in *Input) upgradeSources(u *Upgrade) []source {
	var verbs []string
	for _, e := range u.Entries {
		if e.IsExternal() && in.Gate.Matches(e.External) {
			verbs = append(verbs, e.ExternalVerbs...)
		}
	}
	if len(verbs) == 0 {
		return nil
	}
	slices.Sort(verbs)
	return []source{{cause: in.startFromUpgrade(u), verbs: slices.Compact(verbs)}}
}
