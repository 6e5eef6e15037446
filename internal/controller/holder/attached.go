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

package holder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// attached are parents that somebody gave a holder while no operator looked.
type attached struct {
	refs []lineage.Ref
	// until is when it is certain that nobody tells of them any more; zero where it is.
	until time.Time
}

// findAttached finds out, at the first look at a holder, whether somebody gave it a parent
// while no operator looked. Who may is for its policies to say, and admission asks them;
// of what came meanwhile nobody knows whose it is (D5).
func (r *Reconciler) findAttached(ctx context.Context, v *view, knows *v1alpha1.AllowanceRecordStatus) {
	if _, ok := r.SignOfLife.away(); !ok || v.content == nil || !record.SaysWhoAttaches(v.policies) {
		return
	}
	uid := v.obj.GetUID()
	found, again := r.attached.Load(uid)
	switch first := r.lookedAbove.add(uid); {
	case again:
		v.attached, _ = found.(attached)
	case !first || knows.Approved == nil:
		return
	default:
		// Another replica may have admitted it, and say so a moment later.
		v.attached = attached{refs: r.bounding(ctx, v), until: v.now.Add(toldWithin)}
	}
	v.attached.refs = slices.DeleteFunc(slices.Clone(v.attached.refs), func(ref lineage.Ref) bool {
		return !slices.Contains(v.parents, ref.ID()) ||
			knows.Approved != nil && slices.Contains(knows.Approved.Parents, ref.ID()) || isIgnored(knows, ref.ID())
	})
	if len(v.attached.refs) == 0 {
		r.attached.Delete(uid)
		v.attached = attached{}
		return
	}
	r.attached.Store(uid, v.attached)
	if !v.attached.until.After(v.now) {
		v.attached.until = time.Time{}
	}
}

// bounding returns the parents of a holder that bound it, but for those that take their
// children by a selector: their controllers do so as soon as somebody leaves them one, and
// that it has no cause is for admission to find (strays).
func (r *Reconciler) bounding(ctx context.Context, v *view) []lineage.Ref {
	index := r.Policies.Index()
	kind := v.obj.GroupVersionKind().GroupKind()
	return slices.DeleteFunc(ancestry.Refs(ctx, r.Holders, index, v.obj), func(ref lineage.Ref) bool {
		parent := ancestry.Parent(ctx, r.Holders, ref)
		if parent == nil || ref.Controller && lineage.Keeps(index.Known(parent.GroupVersionKind().GroupKind()), parent, v.obj) {
			return true
		}
		above := index.InEffect(ancestry.Chain(ctx, r.Holders, r.Namespaces, index, parent))
		return !slices.ContainsFunc(above, func(p *policy.Policy) bool { return p.Bounds(kind) })
	})
}

func isIgnored(status *v1alpha1.AllowanceRecordStatus, id string) bool {
	return slices.ContainsFunc(status.IgnoredParents, func(p v1alpha1.IgnoredParent) bool { return p.ID == id })
}

// ignore has parents ignored that somebody gave the holder while nobody looked, until
// somebody who may approves them, or takes them away.
func (v view) ignore(status *v1alpha1.AllowanceRecordStatus, next *requeue.Soonest) {
	status.IgnoredParents = slices.DeleteFunc(status.IgnoredParents, func(p v1alpha1.IgnoredParent) bool {
		return !slices.Contains(v.parents, p.ID)
	})
	if !v.attached.until.IsZero() {
		next.At(v.attached.until)
	} else {
		for _, ref := range v.attached.refs {
			if !isIgnored(status, ref.ID()) {
				status.IgnoredParents = append(status.IgnoredParents, record.IgnoredParent(ref, metav1.NewTime(v.now)))
			}
		}
	}
	v.reportIgnored(status)
}

// reportIgnored says in the record which parents count for nothing, and how that ends.
func (v view) reportIgnored(status *v1alpha1.AllowanceRecordStatus) {
	if len(status.IgnoredParents) == 0 {
		apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionParentIgnored)
		return
	}
	parents := make([]string, 0, len(status.IgnoredParents))
	for _, p := range status.IgnoredParents {
		parents = append(parents, p.Kind+" "+p.Name)
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               v1alpha1.ConditionParentIgnored,
		Status:             metav1.ConditionTrue,
		ObservedGeneration: v.obj.GetGeneration(),
		LastTransitionTime: metav1.NewTime(v.now),
		Reason:             v1alpha1.ReasonAttachedUnseen,
		Message: fmt.Sprintf("%s was given the parent %s while no operator looked, by nobody knows whom: it bounds nothing and allows nothing here. "+
			"Who may initiate on %s approves it by the annotation %s=metadata.ownerReferences, or takes it away.",
			strings.TrimSpace(v.obj.GetKind()+" "+v.obj.GetName()), listing.Paths(parents), v.obj.GetKind(),
			ledger.AnnotationKey(v.obj, ledger.NameApprove)),
	})
}
