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

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
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
  generate: [{expression: "generator.ApplyAll('shop', resource.Get('v1', 'secrets', 'platform', 'ca'))"}]`

func newHook(t *testing.T, in labels) *Hook {
	t.Helper()
	p := &v1alpha1.GeneratingPolicy{}
	if err := yaml.UnmarshalStrict([]byte(policy), p); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &Hook{Policies: fake.NewClientBuilder().WithScheme(scheme).WithObjects(p).Build(), Namespaces: in}
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
			req.Resource = metav1.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: map[string]string{
				"ConfigMap": "configmaps", "Secret": "secrets", "GeneratingPolicy": "generatingpolicies",
			}[gvk.Kind]}
			resp := newHook(t, tc.in).Handle(t.Context(), req)
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
	return out.GetAnnotations()[v1alpha1.AnnotationChangedBy]
}

// TestWhatCannotBeReadPasses shows that the hook refuses nothing: it is only to note.
func TestWhatCannotBeReadPasses(t *testing.T) {
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: []byte("{")},
	}}
	if resp := newHook(t, nil).Handle(t.Context(), req); !resp.Allowed || len(resp.Patches) > 0 {
		t.Errorf("answer: %v", resp)
	}
}
