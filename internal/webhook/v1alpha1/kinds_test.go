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
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestKindsOf(t *testing.T) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	core := schema.GroupVersion{Version: "v1"}
	grouped := schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}
	mapper.Add(grouped.WithKind("Event"), apimeta.RESTScopeNamespace)
	mapper.Add(core.WithKind("Event"), apimeta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersion{Group: "example.com", Version: "v1"}.WithKind("Widget"), apimeta.RESTScopeNamespace)
	tests := map[string]struct {
		resource schema.GroupVersionResource
		want     schema.GroupVersionKind
		served   bool
	}{
		"core":                       {resource: core.WithResource("events"), want: core.WithKind("Event"), served: true},
		"of a group":                 {resource: grouped.WithResource("events"), want: grouped.WithKind("Event"), served: true},
		"core is not any group":      {resource: core.WithResource("widgets")},
		"of another version":         {resource: schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1beta1", Resource: "events"}},
		"no resource of that name":   {resource: core.WithResource("gadgets")},
		"a kind is not its resource": {resource: core.WithResource("Event")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, served := kindsOf(mapper)(tc.resource)
			if got != tc.want || served != tc.served {
				t.Errorf("got %s, %t; want %s, %t", got, served, tc.want, tc.served)
			}
		})
	}
}
