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
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

func TestCreatedUnwatched(t *testing.T) {
	created := func(h testHolder, d time.Duration) testHolder {
		h.SetCreationTimestamp(metav1.NewTime(controllertest.Noon.Add(d)))
		return h
	}
	inEffect := []*policy.Policy{{Name: "deployment"}}
	// The last sign was given within the second.
	since := controllertest.Noon.Add(400 * time.Millisecond)
	tests := map[string]struct {
		holder   testHolder
		policies []*policy.Policy
		since    *time.Time
		want     bool
	}{
		"created later":                      {holder: created(makeHolder(), time.Second), policies: inEffect, since: &since, want: true},
		"created in the same second":         {holder: created(makeHolder(), 0), policies: inEffect, since: &since, want: true},
		"created before":                     {holder: created(makeHolder(), -time.Second), policies: inEffect, since: &since},
		"never a sign of life":               {holder: created(makeHolder(), time.Second), policies: inEffect},
		"no policy in effect":                {holder: created(makeHolder(), time.Second), since: &since},
		"settled":                            {holder: created(makeHolder().settled(), time.Second), policies: inEffect, since: &since},
		"its creation was traced":            {holder: created(makeHolder().holding(creationGrant()), time.Second), policies: inEffect, since: &since},
		"withheld":                           {holder: created(makeHolder().holding(withheldChange("spec.template")), time.Second), policies: inEffect, since: &since},
		"being deleted":                      {holder: created(makeHolder().deleting(), time.Second), policies: inEffect, since: &since},
		"traced later, but not its creation": {holder: created(makeHolder().holding(grantOf("spec.replicas", 5)), time.Second), policies: inEffect, since: &since, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := look(test.holder.Unstructured, test.policies, controllertest.Noon).createdUnwatched(test.since); got != test.want {
				t.Errorf("createdUnwatched() = %t, want %t", got, test.want)
			}
		})
	}
}

func TestIsUnjudged(t *testing.T) {
	rec := func(known, created bool, phase v1alpha1.Phase) *v1alpha1.AllowanceRecord {
		return &v1alpha1.AllowanceRecord{
			Spec: v1alpha1.AllowanceRecordSpec{LedgerKnown: known, CreationJudged: created}, Status: v1alpha1.AllowanceRecordStatus{Phase: phase},
		}
	}
	// asked has what the creation was granted, of which the object has nothing.
	asked := func(known bool) *v1alpha1.AllowanceRecord {
		out := rec(known, false, "")
		out.Status.PendingGrants = []v1alpha1.PendingGrant{record.NewPending(nil, makeHolder().Unstructured, []v1alpha1.Allowance{creationGrant()}, nil)}
		return out
	}
	bare, granted, created := makeHolder(), makeHolder().holding(grantOf("spec.replicas", 5)), makeHolder().holding(creationGrant())
	for name, tc := range map[string]struct {
		holder testHolder
		rec    *v1alpha1.AllowanceRecord
		want   bool
	}{
		"no record":                 {holder: bare, want: true},
		"allowances, and no record": {holder: granted},
		"a record that came with its first allowances":        {holder: granted, rec: rec(true, false, ""), want: true},
		"and these are used up":                               {holder: bare, rec: rec(true, false, ""), want: true},
		"a record that came with its creation":                {holder: created, rec: rec(true, true, "")},
		"and what that allowed is used up":                    {holder: bare, rec: rec(true, true, "")},
		"and it was changed since":                            {holder: granted, rec: rec(true, true, "")},
		"a record that has what its creation was granted":     {holder: bare, rec: asked(false)},
		"and knows the ledger":                                {holder: bare, rec: asked(true)},
		"a creation that was granted, and no record":          {holder: created},
		"a record that was looked at":                         {holder: granted, rec: rec(true, false, v1alpha1.PhaseSteady)},
		"a record that was made later, and looked at":         {holder: bare, rec: rec(false, false, v1alpha1.PhaseSteady)},
		"a record of something else":                          {holder: bare, rec: rec(false, false, ""), want: true},
		"a record of something else, where one has been lost": {holder: granted, rec: rec(false, false, "")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := look(tc.holder.Unstructured, nil, controllertest.Noon).isUnjudged(tc.rec); got != tc.want {
				t.Errorf("isUnjudged() = %t, want %t", got, tc.want)
			}
		})
	}
}

// The clock of who gave the last sign does not hide what was created or changed after it.
func TestLastSign(t *testing.T) {
	there := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	owned := func(fields string) []metav1.ManagedFieldsEntry {
		stamp, other := metav1.NewTime(there), metav1.NewTime(there.Add(time.Hour))
		return []metav1.ManagedFieldsEntry{
			{Manager: "somebody", Time: &other, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)},
			{Manager: "manager", Time: &stamp, FieldsV1: metav1.NewFieldsV1(fields)},
		}
	}
	const renewing = `{"f:spec":{"f:renewTime":{}}}`
	tests := map[string]struct {
		said   time.Time
		fields string
		want   time.Time
	}{
		"never":                                  {},
		"by the same clock":                      {said: there.Add(300 * time.Millisecond), fields: renewing, want: there},
		"by one that is a minute ahead":          {said: there.Add(time.Minute), fields: renewing, want: there},
		"by one that is a minute behind":         {said: there.Add(-time.Minute), fields: renewing, want: there.Add(-time.Minute)},
		"nobody says when the API server saw it": {said: there, fields: `{"f:spec":{}}`, want: there},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			lease := &coordinationv1.Lease{}
			if !tc.said.IsZero() {
				said := metav1.NewMicroTime(tc.said)
				lease.Spec.RenewTime, lease.ManagedFields = &said, owned(tc.fields)
			}
			if got := lastSign(lease); !got.Equal(tc.want) {
				t.Errorf("lastSign() = %s, want %s", got, tc.want)
			}
		})
	}
}
