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

package v1alpha1

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

const upgradeOfDeployments = `
metadata: {name: upgrade}
spec:
  serviceAccount: system:serviceaccount:web:controller
  policies:
  - target: {apiGroup: apps, apiVersion: v1, resource: deployments}
    relation: ControllerChild
`

func newUpgrade(tb testing.TB) *v1alpha1.UpgradeAllowance {
	tb.Helper()
	var u v1alpha1.UpgradeAllowance
	if err := yaml.UnmarshalStrict([]byte(upgradeOfDeployments), &u); err != nil {
		tb.Fatalf("reading the UpgradeAllowance: %v", err)
	}
	return &u
}

// runners run some images, and exist or not.
type runners struct {
	images  []string
	missing bool
}

func (r runners) Running(context.Context, string) ([]string, error) { return r.images, nil }
func (r runners) Exists(context.Context, string) bool               { return !r.missing }

// as returns a context of a request by a user.
func as(user string) context.Context {
	return admission.NewContextWithRequest(context.Background(), admission.Request{
		AdmissionRequest: admissionv1.AdmissionRequest{UserInfo: authenticationv1.UserInfo{Username: user}},
	})
}

func stampedBy(u *v1alpha1.UpgradeAllowance, user string) *v1alpha1.UpgradeAllowance {
	u = u.DeepCopy()
	u.Annotations = upgrade.Stamp(nil, u, user)
	return u
}

func TestUpgradeAllowanceWarnings(t *testing.T) {
	bounding := parse(t, `
spec:
  for: {apiGroup: "", apiVersion: v1, kind: Service}
  `+initiator+`
  rules:
  - trigger: spec.ports
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: deployments}, relation: ControllerChild}
`)
	const function = v1alpha1.UpgradeOfFunction
	tests := map[string]struct {
		versions []string
		triggers []v1alpha1.UpgradeTrigger
		resource string
		runs     runners
		want     admission.Warnings
	}{
		"nothing to say":                  {runs: runners{images: []string{"web:v1"}}},
		"a version that runs":             {versions: []string{"web:v*"}, runs: runners{images: []string{"web:v1"}}},
		"a version that does not run yet": {versions: []string{"web:v2"}, runs: runners{images: []string{"web:v1"}}, want: admission.Warnings{"spec.versions: nothing that runs as system:serviceaccount:web:controller now is one of them"}},
		"a package that is active": {
			triggers: []v1alpha1.UpgradeTrigger{function}, versions: []string{"xpkg.example.org/fn:v1"}, runs: runners{images: []string{"xpkg.example.org/fn:v1"}},
		},
		"a package that is not active yet": {
			triggers: []v1alpha1.UpgradeTrigger{function}, versions: []string{"xpkg.example.org/fn:v2"}, runs: runners{images: []string{"xpkg.example.org/fn:v1"}},
			want: admission.Warnings{"spec.versions: no package of an active FunctionRevision is one of them"},
		},
		"neither runs nor is active yet": {
			triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController, function}, versions: []string{"v2"}, runs: runners{images: []string{"web:v1"}},
			want: admission.Warnings{"spec.versions: nothing that runs as system:serviceaccount:web:controller now, and no package of an active FunctionRevision, is one of them"},
		},
		"nobody there":        {runs: runners{missing: true}, want: admission.Warnings{"spec.serviceAccount: system:serviceaccount:web:controller does not exist"}},
		"what nothing bounds": {resource: "replicasets", want: admission.Warnings{"spec.policies[0]: no AllowancePolicy bounds replicasets, so that nothing has to let it through"}},
		"what is not served":  {resource: "widgets", want: admission.Warnings{"spec.policies[0]: widgets in apps/v1 is not served"}},
		"what is mistyped":    {resource: "deployment", want: admission.Warnings{"spec.policies[0]: deployment in apps/v1 is not served; did you mean resource deployments in apps/v1?"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mapper := upgradeMapper()
			compiled, errs := policy.Compile(bounding, kindsOf(mapper))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			active := &policy.Active{}
			active.Set(policy.NewIndex([]*policy.Policy{compiled}))
			u := newUpgrade(t)
			if u.Spec.Versions = tt.versions; tt.triggers != nil {
				u.Spec.Triggers = tt.triggers
			}
			if tt.resource != "" {
				u.Spec.Policies[0].Target.Resource = tt.resource
			}
			v := &UpgradeAllowanceValidator{Mapper: mapper, Policies: active, Runners: upgrade.Runners{v1alpha1.UpgradeOfController: tt.runs, function: tt.runs}, Accounts: tt.runs}
			v.Serving, v.Schemas = servedKinds(true, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}), noSchemas{}
			got, err := v.ValidateCreate(as("hans"), stampedBy(u, "hans"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUpgradeAllowanceRefusals(t *testing.T) {
	v := &UpgradeAllowanceValidator{Mapper: upgradeMapper(), Policies: &policy.Active{}, Accounts: runners{}}
	made := stampedBy(newUpgrade(t), "hans")

	forged := made.DeepCopy()
	forged.Annotations[v1alpha1.AnnotationChangedBy] = "mallory"
	if _, err := v.ValidateUpdate(as("mallory"), made, forged); !apierrors.IsForbidden(err) {
		t.Errorf("another author: %v", err)
	}
	if _, err := v.ValidateCreate(as("mallory"), made); !apierrors.IsForbidden(err) {
		t.Errorf("made by somebody else: %v", err)
	}
	if _, err := v.ValidateCreate(as("hans"), newUpgrade(t)); !apierrors.IsForbidden(err) {
		t.Errorf("without a stamp: %v", err)
	}
	if _, err := v.ValidateUpdate(as("greta"), made, made); err != nil {
		t.Errorf("a write that changes nothing: %v", err)
	}
	wrong := newUpgrade(t)
	wrong.Spec.Policies[0].Mutations = []v1alpha1.FieldMutation{{JSONPath: "spec["}}
	if _, err := v.ValidateCreate(as("hans"), stampedBy(wrong, "hans")); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.policies[0].mutations[0].jsonPath") {
		t.Errorf("a wrong path: %v", err)
	}
}

// TestStampKeepsWhatItDoesNotKnow has the webhook stamp an object with a field of a later version.
func TestStampKeepsWhatItDoesNotKnow(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"apiVersion":"kausality.io/v1alpha1","kind":"UpgradeAllowance","metadata":{"name":"upgrade"},` +
		`"spec":{"serviceAccount":"system:serviceaccount:web:controller","policies":[],"later":{"a":1}}}`)
	hook := &stamp{decoder: admission.NewDecoder(scheme)}
	resp := hook.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}, UserInfo: authenticationv1.UserInfo{Username: "hans"},
	}})
	if !resp.Allowed {
		t.Fatal(resp.Result)
	}
	encoded, err := json.Marshal(resp.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch.Apply(raw)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Metadata struct{ Annotations map[string]string }
		Spec     map[string]any
	}
	if err := json.Unmarshal(patched, &got); err != nil {
		t.Fatal(err)
	}
	if got.Metadata.Annotations[v1alpha1.AnnotationChangedBy] != "hans" || got.Spec["later"] == nil {
		t.Errorf("stamped: %s", patched)
	}
}
