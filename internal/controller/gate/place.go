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

package gate

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// place fills in what is known of an object beside what it says itself.
func (r *Reconciler) place(ctx context.Context, v *view) error {
	index := r.Policies.Index()
	chain := ancestry.Chain(ctx, r.Holders, r.Namespaces, index, v.obj)
	present := v.kind
	place := gate.PlaceIn(index, chain, v.driver, v.obj, present)
	v.policies, v.kind, v.provider = place.Denying, place.Kind, present.Provider
	parent, known := ancestry.ParentUID(ctx, r.Holders, index, v.obj)
	v.gatedBy = gatedAsChild(v, parent, chain)
	if len(v.policies) == 0 && v.state.HasLostParent(parent, known) {
		v.keeping = r.keeping(v, present)
	}
	switch {
	case len(v.policies) > 0:
		v.belonging = gated
	case r.isFree(ctx, v, present, ancestry.IsWhole(ctx, r.Holders, index, v.obj)):
		v.belonging = free
	}
	if held := v.state.Held; held != nil && !held.Allowed {
		if err := r.placeDeletion(ctx, v, place.Target); err != nil {
			return err
		}
	}
	if v.belonging == gated && gate.IsUncreated(v.driver, v.obj, v.ledger) {
		v.uncreated = true
		if err := r.placeCreation(ctx, v, place.Target); err != nil {
			return err
		}
	}
	return r.placeInTime(ctx, v)
}

// isFree reports whether an object that no policy in effect gates is certainly not
// gated. That is not so while the policies are not all known, nor while one that gates
// what it stands for is not in effect yet: whoever restores a cluster brings objects
// and policies back in any order. Nor is it while a policy for its parent's kind does,
// and somebody above it is missing: that may have been deleted, with the rest to follow,
// to which nothing should happen outside. Nor is it after its parent was taken from it: nobody was
// asked whether the outside may follow.
func (r *Reconciler) isFree(ctx context.Context, v *view, present gate.Kind, allKnown bool) bool {
	if !r.Catalog.Known() || len(v.keeping) > 0 {
		return false
	}
	gates := func(e catalog.Entry) bool {
		return gate.PlaceOf(v.driver, v.obj, present, v.state.Provider, e.Policy).Gated()
	}
	waits := func(e catalog.Entry) bool { return !e.Active && gates(e) }
	if r.Catalog.AnyFor(v.kind.GVK.GroupKind(), waits) {
		return false
	}
	parent, hasParent := ancestry.Ref(ctx, r.Holders, r.Policies.Index(), v.obj)
	switch {
	case !hasParent:
		return true
	case allKnown:
		return !r.Catalog.AnyFor(parent.GVK.GroupKind(), waits)
	default:
		return !r.Catalog.AnyFor(parent.GVK.GroupKind(), gates)
	}
}

// gatedAsChild returns the parent of an object because of which policies gate it, nil where none does. parent
// is the UID of its parent, and chain that of the object.
func gatedAsChild(v *view, parent types.UID, chain []policy.Holder) *gate.Parent {
	if len(chain) < 2 || parent == "" {
		return nil
	}
	by := gate.ParentOf(parent, chain[1:])
	if !slices.ContainsFunc(v.policies, func(p *policy.Policy) bool { return by.Gates(p, v.kind.GVK.GroupKind()) }) {
		return nil
	}
	return by
}

// keeping returns the policies that keep the gate of an object that has lost the parent because of which
// it was gated: those that would gate it if it had such a parent.
func (r *Reconciler) keeping(v *view, present gate.Kind) []*policy.Policy {
	return r.Catalog.Which(func(e catalog.Entry) bool {
		return v.state.Parent.Gates(e.Policy, v.kind.GVK.GroupKind()) &&
			gate.PlaceOf(v.driver, v.obj, present, v.state.Provider, e.Policy).Gated()
	})
}

// placeInTime says since when the gate is open: since its record first saw the first
// of the entries that open it.
func (r *Reconciler) placeInTime(ctx context.Context, v *view) error {
	open := v.entries()
	if len(open) == 0 {
		return nil
	}
	rec, err := r.Records.Get(ctx, record.TargetOf(v.obj))
	if err != nil || rec == nil {
		return err
	}
	for _, seen := range rec.Status.FirstSeen {
		if slices.ContainsFunc(open, func(e ledger.Entry) bool { return e.ID() == seen.ID }) {
			v.since = earlier(v.since, seen.Time.Time)
		}
	}
	return nil
}

// placeDeletion says whether a deletion that was held back is allowed by now: the
// parent was deleted too, and a policy for it lets its deletion take along what its
// children stand for outside.
func (r *Reconciler) placeDeletion(ctx context.Context, v *view, target gate.Target) error {
	parent, ok := ancestry.Ref(ctx, r.Holders, r.Policies.Index(), v.obj)
	if !ok {
		return nil
	}
	if err := r.placeStray(ctx, v, parent); err != nil || v.stray {
		return err
	}
	rec, err := r.Records.OfUID(ctx, parent.UID)
	if err != nil {
		return err
	}
	if rec == nil || rec.Status.Deletion == nil || len(rec.Status.Deletion.Policies) == 0 {
		// Of a kind that no policy is for nobody will say, nor is it watched.
		v.deletionUntold = len(r.Policies.Index().For(parent.GVK.GroupKind())) > 0 && v.isDeletedLately() && r.goes(ctx, parent)
		return nil
	}
	v.deletionAllowed = slices.ContainsFunc(rec.Status.Deletion.Policies, func(name string) bool {
		entry, known := r.Catalog.Get(name)
		return known && letsDelete(entry.Policy, target)
	})
	return nil
}

// placeStray says whether an object is a stray of its parent, or was when that went. Nobody has said of a stray that what it
// stands for is the parent's, so that what lets the parent's things go does not count for it.
func (r *Reconciler) placeStray(ctx context.Context, v *view, parent lineage.Ref) error {
	strays, err := r.Records.StraysOf(ctx, parent.UID)
	if err != nil {
		return err
	}
	v.stray = slices.ContainsFunc(strays, func(s v1alpha1.StrayChild) bool { return s.UID == v.obj.GetUID() })
	if v.stray {
		v.strayNote = gate.DescribeStray(v.driver, v.obj, gate.Sharing(v.driver, v.obj, r.Holders.List(ctx, v.obj.GroupVersionKind())))
	}
	return nil
}

// goes reports whether a parent is gone or being deleted, or will be with its namespace: the namespace controller
// deletes kind by kind, so that what is composed may go many seconds before what composes it.
func (r *Reconciler) goes(ctx context.Context, parent lineage.Ref) bool {
	above := ancestry.Parent(ctx, r.Holders, parent)
	return above == nil || above.GetDeletionTimestamp() != nil ||
		above.GetNamespace() != "" && r.Namespaces.IsGoing(ctx, above.GetNamespace())
}

// letsDelete reports whether the deleting section of a policy names a target with the
// verb. A section that is left out does not (D16).
func letsDelete(p *policy.Policy, target gate.Target) bool {
	return p.Deleting != nil && slices.ContainsFunc(p.Deleting.Entries, func(e policy.Entry) bool {
		return e.AllowsOutside(gate.VerbDelete) && target.Matches(e.External)
	})
}
