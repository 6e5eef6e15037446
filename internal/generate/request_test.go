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

package generate

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

const asking = `
metadata: {name: asking}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [OPERATIONS], resources: [namespaces, configmaps]}]
  matchConditions: [{name: asks, expression: CONDITION}]
  variables:
  - {name: before, expression: oldObject.metadata.labels}
  - {name: team, expression: "namespaceObject.metadata.annotations['team']"}
  generate: [{expression: "generator.ApplyAll('shop', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': request.userInfo.username}})"}]`

func TestTakesRequest(t *testing.T) {
	const (
		byAnna   = `request.userInfo.username == 'anna'`
		created  = "CREATE"
		either   = "CREATE, UPDATE"
		settings = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: settings, labels: {env: LABEL}}}`
	)
	for name, tc := range map[string]struct {
		operations, condition string
		// before is the label that the object had, empty where it is created.
		before    string
		operation admissionregistrationv1.OperationType
		want      bool
	}{
		"by whom it asks for":                      {operations: either, condition: byAnna, operation: "CREATE", want: true},
		"by somebody else":                         {operations: either, condition: `request.userInfo.username == 'bob'`, operation: "CREATE"},
		"with an operation that no rule names":     {operations: created, condition: byAnna, before: "prod", operation: "UPDATE"},
		"that changes what the condition asks for": {operations: either, condition: `oldObject.metadata.labels.env != object.metadata.labels.env`, before: "test", operation: "UPDATE", want: true},
		"that changes something else":              {operations: either, condition: `oldObject.metadata.labels.env != object.metadata.labels.env`, before: "prod", operation: "UPDATE"},
		"by a variable about the object before":    {operations: either, condition: `variables.before.env == 'test'`, before: "test", operation: "UPDATE", want: true},
		"where there was nothing before":           {operations: either, condition: `oldObject == null`, operation: "CREATE", want: true},
		"for an object that is another one":        {operations: either, condition: `object.metadata.name == 'other'`, operation: "CREATE"},
		"where the Namespace is not known whole":   {operations: either, condition: `namespaceObject.metadata.annotations['team'] == 'x'`, operation: "CREATE", want: true},
		"where a variable is about the Namespace":  {operations: either, condition: `variables.team == 'x'`, operation: "CREATE", want: true},
		"where something has to be read":           {operations: either, condition: `resource.Get('v1', 'configmaps', 'shop', 'x') == null`, operation: "CREATE", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, strings.NewReplacer("OPERATIONS", tc.operations, "CONDITION", `"`+tc.condition+`"`).Replace(asking))
			trigger := triggerOf(parse(t, strings.ReplaceAll(settings, "LABEL", "prod")))
			trigger.Request = map[string]any{"operation": string(tc.operation), "userInfo": map[string]any{"username": "anna"}}
			trigger.Namespace = map[string]any{"metadata": map[string]any{"name": "shop"}}
			if tc.before != "" {
				trigger.OldObject = parse(t, strings.ReplaceAll(settings, "LABEL", tc.before))
			}
			if got := p.TakesRequest(t.Context(), trigger); got != tc.want {
				t.Errorf("takes the request: %v, want %v", got, tc.want)
			}
		})
	}
}

// TestConditionsAboutTheObjectBefore shows that they are asked of requests, and not of what is there.
func TestConditionsAboutTheObjectBefore(t *testing.T) {
	p := compiled(t, strings.NewReplacer("OPERATIONS", "UPDATE", "CONDITION", `"oldObject.metadata.labels.env == 'test'"`).Replace(asking))
	trigger := triggerOf(parse(t, shop))
	trigger.Request = map[string]any{"userInfo": map[string]any{"username": "anna"}}
	got, err := p.Evaluate(t.Context(), trigger, &cluster{})
	if err != nil || len(got.Objects) != 1 || got.Objects[0].ID.Name != "anna" {
		t.Errorf("got %+v, %v; want a ConfigMap of anna", got, err)
	}
}

// TestNeedsOld shows which policies generate from what an object was before.
func TestNeedsOld(t *testing.T) {
	const generated = "request.userInfo.username"
	for name, tc := range map[string]struct {
		old, new string
		want     bool
	}{
		"a condition about the object before": {"CONDITION", `"oldObject == null"`, false},
		"generated from the object before":    {generated, "oldObject.metadata.name", true},
		"generated from it by a variable":     {generated, "variables.before['a']", true},
		"generated from what is deleted": {`OPERATIONS], resources: [namespaces, configmaps]}]
  matchConditions: [{name: asks, expression: CONDITION}]`, `DELETE], resources: [namespaces]}]
  matchConditions: [{name: asks, expression: "oldObject.metadata.name == 'x'"}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, strings.NewReplacer("OPERATIONS", "CREATE", "CONDITION", `"true"`).Replace(strings.Replace(asking, tc.old, tc.new, 1)))
			if p.NeedsOld() != tc.want || !p.NeedsRequest() {
				t.Errorf("needs the object before: %v, the request: %v; want %v, true", p.NeedsOld(), p.NeedsRequest(), tc.want)
			}
		})
	}
}

func TestRequestOf(t *testing.T) {
	request := &admissionv1.AdmissionRequest{
		UID: types.UID("u"), Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: "shop", Operation: admissionv1.Create,
		UserInfo: authenticationv1.UserInfo{Username: "anna", Groups: []string{"a"}, Extra: map[string]authenticationv1.ExtraValue{"token": {"secret"}}},
		DryRun:   new(false), Object: runtime.RawExtension{Raw: []byte(`{"kind":"Namespace"}`)},
		Options: runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","fieldManager":"kubectl-create"}`)},
	}
	user := map[string]any{"username": "anna", "groups": []any{"a"}}
	want := map[string]any{
		"kind":     map[string]any{"group": "", "version": "v1", "kind": "Namespace"},
		"resource": map[string]any{"group": "", "version": "", "resource": ""},
		"name":     "shop", "operation": "CREATE", "dryRun": false, "userInfo": user,
		"options": map[string]any{"kind": "CreateOptions", "fieldManager": "kubectl-create"},
	}
	got, err := NoteOf(request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request as its object keeps it (-want +got):\n%s", diff)
	}
	whole, err := RequestOf(request)
	if err != nil {
		t.Fatal(err)
	}
	seen := maps.Clone(want)
	seen["userInfo"] = map[string]any{"username": "anna", "groups": []any{"a"}, "extra": map[string]any{"token": []any{"secret"}}}
	if diff := cmp.Diff(seen, whole); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	request.Options.Raw = []byte("{")
	if _, err := RequestOf(request); err == nil {
		t.Error("options that are not JSON are taken")
	}
	text, err := Requests{"made": got}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRequests: text}}}
	if diff := cmp.Diff(Requests{"made": want}, RequestsOn(on)); diff != "" {
		t.Errorf("the requests that an object keeps (-want +got):\n%s", diff)
	}
}

func TestRequestsOn(t *testing.T) {
	for name, text := range map[string]string{"none": "", "not JSON": "{", "of another shape": `{"made": "anna"}`} {
		t.Run(name, func(t *testing.T) {
			on := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationRequests: text}}}
			if got := RequestsOn(on); got != nil {
				t.Errorf("got %v, want none", got)
			}
		})
	}
	if got, err := (Requests{}).Encode(); got != "" || err != nil {
		t.Errorf("no requests: got %q, %v; want nothing", got, err)
	}
	if _, err := (Requests{"made": {"name": strings.Repeat("x", MaxRequestBytes)}}).Encode(); err == nil {
		t.Error("what is too large for an object is kept, want an error")
	}
}
