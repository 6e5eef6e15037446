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

package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPointWebhooksAt(t *testing.T) {
	const base = "https://localhost:4443"
	cases := map[string]struct {
		in, want string
	}{
		"by service": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
webhooks:
- name: a
  clientConfig: {service: {name: s, namespace: n, path: /mutate, port: 443}, caBundle: Y2E=}
- name: b
  clientConfig: {service: {name: s, namespace: n}}`,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
webhooks:
- name: a
  clientConfig: {url: "https://localhost:4443/mutate", caBundle: Y2E=}
- name: b
  clientConfig: {url: "https://localhost:4443"}`,
		},
		"by URL": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
webhooks:
- clientConfig: {url: "https://127.0.0.1:9443/validate/x"}`,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
webhooks:
- clientConfig: {url: "https://localhost:4443/validate/x"}`,
		},
		"no webhooks": {
			in:   "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration}",
			want: "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration}",
		},
		"conversion": {
			in: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s, namespace: n, path: /convert}}}}}`,
			want: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {url: "https://localhost:4443/convert"}}}}`,
		},
		"no conversion": {
			in:   "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g}}",
			want: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: g}}",
		},
		"another kind": {
			in:   "{apiVersion: example.org/v1, kind: Thing, webhooks: [{clientConfig: {service: {path: /x}}}]}",
			want: "{apiVersion: example.org/v1, kind: Thing, webhooks: [{clientConfig: {service: {path: /x}}}]}",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := mustDecode(t, tc.in)
			if err := pointWebhooksAt(base, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(mustDecode(t, tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPointWebhooksAtRefuses(t *testing.T) {
	cases := map[string]struct {
		in   string
		want string
	}{
		"a list of something else": {
			in:   "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [x]}",
			want: "ValidatingWebhookConfiguration w at https://localhost: webhooks[0]",
		},
		"a URL that is none": {
			in:   `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{clientConfig: {url: "::"}}]}`,
			want: "webhooks[0]: parse",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mustContain(t, pointWebhooksAt("https://localhost", mustDecode(t, tc.in)), tc.want)
		})
	}
}

func TestDecode(t *testing.T) {
	got := mustDecode(t, "\n---\n# nothing\n---\nkind: A\n---\nkind: B\n")
	want := []*unstructured.Unstructured{
		{Object: map[string]any{"kind": "A"}},
		{Object: map[string]any{"kind": "B"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func mustDecode(t *testing.T, stream string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Decode([]byte(stream))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
