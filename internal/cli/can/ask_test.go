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

package can

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

func TestInitiators(t *testing.T) {
	texts := map[string]string{
		"template": `for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: alice, mayInitiate: true}]
rules: [{trigger: spec.template, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]}]`,
		"size": `for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
subjects: [{kind: User, name: bob, mayInitiate: true}]
rules: [{trigger: spec.replicas, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Update]}]}]`,
	}
	var policies []*policy.Policy
	for name, text := range texts {
		p := &v1alpha1.AllowancePolicy{}
		p.Name = name
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatal(err)
		}
		compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return gvr.GroupVersion().WithKind("ReplicaSet"), true
		})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		policies = append(policies, compiled)
	}
	index, chain := policy.NewIndex(policies), []policy.Holder{{Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}}}
	tests := map[string]struct {
		report Report
		want   []string
	}{
		"of the field that is withheld":          {report: Report{Paths: []string{"spec.replicas", "spec.template"}, Withheld: []string{"spec.replicas"}}, want: []string{"User bob"}},
		"of all that is refused":                 {report: Report{Paths: []string{"spec.template.spec"}}, want: []string{"User alice"}},
		"each of a part where nobody may alone":  {report: Report{Paths: []string{"spec.replicas", "spec.template"}}, want: []string{"User alice", "User bob"}},
		"of anything, where no rule is about it": {report: Report{Paths: []string{"metadata.ownerReferences"}}, want: []string{"User alice", "User bob"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.report.initiators(index, chain)); diff != "" {
				t.Errorf("initiators() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, tc := range map[string]struct {
		err  error
		want Outcome
	}{
		"by rights":              {apierrors.NewForbidden(deployments, "web", errors.New("no")), Refused},
		"by a webhook":           {apierrors.NewBadRequest(`admission webhook "x" denied the request: no`), Refused},
		"by an admission policy": {apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no", nil), Refused},
		"by its type":            {apierrors.NewBadRequest("json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"), Invalid},
		"by its value":           {apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil), Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refused(tc.err); got != tc.want {
				t.Errorf("refused(%v) = %s, want %s", tc.err, got, tc.want)
			}
		})
	}
}

func TestGatedAndStatus(t *testing.T) {
	bucket := &unstructured.Unstructured{Object: map[string]any{}}
	if isGated(bucket, []string{"spec.managementPolicies[0]"}) {
		t.Error("what has no gate has a switch")
	}
	bucket.SetAnnotations(map[string]string{v1alpha1.AnnotationGateContent: "1"})
	if !isGated(bucket, []string{"spec.managementPolicies[0]", "spec.managementPolicies[1]"}) || isGated(bucket, []string{"spec.managementPolicies[0]", "spec.nope"}) {
		t.Error("the switch is spec.managementPolicies, and nothing else")
	}
	if diff := cmp.Diff([]string{"status.replicas"}, (&edit{fields: []string{"spec.replicas", "status.replicas"}}).ofStatus()); diff != "" {
		t.Errorf("of the status (-want +got):\n%s", diff)
	}
}
