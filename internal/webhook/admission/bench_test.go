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
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/record"
)

// silent is a store that keeps no outcomes: in a benchmark there are too many.
type silent struct{ store }

func (silent) Observe(record.Outcome) {}

// BenchmarkHandle is what a request costs in the operator, without the network,
// beside what has to be paid whoever answers it: decoding the AdmissionReview and
// both its objects. The two are timed in turn; x-decode is the ratio of
// their medians.
func BenchmarkHandle(b *testing.B) {
	for _, size := range []int{2, 8, 32, 128, 500} {
		parent := sized(b, deployment(3, mayScale("alice", 4)), size)
		w := &world{
			cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
			live:   map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
		}
		mutator, validator := w.hooks(b, deploymentPolicy, replicaSetPolicy)
		mutator.Records = silent{store{w}}
		exercise := asking(b, deployer, nil, sized(b, replicaSet(3), size), sized(b, replicaSet(5), size))
		for _, bench := range []struct {
			name    string
			handler admission.Handler
			req     admission.Request
		}{
			{"grant", mutator, asking(b, "alice", platformTeam, sized(b, deployment(3), size), sized(b, deployment(5), size))},
			{"propagate", mutator, exercise},
			{"covered", validator, patchedBy(b, mutator, exercise)},
			{"denied", validator, asking(b, "mallory", nil, sized(b, replicaSet(3), size), sized(b, replicaSet(5), size))},
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", bench.name, size), func(b *testing.B) {
				againstDecoding(b, bench.handler, bench.req)
			})
		}
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// patchedBy is the request as the validating hook sees it, after a mutating one.
func patchedBy(b *testing.B, handler admission.Handler, req admission.Request) admission.Request {
	b.Helper()
	resp := handler.Handle(b.Context(), req)
	if err := resp.Complete(req); err != nil || !resp.Allowed {
		b.Fatal(err, resp.Result)
	}
	patch, err := jsonpatch.DecodePatch(resp.Patch)
	if err != nil {
		b.Fatal(err)
	}
	if req.Object.Raw, err = patch.Apply(req.Object.Raw); err != nil {
		b.Fatal(err)
	}
	return req
}

// againstDecoding times a request to the handler, and in turn with it its decoding.
func againstDecoding(b *testing.B, handler admission.Handler, req admission.Request) {
	b.Helper()
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request:  &req.AdmissionRequest,
	}
	body, err := json.Marshal(review)
	if err != nil {
		b.Fatal(err)
	}
	logf.SetLogger(logr.Discard())
	hook := &admission.Webhook{Handler: handler}
	handle := func() {
		post := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", bytes.NewReader(body))
		post.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		hook.ServeHTTP(answer, post)
		if answer.Code != http.StatusOK {
			b.Fatal(answer.Body.String())
		}
	}
	decode := func() {
		if err := decodeAll(body); err != nil {
			b.Fatal(err)
		}
	}
	var handling, decoding []time.Duration
	for b.Loop() {
		handling = append(handling, timed(handle))
		decoding = append(decoding, timed(decode))
	}
	b.ReportMetric(0, "ns/op") // It would be that of both.
	b.ReportMetric(float64(median(handling).Microseconds()), "µs/handle")
	b.ReportMetric(float64(median(handling))/float64(median(decoding)), "x-decode")
	const runs = 10
	b.ReportMetric(testing.AllocsPerRun(runs, handle), "allocs/handle")
	b.ReportMetric(testing.AllocsPerRun(runs, decode), "allocs/decode")
}

// reviews decodes as the webhook server does.
var reviews = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(admissionv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}()

// decodeAll decodes a review and both its objects.
func decodeAll(body []byte) error {
	review := &admissionv1.AdmissionReview{}
	if _, _, err := reviews.Decode(body, nil, review); err != nil {
		return err
	}
	for _, raw := range [][]byte{review.Request.Object.Raw, review.Request.OldObject.Raw} {
		if err := (&unstructured.Unstructured{}).UnmarshalJSON(raw); err != nil {
			return err
		}
	}
	return nil
}

// sized fills the Pod template of an object up to a size in KiB, with what such
// objects have most of: containers with their environment, and managed fields.
func sized(b *testing.B, obj *unstructured.Unstructured, kib int) *unstructured.Unstructured {
	b.Helper()
	const perContainer = 1 << 10
	var containers []any
	fields := map[string]any{}
	for i := range kib * 1024 / perContainer {
		name := fmt.Sprintf("container-%d", i)
		var env []any
		for j := range 8 {
			env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", j), "value": fmt.Sprintf("value of %d in %d", j, i)})
		}
		containers = append(containers, map[string]any{
			"name": name, "image": "registry.example.org/team/" + name + ":v1.2.3", "env": env,
			"resources": map[string]any{"limits": map[string]any{"cpu": "500m", "memory": "128Mi"}},
			"ports":     []any{map[string]any{"containerPort": int64(8000 + i), "protocol": "TCP"}},
		})
		fields[`k:{"name":"`+name+`"}`] = map[string]any{
			".": map[string]any{}, "f:name": map[string]any{}, "f:image": map[string]any{}, "f:env": map[string]any{},
			"f:resources": map[string]any{"f:limits": map[string]any{"f:cpu": map[string]any{}, "f:memory": map[string]any{}}},
		}
	}
	managed := map[string]any{
		"manager": "kubectl", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:template": map[string]any{"f:spec": map[string]any{"f:containers": fields}}}},
	}
	for _, err := range []error{
		unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers"),
		unstructured.SetNestedSlice(obj.Object, []any{managed}, "metadata", "managedFields"),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	return obj
}
