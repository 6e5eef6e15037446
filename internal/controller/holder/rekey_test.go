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

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/ledger"
)

func TestRekeyed(t *testing.T) {
	own := v1alpha1.Allowance{Kind: "Pod", Mutation: "create", Generation: 1, Initiator: "alice", Trace: []v1alpha1.TraceHop{{Kind: "ReplicaSet", Name: "web-1"}}}
	later := v1alpha1.Allowance{Kind: "Pod", Mutation: "delete", Generation: 2, Initiator: "alice"}
	withheld := v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Generation: 1, Initiator: "mallory"}
	parents := v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "create", Generation: 1, Initiator: "alice"}
	text := func(allowances ...v1alpha1.Allowance) string { return ledger.Ledger{}.Merge(allowances...).Encode() }
	const key, former, ownKey = "kausality.io/", "kausality.io/allowances", "replicaset.kausality.io/allowances"
	tests := map[string]struct {
		free        bool
		annotations map[string]string
		active      []v1alpha1.Allowance
		ledgerKey   string
		want        map[string]any
	}{
		"a ledger of an earlier version": {
			annotations: map[string]string{former: text(own)}, active: []v1alpha1.Allowance{own},
			want: map[string]any{former: nil, ownKey: text(own)},
		},
		"which has earned something since": {
			annotations: map[string]string{former: text(own), ownKey: text(later)}, active: []v1alpha1.Allowance{own},
			want: map[string]any{former: nil, ownKey: text(own, later)},
		},
		"with approved content": {
			annotations: map[string]string{former: text(own, withheld), key + "approved": "v1:x"}, active: []v1alpha1.Allowance{own, withheld},
			want: map[string]any{former: nil, ownKey: text(own, withheld), key + "approved": nil, "replicaset.kausality.io/approved": "v1:x"},
		},
		"approved content of somebody's, as nothing is withheld": {
			annotations: map[string]string{former: text(own), key + "approved": "v1:x"}, active: []v1alpha1.Allowance{own},
			want: map[string]any{former: nil, ownKey: text(own)},
		},
		"a copy of that of the owner":       {annotations: map[string]string{former: text(parents), ownKey: text(own)}, active: []v1alpha1.Allowance{own}},
		"what the record does not know":     {annotations: map[string]string{former: text(own)}, active: []v1alpha1.Allowance{later}},
		"what was read under its key since": {annotations: map[string]string{former: text(own)}, active: []v1alpha1.Allowance{own}, ledgerKey: ownKey},
		"what has ended":                    {annotations: map[string]string{former: text(own)}},
		"without an owner":                  {free: true, annotations: map[string]string{former: text(own)}, active: []v1alpha1.Allowance{own}},
		"what cannot be read":               {annotations: map[string]string{former: "}"}, active: []v1alpha1.Allowance{own}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := controllertest.Workload("ReplicaSet", "web-1")
			if !tc.free {
				obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", UID: "uid-of-web"}})
			}
			obj.SetAnnotations(tc.annotations)
			rec := &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{Active: tc.active, LedgerKey: tc.ledgerKey}}
			if diff := cmp.Diff(tc.want, rekeyed(obj, rec)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}
