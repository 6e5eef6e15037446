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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

// Of an object whose record was lost, nothing in the ledger counts that the object cannot
// tell of: it is neither initializing again nor allows what was used up.
func TestGiveUp(t *testing.T) {
	holder := makeHolder().holding(creationGrant(), grantOf("spec.replicas", 5), withheldChange("spec.template"))
	holder.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"})
	for name, tc := range map[string]struct {
		isLost                   bool
		before                   v1alpha1.AllowanceRecordStatus
		phase                    v1alpha1.Phase
		active, consumed, events int
	}{
		"lost": {isLost: true, phase: v1alpha1.PhaseSteady, consumed: 2, events: 2},
		"lost, and put back since": {
			isLost: true, before: v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseInitializing},
			phase: v1alpha1.PhaseInitializing, active: 2,
		},
		"new": {phase: v1alpha1.PhaseInitializing, active: 2},
	} {
		t.Run(name, func(t *testing.T) {
			v := look(holder.Unstructured, []*policy.Policy{{Name: "deployment"}}, controllertest.Noon)
			v.isLost = tc.isLost
			status := tc.before.DeepCopy()
			for range 2 {
				v.advance(t.Context(), status)
			}
			lost := 0
			for _, e := range status.History {
				if e.Event == v1alpha1.EventConsumed {
					lost++
				}
			}
			if status.Phase != tc.phase || int(status.ActiveCount) != tc.active || len(status.Consumed) != tc.consumed || lost != tc.events || status.WithheldCount != 1 {
				t.Errorf("%s, %d active, %d consumed, %d withheld, history %+v", status.Phase, status.ActiveCount, len(status.Consumed), status.WithheldCount, status.History)
			}
		})
	}
}

func TestEndingUnseen(t *testing.T) {
	gate := v1alpha1.Allowance{Relation: v1alpha1.RelationExternal, Mutations: []string{"Update"}, Generation: 5, Initiator: "alice"}
	held := []v1alpha1.Allowance{grantOf("spec.replicas", 5), withheldChange("spec.template"), gate}
	thing := makeHolder().holding(held...)
	thing.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"})
	for name, tc := range map[string]struct {
		holder testHolder
		want   int
	}{
		"a workload":        {holder: makeHolder().holding(held...)},
		"a custom resource": {holder: thing, want: 1},
		"what time ends":    {holder: makeHolder().holding(held...).timed(), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := look(tc.holder.Unstructured, nil, controllertest.Noon).endingUnseen(); len(got) != tc.want {
				t.Errorf("endingUnseen() = %s, want %d entries", got.Encode(), tc.want)
			}
		})
	}
}
