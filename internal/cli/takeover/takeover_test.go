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

package takeover

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
)

func TestKeeperOf(t *testing.T) {
	yes := true
	for name, tc := range map[string]struct {
		labels, annotations map[string]string
		owners              []metav1.OwnerReference
		want                string
	}{
		"nobody":                   {labels: map[string]string{"app": "web"}},
		"Kyverno, which let go":    {labels: map[string]string{"app.kubernetes.io/managed-by": "kyverno", "generate.kyverno.io/policy-name": "p"}},
		"what kubectl applied":     {annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
		"Kausality's own":          {annotations: map[string]string{v1alpha1.AnnotationAllowances: "[]"}},
		"a copy of what is made":   {annotations: map[string]string{v1alpha1.AnnotationGeneratedFrom: "{}"}},
		"Helm":                     {labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}, want: "who wrote app.kubernetes.io/managed-by"},
		"Argo CD":                  {annotations: map[string]string{"argocd.argoproj.io/tracking-id": "x"}, want: "who wrote argocd.argoproj.io/tracking-id"},
		"a controller":             {owners: []metav1.OwnerReference{{Kind: "App", Name: "a", Controller: &yes}}, want: "App a"},
		"an owner that only waits": {owners: []metav1.OwnerReference{{Kind: "App", Name: "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{}}
			object.SetLabels(tc.labels)
			object.SetAnnotations(tc.annotations)
			object.SetOwnerReferences(tc.owners)
			if got := keeperOf(object); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	got := without(map[string]string{"app": "web", "app.kubernetes.io/managed-by": "kyverno", "generate.kyverno.io/policy-name": "p", "kyverno.io.example.org/a": "b"})
	want := map[string]any{"app": "web", "app.kubernetes.io/managed-by": nil, "generate.kyverno.io/policy-name": nil, "kyverno.io.example.org/a": "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusal(t *testing.T) {
	for name, tc := range map[string]struct {
		err  string
		want bool
	}{
		"by AllowancePolicies":              {`admission webhook "verdict.kausality.io" denied the request: it is for others`, true},
		"by those of one of many kinds":     {`admission webhook "verdict-12.kausality.io" denied the request: it is for others`, true},
		"by a role":                         {`secrets "s" is forbidden: User "alice" cannot patch resource "secrets"`, false},
		"by somebody else's webhook":        {`admission webhook "verdict.example.org" denied the request: no`, false},
		"as it was changed in the meantime": {"it was changed meanwhile: run the command again", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := refusal(errors.New(tc.err))
			if !strings.HasSuffix(got, tc.err) || strings.Contains(got, "--as") != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestFailed shows that what is not taken over is no success, nor is what a dry run finds out.
func TestFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		report Report
		open   int
		want   string
	}{
		"all":              {report: Report{Objects: []Object{{Outcome: Same}, {Outcome: Changes}, {Outcome: Left}}}, open: 2},
		"one is refused":   {report: Report{Objects: []Object{{Outcome: Same}, {Outcome: Failed}}}, open: 1, want: "1 of 2 objects were not taken over"},
		"one would be":     {report: Report{DryRun: true, Objects: []Object{{Outcome: Failed}}}, want: "1 of 1 objects cannot be taken over"},
		"there is nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.report.failed(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || tc.report.open() != tc.open {
				t.Errorf("%d are open (-want +got):\n%s", tc.report.open(), diff)
			}
		})
	}
}
