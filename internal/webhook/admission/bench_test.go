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
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// silent is a store that keeps no outcomes: in a benchmark there are too many.
type silent struct{ store }

func (silent) Observe(record.Outcome) {}

// BenchmarkHandle measures what a request costs in the operator, without the network,
// beside what has to be paid whoever answers it: decoding the AdmissionReview and
// both its objects. The two are timed in turn; x-decode is the ratio of
// their medians.
func BenchmarkHandle(b *testing.B) {
	for _, size := range []int{2, 8, 32, 128, 500} {
		s := setting(b, size, []string{deploymentPolicy, replicaSetPolicy}, mayScale("alice", 4))
		for _, ask := range s.requests(b) {
			b.Run(fmt.Sprintf("request=%s/kib=%d", ask.name, size), func(b *testing.B) {
				againstDecoding(b, ask.handler, ask.req)
			})
		}
	}
}

// BenchmarkHandleAmongOthers measures what it costs among policies for other kinds.
func BenchmarkHandleAmongOthers(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		s := setting(b, smallest, []string{deploymentPolicy, replicaSetPolicy}, mayScale("alice", 4))
		policies := slices.Clone(s.mutator.Policies.Index().Policies())
		for i := range n {
			other := *policies[0]
			other.Name = fmt.Sprintf("other-%d", i)
			other.For = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: fmt.Sprintf("Kind%d", i)}
			policies = append(policies, &other)
		}
		s.mutator.Policies.Set(policy.NewIndex(policies))
		s.along(b, "others", n)
	}
}

// BenchmarkHandleRules measures what it costs with many rules in effect for the objects, in
// policies of as many rules as one can have.
func BenchmarkHandleRules(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		texts := []string{deploymentPolicy, replicaSetPolicy}
		for _, kind := range []string{"Deployment", "ReplicaSet"} {
			texts = append(texts, manyRules(kind, n)...)
		}
		setting(b, smallest, texts, mayScale("alice", 4)).along(b, "rules", n)
	}
}

// BenchmarkHandleLedger measures what it costs with many allowances on the parent.
func BenchmarkHandleLedger(b *testing.B) {
	for _, n := range []int{1, 4, 16, 64} {
		allowances := make([]v1alpha1.Allowance, 0, n)
		for i := range n {
			allowances = append(allowances, mayScale(fmt.Sprintf("user-%d", i), 4))
		}
		setting(b, smallest, []string{deploymentPolicy, replicaSetPolicy}, allowances...).along(b, "entries", n)
	}
}

// smallest is the size in KiB of the objects where another axis is measured: that of
// common objects, in which what does not depend on the size shows most.
const smallest = 2

// manyRules returns policies for a kind of apps, in effect for its objects, with n rules
// that other fields trigger.
func manyRules(kind string, n int) []string {
	const most = 64
	var texts []string
	for first := 0; first < n; first += most {
		var text strings.Builder
		fmt.Fprintf(&text, `
metadata: {name: %s-%d}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: %[1]s}
  subjects: [{kind: Group, name: other-team, mayInitiate: true}]
  rules:`, strings.ToLower(kind), first)
		for i := first; i < min(n, first+most); i++ {
			fmt.Fprintf(&text, `
  - trigger: spec.field%d
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: spec.field%[1]d}]}`, i)
		}
		texts = append(texts, text.String())
	}
	return texts
}

// benched are the hooks of a benchmark, and the Deployment and ReplicaSet that they
// are asked about.
type benched struct {
	mutator   *Mutator
	validator *Validator
	size      int
}

// setting returns a setting in which the Deployment has a size in KiB, and the allowances.
func setting(tb testing.TB, size int, policies []string, allowances ...v1alpha1.Allowance) benched {
	tb.Helper()
	parent := sized(tb, deployment(3, allowances...), size)
	w := &world{
		cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
		live:   map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
	}
	s := benched{size: size}
	s.mutator, s.validator = w.hooks(tb, policies...)
	s.mutator.Records = silent{store{w}}
	return s
}

// asked is a request, and whom it is for.
type asked struct {
	name    string
	handler admission.Handler
	req     admission.Request
}

// requests returns the kinds of requests that a benchmark times.
func (s benched) requests(b *testing.B) []asked {
	b.Helper()
	deployments := func(replicas int64) *unstructured.Unstructured { return sized(b, deployment(replicas), s.size) }
	replicaSets := func(replicas int64) *unstructured.Unstructured { return sized(b, replicaSet(replicas), s.size) }
	exercise := asking(b, deployer, nil, replicaSets(3), replicaSets(5))
	return []asked{
		{"grant", s.mutator, asking(b, "alice", platformTeam, deployments(3), deployments(5))},
		{"propagate", s.mutator, exercise},
		{"covered", s.validator, patchedBy(b, s.mutator, exercise)},
		{"denied", s.validator, asking(b, "mallory", nil, replicaSets(3), replicaSets(5))},
	}
}

// along times each kind of request at one place of an axis.
func (s benched) along(b *testing.B, axis string, n int) {
	b.Helper()
	for _, ask := range s.requests(b) {
		handle, _ := handling(b, ask.handler, ask.req)
		b.Run(fmt.Sprintf("request=%s/%s=%d", ask.name, axis, n), func(b *testing.B) {
			b.ReportAllocs()
			var handled []time.Duration
			for b.Loop() {
				handled = append(handled, timed(handle))
			}
			reportHandling(b, handled)
		})
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// reportHandling reports the median of requests: the mean is one of other work too,
// where there is other work to do.
func reportHandling(b *testing.B, times []time.Duration) {
	b.Helper()
	b.ReportMetric(float64(median(times)), "ns/handle")
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// patchedBy returns the request as the validating hook sees it, after a mutating one.
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

// handling returns a request to the handler, through the webhook server, and its body.
func handling(b *testing.B, handler admission.Handler, req admission.Request) (handle func(), body []byte) {
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
	hook := SetObjectsAside(Hook(handler))
	return func() {
		post := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", bytes.NewReader(body))
		post.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		hook.ServeHTTP(answer, post)
		if answer.Code != http.StatusOK {
			b.Fatal(answer.Body.String())
		}
	}, body
}

// againstDecoding times a request to the handler, and in turn with it its decoding.
func againstDecoding(b *testing.B, handler admission.Handler, req admission.Request) {
	b.Helper()
	handle, body := handling(b, handler, req)
	decode := func() {
		if err := decodeAll(body); err != nil {
			b.Fatal(err)
		}
	}
	var handled, decoding []time.Duration
	for b.Loop() {
		handled = append(handled, timed(handle))
		decoding = append(decoding, timed(decode))
	}
	b.ReportMetric(0, "ns/op") // It would be that of both.
	reportHandling(b, handled)
	b.ReportMetric(float64(median(handled))/float64(median(decoding)), "x-decode")
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
func sized(tb testing.TB, obj *unstructured.Unstructured, kib int) *unstructured.Unstructured {
	tb.Helper()
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
			tb.Fatal(err)
		}
	}
	return obj
}
