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

package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/scope"
)

// toldWithin is how long another replica may take to say in the record what it has
// admitted.
const toldWithin = 5 * time.Second

// unseen is what has been changed of a holder while no operator looked.
type unseen struct {
	// fields that were changed, with the digests of what was approved.
	fields []v1alpha1.ContentDigest
	// until is when it is certain that nobody tells of the change any more; zero where
	// it is.
	until time.Time
}

// findUnseen finds out whether somebody changed the holder while no operator looked:
// between the last heartbeat of the one before and the start of this one. It costs a call,
// where the content is not the approved one and nothing says why.
//
// Only the top of a chain is looked at: what is below it was changed by its controllers.
// What stands for something outside has a gate, which knows what it was opened for.
func (r *Holder) findUnseen(ctx context.Context, v *view, rec *v1alpha1.AllowanceRecord) error {
	v.content = nil
	if isUnderGate(v.obj) || v.obj.GetDeletionTimestamp() != nil {
		return nil
	}
	if parent, known := scope.ParentUID(ctx, r.Holders, r.Policies.Index(), v.obj); parent != "" || !known {
		return nil
	}
	v.content = record.ContentOf(v.obj, v.policies, r.DigestKey)
	since, start := r.SignOfLife.away()
	if rec == nil || since == nil {
		return nil
	}
	if found, ok := r.changedUnseen.Load(v.obj.GetUID()); ok {
		// What is changed from now on does not make it a change that somebody has seen.
		v.unseen, _ = found.(unseen)
		v.unseen.fields = record.ChangedSince(&v1alpha1.ApprovedContent{Digests: v.unseen.fields}, v.content)
		if v.isMarked(&rec.Status) || len(v.unseen.fields) == 0 {
			r.changedUnseen.Delete(v.obj.GetUID())
			v.unseen = unseen{}
		}
	} else if !v.isExplained(&rec.Status) {
		if err := r.lookUnseen(ctx, v, rec, *since, start); err != nil {
			return err
		}
	}
	if !v.unseen.until.After(v.now) {
		v.unseen.until = time.Time{}
	}
	return nil
}

// lookUnseen looks when a holder was changed whose content is not explained.
func (r *Holder) lookUnseen(ctx context.Context, v *view, rec *v1alpha1.AllowanceRecord, since, start time.Time) error {
	live, err := r.Holders.Live(ctx, v.obj.GroupVersionKind(), client.ObjectKeyFromObject(v.obj))
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case apierrors.IsNotFound(err):
		return nil // Its own event follows.
	case live.GetResourceVersion() != v.obj.GetResourceVersion():
		v.unseen.until = v.now.Add(goneRecheck) // So it does.
		return nil
	}
	changed, told := lastChange(live), start.Add(toldWithin)
	if changed.Before(wholeSecond(since)) || changed.After(start) && v.now.After(told) {
		return nil
	}
	proven := lifecycle.Proven(live)
	if v.isMarked(&rec.Status) || record.ChildWaits(&rec.Status) {
		proven = nil
	}
	v.unseen.fields = slices.DeleteFunc(record.ChangedSince(rec.Status.Approved, v.content), func(d v1alpha1.ContentDigest) bool {
		path, err := change.ParsePath(d.Path)
		return isScaled(live, d.Path, since) || err == nil && change.AnyCovers(proven, path)
	})
	if len(v.unseen.fields) == 0 {
		return nil
	}
	// An operator that is alone has no other one that could tell of the change.
	if !r.Alone || changed.After(start) {
		v.unseen.until = told
	}
	r.changedUnseen.Store(v.obj.GetUID(), v.unseen)
	return nil
}

// isExplained reports whether the content is the approved one, or it is known why it is
// another: new defaults, which count up no generation, what is withheld, or a grant that is
// newer than what the record knows: an operator that was killed may not have told of what
// it granted in its last two seconds.
func (v view) isExplained(status *v1alpha1.AllowanceRecordStatus) bool {
	was := status.Approved
	if was == nil || v.content == nil || v.isMarked(status) || status.Adopting {
		return true
	}
	generation := v.obj.GetGeneration()
	if generation == 0 || was.Generation == generation || len(record.ChangedSince(was, v.content)) == 0 {
		return true
	}
	effective := record.Effective(v.asRecord(status), v.obj, v.stored)
	return slices.ContainsFunc(effective, func(e ledger.Entry) bool { return e.Generation > was.Generation })
}

// isMarked reports whether something of the holder is withheld, or was at the last look.
func (v view) isMarked(status *v1alpha1.AllowanceRecordStatus) bool {
	return v.withheld() || status.WithheldCount > 0
}

// approve takes note of what content is approved, and withholds what was changed while
// nobody looked, until somebody approves it or it is put back (D2).
func (v view) approve(status *v1alpha1.AllowanceRecordStatus, next *soonest) {
	switch {
	case v.content == nil:
		status.Approved = nil
	case v.withheld(), status.Adopting:
		return // The object has what is approved itself, or all of it is until it settles.
	case !v.unseen.until.IsZero():
		next.at(v.unseen.until)
	case len(v.unseen.fields) > 0:
		v.withhold(status)
	case !equality.Semantic.DeepEqual(status.Approved, v.content):
		status.Approved = v.content
	}
}

// withhold has what was changed while nobody looked withheld, by a grant that is folded in
// like any other one.
func (v view) withhold(status *v1alpha1.AllowanceRecordStatus) {
	marks := make([]v1alpha1.Allowance, 0, len(v.unseen.fields))
	for _, d := range v.unseen.fields {
		marks = append(marks, v1alpha1.Allowance{
			Relation: v1alpha1.RelationWithheld, Mutation: d.Path, Generation: v.obj.GetGeneration(), Replaced: d.Digest,
		})
	}
	pending := record.NewPending(nil, record.ContentHash(v.obj), marks, nil)
	pending.Time = metav1.NewTime(v.now)
	if !slices.ContainsFunc(status.PendingGrants, func(p v1alpha1.PendingGrant) bool { return p.ID == pending.ID }) {
		status.PendingGrants = append(status.PendingGrants, pending)
	}
}

// The sub-resources by which managed fields say that a field was set, but for "".
const (
	statusSubresource = "status"
	scaleSubresource  = "scale"
)

// lastChange is when an object was last changed but for its status. API servers keep
// whole seconds.
func lastChange(obj *unstructured.Unstructured) time.Time {
	var last time.Time
	for _, f := range obj.GetManagedFields() {
		if f.Subresource != statusSubresource && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// isScaled reports whether a field was last set through the scale sub-resource, as
// autoscalers do, which go on while nobody looks.
func isScaled(obj *unstructured.Unstructured, path string, since time.Time) bool {
	return path == "spec.replicas" && slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource == scaleSubresource && f.Time != nil && !f.Time.Time.Before(wholeSecond(since))
	})
}
