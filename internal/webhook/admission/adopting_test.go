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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
)

// What was under way when a policy came may be finished until the parent has settled, also
// where its record does not say so yet.
func TestAdoptingUntilSettled(t *testing.T) {
	for name, tc := range map[string]struct {
		parent *unstructured.Unstructured
		want   bool
	}{
		"midway":  {parent: unsettled(deployment(5)), want: true},
		"settled": {parent: deployment(5)},
	} {
		t.Run(name, func(t *testing.T) {
			parent := map[string]*unstructured.Unstructured{key("Deployment", "web"): tc.parent}
			w := &world{cached: parent, live: parent, records: map[types.UID]*v1alpha1.AllowanceRecord{"uid-web": {
				Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(tc.parent)},
				Status: v1alpha1.AllowanceRecordStatus{Adopting: true},
			}}}
			_, validator := w.hooks(t, deploymentPolicy)
			resp := validator.Handle(t.Context(), asking(t, deployer, nil, replicaSet(3), counted(replicaSet(5))))
			if resp.Allowed != tc.want {
				t.Errorf("allowed %t, want %t: %+v", resp.Allowed, tc.want, resp.Result)
			}
		})
	}
}
