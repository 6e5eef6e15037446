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
	"errors"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// keepSetAside writes down what has an adoption to come caused by an initiator (D5): what a child is
// like when its parent releases it, and that an initiator gives it back as it was, or makes an object
// that a parent adopts. Observed without that: alice took a label off a Pod to look into it, and put it
// back. Her Pod was a stray, for which her ReplicaSet had one Pod too many, and her next rollout stood
// still. What is changed of the object while nobody owns it, whoever does so, nobody gives back: nothing
// bounds it then.
//
// What cannot be written down holds up nobody: the object is a stray when it is adopted.
func (v *Validator) keepSetAside(ctx context.Context, r *request, f *facts) {
	if r.new == nil || r.operation == decision.Delete || r.new.GetDeletionTimestamp() != nil || metav1.GetControllerOfNoCopy(r.new) != nil {
		return
	}
	var err error
	switch {
	case r.old == nil, metav1.GetControllerOfNoCopy(r.old) == nil && !maps.Equal(r.old.GetLabels(), r.new.GetLabels()):
		err = v.keepReturn(ctx, r, f)
	case f.releases(r):
		err = v.Records.SetAside(ctx, f.parent, v.setAside(r, f))
	}
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot remember what an object was like that nobody owns; who may initiate has to approve it when it is adopted",
			"kind", r.gvk.Kind, "namespace", r.namespace, "name", r.objectName(), "user", r.requester.Username)
	}
}

// releases reports whether the request makes a child, which is no stray, nobody's, so that its parent
// may adopt it later.
func (f *facts) releases(r *request) bool {
	owner := metav1.GetControllerOfNoCopy(r.old)
	return owner != nil && f.ParentState == decision.ParentFound && string(owner.UID) == f.Parent.UID && !f.Parent.Deleting &&
		f.Parent.Known().Selector == v1alpha1.SelectorKeeps && len(f.Bounding()) > 0 && !f.IsStray()
}

// setAside returns what is noted of a child that is released. An initiator who only takes its owner away
// has it adopted at once.
func (v *Validator) setAside(r *request, f *facts) v1alpha1.SetAsideChild {
	child := v1alpha1.SetAsideChild{
		UID: r.new.GetUID(), Kind: r.gvk.Kind, Name: r.objectName(), Digest: record.SetAsideDigest(r.new, v.DigestKey),
	}
	if f.mayApprove() && lineage.WouldAdopt(f.Parent.Known(), f.parentObject, r.new) {
		child.Returned = v.returns(r, f, lineage.OwnersPath)
	}
	return child
}

// returns says that the requester has a parent adopt the object as the request leaves it.
func (v *Validator) returns(r *request, f *facts, field string) *v1alpha1.ReturnedChild {
	return &v1alpha1.ReturnedChild{
		Initiator: r.requester.Username, Field: field, Generation: f.Child.Generation, Digest: record.SetAsideDigest(r.new, v.DigestKey),
	}
}

// keepReturn notes, with each parent that would adopt the object from now on, that the requester had it
// do so who may: the object is new, or what the parent has released and nobody has changed since.
func (v *Validator) keepReturn(ctx context.Context, r *request, f *facts) error {
	var errs []error
	for _, parent := range v.adoptersFor(ctx, r, f) {
		target := record.TargetOf(parent)
		if r.old == nil {
			errs = append(errs, v.Records.SetAside(ctx, target, v1alpha1.SetAsideChild{
				UID: r.new.GetUID(), Kind: r.gvk.Kind, Name: r.objectName(), Returned: v.returns(r, f, v1alpha1.FieldCreated),
			}))
			continue
		}
		rec, err := v.Records.Live(ctx, target)
		if err == nil && record.IsSetAside(rec, r.old, v.DigestKey, v.now()) {
			err = v.Records.Return(ctx, target, r.new.GetUID(), *v.returns(r, f, lineage.LabelsPath))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// adoptersFor returns the parents that would adopt the object because of the request, of those that
// bound it and on which the requester may initiate.
func (g *Gatherer) adoptersFor(ctx context.Context, r *request, f *facts) []*unstructured.Unstructured {
	if !slices.ContainsFunc(f.index.Policies(), func(p *policy.Policy) bool { return p.MayInitiate(r.requester) }) {
		return nil
	}
	var out []*unstructured.Unstructured
	asked := sets.New[schema.GroupKind]()
	for _, p := range f.index.Policies() {
		kind := p.For.GroupKind()
		known := f.index.Known(kind)
		if asked.Has(kind) || known.Selector != v1alpha1.SelectorKeeps || !p.Bounds(r.gvk.GroupKind()) {
			continue
		}
		asked.Insert(kind)
		gvk := f.index.For(kind)[0].For
		for name := range g.Objects.Names(gvk, r.namespace) {
			parent, err := g.Objects.Get(ctx, gvk, types.NamespacedName{Namespace: r.namespace, Name: name})
			if err == nil && r.joins(f.index, parent) && g.mayHaveAdopted(ctx, r, f, parent) {
				out = append(out, parent)
			}
		}
	}
	return out
}

// joins reports whether a parent adopts the object because of the request.
func (r *request) joins(index *policy.Index, parent *unstructured.Unstructured) bool {
	known := index.Known(parent.GroupVersionKind().GroupKind())
	if r.old == nil {
		return lineage.WouldAdopt(known, parent, r.new)
	}
	return len(lineage.Joining(known, parent, r.old, r.new)) > 0
}

// mayHaveAdopted reports whether a parent bounds the object, and the requester may have it adopt that.
func (g *Gatherer) mayHaveAdopted(ctx context.Context, r *request, f *facts, parent *unstructured.Unstructured) bool {
	chain := ancestry.Chain(ctx, g.Objects, g.Namespaces, f.index, parent)
	bounds := func(p *policy.Policy) bool { return p.Bounds(r.gvk.GroupKind()) }
	return slices.ContainsFunc(f.index.InEffect(chain), bounds) && mayInitiateOn(f.index, chain, r.requester)
}

// returned says who gave back what a request that passes has adopted; nil where nobody did.
func (f *facts) returned(v decision.Verdict) *v1alpha1.ReturnedChild {
	if !v.Allowed || !f.IsAdopted() {
		return nil
	}
	return f.Adoption.Returned
}
