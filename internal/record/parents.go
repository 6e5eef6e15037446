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

package record

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// SaysWhoAttaches reports whether policies in effect for an object say who may give it a
// parent: those that deny, and name somebody who may initiate on it.
func SaysWhoAttaches(policies []*policy.Policy) bool {
	return slices.ContainsFunc(policies, func(p *policy.Policy) bool {
		return p.Action == v1alpha1.ActionDeny && p.HasInitiator()
	})
}

// Known identifies what is to be remembered of an object, by which what is changed while
// nobody looks is found: at the top of a chain what its policies withhold, and where they
// say who may give it one, its parents. It is nil where there is nothing to remember.
func Known(
	kinds lineage.Kinds, obj *unstructured.Unstructured, top bool, policies []*policy.Policy, key string,
) *v1alpha1.ApprovedContent {
	var out *v1alpha1.ApprovedContent
	if top {
		out = ContentOf(obj, policies, key)
	}
	if !SaysWhoAttaches(policies) {
		return out
	}
	if out == nil {
		out = &v1alpha1.ApprovedContent{} // Of parents the generation says nothing.
	}
	for _, ref := range lineage.Parents(kinds, obj) {
		// The API server lets an object name an owner twice, and takes no record that does.
		if id := ref.ID(); !slices.Contains(out.Parents, id) {
			out.Parents = append(out.Parents, id)
		}
	}
	return out
}

// IgnoredParents returns the ids of the parents that are none for the target of a record.
func IgnoredParents(rec *v1alpha1.AllowanceRecord) []string {
	if rec == nil {
		return nil
	}
	out := make([]string, 0, len(rec.Status.IgnoredParents))
	for _, p := range rec.Status.IgnoredParents {
		out = append(out, p.ID)
	}
	return out
}

// IgnoredParent returns a parent that is none from a time on.
func IgnoredParent(ref lineage.Ref, now metav1.Time) v1alpha1.IgnoredParent {
	return v1alpha1.IgnoredParent{
		ID: ref.ID(), APIVersion: ref.GVK.GroupVersion().String(), Kind: ref.GVK.Kind, Name: ref.Name, Time: now,
	}
}

// AcceptParents notes that the parents that an object names are its own from now on, as
// somebody approved them. Admission calls it before it answers, and never on a dry run.
func (s *Store) AcceptParents(ctx context.Context, ref v1alpha1.TargetReference) error {
	return s.Update(ctx, ref, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
		changed := len(status.IgnoredParents) > 0
		status.IgnoredParents = nil
		return changed
	})
}
