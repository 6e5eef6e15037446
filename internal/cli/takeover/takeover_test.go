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
