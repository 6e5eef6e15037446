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

package integration

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// call is a request that reached the counting webhook.
type call struct {
	Path        string
	Operation   admissionv1.Operation
	Resource    string
	Subresource string
	Name        string
}

// countingWebhook allows everything and remembers what it was asked. The API
// server waits for its answer, so when a request has returned it is known which
// calls it caused.
type countingWebhook struct {
	server *httptest.Server

	mu    sync.Mutex
	calls []call
}

// newCountingWebhook listens until the end of the spec or container.
func newCountingWebhook() *countingWebhook {
	w := &countingWebhook{}
	w.server = httptest.NewTLSServer(w)
	DeferCleanup(w.server.Close)
	return w
}

// clientConfig tells the API server how to reach it.
func (w *countingWebhook) clientConfig() admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{
		URL:      new(w.server.URL),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw}),
	}
}

// ServeHTTP implements http.Handler.
func (w *countingWebhook) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	review := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(response, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	name := review.Request.Name
	if name == "" { // Of a deleted collection only the object says which it is.
		old := metav1.PartialObjectMetadata{}
		if err := json.Unmarshal(review.Request.OldObject.Raw, &old); err == nil {
			name = old.Name
		}
	}
	w.mu.Lock()
	w.calls = append(w.calls, call{
		Path:        request.URL.Path,
		Operation:   review.Request.Operation,
		Resource:    review.Request.Resource.Resource,
		Subresource: review.Request.SubResource,
		Name:        name,
	})
	w.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	answer, err := json.Marshal(review)
	if err != nil {
		http.Error(response, err.Error(), http.StatusInternalServerError)
		return
	}
	response.Header().Set("Content-Type", "application/json")
	_, _ = response.Write(answer) // the API server reports what it cannot read
}

// take returns the calls since it was last asked.
func (w *countingWebhook) take() []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}
