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

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
)

func TestUnmaintained(t *testing.T) {
	const (
		certificates = "{apiGroup: cert-manager.io, apiVersion: v1, kind: Certificate}"
		widgets      = "{apiGroup: example.com, apiVersion: v1, kind: Widget}"
		secrets      = "{target: {apiVersion: v1, resource: secrets}, relation: ControllerChild, verbs: [Update]}"
		pods         = "{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}"
		replicaSets  = "{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}"
		slices       = "{target: {apiGroup: discovery.k8s.io, apiVersion: v1, resource: endpointslices}, relation: ControllerChild, verbs: [Update]}"
		outside      = "{target: {external: {provider: aws}}, relation: External, verbs: [Update]}"
		unhealed     = "Pods are bounded and spec.maintaining does not allow to create them: replacing one that was evicted or lost will be denied"
	)
	stopped := func(child, parent, what string) string {
		return "spec.maintaining: it does not name " + child + ", which rules do: what its controller does to one without a change of the " + parent + " will be denied: " + what
	}
	renewal := stopped("Secret", "Certificate", "the certificate is not renewed when its time comes, which may be in months")
	tests := map[string]struct {
		parent, rules, maintaining string
		want                       []string
	}{
		"what is known of the kind":   {parent: certificates, rules: secrets + "," + secrets, want: []string{renewal}},
		"what is known of no kind":    {parent: widgets, rules: secrets, want: []string{stopped("Secret", "Widget", "what was deleted does not come back, and what changes by time or by other objects stays as it is")}},
		"children that follow others": {parent: "{apiVersion: v1, kind: Service}", rules: slices, want: []string{stopped("EndpointSlice", "Service", "the endpoints do not follow Pods that come, go or cease to be ready")}},
		"it is maintained":            {parent: certificates, rules: secrets, maintaining: "maintaining: {policies: [" + secrets + "]}"},
		"something else is":           {parent: certificates, rules: secrets, maintaining: "maintaining: {policies: [" + pods + "]}", want: []string{renewal}},
		"it is meant":                 {parent: certificates, rules: secrets, maintaining: "maintaining: {}"},
		"nothing happens by itself":   {parent: "{apiGroup: apps, apiVersion: v1, kind: Deployment}", rules: replicaSets},
		"Pods are lost whatever":      {parent: widgets, rules: pods, maintaining: "maintaining: {}", want: []string{unhealed}},
		"Pods are replaced":           {parent: widgets, rules: pods, maintaining: "maintaining: {policies: [" + pods + "]}"},
		"what is outside, or unknown": {parent: widgets, rules: outside + ", {target: {apiVersion: v1, resource: gadgets}, relation: ControllerChild}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AllowancePolicy{}
			text := "for: " + tt.parent + "\nrules: [{trigger: spec, policies: [" + tt.rules + "]}]\n" + tt.maintaining
			if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
				t.Fatal(err)
			}
			compiled, errs := Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
				kind, ok := map[string]string{"secrets": "Secret", "pods": "Pod", "replicasets": "ReplicaSet", "endpointslices": "EndpointSlice"}[gvr.Resource]
				return gvr.GroupVersion().WithKind(kind), ok
			})
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if diff := cmp.Diff(tt.want, compiled.Unmaintained()); diff != "" {
				t.Errorf("Unmaintained() (-want +got):\n%s", diff)
			}
		})
	}
}
