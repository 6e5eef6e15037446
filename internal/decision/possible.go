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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// Impossible filters acts to those that no change of the parent, nor of what it reads, would ever
// allow: no rule is about them, and no section for the phase. through are the policies for what the
// parent reads.
func (in *Input) Impossible(acts []Act, through []*policy.Policy) []Act {
	return slices.DeleteFunc(in.Ruleless(acts, through), func(act Act) bool { return in.isMaintained(act, anyEntry) })
}

// Ruleless filters acts to those that no change of the parent, nor of what it reads, would ever allow, as no rule is about
// them, nor what an initializing parent may do: an entry of a maintaining section may be all that lets them through.
func (in *Input) Ruleless(acts []Act, through []*policy.Policy) []Act {
	var out []Act
	for _, act := range acts {
		if !in.IsPossible(act, through) && !in.isInitializing(act) && !in.isLetGo(act) {
			out = append(out, act)
		}
	}
	return out
}

// IsPossible reports whether a change of the parent, or of what it reads, may allow the act by some
// rule.
func (in *Input) IsPossible(act Act, through []*policy.Policy) bool {
	kind, reader := in.Child.GVK.GroupKind(), in.Parent.GVK.GroupKind()
	return slices.ContainsFunc(in.Parent.Policies, func(p *policy.Policy) bool { return mayAllow(p, kind, act) }) ||
		slices.ContainsFunc(through, func(p *policy.Policy) bool { return mayAllowThrough(p, reader, kind, act) })
}

// mayAllowThrough reports whether some rule of a policy may allow an act on a child of a kind because its parent, of
// another kind, reads what changes.
func mayAllowThrough(p *policy.Policy, reader, kind schema.GroupKind, act Act) bool {
	return slices.ContainsFunc(p.Throughs(), func(e policy.ThroughEntry) bool {
		return e.Readers.Kind == reader && allows(e.Entry, kind, act)
	})
}

// OnlyThrough filters policies for what the parent reads to those with rules about one of the acts, for messages. There
// are none where rules of the parent's own policies are about one of them.
func (in *Input) OnlyThrough(acts []Act, through []*policy.Policy) []*policy.Policy {
	kind, reader := in.Child.GVK.GroupKind(), in.Parent.GVK.GroupKind()
	if slices.ContainsFunc(in.Parent.Policies, func(p *policy.Policy) bool { return in.countPossible(p, acts) > 0 }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(through), func(p *policy.Policy) bool {
		return !slices.ContainsFunc(acts, func(act Act) bool { return mayAllowThrough(p, reader, kind, act) })
	})
}

// HelpedBy names who has the acts allowed by approving what is withheld of the parent: the initiators of those of its
// policies that have, for each of the acts, a rule about it which a change of one of the paths triggers.
func (in *Input) HelpedBy(paths []string, acts []Act) []string {
	var helping []*policy.Policy
	for _, p := range in.Parent.Policies {
		if !slices.ContainsFunc(acts, func(act Act) bool { return !in.isTriggeredBy(p, paths, act) }) {
			helping = append(helping, p)
		}
	}
	return policy.InitiatorsIn(helping)
}

// isTriggeredBy reports whether a change of one of the paths triggers a rule of a policy that may allow an act.
func (in *Input) isTriggeredBy(p *policy.Policy, paths []string, act Act) bool {
	return slices.ContainsFunc(paths, func(text string) bool {
		path, err := change.ParsePath(text)
		if err != nil {
			return false
		}
		for r := range p.Triggered(path) {
			if ruleAllows(*r, in.Child.GVK.GroupKind(), act) {
				return true
			}
		}
		return false
	})
}

// AllowedByEntries reports whether one of some entries is about an act on the child.
func (in *Input) AllowedByEntries(entries []policy.Entry, act Act) bool {
	return slices.ContainsFunc(entries, func(e policy.Entry) bool { return allows(e, in.Child.GVK.GroupKind(), act) })
}

// InitiatorsFor names those who may have the acts allowed by changing the parent, for messages: the initiators of the
// policies for it with rules about all of the acts, or else about one of them.
func (in *Input) InitiatorsFor(acts []Act) []string {
	var all, some []*policy.Policy
	for _, p := range in.Parent.Policies {
		switch n := in.countPossible(p, acts); {
		case n == len(acts):
			all = append(all, p)
		case n > 0:
			some = append(some, p)
		}
	}
	if names := policy.InitiatorsIn(all); len(names) > 0 {
		return names
	}
	return policy.InitiatorsIn(some)
}

// countPossible returns how many of the acts rules of a policy for the parent may allow.
func (in *Input) countPossible(p *policy.Policy, acts []Act) int {
	n := 0
	for _, act := range acts {
		if mayAllow(p, in.Child.GVK.GroupKind(), act) {
			n++
		}
	}
	return n
}

// mayAllow reports whether some rule of a policy may allow an act on a child of a kind.
func mayAllow(p *policy.Policy, kind schema.GroupKind, act Act) bool {
	return slices.ContainsFunc(p.Rules, func(r policy.Rule) bool { return ruleAllows(r, kind, act) })
}

func ruleAllows(r policy.Rule, kind schema.GroupKind, act Act) bool {
	return r.AllowsAnything() || slices.ContainsFunc(r.Entries, func(e policy.Entry) bool { return allows(e, kind, act) })
}

// IsForOthers reports whether what could allow the acts is for others than the requester, who may not
// use allowances of the parent. No section lets through what is done to a stray.
func (in *Input) IsForOthers(acts []Act) bool {
	return !in.MayExercise() && slices.ContainsFunc(acts, func(act Act) bool {
		return in.IsStray() || !in.isInitializing(act) && !in.isMaintained(act, in.mayMaintain)
	})
}

// isInitializing reports whether the parent is new and the act one of those that may then be done, if
// nothing is withheld.
func (in *Input) isInitializing(act Act) bool {
	section := func(p *policy.Policy) *policy.Section { return p.Initializing }
	return in.Parent.Phase() == v1alpha1.PhaseInitializing && (!in.Parent.Blind || in.isNamed(section)) && in.within(act, section)
}

// ToLetGo is part of what a requester is told who may not let go of a child, or have it adopted. The plugin knows by
// it that no rule is missing.
const ToLetGo = "to let go of it, or to adopt it"

// WouldAdopt is part of what a requester is told whose request would make the child a stray, and does more than that.
// The plugin knows by it that no change of the parent helps.
const WouldAdopt = "would adopt it without a cause"

// IsLetGo reports whether one of the acts lets go of the child, or adopts it, as the parent's controller
// does: that takes no rule, and is for whoever may use the parent's allowances.
func (in *Input) IsLetGo(acts []Act) bool { return len(in.LettingGo(acts)) > 0 }

// LettingGo filters acts to those.
func (in *Input) LettingGo(acts []Act) []Act {
	return slices.DeleteFunc(slices.Clone(acts), func(act Act) bool { return !in.isLetGo(act) })
}

func (in *Input) isLetGo(act Act) bool {
	return in.Release && act.Operation == Update && lineage.IsLineage(act.Change.Path)
}

// IsForInitiators reports whether one of the acts lets go of the child by a label that it has, which is for who may initiate
// on the parent alone: no controller has its own children selected no more.
func (in *Input) IsForInitiators(acts []Act) bool {
	return slices.ContainsFunc(in.LettingGo(acts), func(act Act) bool {
		return !lineage.IsReference(act.Change.Path) && act.Change.Verb != change.Insert
	})
}
