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
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/watchstate"
)

// toldWithin is the time that another replica may take to say in the record what it has
// admitted.
const toldWithin = 5 * time.Second

// unseen is what has been changed of a holder while no operator looked.
type unseen struct {
	// fields that were changed, with the digests of what was approved, at a generation, and the IDs of
	// the grants that there were when that was found.
	fields     []v1alpha1.ContentDigest
	generation int64
	had        []string
	// until is when it is certain that nobody tells of the change any more; zero where
	// it is.
	until time.Time
}

// findUnseen finds out whether somebody changed the holder while no operator looked:
// between the last heartbeat of the one before and the start of this one. It costs a call,
// where the content is not the approved one and nothing says why.
//
// Only the top of a chain is looked at: what is below it was changed by its controllers.
func (r *Reconciler) findUnseen(ctx context.Context, v *view, rec *v1alpha1.AllowanceRecord) error {
	v.content, v.parents = nil, r.parentsOf(v, rec)
	if v.obj.GetDeletionTimestamp() != nil {
		return nil
	}
	top := r.isAtTop(ctx, v)
	v.content = record.Known(r.Policies.Index(), v.obj, top, v.policies, r.DigestKey)
	if v.lapsed = r.SignOfLife.sinceLapse(); v.isLapsed() {
		return nil // It is looked at once more when somebody is asked again.
	}
	knows := r.lastKnown(v, rec)
	r.findAttached(ctx, v, knows)
	away, ok := r.SignOfLife.away()
	if !ok || !top {
		return nil
	}
	if found, ok := r.changedUnseen.Load(v.obj.GetUID()); ok {
		// What is changed from now on does not make it a change that somebody has seen.
		v.unseen, _ = found.(unseen)
		v.unseen.fields = v.stillUnseen(knows)
		// A mark on the object stays. One that is only noted in the record does not: it counts
		// for the object as it was, and somebody may change that without our being asked. A mark
		// of another field says nothing of these.
		if v.says(v.unseen.fields) {
			r.changedUnseen.Delete(v.obj.GetUID())
			v.unseen = unseen{}
		}
	} else if fields := r.unexplained(v, knows, known(rec, r.Baseline.PoliciesOf(v.request(), v.obj.GetUID()), away.since)); len(fields) > 0 {
		if err := r.lookUnseen(ctx, v, knows, fields, away); err != nil {
			return err
		}
	} else {
		r.looked.add(v.obj.GetUID())
	}
	if !v.unseen.until.After(v.now) {
		v.unseen.until = time.Time{}
	}
	return nil
}

// isAtTop reports whether a holder is at the top of a chain, so that nobody changes it but
// who means to.
func (r *Reconciler) isAtTop(ctx context.Context, v *view) bool {
	parent, known := ancestry.ParentUID(ctx, r.Holders, r.Policies.Index(), v.obj)
	return parent == "" && known
}

// parentsOf returns the ids of the parents that a holder names, where it matters which.
func (r *Reconciler) parentsOf(v *view, rec *v1alpha1.AllowanceRecord) []string {
	if !record.SaysWhoAttaches(v.policies) && len(record.IgnoredParents(rec)) == 0 {
		return nil
	}
	var ids []string
	for _, ref := range lineage.Parents(r.Policies.Index(), v.obj) {
		ids = append(ids, ref.ID())
	}
	return ids
}

// lastKnown returns what the record of a holder tells, or what is remembered of one that had
// nothing to be recorded.
func (r *Reconciler) lastKnown(v *view, rec *v1alpha1.AllowanceRecord) *v1alpha1.AllowanceRecordStatus {
	if rec != nil && rec.Status.Approved != nil {
		return &rec.Status
	}
	status := v1alpha1.AllowanceRecordStatus{}
	if rec != nil {
		status = rec.Status
	}
	status.Approved = r.Baseline.Of(v.request(), v.obj.GetUID())
	return &status
}

// remember has it known what a holder without a record is like, for an operator that comes
// after this one.
func (r *Reconciler) remember(v view, rec *v1alpha1.AllowanceRecord) {
	switch req := v.request(); {
	case v.content == nil, rec != nil && rec.Status.Approved != nil:
		r.Baseline.Forget(req)
	case rec == nil && !v.deservesRecord() && !v.isLapsed():
		r.Baseline.Note(req, v.obj.GetUID(), v.content, newest(v.policies))
	}
}

// unexplained returns what of a holder is not explained, as its method does; nothing where admission
// found all of it explained before it let through what has changed since.
func (r *Reconciler) unexplained(v *view, knows *v1alpha1.AllowanceRecordStatus, until time.Time) []v1alpha1.ContentDigest {
	if r.Baseline.IsExplained(v.obj.GetUID()) {
		return nil
	}
	return v.unexplained(knows, until)
}

// lookUnseen looks when a holder was changed of which fields are not explained.
func (r *Reconciler) lookUnseen(
	ctx context.Context, v *view, knows *v1alpha1.AllowanceRecordStatus, fields []v1alpha1.ContentDigest, away absence,
) error {
	if r.looked.has(v.obj.GetUID()) && away.isOver(v.now) && away.isSince(v.obj) {
		return nil // Whoever changed it since the first look was asked about.
	}
	live, err := r.Holders.Live(ctx, v.obj.GroupVersionKind(), client.ObjectKeyFromObject(v.obj))
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case apierrors.IsNotFound(err):
		return nil // Its own event follows.
	case live.GetResourceVersion() != v.obj.GetResourceVersion():
		v.unseen.until = v.now.Add(requeue.WhenGone) // So it does.
		return nil
	}
	first := r.looked.add(v.obj.GetUID())
	changed := record.LastChange(live)
	told, late := away.told(changed, v.now, first)
	if late {
		return nil
	}
	if away.isOutOf(live, changed, first, record.IsMoved(knows.Approved, v.obj.GetGeneration())) {
		return nil
	}
	proven, since := lifecycle.Proven(live, v.policies), metav1.NewTime(wholeSecond(away.since))
	if v.isMarked(knows) || record.ChildWaits(knows) {
		proven = nil
	}
	v.unseen.generation, v.unseen.had = knows.Approved.Generation, v.grants(knows)
	v.unseen.fields = slices.DeleteFunc(fields, func(d v1alpha1.ContentDigest) bool {
		path, err := change.ParsePath(d.Path)
		return record.IsScaled(live, d.Path, &since) || err == nil && (change.AnyCovers(proven, path) || r.isOutside(ctx, live, path))
	})
	if len(v.unseen.fields) == 0 {
		return nil
	}
	// An operator that is alone has no other one that could tell of the change.
	if !r.Alone || changed.After(away.until) {
		v.unseen.until = told
	}
	r.changedUnseen.Store(v.obj.GetUID(), v.unseen)
	return nil
}

// told returns until when another replica may still tell of a change that was made at a time. over
// is true once that is past: then the change is taken for one that somebody has seen.
//
// changed is when anything of the object was last changed, and a label that nobody is asked about
// moves it on. So it proves nothing at the first look, which a busy operator may have late.
func (a absence) told(changed, now time.Time, first bool) (until time.Time, over bool) {
	switch {
	case !changed.After(a.until):
		return a.over.Add(toldWithin), false
	case !first && a.isOver(now):
		return time.Time{}, true
	}
	return now.Add(toldWithin), false
}

// isOver reports whether another replica has told by now of what it admitted in that time.
func (a absence) isOver(now time.Time) bool { return now.After(a.over.Add(toldWithin)) }

// isOutOf reports whether what differs of an object was written at another time than while nobody looked.
// changed is when the object was last changed, as far as managed fields have a time of it. A removal, or
// clearing managed fields, leaves no time. So at the first look an early time proves nothing.
//
// There the resourceVersion decides: an object that was last written before the last sign of life differs by
// a new default, or by a digest of another form. Where its generation has moved, it differs by a change.
func (a absence) isOutOf(obj metav1.Object, changed time.Time, first, moved bool) bool {
	switch {
	case !changed.Before(wholeSecond(a.since)):
		return false
	case !first:
		return true
	}
	return !moved && watchstate.IsBefore(obj.GetResourceVersion(), a.signedBefore)
}

// isSince reports whether an object was written after the first sign of life of this process.
func (a absence) isSince(obj metav1.Object) bool {
	return watchstate.IsBefore(a.signed, obj.GetResourceVersion())
}

// isOutside reports whether what a holder stands for has what the holder says at a path: the
// system there has filled it in, or it was carried out.
func (r *Reconciler) isOutside(ctx context.Context, obj *unstructured.Unstructured, path change.Path) bool {
	if r.Drivers == nil {
		return false
	}
	driver, _, ok := r.Drivers.Gate(ctx, obj.GroupVersionKind())
	return ok && driver.Has(obj, path)
}

// unexplained returns the fields of the content that are not as they are known to be approved,
// where nothing says why: no grant, and nothing that is withheld.
//
// What a policy withholds that came while no operator looked was nobody's to withhold
// before: until is when policies were there that are known to have been looked at.
func (v view) unexplained(knows *v1alpha1.AllowanceRecordStatus, until time.Time) []v1alpha1.ContentDigest {
	was := knows.Approved
	if was == nil || v.isMarked(knows) || knows.Adopting {
		return nil
	}
	policies := slices.DeleteFunc(slices.Clone(v.policies), func(p *policy.Policy) bool {
		return p.Created.After(until)
	})
	return record.Unexplained(knows, v.content, policies, v.effective(knows))
}

// effective returns what counts of the ledger of the holder.
func (v view) effective(knows *v1alpha1.AllowanceRecordStatus) ledger.Ledger {
	return record.Effective(v.asRecord(knows), v.obj, v.stored)
}

// grants returns the IDs of what counts of the ledger of the holder.
func (v view) grants(knows *v1alpha1.AllowanceRecordStatus) []string {
	effective := v.effective(knows)
	ids := make([]string, 0, len(effective))
	for _, e := range effective {
		ids = append(ids, e.ID())
	}
	return ids
}

// stillUnseen returns the fields that were found changed while nobody looked, without those that
// were put back or approved since.
func (v view) stillUnseen(knows *v1alpha1.AllowanceRecordStatus) []v1alpha1.ContentDigest {
	was := &v1alpha1.ApprovedContent{Generation: v.unseen.generation, Digests: v.unseen.fields}
	return record.StillUnexplained(was, knows.Approved, v.content, v.policies, v.effective(knows), v.unseen.had)
}

// says reports whether the stored ledger withholds each of some fields, or what is above or below it.
func (v view) says(fields []v1alpha1.ContentDigest) bool {
	return !slices.ContainsFunc(fields, func(d v1alpha1.ContentDigest) bool {
		path, err := change.ParsePath(d.Path)
		return err == nil && !slices.ContainsFunc(v.stored, func(e ledger.Entry) bool {
			at, err := change.ParsePath(e.Mutation)
			return e.IsWithheld() && err == nil && at.Overlaps(path)
		})
	})
}

// known returns a time. An operator has looked at the holder by all policies created until then: the
// time of its last sign of life, which comes at intervals and may be lost, or a later one that the
// record or the baseline of the holder shows.
func known(rec *v1alpha1.AllowanceRecord, baseline, since time.Time) time.Time {
	until := since.Add(signInterval)
	if rec != nil && rec.CreationTimestamp.After(until) {
		until = rec.CreationTimestamp.Time
	}
	if baseline.After(until) {
		return baseline
	}
	return until
}

// newest returns the creation time of the newest policy, zero for none.
func newest(policies []*policy.Policy) time.Time {
	var last time.Time
	for _, p := range policies {
		if p.Created.After(last) {
			last = p.Created.Time
		}
	}
	return last
}

// isMarked reports whether something of the holder is withheld, or was at the last look.
func (v view) isMarked(status *v1alpha1.AllowanceRecordStatus) bool {
	return v.withheld() || status.WithheldCount > 0
}

// approve takes note of what content is approved, and withholds what was changed while
// nobody looked, until somebody approves it or it is put back (D2).
func (v view) approve(status *v1alpha1.AllowanceRecordStatus, next *requeue.Soonest) {
	switch {
	case v.content == nil:
		status.Approved = nil
	case v.isLapsed():
		return // Whoever made it what it is has not been asked.
	case !v.attached.until.IsZero():
		return // Whose its parents are is not known yet.
	case v.withheld() && v.says(v.unseen.fields), status.Adopting:
		// The object has what is approved itself, or all of it is until it settles.
		v.keepApproved(status)
	case !v.unseen.until.IsZero():
		next.At(v.unseen.until)
	case len(v.unseen.fields) > 0:
		v.withhold(status)
	case slices.ContainsFunc(status.PendingGrants, marks):
		// The object has it with its next request, unless somebody changes it before.
		v.keepApproved(status)
	case !equality.Semantic.DeepEqual(status.Approved, v.content):
		status.Approved = v.content
	}
}

// keepApproved leaves the approved content as it is, but for the parents.
func (v view) keepApproved(status *v1alpha1.AllowanceRecordStatus) {
	if status.Approved != nil {
		status.Approved.Parents = v.content.Parents
	}
}

// marks reports whether a grant withholds something.
func marks(p v1alpha1.PendingGrant) bool {
	return slices.ContainsFunc(p.Allowances, func(a v1alpha1.Allowance) bool { return a.Relation == v1alpha1.RelationWithheld })
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
	pending := record.NewPending(nil, v.obj, marks, nil)
	pending.Time = metav1.NewTime(v.now)
	if !slices.ContainsFunc(status.PendingGrants, func(p v1alpha1.PendingGrant) bool { return p.ID == pending.ID }) {
		status.PendingGrants = append(status.PendingGrants, pending)
	}
}

// looks knows of which holders this process has had a look, in little space. The zero value
// knows of none.
type looks struct {
	mu   sync.Mutex
	seed maphash.Seed
	had  map[uint64]struct{}
}

// add notes a look, and reports whether it is the first.
func (l *looks) add(uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.had == nil {
		l.seed, l.had = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	key := maphash.String(l.seed, string(uid))
	_, had := l.had[key]
	l.had[key] = struct{}{}
	return !had
}

// forget all looks.
func (l *looks) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.had = nil
}

// has reports whether a look was noted.
func (l *looks) has(uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.had == nil {
		return false
	}
	_, had := l.had[maphash.String(l.seed, string(uid))]
	return had
}
