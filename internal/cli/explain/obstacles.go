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
	"context"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// obstacles returns what keeps a holder from allowing more. above are who may
// initiate above it.
func (h *holder) obstacles(above []string) []Obstacle {
	out := h.withheld(decision.Marked(h.Ledger, h.Policies), above)
	ref := record.TargetOf(h.obj)
	if h.OneSided {
		out = append(out, Obstacle{What: "OneSided", Message: fmt.Sprintf(
			"it does not name the child in %s: it bounds it, and nothing that it allows counts", lineage.ResourceRefPath)})
	}
	if h.unreadable {
		out = append(out, Obstacle{What: "Unreadable", Message: "its ledger cannot be read and counts as empty; the AllowanceRecord has its text"})
	}
	if h.rec != nil {
		out = append(out, recorded(&h.rec.Status, ref)...)
	}
	for _, p := range h.Policies {
		if stored := h.compiled.Objects[p.Name]; stored != nil {
			out = append(out, wrongWith(stored)...)
		}
	}
	return out
}

// withheld returns the changes of a holder from which nothing follows.
func (h *holder) withheld(marks ledger.Ledger, above []string) []Obstacle {
	out := make([]Obstacle, 0, len(marks))
	since := h.firstSeen()
	for _, e := range marks {
		message := fmt.Sprintf("the change of %s by %s: it stands, but nothing follows from it, and no allowance counts meanwhile",
			e.Mutation, phrase.Author(e.Initiator))
		notMet := h.notMet(e.Mutation)
		if len(notMet) > 0 {
			message += ". Nobody can approve it before this holds of the object, which it does not: " + strings.Join(notMet, "; ") +
				". Change the object so that it does, and approve then"
		}
		out = append(out, Obstacle{
			What:    "Withheld",
			Since:   since[e.ID()],
			Message: message,
			NotMet:  notMet,
			Command: phrase.Command("approve", record.TargetOf(h.obj), decision.Approvals([]v1alpha1.Allowance{e.Allowance})...),
			By:      decision.Approvers(h.Policies, above, e.Mutation),
		})
	}
	return out
}

// notMet returns the conditions because of which nobody can approve a change of the holder as it is.
func (h *holder) notMet(path string) []string {
	return decision.NotMet(context.Background(), h.Policies, decision.Child{
		Namespace: h.Namespace, Name: h.Name, New: h.obj.Object,
	}, path)
}

func (h *holder) firstSeen() map[string]*metav1.Time {
	out := map[string]*metav1.Time{}
	if h.rec != nil {
		for i := range h.rec.Status.FirstSeen {
			out[h.rec.Status.FirstSeen[i].ID] = &h.rec.Status.FirstSeen[i].Time
		}
	}
	return out
}

// recorded returns the obstacles that only the record tells.
func recorded(status *v1alpha1.AllowanceRecordStatus, ref v1alpha1.TargetReference) []Obstacle {
	var out []Obstacle
	if b := status.Blocked; b != nil {
		o := Obstacle{What: "Blocked", Message: b.Message, Command: phrase.Command("why", ref)}
		if !b.Since.IsZero() {
			o.Since = &b.Since
		}
		out = append(out, o)
	}
	out = append(out, straysIn(status.Strays, ref)...)
	if c := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOverdue); c != nil && c.Status == metav1.ConditionTrue {
		out = append(out, Obstacle{What: c.Type, Since: &c.LastTransitionTime, Message: c.Message})
	}
	if status.Adopting {
		out = append(out, Obstacle{
			What: "Adopting", Since: status.AdoptingSince,
			Message: "it was in the middle of something when its policy first took effect; until it settles, its children are unrestricted " +
				"for who may use its allowances, or initiate above them",
		})
	}
	return out
}

// mostBelow is how many objects are named that are blocked below another one.
const mostBelow = 5

// blockedBelow returns what is blocked below the object, and so may keep its controllers waiting.
func blockedBelow(below []*v1alpha1.AllowanceRecord) []Obstacle {
	var out []Obstacle
	for _, rec := range below {
		b := rec.Status.Blocked
		if b == nil {
			continue
		}
		if len(out) == mostBelow {
			return append(out, Obstacle{What: blockedBelowIt, Message: "there are more"})
		}
		ref := rec.Spec.TargetRef
		out = append(out, Obstacle{
			What: blockedBelowIt, Since: &b.Since, Message: phrase.Target(ref) + ": " + b.Message, Command: phrase.Command("why", ref),
		})
	}
	return out
}

// blockedBelowIt is what an obstacle is called that something below the object has.
const blockedBelowIt = "BlockedBelow"

// good are the conditions of a policy that should be true; all others should not.
var good = []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionEnforced, v1alpha1.ConditionDerived}

// notYet is what an obstacle is called that is a policy which is not enforced.
const notYet = "Not " + v1alpha1.ConditionEnforced

// wrongWith returns what is wrong with a policy. One of which the operator has said nothing does not count yet,
// though it is shown as it will.
func wrongWith(p *v1alpha1.AllowancePolicy) []Obstacle {
	var out []Obstacle
	if len(p.Status.Conditions) == 0 && p.Status.AdoptedGeneration == 0 {
		out = append(out, Obstacle{What: notYet, Message: fmt.Sprintf(
			"AllowancePolicy %s: the operator has not come to it, or does not run; none of it counts yet", p.Name)})
	}
	for _, c := range p.Status.Conditions {
		want := metav1.ConditionFalse
		if slices.Contains(good, c.Type) {
			want = metav1.ConditionTrue
		}
		if c.Status == want {
			continue
		}
		what := c.Type
		if want == metav1.ConditionTrue {
			what = "Not " + c.Type
		}
		out = append(out, Obstacle{What: what, Since: &c.LastTransitionTime, Message: fmt.Sprintf("AllowancePolicy %s: %s", p.Name, c.Message)})
	}
	return out
}

// leavesOut says why a policy is not about an object.
const leavesOut = "its selectors leave this object out"

// policiesFor returns the policies for the object's kind.
func policiesFor(s *sight) []Policy {
	effective, all := s.policies.InEffect(s.chain), s.policies.For(s.chain[0].Kind)
	out := make([]Policy, 0, len(all))
	for _, p := range all {
		view := Policy{Name: p.Name, InEffect: slices.Contains(effective, p), Action: p.Action, Initiators: p.Initiators()}
		switch {
		case view.InEffect:
		case !selects(p, s.chain[0]):
			view.WhyNot = leavesOut
		default:
			view.WhyNot = "it waits: " + noStart(s)
		}
		out = append(out, view)
	}
	for _, idle := range s.policies.IdleFor(s.chain[0].Kind) {
		why := idle.Why
		switch {
		case !selects(idle.Policy, s.chain[0]):
			why = leavesOut
		case slices.ContainsFunc(s.unenforced, func(u cluster.Unenforced) bool { return slices.Contains(u.Policies, idle.Policy.Name) }):
			why = "it is not enforced, as said above"
		}
		out = append(out, Policy{Name: idle.Policy.Name, WhyNot: why, Action: idle.Policy.Action, Initiators: idle.Policy.Initiators()})
	}
	return out
}

func selects(p *policy.Policy, h policy.Holder) bool { return p.Selects(h.Labels, h.NamespaceLabels) }

// waiting returns the policies that select the object and wait for somebody who could
// start a chain.
func waiting(s *sight) []Obstacle {
	var out []Obstacle
	effective := s.policies.InEffect(s.chain)
	for _, p := range s.policies.For(s.chain[0].Kind) {
		if selects(p, s.chain[0]) && !slices.Contains(effective, p) {
			out = append(out, Obstacle{What: "Waiting", Message: "AllowancePolicy " + p.Name + ": " + noStart(s)})
		}
	}
	return out
}

// noStart says why nobody can start the chains that a policy continues.
func noStart(s *sight) string {
	if s.parent == nil {
		return "it names nobody who may initiate, and the object has no parent that could pass anything on"
	}
	return fmt.Sprintf("it names nobody who may initiate, and no policy in effect for %s names %s",
		phrase.Object(s.ref.GVK.Kind, s.ref.Name), s.chain[0].Kind.Kind)
}
