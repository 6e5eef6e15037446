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

package cause

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// labels is a Namespaces in which every namespace has these labels.
type labels map[string]string

func (l labels) Labels(context.Context, string) map[string]string { return l }

const policy = `
metadata: {name: made, uid: u, generation: 1}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {env: prod}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  generate: [{expression: "generator.ApplyAll('shop', resource.Get('v1', 'secrets', 'platform', 'ca'))"}]
  variables: [{name: ns, expression: "resource.Get('v1', 'namespaces', '', 'platform')"}]`

func newHook(t *testing.T, in labels, policies ...string) *Hook {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme)
	for _, text := range policies {
		p := &v1alpha1.GeneratingPolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		c = c.WithObjects(p)
	}
	return &Hook{Policies: c.Build(), Namespaces: in, Notary: notary, Clock: clock.RealClock{}}
}

var notary = generate.NewNotary("key")

// signed returns an object with its notes signed.
func signed(t *testing.T, text string) string {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw(t, text).Raw); err != nil {
		t.Fatal(err)
	}
	annotations := object.GetAnnotations()
	annotations[v1alpha1.AnnotationNoted] = notary.Sign(generate.IDOf(object.Object), object,
		annotations[v1alpha1.AnnotationChangedBy], annotations[v1alpha1.AnnotationRequests], time.Now())
	object.SetAnnotations(annotations)
	out, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func raw(t *testing.T, text string) runtime.RawExtension {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: out}
}

func TestHook(t *testing.T) {
	const (
		plain   = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, data: {key: one}}`
		noted   = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, annotations: {kausality.io/changed-by: alice}}, data: {key: one}}`
		ca      = `{apiVersion: v1, kind: Secret, metadata: {name: ca, namespace: platform}}`
		another = `{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: platform}}`
		itself  = `{apiVersion: kausality.io/v1alpha1, kind: GeneratingPolicy, metadata: {name: made, annotations: {a: b}}}`
	)
	prod := labels{"env": "prod"}
	changed := func(text string) string { return strings.Replace(text, "one", "two", 1) }
	team := func(name string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: platform, labels: {team: " + name + "}}}"
	}
	for name, tc := range map[string]struct {
		in          labels
		before, now string
		want        string
	}{
		"a trigger is created":                         {prod, "", plain, "bob"},
		"a trigger is changed":                         {prod, noted, changed(noted), "bob"},
		"a trigger is changed, and the note taken off": {prod, noted, changed(plain), "bob"},
		"a trigger gets a label":                       {prod, noted, strings.Replace(noted, "name: web", "name: web, labels: {a: b}", 1), "bob"},
		"nothing is changed":                           {prod, noted, noted, "alice"},
		"only the note is taken off":                   {prod, noted, plain, "alice"},
		"only the note is forged":                      {prod, noted, strings.Replace(noted, "alice", "carol", 1), "alice"},
		"a note is forged":                             {prod, plain, noted, ""},
		"a note is forged as it is created":            {prod, "", noted, "bob"},
		"it is in another namespace":                   {labels{}, "", plain, ""},
		"it is not a trigger any more, and changed":    {labels{}, noted, changed(noted), ""},
		"a source is created":                          {labels{}, "", ca, "bob"},
		"another Secret is created":                    {prod, "", another, ""},
		"a Namespace that is read is changed":          {labels{}, team("one"), team("two"), "bob"},
		"a GeneratingPolicy is created":                {labels{}, "", itself, "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: "bob"}, Object: raw(t, tc.now),
			}}
			if tc.before != "" {
				req.Operation, req.OldObject = admissionv1.Update, raw(t, tc.before)
			}
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(req.Object.Raw); err != nil {
				t.Fatal(err)
			}
			req.Namespace = object.GetNamespace()
			gvk := object.GroupVersionKind()
			if gvk == namespaceKind {
				req.Namespace = object.GetName()
			}
			req.Resource = metav1.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: map[string]string{
				"ConfigMap": "configmaps", "Secret": "secrets", "Namespace": "namespaces", "GeneratingPolicy": "generatingpolicies",
			}[gvk.Kind]}
			resp := newHook(t, tc.in, policy).Handle(t.Context(), req)
			if !resp.Allowed {
				t.Fatalf("refused: %v", resp.Result)
			}
			if got := noteOf(t, req.Object.Raw, resp); got != tc.want {
				t.Errorf("changed by %q, want %q", got, tc.want)
			}
		})
	}
}

// noteOf returns who an object says changed it, after an answer was applied.
func noteOf(t *testing.T, object []byte, resp admission.Response) string {
	t.Helper()
	return answered(t, object, resp).GetAnnotations()[v1alpha1.AnnotationChangedBy]
}

// answered returns an object after an answer was applied.
func answered(t *testing.T, object []byte, resp admission.Response) *unstructured.Unstructured {
	t.Helper()
	if len(resp.Patches) > 0 {
		text, err := json.Marshal(resp.Patches)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(text)
		if err != nil {
			t.Fatal(err)
		}
		if object, err = patch.Apply(object); err != nil {
			t.Fatal(err)
		}
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(object); err != nil {
		t.Fatal(err)
	}
	return out
}

const asking = `
metadata: {name: NAME, uid: NAME, generation: 1}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [OPERATIONS], resources: [configmaps]}]
  matchConditions: [{name: asks, expression: "request.userInfo.username != 'carol' && oldObject.data.key != 'two'"}]
  generate: [{expression: "generator.ApplyAll('shop', {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': request.userInfo.username}})"}]`

// TestHookNotesRequests shows which requests an object keeps for the policies that ask about them.
func TestHookNotesRequests(t *testing.T) {
	const object = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, annotations: {NOTES}}, data: {key: VALUE}}`
	noted := func(value string, requests string) string {
		text := strings.ReplaceAll(object, "VALUE", value)
		if requests == "" {
			return strings.ReplaceAll(text, "NOTES", "")
		}
		return strings.ReplaceAll(text, "NOTES", "kausality.io/requests: '"+requests+"'")
	}
	const byAlice = `{"created":{"userInfo":{"username":"alice"}},"either":{"userInfo":{"username":"alice"}},"gone":{"userInfo":{"username":"alice"}}}`
	for name, tc := range map[string]struct {
		by          string
		before, now string
		// unsigned is true where what is noted before was not noted by admission.
		unsigned bool
		// want are the users of the requests, by policy.
		want map[string]string
	}{
		"a creation":                      {by: "bob", now: noted("one", ""), want: map[string]string{"created": "bob", "either": "bob"}},
		"a creation that says so":         {by: "bob", now: noted("one", byAlice), want: map[string]string{"created": "bob", "either": "bob"}},
		"a creation that is not asked":    {by: "carol", now: noted("one", byAlice)},
		"a change":                        {by: "bob", before: noted("one", byAlice), now: noted("three", byAlice), want: map[string]string{"created": "alice", "either": "bob"}},
		"a change that forges":            {by: "bob", before: noted("one", ""), now: noted("three", byAlice), want: map[string]string{"either": "bob"}},
		"a change that takes it off":      {by: "carol", before: noted("one", byAlice), now: noted("three", ""), want: map[string]string{"created": "alice", "either": "alice"}},
		"a change of something unasked":   {by: "bob", before: noted("two", byAlice), now: noted("three", byAlice), want: map[string]string{"created": "alice", "either": "alice"}},
		"a change of what somebody noted": {by: "carol", before: noted("one", byAlice), unsigned: true, now: noted("three", byAlice)},
		"nothing but the note is changed": {by: "bob", before: noted("one", byAlice), now: noted("one", ""), want: map[string]string{"created": "alice", "either": "alice", "gone": "alice"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHook(t, nil,
				strings.NewReplacer("NAME", "created", "OPERATIONS", "CREATE").Replace(asking),
				strings.NewReplacer("NAME", "either", "OPERATIONS", "CREATE, UPDATE").Replace(asking))
			req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: tc.by}, Namespace: "shop",
				Object: raw(t, tc.now), Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			}}
			if tc.before != "" {
				if !tc.unsigned && strings.Contains(tc.before, v1alpha1.AnnotationRequests) {
					tc.before = signed(t, tc.before)
				}
				req.Operation, req.OldObject = admissionv1.Update, raw(t, tc.before)
			}
			got := map[string]string{}
			for policy, request := range generate.RequestsOn(answered(t, req.Object.Raw, h.Handle(t.Context(), req)).Object) {
				user, _, _ := unstructured.NestedString(request, "userInfo", "username")
				got[policy] = user
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the users of the requests, by policy (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHookSigns shows which notes count: those of admission, and not those of a request that was only tried.
func TestHookSigns(t *testing.T) {
	const object = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, data: {key: one}}`
	for name, dryRun := range map[string]bool{"a request": false, "a request that is tried": true} {
		t.Run(name, func(t *testing.T) {
			req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Namespace: "shop", Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
				UserInfo: authenticationv1.UserInfo{Username: "bob"}, Object: raw(t, object), DryRun: &dryRun,
			}}
			h := newHook(t, nil, strings.NewReplacer("NAME", "created", "OPERATIONS", "CREATE").Replace(asking))
			got := answered(t, req.Object.Raw, h.Handle(t.Context(), req))
			if is := notary.Signed(generate.IDOf(got.Object), got); is == dryRun {
				t.Errorf("signed: %v", is)
			}
		})
	}
}

// TestHookRestoresNotes shows that no sub-resource writes notes, whatever it stores.
func TestHookRestoresNotes(t *testing.T) {
	const (
		plain = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
		noted = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {a: b, kausality.io/changed-by: alice, kausality.io/noted: "1.x", kausality.io/requests: "{}"}}}`
		binds = `{apiVersion: v1, kind: Binding, metadata: {name: web, annotations: {a: b, kausality.io/changed-by: alice, kausality.io/noted: "1.x", kausality.io/requests: "{}"}}, target: {name: node}}`
	)
	forged := strings.NewReplacer("alice", "carol", "1.x", "2.y", "{}", "{x: y}").Replace(noted)
	for name, tc := range map[string]struct {
		before, now string
		resource    string
		subresource string
		want        map[string]string
	}{
		"notes are brought":   {plain, noted, "namespaces", "status", map[string]string{"a": "b"}},
		"notes are forged":    {noted, forged, "namespaces", "finalize", map[string]string{"a": "b", "kausality.io/changed-by": "alice", "kausality.io/noted": "1.x", "kausality.io/requests": "{}"}},
		"notes are taken off": {noted, plain, "namespaces", "status", map[string]string{"kausality.io/changed-by": "alice", "kausality.io/noted": "1.x", "kausality.io/requests": "{}"}},
		"a Pod is bound":      {"", binds, "pods", "binding", map[string]string{"a": "b"}},
		"so by another name":  {"", binds, "bindings", "", map[string]string{"a": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: "mallory"}, Namespace: "shop", Object: raw(t, tc.now),
				Resource: metav1.GroupVersionResource{Version: "v1", Resource: tc.resource}, SubResource: tc.subresource,
			}}
			if tc.before != "" {
				req.Operation, req.OldObject = admissionv1.Update, raw(t, tc.before)
			} else {
				req.Kind = bindingKind
			}
			resp := newHook(t, nil, strings.ReplaceAll(strings.NewReplacer("NAME", "all", "OPERATIONS", "CREATE").Replace(asking), "[configmaps]", `["*"]`)).Handle(t.Context(), req)
			if diff := cmp.Diff(tc.want, answered(t, req.Object.Raw, resp).GetAnnotations()); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHookWarnsOfLargeRequests shows that a user in very many groups is told why nothing is made.
func TestHookWarnsOfLargeRequests(t *testing.T) {
	h := newHook(t, nil, strings.NewReplacer("NAME", "created", "OPERATIONS", "CREATE").Replace(asking))
	resp := h.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Namespace: "shop", Resource: metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		UserInfo: authenticationv1.UserInfo{Username: "bob", Groups: []string{strings.Repeat("x", generate.MaxRequestBytes)}},
		Object:   raw(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}`),
	}})
	if !resp.Allowed || len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "none is kept") {
		t.Errorf("got %+v, want that it passes with a warning", resp)
	}
}

// TestWhatCannotBeReadPasses shows that the hook refuses nothing: it is only to note.
func TestWhatCannotBeReadPasses(t *testing.T) {
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte("{")},
	}}
	if resp := newHook(t, nil, policy).Handle(t.Context(), req); !resp.Allowed || len(resp.Patches) > 0 {
		t.Errorf("answer: %v", resp)
	}
}
