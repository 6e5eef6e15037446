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

package offline

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestServes(t *testing.T) {
	kinds := NewKinds()
	for name, tc := range map[string]struct {
		kind               schema.GroupVersionKind
		served, namespaced bool
		unwatchable        bool
	}{
		"Deployment":                {kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, served: true, namespaced: true},
		"Deployment before v1":      {kind: schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}},
		"and right before":          {kind: schema.GroupVersionKind{Group: "apps", Version: "v1beta2", Kind: "Deployment"}},
		"CronJob before v1":         {kind: schema.GroupVersionKind{Group: "batch", Version: "v1beta1", Kind: "CronJob"}},
		"budget before v1":          {kind: schema.GroupVersionKind{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}},
		"Ingress of extensions":     {kind: schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "Ingress"}},
		"content of a sub-resource": {kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}},
		"an eviction":               {kind: schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}},
		"a list":                    {kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DeploymentList"}},
		"a binding":                 {kind: schema.GroupVersionKind{Version: "v1", Kind: "Binding"}, served: true, namespaced: true, unwatchable: true},
		"a definition":              {kind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, served: true},
		"an aggregated API server":  {kind: schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}, served: true},
		"a policy":                  {kind: schema.GroupVersionKind{Group: "kausality.io", Version: "v1alpha1", Kind: "AllowancePolicy"}, served: true},
		"a record":                  {kind: schema.GroupVersionKind{Group: "kausality.io", Version: "v1alpha1", Kind: "AllowanceRecord"}, served: true, namespaced: true},
		"a test, which is a file":   {kind: schema.GroupVersionKind{Group: "kausality.io", Version: "v1alpha1", Kind: KindPolicyTest}},
	} {
		t.Run(name, func(t *testing.T) {
			resources, err := kinds.Serves(t.Context(), tc.kind.GroupVersion())
			if err != nil {
				t.Fatal(err)
			}
			served := false
			for _, r := range resources {
				if r.GVK != tc.kind {
					continue
				}
				served = true
				if r.Namespaced != tc.namespaced || r.Unwatchable != tc.unwatchable {
					t.Errorf("namespaced %t, unwatchable %t", r.Namespaced, r.Unwatchable)
				}
			}
			if served != tc.served {
				t.Errorf("served = %t, want %t", served, tc.served)
			}
		})
	}
}
