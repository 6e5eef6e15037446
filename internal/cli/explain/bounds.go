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

package explain

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

const anything = "anything"

// outside stands for the kind of what is outside the cluster.
const outside = "External"

// bounds returns the bounds of all children that a policy names, and what may be done outside
// the cluster.
func (h *holder) bounds() []Bound {
	out := []Bound{}
	for _, kind := range childKinds(h.Policies) {
		out = append(out, h.bound(kind))
	}
	var external []Permission
	for _, e := range h.usable() {
		if e.IsExternal() {
			external = append(external, h.permission(e))
		}
	}
	if len(external) > 0 {
		out = append(out, Bound{Kind: outside, Permissions: external})
	}
	return out
}

// bound returns what may be done to children of a kind now.
func (h *holder) bound(kind schema.GroupKind) Bound {
	in := decision.Input{
		ParentState: decision.ParentFound,
		Parent:      h.Parent,
		Child:       decision.Child{GVK: kind.WithVersion("")},
	}
	bound := Bound{Kind: kind.Kind, Action: v1alpha1.ActionAudit}
	for _, p := range in.Bounding() {
		bound.Policies = append(bound.Policies, p.Name)
		if p.Action == v1alpha1.ActionDeny || bound.Action == v1alpha1.ActionAudit {
			bound.Action = p.Action
		}
	}
	switch {
	case len(bound.Policies) == 0:
		bound.Action = ""
		bound.Permissions = []Permission{{What: anything, Because: "no policy in effect names " + kind.Kind + " for this phase"}}
	case h.finishes():
		bound.Permissions = h.adopting(kind)
	default:
		bound.Permissions = slices.Concat(h.bySection(kind), h.byAllowance(kind))
	}
	return bound
}

// finishes reports whether the holder may finish what was under way when its policy first took effect.
func (h *holder) finishes() bool {
	return h.Adopting && !h.OneSided && len(decision.Marked(h.Ledger, h.Policies)) == 0
}

// adopting returns what is allowed of a kind meanwhile: anything, for those who may have begun what is under way, or go
// on with it. Others may do what they may in any case, and an eviction is for the sake of the node.
func (h *holder) adopting(kind schema.GroupKind) []Permission {
	because := "Adopting: it was in the middle of something when its policy first took effect"
	if h.you == nil {
		because += ": for who may use its allowances, or initiate above its children; anybody else needs one"
		return []Permission{{What: anything, Because: because}}
	}
	if h.mayInitiateAbove(kind) {
		return []Permission{{What: anything, Because: because}}
	}
	others := h.notForYou(kind)
	out := []Permission{{What: anything, Because: strings.Join(append([]string{because}, others...), ", ")}}
	if len(others) == 0 {
		return out
	}
	if kind == (schema.GroupKind{Kind: "Pod"}) {
		out = append(out, Permission{What: "evictions", Because: because})
	}
	return slices.Concat(out, h.bySection(kind), h.byAllowance(kind))
}

// bySection returns what the section for the phase allows.
func (h *holder) bySection(kind schema.GroupKind) []Permission {
	var out []Permission
	switch h.Phase() {
	case v1alpha1.PhaseInitializing:
		out = h.within(kind, func(p *policy.Policy) *policy.Section { return p.Initializing })
	case v1alpha1.PhaseDeleting:
		return h.within(kind, func(p *policy.Policy) *policy.Section { return p.Deleting })
	default:
		out = h.maintaining(kind)
	}
	if len(decision.Marked(h.Ledger, h.Policies)) == 0 {
		return out
	}
	if kind == (schema.GroupKind{Kind: "Pod"}) && len(out) > 0 {
		return []Permission{{
			What:    "evictions, and creating what carries nothing withheld",
			Because: "lost Pods are replaced while a change is withheld",
		}}
	}
	return nil
}

// within returns what the sections of the policies for a phase allow. What none of them
// names is unrestricted.
func (h *holder) within(kind schema.GroupKind, section func(*policy.Policy) *policy.Section) []Permission {
	var out []Permission
	named, phase := false, string(h.Phase())
	for _, p := range h.Policies {
		s := section(p)
		if s == nil || !s.Names(kind) {
			continue
		}
		named = true
		for _, e := range s.Entries {
			if e.Kind == kind {
				out = append(out, Permission{What: strings.Join(entryTexts(e), "; "), Because: phase + ", AllowancePolicy " + p.Name})
			}
		}
	}
	if !named {
		return h.unrestricted(kind)
	}
	return out
}

// unrestricted returns what is allowed of a kind in a phase that no policy restricts: anything. Where nothing tells
// whether the holder is still new, that is for those who may use its allowances. Others need one, as if it had settled.
func (h *holder) unrestricted(kind schema.GroupKind) []Permission {
	because := string(h.Phase()) + ": no policy restricts that phase"
	if !h.Blind {
		return []Permission{{What: anything, Because: because}}
	}
	because += ", and nothing tells whether it is still new"
	if h.you == nil {
		because += ": for who may use its allowances; anybody else needs one"
	}
	return []Permission{{What: anything, Because: strings.Join(append([]string{because}, h.notForYou(kind)...), ", ")}}
}

// maintaining returns what needs no allowance.
func (h *holder) maintaining(kind schema.GroupKind) []Permission {
	var out []Permission
	for _, p := range h.Policies {
		for _, m := range p.Maintaining {
			if m.Kind != kind {
				continue
			}
			because := []string{"always (maintaining, AllowancePolicy " + p.Name + ")"}
			for _, s := range m.Subjects {
				because = append(because, "for "+string(s.Kind)+" "+strings.TrimPrefix(s.Namespace+"/"+s.Name, "/"))
			}
			for _, c := range m.Conditions {
				because = append(because, "if "+c.Source())
			}
			if len(m.Subjects) == 0 && !h.mayInitiateAbove(kind) {
				because = append(because, h.notForYou(kind)...)
			}
			out = append(out, Permission{What: strings.Join(entryTexts(m.Entry), "; "), Because: strings.Join(because, ", ")})
		}
	}
	return out
}

// usable returns the allowances that count now.
func (h *holder) usable() ledger.Ledger {
	if h.Deleting || len(decision.Marked(h.Ledger, h.Policies)) > 0 {
		return nil
	}
	return h.Ledger.Without(ledger.Entry.IsWithheld)
}

// byAllowance returns what the ledger allows.
func (h *holder) byAllowance(kind schema.GroupKind) []Permission {
	var out []Permission
	for _, e := range h.usable() {
		if !e.IsExternal() && decision.MatchesKind(e, kind) {
			p := h.permission(e)
			p.Because = strings.Join(append([]string{p.Because}, h.notForYou(kind)...), ", ")
			out = append(out, p)
		}
	}
	return out
}

// notForYou says that allowances of the holder on children of a kind are for others, where who asks may
// not use them.
func (h *holder) notForYou(kind schema.GroupKind) []string {
	if h.you == nil {
		return nil
	}
	in := decision.Input{Requester: *h.you, Parent: h.Parent, OwnPolicies: h.ownOf(kind)}
	if in.MayExercise() {
		return nil
	}
	return []string{"not for " + h.you.Username + ": for " + strings.Join(in.Exercisers(), " or ")}
}

// mayInitiateAbove reports whether who asks may initiate above children of a kind.
func (h *holder) mayInitiateAbove(kind schema.GroupKind) bool {
	return h.you != nil && h.compiled.MayInitiateAbove(append([]policy.Holder{{Kind: kind}}, h.chain...), *h.you)
}

func (h *holder) permission(e ledger.Entry) Permission {
	return Permission{
		What: phrase.Allowance(e.Allowance), Because: phrase.Trace(e.Initiator, h.hops(e)), Allowance: &e.Allowance, When: h.when(e),
	}
}

// hops returns the trace of an entry of the object's ledger, with the object by its name.
func (h *holder) hops(e ledger.Entry) []v1alpha1.TraceHop {
	return phrase.Named(e.Trace, v1alpha1.TargetReference{Kind: h.GVK.Kind, Name: h.Name})
}

// rules returns what changes of the object would allow.
func (h *holder) rules() []Rule {
	out := []Rule{}
	for _, p := range h.Policies {
		for _, r := range p.Rules {
			rule := Rule{Policy: p.Name, Trigger: r.Trigger.String(), Allows: []string{}}
			for _, c := range r.Conditions {
				rule.Conditions = append(rule.Conditions, c.Source())
			}
			for _, c := range r.Capture {
				rule.Captures = append(rule.Captures, c.Text)
			}
			rule.Allows = append(rule.Allows, ruleTexts(&r)...)
			out = append(out, rule)
		}
	}
	return out
}

// ruleTexts say what a rule of a policy allows.
func ruleTexts(r *policy.Rule) []string {
	if r.AllowsAnything() {
		return []string{phrase.Allowance(v1alpha1.Allowance{Kind: v1alpha1.Any, Mutation: v1alpha1.Any})}
	}
	var out []string
	for _, e := range r.Entries {
		out = append(out, entryTexts(e)...)
	}
	for _, e := range r.Through {
		for _, text := range entryTexts(e.Entry) {
			out = append(out, phrase.Through(text, e.Readers.Kind, e.Kind))
		}
	}
	return out
}

// entryTexts say what an entry of a policy allows.
func entryTexts(e policy.Entry) []string {
	if e.IsExternal() {
		return []string{phrase.Allowance(v1alpha1.Allowance{
			Relation: v1alpha1.RelationExternal, External: e.External, Mutations: e.ExternalVerbs,
		})}
	}
	kind := e.Kind.Kind
	if e.Kind.Empty() {
		kind = e.Resource.GroupResource().String() + " (not served)"
	}
	var out, whole []string
	if e.Create {
		whole = append(whole, v1alpha1.MutationCreateObject)
	}
	if e.Delete {
		whole = append(whole, v1alpha1.MutationDeleteObject)
	}
	if len(whole) > 0 {
		out = append(out, strings.Join(whole, " and ")+" "+kind)
	}
	for _, f := range e.Fields {
		a := v1alpha1.Allowance{Kind: kind, Mutation: f.Pattern.String(), Verbs: f.Verbs}
		if len(a.Verbs) == 0 {
			// Of fields only: without verbs, "*" would be anything at all.
			a.Verbs = []v1alpha1.MutationVerb{v1alpha1.MutationInsert, v1alpha1.MutationDelete, v1alpha1.MutationMutate}
		}
		out = append(out, phrase.Allowance(a))
	}
	return out
}
