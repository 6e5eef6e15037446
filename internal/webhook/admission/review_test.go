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
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// received returns the request that the handler of a webhook gets for a body; nil where it
// gets none.
func received(t *testing.T, body []byte, hookOf func(admission.Handler) http.Handler) (req *admission.Request, answer string) {
	t.Helper()
	hook := hookOf(admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
		req = &r
		return admission.Allowed("")
	}))
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	hook.ServeHTTP(recorder, request)
	return req, recorder.Body.String()
}

func plainly(handler admission.Handler) http.Handler { return &admission.Webhook{Handler: handler} }

func settingAside(handler admission.Handler) http.Handler { return SetObjectsAside(Hook(handler)) }

// reviewsToSetAside are odd ones among those that an API server could write.
var reviewsToSetAside = map[string]string{
	"both objects":           `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":{"a":1},"oldObject":{"a": 2},"dryRun":true}}`,
	"the old one first":      `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"oldObject":{"a": 2}, "uid":"1", "object":{"a":1}}}`,
	"no old object":          `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":{"a":1},"oldObject":null}}`,
	"no object":              `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","oldObject":{"a":{"object":7}}}}`,
	"neither":                `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1"}}`,
	"objects that are none":  `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":[],"oldObject":"x"}}`,
	"an object twice":        `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"object":{"a":1},"object":{"a":2},"oldObject":{}}}`,
	"a request twice":        `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"object":{"a":1}},"request":{"object":{"a":2}}}`,
	"a name with an escape":  `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"\u006fbject":{"a":1},"oldObject":{}}}`,
	"another case":           `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"Object":{"a":1},"oldObject":{}}}`,
	"no request":             `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
	"half a review":          `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"object":{"a":1},"oldObject":{"a"`,
	"another version":        `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v9","request":{"object":{"a":1},"oldObject":{}}}`,
	"something after it":     `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"object":{"a":1},"oldObject":{}}} {}`,
	"a list":                 `[{"request":{"object":{"a":1}}}]`,
	"nothing":                ``,
	"an object in an object": `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"options":{"object":{"a":1}},"object":{"oldObject":{"b":1}},"oldObject":{"object":{}}}}`,
}

// What a handler gets is the same as without setting anything aside.
func TestSetObjectsAside(t *testing.T) {
	for name, review := range reviewsToSetAside {
		t.Run(name, func(t *testing.T) { sameAside(t, []byte(review)) })
	}
	t.Run("deeper than anything", func(t *testing.T) {
		sameAside(t, []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"oldObject":{},"object":{"a":`+strings.Repeat("[", largestReview-1000)))
	})
	t.Run("more than a review may be long", func(t *testing.T) {
		sameAside(t, []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":{"a":"`+
			strings.Repeat("x", largestReview)+`"},"oldObject":{}}}`))
	})
}

func FuzzSetObjectsAside(f *testing.F) {
	for _, review := range reviewsToSetAside {
		f.Add([]byte(review))
	}
	f.Fuzz(sameAside)
}

func sameAside(t *testing.T, review []byte) {
	t.Helper()
	want, wantAnswer := received(t, review, plainly)
	got, answer := received(t, review, settingAside)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-plainly +with objects set aside):\n%s", diff)
	}
	if diff := cmp.Diff(wantAnswer, answer); diff != "" {
		t.Errorf("the answer (-plainly +with objects set aside):\n%s", diff)
	}
}

// Objects are not decoded twice.
func TestSetAsideLeavesNoObject(t *testing.T) {
	rest, objects := setAside([]byte(reviewsToSetAside["both objects"]))
	want := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":null,"oldObject":null,"dryRun":true}}`
	if diff := cmp.Diff([]string{want, `{"a":1}`, `{"a": 2}`}, []string{string(rest), string(objects.object), string(objects.oldObject)}); diff != "" {
		t.Errorf("setAside() (-want +got):\n%s", diff)
	}
}
