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
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// otherParents hears the other parents that an object has: each of them bounds it by its
// own policies, phase and ledger, and a request passes that all of them let through (D5).
// Causes go on from the first alone. It hears no more after the first that does not let it
// through. Hardly any object has two parents with policies, and else it costs nothing.
func (v *Validator) otherParents(ctx context.Context, r *request, o *outcome) ([]hearing, error) {
	switch o.verdict.Reason {
	case decision.ReasonOwn, decision.ReasonFinishing, decision.ReasonPlatform, decision.ReasonOrigin:
		return nil, nil // It is the same whoever the parent is.
	default:
	}
	var heard []hearing
	for _, ref := range v.besides(ctx, r, o.facts) {
		by := *r
		by.by = &ref
		if o.glass.noted {
			by.brokenGlass = o.glass.reason
		}
		other, err := v.decide(ctx, &by)
		if err != nil {
			return nil, err
		}
		heard = append(heard, hearing{&by, other})
		if !other.verdict.Allowed {
			break
		}
	}
	return heard, nil
}

// besides returns the parents that bound the object of a request, except for the one by which it is
// judged. Of an adoption, it returns the parents from before, and those that the request adds.
func (g *Gatherer) besides(ctx context.Context, r *request, f *facts) []lineage.Ref {
	obj, named := r.old, 0
	if r.old != nil {
		named = len(lineage.Parents(f.index, r.old))
	}
	if named == 0 && r.new != nil {
		obj, named = r.new, len(lineage.Parents(f.index, r.new))
	}
	adopted := obj == r.old && f.isAdopted()
	if named < 2 && !adopted {
		return nil
	}
	first, _ := ancestry.Ref(ctx, g.Objects, f.index, obj)
	if adopted {
		judged := func(ref lineage.Ref) bool {
			return ref.SameParent(first) || !ref.IsByName() && string(ref.UID) == f.Parent.UID // The first one bounds nothing.
		}
		before := g.others(ctx, f, r.old, judged, false)
		return append(before, slices.DeleteFunc(g.others(ctx, f, r.new, judged, false), func(ref lineage.Ref) bool {
			return slices.ContainsFunc(before, ref.SameParent)
		})...)
	}
	return g.others(ctx, f, obj, first.SameParent, first.Generator != "")
}

// others returns the parents of an object that policies may be about, but for those by which a request
// is judged already. made is true where one of these has a GeneratingPolicy made the object because of it.
func (g *Gatherer) others(ctx context.Context, f *facts, obj *unstructured.Unstructured, judged func(lineage.Ref) bool, made bool) []lineage.Ref {
	return slices.DeleteFunc(ancestry.Refs(ctx, g.Objects, f.index, obj), func(ref lineage.Ref) bool {
		if ref.Generator == "" || made {
			return judged(ref) || ref.Generator != ""
		}
		made = true // One stands for all of them.
		return false
	})
}

// isAdopted reports whether the request is judged by the parent that it gives the object.
func (f *facts) isAdopted() bool {
	return f.Adoption != nil && f.ParentState == decision.ParentFound && f.Parent.UID == f.Adoption.Parent.UID
}

// joining returns the parent that an update gives an object besides the one by which its chain
// goes on: of several, one that bounds the object, or else one whose policies may name it.
func (g *Gatherer) joining(ctx context.Context, r *request, index *policy.Index) (lineage.Ref, bool) {
	if len(lineage.Parents(index, r.new)) < 2 {
		return lineage.Ref{}, false
	}
	before := lineage.Parents(index, r.old)
	joined := slices.DeleteFunc(ancestry.Refs(ctx, g.Objects, index, r.new), func(ref lineage.Ref) bool {
		return ref.IsByName() || slices.ContainsFunc(before, ref.SameParent)
	})
	if len(joined) == 0 {
		return lineage.Ref{}, false
	}
	names := func(policies []*policy.Policy) bool {
		return slices.ContainsFunc(policies, func(p *policy.Policy) bool { return p.Bounds(r.gvk.GroupKind()) })
	}
	bounds := func(ref lineage.Ref) bool {
		parent := ancestry.Parent(ctx, g.Objects, ref)
		return parent != nil && names(index.InEffect(ancestry.Chain(ctx, g.Objects, g.Namespaces, index, parent)))
	}
	named := func(ref lineage.Ref) bool { return names(index.For(ref.GVK.GroupKind())) }
	i := slices.IndexFunc(joined, bounds)
	if i < 0 {
		i = max(slices.IndexFunc(joined, named), 0) // It may be too new for the cache.
	}
	return joined[i], true
}

// counts reports whether a reference that a request makes, changes or takes away is to a
// parent by which it is judged: the one that bounds it, or one that would bound it as well,
// but where the controller of that takes the object itself. A controller that keeps what it
// selects takes what no controller has, and as its controller: it shares no child of another.
func (f *facts) counts(r *request, ref lineage.Ref) bool {
	if f.isParent(ref) {
		return true
	}
	if f.Adoption == nil || f.ParentState != decision.ParentFound || string(ref.UID) != f.Adoption.Parent.UID {
		return false
	}
	above := f.Adoption.Parent.Policies
	shares := ref.Controller || f.Adoption.Parent.Known().Selector != v1alpha1.SelectorKeeps
	if shares && f.Requester.IsServiceAccount() && policy.MayExercise(f.Requester, above, nil) {
		return false
	}
	return slices.ContainsFunc(above, func(p *policy.Policy) bool { return p.Bounds(r.gvk.GroupKind()) })
}

// counting returns which references of an update count besides the first one. Whatever else a person adds keeps
// a child from being collected with its parent, and so does a version that nobody serves. What controllers name
// is up to them: some share what they make, and a new version may be served before we have heard of it.
func (g *Gatherer) counting(r *request, f *facts) lineage.Counting {
	c := lineage.Counting{Binds: func(ref lineage.Ref) bool { return f.counts(r, ref) }}
	if f.Requester.IsComponent() || f.ParentState != decision.ParentFound {
		return c
	}
	c.Added = !f.isAdopted()
	c.Served = func(kind schema.GroupVersionKind) bool { return g.isServed(f.index, kind) }
	return c
}

// withBehind adds to the changes of references that the parent by which the chain of the object goes on is another one
// of those that it has. Controllers may put them in any order, as the merging of lists does: each parent bounds the
// object all the same.
func (f *facts) withBehind(changes []change.Change) []change.Change {
	if f.behind == nil || f.Requester.IsComponent() || slices.ContainsFunc(changes, func(c change.Change) bool {
		uid, ok := lineage.IsOwner(c)
		return ok && uid == string(f.behind.UID) // That says so already.
	}) {
		return changes
	}
	return append(changes, lineage.Behind(*f.behind))
}

// isServed reports whether a kind that policies are about is served in a version. Of other kinds nothing is known.
func (g *Gatherer) isServed(index *policy.Index, kind schema.GroupVersionKind) bool {
	policies := index.For(kind.GroupKind())
	if len(policies) == 0 {
		return true
	}
	resource, known := g.Kinds.ResourceFor(policies[0].For)
	if !known {
		return true
	}
	_, served := g.Kinds.GroupKindFor(resource.GroupResource().WithVersion(kind.Version))
	return served
}

// ownReferences returns the changes of references that are to the parent that is heard, where
// that is not the one by which the chain of the object goes on: what happens to others is
// judged by them.
func (r *request) ownReferences(f *facts, changes []change.Change) []change.Change {
	if r.by == nil {
		return changes
	}
	return slices.DeleteFunc(changes, func(c change.Change) bool {
		uid, ok := lineage.IsOwner(c)
		return ok && uid != f.Parent.UID
	})
}

// observeParent takes note of what was decided about a child of a parent. What changes
// nothing that counts, or is not bounded, is nobody's business.
func (v *Validator) observeParent(r *request, f *facts, verdict decision.Verdict) {
	if r.dryRun || f.ParentState != decision.ParentFound {
		return
	}
	switch verdict.Reason {
	case decision.ReasonOwn, decision.ReasonUnchanged, decision.ReasonFinishing, decision.ReasonUnbounded:
		return
	default:
		d := describe(r, f, verdict)
		if !verdict.Allowed {
			d.Upgrades, d.Versions, d.NoUpgrade = f.askedUpgrades(), f.standings(), f.noUpgrade
		}
		v.Records.Observe(record.Outcome{
			Target: f.parent, Decision: &d, Causes: describeCauses(verdict), Shown: conditions.ShowsBlocked(f.parentObject),
			OneOff: !policy.Retries(r.requester, f.Parent.Policies, f.OwnPolicies), MadeBy: v.madeBy(r, f, verdict),
		})
		v.announce(r, f, d)
	}
}
