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
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
)

// Baseline tells what objects were like when an operator last looked.
type Baseline interface {
	// Since is when this operator had its first request, and true where that is so short a
	// while ago that nobody may have looked yet for what was changed before.
	Since() (time.Time, bool)
	// LastKnown is what an object without a record was like; nil where that is not known.
	LastKnown(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName, uid types.UID) *v1alpha1.ApprovedContent
	// NoteExplained tells that nothing of an object was changed while nobody looked.
	NoteExplained(uid types.UID)
}

// Lapse has it known that the API server has ceased to ask, or asks again.
func (g *Gatherer) Lapse(bool) { g.admitted.forget() }

// missed returns what of an object was changed while no operator looked and is noted nowhere, as
// the controller that finds it has not come to the object: entries that withhold it. Without
// them, what an initiator changes first of all would approve what was changed before it, for
// the object has from then on an allowance that explains that it is another one.
func (g *Gatherer) missed(ctx context.Context, r *request, f *facts, rec *v1alpha1.AllowanceRecord, effective ledger.Ledger) []v1alpha1.Allowance {
	if g.Baseline == nil || len(f.policiesBefore) == 0 || f.ParentState != decision.NoParent || f.Operator ||
		keepsApproved(r.old) || len(effective.Without(isAllowance)) > 0 {
		return nil
	}
	since, young := g.Baseline.Since()
	if !young || g.admitted.has(r.old) {
		return nil
	}
	was := &v1alpha1.AllowanceRecordStatus{}
	if rec != nil {
		was = &rec.Status
	}
	if was.Adopting || was.WithheldCount > 0 {
		return nil
	}
	knows := &v1alpha1.AllowanceRecordStatus{Approved: was.Approved, Active: was.Active, PendingGrants: was.PendingGrants}
	if knows.Approved == nil {
		knows.Approved = g.Baseline.LastKnown(ctx, r.gvk, types.NamespacedName{Namespace: r.namespace, Name: r.objectName()}, r.old.GetUID())
	}
	if knows.Approved == nil {
		return nil
	}
	fields := record.Unexplained(knows, record.ContentOf(r.old, f.policiesBefore, g.DigestKey), f.policiesBefore, effective)
	if len(fields) == 0 {
		g.Baseline.NoteExplained(r.old.GetUID())
		return nil
	}
	// Objects of requests are read without their managed fields, which tell when.
	doubtLedger.read()
	live, err := g.Objects.Live(ctx, r.gvk, types.NamespacedName{Namespace: r.namespace, Name: r.objectName()})
	// What managed fields say is in whole seconds. *Observed* where the second of the first request counted
	// as before it: what had been approved in that second was withheld, as changed by nobody.
	if err != nil || !record.LastChange(live).Before(since.Truncate(time.Second)) {
		return nil
	}
	var proven []change.Pattern
	if !record.ChildWaits(was) {
		proven = lifecycle.Proven(r.old, f.policiesBefore)
	}
	var marks []v1alpha1.Allowance
	for _, d := range fields {
		path, err := change.ParsePath(d.Path)
		if record.IsScaled(live, d.Path, nil) || err == nil && (change.AnyCovers(proven, path) || f.isOutside(r, path)) {
			continue
		}
		marks = append(marks, v1alpha1.Allowance{
			Relation: v1alpha1.RelationWithheld, Mutation: d.Path, Generation: r.old.GetGeneration(), Replaced: d.Digest,
		})
	}
	return marks
}

// isOutside reports whether what an object stands for has what the object said at a path
// before the request.
func (f *facts) isOutside(r *request, path change.Path) bool {
	return f.gate != nil && f.gate.Has(r.old, path)
}

func isAllowance(e ledger.Entry) bool { return !e.IsWithheld() }

// maxAdmitted is of how many objects it is known that this process has admitted a change.
const maxAdmitted = 8192

// admitted are the objects of which this process has admitted a change, with their
// generation before it, or with their resourceVersion where they count none: what they had by that
// change somebody has seen, whether or not the record tells of it yet. The zero value knows of none.
type admitted struct {
	once  sync.Once
	known *lru.Cache
}

// forget what was admitted: it tells nothing of what was changed since while nobody was asked.
func (a *admitted) forget() {
	a.once.Do(func() { a.known = lru.New(maxAdmitted) })
	a.known.Clear()
}

// note remembers that a change of an object is admitted, which is given as it was before.
func (a *admitted) note(before *unstructured.Unstructured) {
	a.once.Do(func() { a.known = lru.New(maxAdmitted) })
	a.known.Add(before.GetUID(), writeOf(before))
}

// has reports whether an object has come by a change that was admitted. One that was
// admitted, and not stored after all, leaves it at its generation.
func (a *admitted) has(obj *unstructured.Unstructured) bool {
	a.once.Do(func() { a.known = lru.New(maxAdmitted) })
	before, ok := a.known.Get(obj.GetUID())
	return ok && before != writeOf(obj)
}

// writeOf tells one write of an object from others: of those that may be admitted, where generations tell.
func writeOf(obj *unstructured.Unstructured) string {
	if generation := obj.GetGeneration(); generation > 0 {
		return strconv.FormatInt(generation, 10)
	}
	return "v" + obj.GetResourceVersion()
}

// keepsApproved reports whether an object has content that is kept of it: of one that only has a note that it returns
// to what was approved, nothing tells what was changed.
func keepsApproved(obj *unstructured.Unstructured) bool {
	state, _ := approved.Decode(ledger.Annotation(obj, ledger.NameApproved)) // What cannot be read withholds.
	return state != nil && !state.Returns()
}
