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

package approve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
)

// strayOf returns the owners of the object that adopted it without a cause, as their records tell.
func (a *approval) strayOf(ctx context.Context) ([]v1alpha1.TargetReference, error) {
	var out []v1alpha1.TargetReference
	for _, owner := range a.seen.GetOwnerReferences() {
		rec, err := a.recordOf(ctx, owner)
		if err != nil {
			return nil, err
		}
		if rec != nil && slices.ContainsFunc(rec.Status.Strays, func(s v1alpha1.StrayChild) bool { return s.UID == a.seen.GetUID() }) {
			out = append(out, rec.Spec.TargetRef)
		}
	}
	return out, nil
}

// recordOf returns the record of an owner of the object, nil where there is none. That of a cluster-scoped one is in a
// namespace that only the operator knows.
func (a *approval) recordOf(ctx context.Context, owner metav1.OwnerReference) (*v1alpha1.AllowanceRecord, error) {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return nil, nil //nolint:nilerr // No object has such a kind, and no record is of it.
	}
	for _, namespace := range slices.Compact([]string{a.seen.GetNamespace(), metav1.NamespaceAll}) {
		records, err := a.cluster.RecordsOf(ctx, cluster.Target{GVK: gv.WithKind(owner.Kind), Namespace: namespace, Name: owner.Name})
		if err != nil {
			return nil, err
		}
		for i := range records {
			if records[i].Spec.TargetRef.UID == owner.UID {
				return &records[i], nil
			}
		}
	}
	return nil, nil
}

// approvesAdoption reports whether what is planned approves that the object has the parents that it has.
func (a *approval) approvesAdoption() bool {
	return slices.ContainsFunc(a.planned, func(each string) bool {
		text, _ := decision.ParseApproval(each)
		return text == lineage.OwnersPath || text == v1alpha1.Any
	})
}

// noteStrays says in the report of a dry run of which parents the object ceases to be a stray: nothing that is stored
// tells yet, but who may not approve it is warned.
func (a *approval) noteStrays(report *Report) {
	if a.approvesAdoption() && len(report.Warnings) == 0 {
		report.Strays = a.strays
	}
}

// proveStrays says in the report of an approval of which parents the object has ceased to be a stray. Their records are
// written before the answer.
func (a *approval) proveStrays(ctx context.Context, report *Report) error {
	if !a.approvesAdoption() || len(a.strays) == 0 {
		return nil
	}
	still, err := a.strayOf(ctx)
	if err != nil {
		return fmt.Errorf("looking whether %s is a stray still: %w", a.target, err)
	}
	report.Strays = slices.DeleteFunc(slices.Clone(a.strays), func(parent v1alpha1.TargetReference) bool { return slices.Contains(still, parent) })
	if len(report.Strays) == 0 && len(report.Added)+len(report.Removed)+len(report.Warnings) == 0 {
		return errors.New("nothing is approved: " + a.target.String() + " is still a stray. The API server took the request and Kausality did not see the approval in it")
	}
	return nil
}
