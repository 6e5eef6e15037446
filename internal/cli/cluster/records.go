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

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
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
