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

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
)

// Baseline tells what objects were like when an operator last looked.
type Baseline interface {
	// IsYoung reports whether this operator started only just, so that nobody may have
	// looked yet for what was changed before that.
	IsYoung() bool
	// LastKnown is what an object without a record was like; nil where that is not known.
	LastKnown(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName, uid types.UID) *v1alpha1.ApprovedContent
}

// missed is what of an object was changed while no operator looked and is noted nowhere, as
// the controller that finds it has not come to the object: entries that withhold it. Without
// them, what an initiator changes first of all would approve what was changed before it, for
// the object has from then on an allowance that explains that it is another one.
func (g *Gatherer) missed(ctx context.Context, r *request, f *facts, rec *v1alpha1.AllowanceRecord, effective ledger.Ledger) []v1alpha1.Allowance {
	if g.Baseline == nil || len(f.OwnPolicies) == 0 || f.ParentState != decision.NoParent || f.Operator || !g.Baseline.IsYoung() ||
		ledger.Annotation(r.old, ledger.NameApproved) != "" || len(effective.Without(isAllowance)) > 0 {
		return nil
	}
	was := &v1alpha1.AllowanceRecordStatus{}
	if rec != nil {
		was = &rec.Status
	}
	if was.Adopting || was.WithheldCount > 0 {
		return nil
	}
	approved := was.Approved
	if approved == nil {
		approved = g.Baseline.LastKnown(ctx, r.gvk, types.NamespacedName{Namespace: r.namespace, Name: r.objectName()}, r.old.GetUID())
	}
	if approved == nil || record.IsSeen(approved, r.old.GetGeneration()) {
		return nil
	}
	fields := record.Unexplained(approved, record.ContentOf(r.old, f.OwnPolicies, g.DigestKey), f.OwnPolicies, effective)
	if len(fields) == 0 {
		return nil
	}
	var proven []change.Pattern
	if !record.ChildWaits(was) {
		proven = lifecycle.Proven(r.old)
	}
	var marks []v1alpha1.Allowance
	for _, d := range fields {
		path, err := change.ParsePath(d.Path)
		if g.isScaled(ctx, r, d.Path) || err == nil && (change.AnyCovers(proven, path) || f.isOutside(r, path)) {
			continue
		}
		marks = append(marks, v1alpha1.Allowance{
			Relation: v1alpha1.RelationWithheld, Mutation: d.Path, Generation: r.old.GetGeneration(), Replaced: d.Digest,
		})
	}
	return marks
}

// isScaled reports whether a field was set last as autoscalers do it. Objects of requests are
// read without their managed fields, which tell.
func (g *Gatherer) isScaled(ctx context.Context, r *request, path string) bool {
	if path != record.ScaledPath {
		return false
	}
	doubtLedger.read()
	live, err := g.Objects.Live(ctx, r.gvk, types.NamespacedName{Namespace: r.namespace, Name: r.objectName()})
	return err == nil && record.IsScaled(live, path, nil)
}

// isOutside reports whether what an object stands for has what the object said at a path
// before the request.
func (f *facts) isOutside(r *request, path change.Path) bool {
	return f.gate != nil && f.gate.Has(r.old, path)
}

func isAllowance(e ledger.Entry) bool { return !e.IsWithheld() }
