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
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// What cannot be judged is refused where a policy for it fails closed; that a request for
// a sub-resource has another kind makes no difference.
func TestFailed(t *testing.T) {
	closed := strings.Replace(deploymentPolicy, "spec:", "spec:\n  failurePolicy: Fail", 1)
	inScale := asking(t, "alice", platformTeam, deployment(3), deployment(5))
	inScale.SubResource = subresourceScale
	inScale.Kind = metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	other := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Secret"}}}
	for name, tc := range map[string]struct {
		policy  string
		req     admission.Request
		allowed bool
	}{
		"fails closed":                    {closed, asking(t, "alice", platformTeam, deployment(3), deployment(5)), false},
		"fails closed, by /scale":         {closed, inScale, false},
		"fails closed for something else": {closed, other, true},
		"fails open, by /scale":           {deploymentPolicy, inScale, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, validator := (&world{}).hooks(t, tc.policy)
			resp := validator.failed(t.Context(), tc.req, errors.New("the API server is away"))
			if resp.Allowed != tc.allowed {
				t.Errorf("allowed = %t, want %t", resp.Allowed, tc.allowed)
			}
		})
	}
}
