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
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
)

// What cannot be judged is refused where a policy for it fails closed; that a request for
// a sub-resource has another kind makes no difference.
func TestFailed(t *testing.T) {
	closed := strings.Replace(deploymentPolicy, "spec:", "spec:\n  failurePolicy: Fail", 1)
	elsewhere := strings.Replace(closed, "spec:", "spec:\n  namespaceSelector: {matchLabels: {team: b}}", 1)
	here := strings.Replace(closed, "spec:", "spec:\n  namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}", 1)
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
		"fails closed elsewhere":          {elsewhere, asking(t, "alice", platformTeam, deployment(3), deployment(5)), true},
		"fails closed here":               {here, asking(t, "alice", platformTeam, deployment(3), deployment(5)), false},
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

// What was decided stays decided where a read that should confirm it fails, or what it
// says of others cannot be written down, although policies fail open.
func TestDecidedThoughNothingCanBeReadOrWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		req    admission.Request
		broken error
		code   int32
		says   string
	}{
		"a denial": {
			asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5))), errAway, http.StatusForbidden, "is not allowed by its parent",
		},
		"a scale that waits": {scaling(t, "mallory", nil, 3, 5), errAway, http.StatusForbidden, "was refused"},
		"a scale that allows something": {
			scaling(t, "alice", platformTeam, 3, 5), nil, http.StatusInternalServerError, "would be lost",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)},
				live:   map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)},
				broken: tc.broken,
			}
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			validator.Records = unwritten{store{w}}
			resp := validator.Handle(t.Context(), tc.req)
			if resp.Allowed || resp.Result.Code != tc.code || !strings.Contains(resp.Result.Message, tc.says) {
				t.Errorf("allowed %t, %v; want %d: %s", resp.Allowed, resp.Result, tc.code, tc.says)
			}
		})
	}
}

// A right that was taken away blocks nothing, whatever the policy says.
func TestFailedAsForbidden(t *testing.T) {
	closed := strings.Replace(deploymentPolicy, "spec:", "spec:\n  failurePolicy: Fail", 1)
	_, validator := (&world{}).hooks(t, closed)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", errors.New("no right"))
	resp := validator.failed(t.Context(), asking(t, "alice", platformTeam, deployment(3), deployment(5)), fmt.Errorf("reading it: %w", forbidden))
	if !resp.Allowed || len(resp.Warnings) != 1 {
		t.Errorf("allowed = %t, warnings %v; want it let through, with a warning", resp.Allowed, resp.Warnings)
	}
}

// While watches are broken, and nothing can be read, what is refused by what was last known
// stays so. Of anything else nobody can say whether it may pass.
func TestDecidedBlindly(t *testing.T) {
	closed := strings.Replace(deploymentPolicy, "spec:", "spec:\n  failurePolicy: Fail", 1)
	unsure := func(context.Context) error { return errAway }
	for name, tc := range map[string]struct {
		policy        string
		user          string
		current       func(context.Context) error
		unwatched     bool
		behindRecords bool
		code          int32
		says          string
	}{
		"a denial while parents are not watched":        {policy: deploymentPolicy, user: "mallory", unwatched: true, code: http.StatusForbidden, says: "is not allowed by its parent"},
		"a denial while records are not watched":        {policy: deploymentPolicy, user: "mallory", behindRecords: true, code: http.StatusForbidden, says: "is not allowed by its parent"},
		"a denial by old policies":                      {policy: deploymentPolicy, user: "mallory", current: unsure, code: http.StatusForbidden, says: "is not allowed by its parent"},
		"what passes, by old policies":                  {policy: deploymentPolicy, user: "", current: unsure, code: http.StatusOK, says: "not judged"},
		"what passes, by old policies that fail closed": {policy: closed, user: "", current: unsure, code: http.StatusInternalServerError, says: "cannot judge"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached:    map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)},
				broken:    errAway,
				unwatched: tc.unwatched, behindRecords: tc.behindRecords,
			}
			_, validator := w.hooks(t, tc.policy, replicaSetPolicy)
			validator.Current = tc.current
			req := asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5)))
			if tc.user == "" {
				req = asking(t, "alice", platformTeam, deployment(3), deployment(5))
			}
			resp := validator.Handle(t.Context(), req)
			said := strings.Join(resp.Warnings, " ")
			if resp.Result != nil {
				said += resp.Result.Message
			}
			if resp.Allowed != (tc.code == http.StatusOK) || !resp.Allowed && resp.Result.Code != tc.code || !strings.Contains(said, tc.says) {
				t.Errorf("allowed %t, %v %q; want %d: %s", resp.Allowed, resp.Result, said, tc.code, tc.says)
			}
		})
	}
}

// unwritten is a store whose definition is gone.
type unwritten struct{ store }

func (unwritten) AddPending(context.Context, v1alpha1.TargetReference, v1alpha1.PendingGrant, *unstructured.Unstructured) error {
	return record.ErrUndefined
}

// TestAnswersTellNoValues says why nothing could be read or written, and never what a field holds.
func TestAnswersTellNoValues(t *testing.T) {
	const secret = "hunter2"
	broken := fmt.Errorf("writing: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Bucket"}, "b",
		field.ErrorList{field.Invalid(field.NewPath("spec", "key"), secret, secret)}))
	_, open := (&world{}).hooks(t, deploymentPolicy)
	_, closed := (&world{}).hooks(t, strings.Replace(deploymentPolicy, "spec:", "spec:\n  failurePolicy: Fail", 1))
	req := asking(t, "alice", platformTeam, deployment(3), deployment(5))
	for name, resp := range map[string]admission.Response{
		"let through": open.failed(t.Context(), req, broken),
		"refused":     closed.failed(t.Context(), req, broken),
		"lost":        lost(t.Context(), req, broken),
	} {
		t.Run(name, func(t *testing.T) {
			said := strings.Join(resp.Warnings, "\n")
			if resp.Result != nil {
				said += resp.Result.Message
			}
			if !strings.Contains(said, "spec.key has a value that it may not have") || strings.Contains(said, secret) {
				t.Errorf("it says: %s", said)
			}
		})
	}
}
