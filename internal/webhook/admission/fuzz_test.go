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
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
)

// FuzzAdmissionReview sends any bytes to both webhooks, as an API server would, or
// whoever else reaches their port: they always answer, and never panic.
func FuzzAdmissionReview(f *testing.F) {
	review := func(req admission.Request) []byte {
		raw, err := json.Marshal(admissionv1.AdmissionReview{Request: &req.AdmissionRequest})
		if err != nil {
			f.Fatal(err)
		}
		return raw
	}
	inScale := asking(f, "alice", platformTeam, deployment(3), deployment(5))
	inScale.SubResource = subresourceScale
	eviction := asking(f, deployer, nil, nil, replicaSet(5))
	eviction.SubResource = subresourceEviction
	for _, seed := range [][]byte{
		nil, []byte("{}"), []byte(`{"request":{}}`), []byte(`{"request":{"operation":"UPDATE","object":[]}}`),
		review(asking(f, "alice", platformTeam, deployment(3), deployment(5))),
		review(asking(f, "mallory", nil, deployment(3, mayScale("alice", 4)), annotate(deployment(5), ledgerKey, "}"))),
		review(asking(f, "alice", platformTeam, deployment(5, held("spec.replicas", "3")), annotate(deployment(5), "kausality.io/approve", "*,a[,b"))),
		review(asking(f, deployer, nil, replicaSet(3), replicaSet(5))),
		review(asking(f, deployer, nil, nil, replicaSet(5))),
		review(asking(f, deployer, nil, replicaSet(5), nil)),
		review(inScale), review(eviction),
	} {
		f.Add(seed)
	}
	w := &world{}
	mutator, validator := w.hooks(f, deploymentPolicy, replicaSetPolicy)
	f.Fuzz(func(t *testing.T, text []byte) {
		parent := map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(5, mayScale("alice", 5))}
		*w = world{cached: parent, live: parent, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
		for name, handler := range map[string]admission.Handler{"mutating": mutator, "validating": validator} {
			// The server would turn a panic into an answer, which hides it.
			hook := SetObjectsAside(Hook(handler).WithRecoverPanic(false))
			recorder := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(text))
			request.Header.Set("Content-Type", "application/json")
			hook.ServeHTTP(recorder, request)

			var answer admissionv1.AdmissionReview
			if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
				t.Fatalf("the %s webhook answers %d, with no review: %v", name, recorder.Code, err)
			}
			if !answer.Response.Allowed && (answer.Response.Result == nil || answer.Response.Result.Message == "") {
				t.Fatalf("the %s webhook refuses without a reason", name)
			}
		}
	})
}

// FuzzObjects sends any objects in requests that are otherwise well-formed.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(`{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"annotations":{"kausality.io/allowances":"[]"}}}`), []byte(`{}`))
	f.Add([]byte(`{"kind":"","metadata":[]}`), []byte(`{"metadata":{"ownerReferences":[{}]}}`))
	w := &world{}
	mutator, validator := w.hooks(f, deploymentPolicy, replicaSetPolicy)
	f.Fuzz(func(t *testing.T, before, after []byte) {
		*w = world{records: map[types.UID]*v1alpha1.AllowanceRecord{}}
		req := asking(t, "mallory", nil, deployment(3), deployment(5))
		req.OldObject.Raw, req.Object.Raw = before, after
		for _, op := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete} {
			req.Operation = op
			mutator.Handle(t.Context(), req)
			validator.Handle(t.Context(), req)
		}
	})
}
