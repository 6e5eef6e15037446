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

package catalog

import (
	"context"
	"errors"
	"slices"
	"testing"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

// fixedRights lacks the rights on some resources.
type fixedRights struct {
	lacking []string
	err     error
}

func (r *fixedRights) Missing(_ context.Context, needs []access.Need) ([]access.Need, error) {
	var missing []access.Need
	for _, need := range needs {
		if slices.Contains(r.lacking, need.Resource) {
			missing = append(missing, need)
		}
	}
	return missing, r.err
}

// A policy that the operator may not read for is not active, and not watched for; it is as before
// when the right is back, and stays as it is while nobody knows.
func TestPolicyIndexReviewsRights(t *testing.T) {
	rights := &fixedRights{}
	catalog := New(&policy.Active{})
	catalog.reviewed = true
	r := &Reconciler{Catalog: catalog, Kinds: &updatedKinds{Kinds: controllertest.ServedKinds()}, Gates: controllertest.NoGates{}, Rights: rights}
	if r.reviewAgain() != 0 {
		t.Error("rights are reviewed although there are no policies")
	}
	catalog.compile([]v1alpha1.AllowancePolicy{adoptedAt(controllertest.PolicyFor("Deployment"), 1), adoptedAt(controllertest.PolicyFor("ReplicaSet"), 1)}, controllertest.ServedKinds(), false)
	check := func(what string, want ...string) {
		t.Helper()
		for list, policies := range map[string][]*policy.Policy{"active": catalog.Policies(), "usable": catalog.Usable()} {
			var names []string
			for _, p := range policies {
				names = append(names, p.Name)
			}
			slices.Sort(names)
			if !slices.Equal(names, want) {
				t.Errorf("%s: %s are %v, want %v", what, list, names, want)
			}
		}
	}
	check("before the first review")
	if catalog.Known() {
		t.Error("Known() before the first review: what is rendered would be taken away")
	}
	review := func(fails bool) {
		t.Helper()
		if err := r.review(t.Context()); (err != nil) != fails {
			t.Errorf("review: %v", err)
		}
	}
	review(false)
	if !catalog.Known() {
		t.Error("not Known() after the first review")
	}
	check("with all rights", "Deployment", "ReplicaSet")
	rights.lacking = []string{"replicasets"}
	review(false)
	check("a right is taken away", "Deployment")
	if entry, _ := catalog.Get("ReplicaSet"); len(entry.Missing) == 0 || entry.Active {
		t.Errorf("nothing is said to be missing: %+v", entry)
	}
	rights.lacking, rights.err = nil, errors.New("the API server is away")
	review(true)
	check("nobody knows", "Deployment")
	rights.err = nil
	review(false)
	check("the right is back", "Deployment", "ReplicaSet")
	if entry, _ := catalog.Get("ReplicaSet"); entry.Adopted == nil {
		t.Error("the policy would be adopted anew")
	}
	if r.reviewAgain() != access.Interval {
		t.Error("rights are not reviewed again")
	}
}
