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

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// maxMakers is how many of the parents are heard because of which a GeneratingPolicy made an object.
// Thousands of triggers may want the same one.
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

// maker is a parent because of which a GeneratingPolicy made the object of a request.
type maker struct {
	lineage.Ref
	// exists is false where that policy is gone: nobody keeps the object any more.
	exists bool
}

// account returns the user as which the GeneratingPolicy writes that made the object of a request,
// or, where none did before, of which the object says so now. It is empty where none did.
func (g *Gatherer) account(ctx context.Context, r *request) (user string, is PolicyState, err error) {
	by := lineage.Generator(r.old)
	if by == "" {
		by = lineage.Generator(r.new)
	}
	if by == "" || g.Generators == nil {
		return "", PolicyGone, nil
	}
	user, is, err = g.Generators.Account(ctx, by)
	if err != nil {
		return "", PolicyGone, fmt.Errorf("reading GeneratingPolicy %s, by which %s was made: %w", by, r.objectName(), err)
	}
	return user, is, nil
}

// makers returns the parents because of which a GeneratingPolicy made the object of a request, as far
// as policies may be about them, and where the request is to hear these. They are those from before.
// Who made it may say otherwise, and has to be let through by either.
func (g *Gatherer) makers(ctx context.Context, r *request, exists bool) []maker {
	index := g.Policies.Index()
	if r.by != nil && r.by.Generator == "" {
		return nil
	}
	if r.by == nil {
		if ref, ok := g.parentRef(ctx, r, index); !ok || ref.Generator == "" {
			return nil
		}
	}
	var out []maker
	add := func(refs []lineage.Ref) {
		for _, ref := range refs {
			same := func(m maker) bool { return m.SameParent(ref) }
			if ref.Generator != "" && len(out) < maxMakers && !slices.ContainsFunc(out, same) {
				out = append(out, maker{Ref: ref, exists: exists})
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
	if !exists {
		return out[:min(1, len(out))]
	}
	return out
}

// isGenerator reports whether the requester is the account of the GeneratingPolicy that made the
// object.
func (r *request) isGenerator() bool { return r.account != "" && r.requester.Username == r.account }

// decide decides about a request. What a GeneratingPolicy made is judged by all because of whom it
// did: what one of them lets through passes, but not while something of one of them is withheld.
func (g *Gatherer) decide(ctx context.Context, r *request) (*outcome, error) {
	user, is, err := g.account(ctx, r)
	if err != nil {
		return nil, err
	}
	r.account = user
	makers := g.makers(ctx, r, is != PolicyGone)
	if len(makers) == 0 {
		return g.decideFor(ctx, r)
	}
	heard := make([]*outcome, 0, len(makers))
	for i := range makers {
		by := *r
		by.maker = &makers[i]
		o, err := g.decideFor(ctx, &by)
		if err != nil {
			return nil, err
		}
		heard = append(heard, o)
	}
	o := among(ctx, r, heard)
	if is == PolicyEnding && o.endsWithPolicy(r, heard) {
		ended := *o
		ended.verdict = decision.Verdict{Allowed: true, Reason: decision.ReasonDeleting, Policies: o.verdict.Policies}
		return &ended, nil
	}
	return o, nil
}

// endsWithPolicy reports whether the account deletes the object because its policy is being deleted,
// of which no AllowancePolicy says what that may lead to.
func (o *outcome) endsWithPolicy(r *request, heard []*outcome) bool {
	bounds := func(o *outcome) bool {
		return o.Parent.GVK.GroupKind() == lineage.GeneratingPolicy && len(o.Bounding()) > 0
	}
	return r.operation == decision.Delete && r.isGenerator() && !o.verdict.Allowed && !slices.ContainsFunc(heard, bounds)
}

// among returns what becomes of a request of which several parents were heard that let it through
// each for itself.
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
	case gone && r.isGenerator():
		// That follows from the end of what is gone.
		return heard[slices.IndexFunc(heard, func(o *outcome) bool { return o.ParentState == decision.ParentGone })]
	}
	return together(ctx, r, refuses)
}

// together returns what becomes of a request that none of several parents lets through as a whole: it
// passes where each act of it is let through by one of them, such as what follows from a change of
// the trigger and from one of the source, by one write.
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

// gatherMaker gathers what there is to know about a parent because of which a GeneratingPolicy made
// the object. What it allows is for the account of that alone.
func (g *Gatherer) gatherMaker(ctx context.Context, r *request, index *policy.Index, why doubt) (parentFacts, error) {
	if !r.maker.exists {
		return parentFacts{
			state:     decision.ParentGone,
			parentage: parentage{goneParent: "GeneratingPolicy", goneName: r.maker.Generator},
		}, nil
	}
	p, err := g.gatherOwner(ctx, r, index, r.maker.Ref, false, why)
	p.bounds.Account = r.account
	return p, err
}

// marksOfOthers leaves out what changes of how the object came to be, where that is for the requester
// to say.
func (r *request) marksOfOthers(changes []change.Change) []change.Change {
	if !r.isGenerator() {
		return changes
	}
	return slices.DeleteFunc(changes, func(c change.Change) bool { return lineage.IsMark(c.Path) })
}

// forgesMarks reports whether an update has an object that nobody made, and on which its policies say
// who may initiate, say that a GeneratingPolicy did: what counts for that would count for the object.
func (f *facts) forgesMarks(r *request) bool {
	return r.operation == decision.Update && !r.isGenerator() && lineage.Generator(r.old) == "" && lineage.Generator(r.new) != "" && !f.mayAttach()
}
