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
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// build explains what was read.
func build(s *sight) *Report {
	if s.untold {
		return buildUntold(s)
	}
	obj := s.obj.obj
	self := holderOf(s.obj, s.chain, s.policies)
	self.you = s.you
	report := &Report{
		SwitchedOff: s.policies.Off,
		Unenforced:  s.unenforced,
		Object:      record.TargetOf(obj),
		Phase:       self.Phase(),
		Generation:  obj.GetGeneration(),
		AsParent: Parent{
			Policies:   policiesFor(s),
			Bounds:     self.bounds(),
			Rules:      self.rules(),
			Obstacles:  slices.Concat(self.obstacles(s.policies.InitiatorsAbove(s.chain)), waiting(s), blockedBelow(s.below)),
			Upgrades:   upgradesOf(s),
			Initiators: names(self.Policies),
		},
		Generated:    generated(obj),
		Gate:         gateOf(s),
		ParentUntold: s.parentUntold,
		Notes:        s.notes,
	}
	if len(self.Policies) > 0 {
		report.Progress = self.progress()
	}
	if text := lifecycle.Unresponsive(obj); text != "" && !strings.Contains(report.Progress, text) {
		report.Notes = append(report.Notes, fmt.Sprintf("%s waits: %s.", phrase.Target(report.Object), text))
	}
	for _, policies := range s.policies.Approving(s.chain) {
		report.AsParent.Approvers = append(report.AsParent.Approvers, names(policies)...)
	}
	report.AsParent.Approvers = distinct(report.AsParent.Approvers)
	if s.parent != nil {
		report.AsChild = asChild(s)
	}
	if s.you != nil {
		report.You = you(s)
	}
	return report
}

// buildUntold explains what the object itself says to who may not read the policies.
func buildUntold(s *sight) *Report {
	obj := s.obj.obj
	self := holderOf(s.obj, nil, s.policies)
	report := &Report{
		Object:     record.TargetOf(obj),
		Phase:      self.Phase(),
		Generation: obj.GetGeneration(),
		AsParent: Parent{
			Policies: []Policy{}, Rules: []Rule{}, Initiators: []string{}, Bounds: []Bound{},
			Obstacles: slices.Concat(self.withheld(self.Ledger.Without(func(e ledger.Entry) bool { return !e.IsWithheld() }), nil), self.obstacles(nil), blockedBelow(s.below)),
		},
		Generated:      generated(obj),
		Gate:           gateOf(s),
		PoliciesUntold: true,
		Notes:          s.notes,
	}
	for _, e := range self.Ledger {
		if !e.IsWithheld() {
			report.AsParent.Bounds = append(report.AsParent.Bounds, Bound{Kind: e.Kind, Permissions: []Permission{self.permission(e)}})
		}
	}
	return report
}

// holder is an object whose children are bounded, as admission sees it.
type holder struct {
	decision.Parent
	standing

	unreadable bool
	// chain begins with the holder, and you are who asks, where that is known.
	chain    []policy.Holder
	you      *policy.Requester
	compiled cluster.Policies
}

// holderOf looks at an object. Of a chain that begins with it depends which policies
// are in effect.
func holderOf(at standing, chain []policy.Holder, policies cluster.Policies) *holder {
	obj := at.obj
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	stored, err := ledger.Decode(obj.GetAnnotations()[key])
	h := &holder{standing: at, unreadable: err != nil, compiled: policies, chain: chain}
	h.Parent = decision.Parent{
		GVK:        obj.GroupVersionKind(),
		Namespace:  obj.GetNamespace(),
		Name:       obj.GetName(),
		UID:        string(obj.GetUID()),
		Generation: obj.GetGeneration(),
		Deleting:   obj.GetDeletionTimestamp() != nil,
		Adopting:   at.rec != nil && at.rec.Status.Adopting,
		Ledger:     record.Effective(at.rec, obj, stored),
		Policies:   policies.InEffect(chain),
	}
	h.Blind = h.Phase() == v1alpha1.PhaseInitializing && lifecycle.Blind(obj, h.Policies, time.Now())
	return h
}

// asChild says what holds for the object as a child.
func asChild(s *sight) *Child {
	c := &Child{Parent: targetOf(s.ref, s.parent.obj), Found: s.parent.obj != nil}
	kind := s.obj.obj.GroupVersionKind().GroupKind()
	if !c.Found {
		c.Bound = Bound{Kind: kind.Kind, Permissions: []Permission{{What: anything, Because: "its parent does not exist"}}}
		return c
	}
	chain := s.above
	parent := holderOf(*s.parent, chain, s.policies)
	parent.you = s.you
	parent.OneSided = !s.ref.PointsBack(s.parent.obj, s.obj.obj)
	c.Phase = parent.Phase()
	c.Bound = parent.bound(kind)
	if c.Stray = parent.strayOf(s.obj.obj, s.objects(), c.Bound); c.Stray != nil {
		c.Bound.Permissions = parent.rid(s.obj.obj)
	}
	c.Initiators = initiatorsOf(s.policies, chain)
	c.Obstacles = parent.obstacles(s.policies.InitiatorsAbove(chain))
	if c.Stray != nil {
		c.Obstacles = slices.DeleteFunc(c.Obstacles, func(o Obstacle) bool { return o.What == straysOfIt }) // It is said of it.
	}
	return c
}

func you(s *sight) *You {
	out := &You{Name: s.you.Username}
	out.MayInitiate = policy.MayInitiate(*s.you, s.policies.InEffect(s.chain))
	out.MayApprove = out.MayInitiate || s.policies.MayInitiateAbove(s.chain, *s.you)
	return out
}

// initiatorsOf returns who may initiate on the first of a chain of objects; where its
// policies name nobody, on the next one up.
func initiatorsOf(policies cluster.Policies, chain []policy.Holder) []string {
	who := distinct(policies.InitiatorsOf(chain))
	if len(who) == 0 {
		return nil
	}
	return who
}

// names returns the initiators that policies name.
func names(policies []*policy.Policy) []string {
	out := []string{}
	for _, p := range policies {
		out = append(out, p.Initiators()...)
	}
	return distinct(out)
}

func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// childKinds returns the kinds that policies name, in their order.
func childKinds(policies []*policy.Policy) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, p := range policies {
		for _, e := range p.Entries() {
			if !e.Kind.Empty() && !slices.Contains(kinds, e.Kind) {
				kinds = append(kinds, e.Kind)
			}
		}
	}
	return kinds
}

// progress says how far the controllers of the holder are, and what keeps its
// allowances although it has settled.
func (h *holder) progress() string {
	if p := policy.Deciding(h.Policies, policy.FieldConsumptionWhen); p != nil {
		return fmt.Sprintf("judged by %s of AllowancePolicy %s, and not by its status alone", policy.FieldConsumptionWhen, p.Name)
	}
	p := lifecycle.Of(h.obj, h.Policies)
	if !p.Settled || len(h.Ledger.Without(ledger.Entry.IsWithheld)) == 0 {
		return p.Why
	}
	switch lifecycle.LagOf(h.obj, h.Policies) {
	case lifecycle.CompositionLag:
		return p.Why + "; what it allows, and its initializing section, end only once nothing has happened to it, nor to what it composes, " +
			"for the quiet time of composite resources (--composite-quiet-time of the operator)"
	case lifecycle.StatusLag:
		return p.Why + "; what changes of it allow ends once nothing has happened to it, nor to its children, for a moment " +
			"(--status-quiet-time of the operator), as its status may be about an older spec than it says"
	default:
		return p.Why
	}
}
