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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// maxMakers is how many parents of an object that a GeneratingPolicy made are consulted. Thousands of
// triggers may want the same object.
const maxMakers = 16

// PolicyState says whether there is a GeneratingPolicy.
type PolicyState int

const (
	// PolicyGone means that there is none.
	PolicyGone PolicyState = iota
	// PolicyEnding means that it is being deleted.
	PolicyEnding
	// PolicyThere means that it is there to stay.
	PolicyThere
)

// maker returns the name of the GeneratingPolicy that made the object of a request, or, where none did
// before, of the one that the object names now. It is empty where there is none.
func (r *request) maker() string {
	if by := lineage.Generator(r.old); by != "" {
		return by
	}
	return lineage.Generator(r.new)
}

// findAccount finds out as which user a GeneratingPolicy writes, and whether it is there.
func (g *Gatherer) findAccount(ctx context.Context, r *request, policy string) (err error) {
	if g.Generators == nil {
		return nil
	}
	if r.account, r.generator, err = g.Generators.Account(ctx, policy); err != nil {
		return fmt.Errorf("reading GeneratingPolicy %s, by which %s was made: %w", policy, r.objectName(), err)
	}
	return nil
}

// makers returns the parents of an object that a GeneratingPolicy made which AllowancePolicies may
// bound it by. What the object named before the request counts. The policy's own account may
// name other parents; then both have to let the request through.
func (g *Gatherer) makers(ctx context.Context, r *request) []lineage.Ref {
	index := g.Policies.Index()
	if r.by != nil && r.by.Generator == "" {
		return nil
	}
	if r.by == nil {
		if ref, ok := g.parentRef(ctx, r, index); !ok || ref.Generator == "" {
			return nil
		}
	}
	var out []lineage.Ref
	add := func(refs []lineage.Ref) {
		for _, ref := range refs {
			if ref.Generator != "" && len(out) < maxMakers && !slices.ContainsFunc(out, ref.SameParent) {
				out = append(out, ref)
			}
		}
	}
	was := lineage.Generator(r.old) != ""
	if was {
		add(ancestry.Refs(ctx, g.Objects, index, r.old))
	}
	if r.new != nil && (!was || r.isGenerator()) {
		add(ancestry.Refs(ctx, g.Objects, index, r.new))
	}
	if r.generator == PolicyGone {
		return out[:min(1, len(out))]
	}
	return out
}

// isGenerator reports whether the requester is the account of the GeneratingPolicy that made the
// object.
func (r *request) isGenerator() bool { return r.account != "" && r.requester.Username == r.account }

// decide decides about a request. An object that a GeneratingPolicy made is judged by each of its
// parents: the request passes if one of them lets it through, but not while something of one of them
// is withheld.
func (g *Gatherer) decide(ctx context.Context, r *request) (*outcome, error) {
	policy := r.maker()
	if policy == "" {
		return g.decideFor(ctx, r)
	}
	if err := g.findAccount(ctx, r, policy); err != nil {
		return nil, err
	}
	makers := g.makers(ctx, r)
	if len(makers) == 0 {
		return g.decideFor(ctx, r)
	}
	heard := make([]*outcome, 0, len(makers))
	for i := range makers {
		by := *r
		by.madeFor = &makers[i]
		o, err := g.decideFor(ctx, &by)
		if err != nil {
			return nil, err
		}
		heard = append(heard, o)
	}
	o := among(ctx, r, heard)
	if r.generator == PolicyEnding && o.endsWithPolicy(r, heard) {
		ended := *o
		ended.verdict = decision.Verdict{Allowed: true, Reason: decision.ReasonDeleting, Policies: o.verdict.Policies}
		return &ended, nil
	}
	return o, nil
}

// endsWithPolicy reports whether the account deletes the object because its GeneratingPolicy is being
// deleted, and no AllowancePolicy for that says what may be deleted with it.
func (o *outcome) endsWithPolicy(r *request, heard []*outcome) bool {
	bounds := func(o *outcome) bool {
		return o.Parent.GVK.GroupKind() == lineage.GeneratingPolicy && len(o.Bounding()) > 0
	}
	return r.operation == decision.Delete && r.isGenerator() && !o.verdict.Allowed && !slices.ContainsFunc(heard, bounds)
}

// among returns the outcome of a request that several parents have judged, each for itself.
func among(ctx context.Context, r *request, heard []*outcome) *outcome {
	var lets, refuses []*outcome
	gone := false
	for _, o := range heard {
		switch {
		case o.ParentState == decision.ParentGone:
			gone = true
		case len(o.Bounding()) == 0:
		case len(o.verdict.Uncovered) == 0:
			lets = append(lets, o)
		case len(o.verdict.Withheld) > 0:
			return o
		default:
			refuses = append(refuses, o)
		}
	}
	switch {
	case len(lets) > 0:
		return lets[0]
	case len(refuses) == 0:
		return heard[0] // None bounds it.
	case gone && r.isGenerator() && r.operation == decision.Delete:
		// The deletion follows from the end of what is gone. A change does not: it is what another
		// trigger wants, which may belong to whoever deleted the first one.
		return heard[slices.IndexFunc(heard, func(o *outcome) bool { return o.ParentState == decision.ParentGone })]
	}
	return together(ctx, r, refuses)
}

// together returns the outcome of a request that none of several parents lets through as a whole. It
// passes if each of its acts is let through by one of them: one write may follow from a change of the
// trigger and from a change of the source.
func together(ctx context.Context, r *request, refuses []*outcome) *outcome {
	left := refuses[0].verdict.Uncovered
	for _, o := range refuses[1:] {
		left = slices.DeleteFunc(slices.Clone(left), func(act decision.Act) bool {
			return !slices.ContainsFunc(o.verdict.Uncovered, func(other decision.Act) bool { return other.String() == act.String() })
		})
	}
	if len(left) > 0 {
		return refuses[0]
	}
	o := *refuses[0]
	o.verdict = decision.Verdict{Allowed: true, Reason: decision.ReasonCovered, Policies: o.verdict.Policies}
	o.grant = decision.Grants(ctx, &o.Input, o.verdict)
	o.next = o.bound(ctx, r, &o.grant)
	o.deviates = o.deviation(r)
	return &o
}

// gatherMaker gathers what is known about a parent of an object that a GeneratingPolicy made. What the
// parent allows is for the policy's account alone.
func (g *Gatherer) gatherMaker(ctx context.Context, r *request, index *policy.Index, why doubt) (parentFacts, error) {
	if r.generator == PolicyGone {
		return parentFacts{
			state:     decision.ParentGone,
			parentage: parentage{goneParent: v1alpha1.KindGeneratingPolicy, goneName: r.madeFor.Generator},
		}, nil
	}
	p, err := g.gatherOwner(ctx, r, index, *r.madeFor, false, why)
	p.bounds.Account = r.account
	return p, err
}

// marksOfOthers drops changes of the marks that say how the object came to be, where the requester is
// the account that writes them.
func (r *request) marksOfOthers(changes []change.Change) []change.Change {
	if !r.isGenerator() {
		return changes
	}
	return slices.DeleteFunc(changes, func(c change.Change) bool { return lineage.IsMark(c.Path) })
}

// forgesMarks reports whether an update makes an object claim that a GeneratingPolicy made it, though
// none did, and the requester may not initiate on it: parents of the requester's choice would bound it.
func (f *facts) forgesMarks(r *request) bool {
	return r.operation == decision.Update && !r.isGenerator() && lineage.Generator(r.old) == "" && lineage.Generator(r.new) != "" && !f.mayAttach()
}
