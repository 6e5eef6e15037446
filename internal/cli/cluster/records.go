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

package cluster

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// Records returns all AllowanceRecords of a namespace, or of all where it is empty.
func (c *Cluster) Records(ctx context.Context, namespace string, opts ...client.ListOption) ([]v1alpha1.AllowanceRecord, error) {
	var list v1alpha1.AllowanceRecordList
	if err := c.List(ctx, &list, append(opts, client.InNamespace(namespace))...); err != nil {
		where := "in all namespaces"
		if namespace != "" {
			where = "in namespace " + namespace
		}
		return nil, fmt.Errorf("reading the AllowanceRecords %s: %w", where, err)
	}
	return list.Items, nil
}

// Around holds the AllowanceRecords of what may be above and below an object.
type Around struct {
	// Records of its namespace, and of all others where what is above or below it may be elsewhere.
	Records []v1alpha1.AllowanceRecord
	// Elsewhere says why those of other namespaces could not be read, where they matter.
	Elsewhere error
}

// Around reads the AllowanceRecords of what may be above and below the target. obj is nil where the target
// cannot be read or is gone. Records of cluster-scoped objects are in a namespace that only the operator
// knows. So all namespaces are read where the target, or an object below it, may have such an object above
// or below it.
func (c *Cluster) Around(ctx context.Context, policies Policies, target Target, obj *unstructured.Unstructured) (Around, error) {
	own, err := c.Records(ctx, target.Namespace)
	if err != nil || target.Namespace == metav1.NamespaceAll || !c.leavesNamespace(policies, target, obj, own) {
		return Around{Records: own}, err
	}
	all, err := c.Records(ctx, metav1.NamespaceAll)
	if err != nil {
		return Around{Records: own, Elsewhere: err}, nil //nolint:nilerr // It is told, beside what could be read.
	}
	return Around{Records: all}, nil
}

// leavesNamespace reports whether an ancestor or a descendant of the target may be outside its namespace.
// Descendants are found in records, which are those of the namespace.
func (c *Cluster) leavesNamespace(policies Policies, target Target, obj *unstructured.Unstructured, records []v1alpha1.AllowanceRecord) bool {
	if c.leadsOut(policies, target.GVK.GroupKind()) {
		return true
	}
	for _, rec := range Below(records, UIDOf(target, obj, records)) {
		if c.leadsOut(policies, record.GVK(rec.Spec.TargetRef).GroupKind()) {
			return true
		}
	}
	if obj == nil {
		// What is gone does not say whose child it was.
		return c.mayBeBelowElsewhere(policies, target.GVK.GroupKind())
	}
	ref, ok := lineage.Parent(policies.Index, obj)
	return ok && (!c.Namespaced(ref.GVK.GroupKind()) || ref.Namespace != obj.GetNamespace())
}

// mayBeBelowElsewhere reports whether some ancestor of objects of a kind may be cluster-scoped, or in another namespace, by
// the policies that name the kind, or one that is above it.
func (c *Cluster) mayBeBelowElsewhere(policies Policies, kind schema.GroupKind) bool {
	above, next := sets.New(kind), []schema.GroupKind{kind}
	for ; len(next) > 0; next = next[1:] {
		for _, p := range policies.Policies() {
			parent := p.For.GroupKind()
			if above.Has(parent) || !slices.ContainsFunc(p.Entries(), func(e policy.Entry) bool { return !e.IsExternal() && e.Kind == next[0] }) {
				continue
			}
			if !c.Namespaced(parent) || policies.Naming(parent) != nil {
				return true
			}
			above.Insert(parent)
			next = append(next, parent)
		}
	}
	return false
}

// leadsOut reports whether children of a kind may be in another namespace, or cluster-scoped. The categories
// that the API server serves decide as well, as the caller may not be allowed to read the policies.
func (c *Cluster) leadsOut(policies Policies, kind schema.GroupKind) bool {
	if policies.HasCategory(kind, lineage.CategoryClaim) || policies.Naming(kind) != nil {
		return true
	}
	return c.discovery != nil && slices.ContainsFunc(c.Categories(kind), func(category string) bool {
		return category == lineage.CategoryClaim || knowledge.NamingOf(category) != nil
	})
}

// UIDOf returns the UID of the target: that of obj, or, where obj is nil, that in the record of the target.
// It is empty where there is no such record.
func UIDOf(target Target, obj *unstructured.Unstructured, records []v1alpha1.AllowanceRecord) types.UID {
	if obj != nil {
		return obj.GetUID()
	}
	if i := slices.IndexFunc(records, func(rec v1alpha1.AllowanceRecord) bool {
		return rec.Status.EndedAt == nil && target.Is(rec.Spec.TargetRef)
	}); i >= 0 {
		return records[i].Spec.TargetRef.UID
	}
	return ""
}

// RecordsOf returns the AllowanceRecords of all objects that have, or had, the name of
// the target, the newest first. Those of cluster-scoped objects are looked for in
// all namespaces, as only the operator knows its own.
func (c *Cluster) RecordsOf(ctx context.Context, t Target) ([]v1alpha1.AllowanceRecord, error) {
	all, err := c.Records(ctx, t.Namespace, client.MatchingFields{
		"spec.targetRef.kind": t.GVK.Kind,
		"spec.targetRef.name": t.Name,
	})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(rec v1alpha1.AllowanceRecord) bool {
		return !t.Is(rec.Spec.TargetRef)
	})
	slices.SortFunc(all, func(a, b v1alpha1.AllowanceRecord) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	return all, nil
}

// Below returns the records of what lives below an object, its children first, as far as they are
// among some records.
func Below(records []v1alpha1.AllowanceRecord, uid types.UID) []*v1alpha1.AllowanceRecord {
	children := map[types.UID][]*v1alpha1.AllowanceRecord{}
	for i := range records {
		if rec := &records[i]; rec.Status.EndedAt == nil {
			parent := record.ParentOf(rec)
			children[parent] = append(children[parent], rec)
		}
	}
	delete(children, "")
	var out []*v1alpha1.AllowanceRecord
	for next := []types.UID{uid}; len(next) > 0; next = next[1:] {
		below := children[next[0]]
		delete(children, next[0]) // Somebody may have owners point in a circle.
		for _, rec := range below {
			if rec.Spec.TargetRef.UID != uid {
				out = append(out, rec)
				next = append(next, rec.Spec.TargetRef.UID)
			}
		}
	}
	return out
}
