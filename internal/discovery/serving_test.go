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

package discovery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"kausality.io/operator/internal/discovery"
)

func TestResolverServes(t *testing.T) {
	served := &cluster{served: map[string][]metav1.APIResource{"v1": {
		{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}},
		{Name: "componentstatuses", Kind: "ComponentStatus", ShortNames: []string{"cs"}, Verbs: []string{"get", "list"}},
		{Name: "pods", Kind: "Pod", SingularName: "pod", ShortNames: []string{"po"}, Namespaced: true, Verbs: []string{"create", "list", "watch"}},
		{Name: "pods/binding", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}},
	}}}
	r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	core := schema.GroupVersion{Version: "v1"}
	want := []discovery.Resource{
		{GVR: core.WithResource("bindings"), GVK: core.WithKind("Binding"), Namespaced: true, Unwatchable: true},
		{GVR: core.WithResource("componentstatuses"), GVK: core.WithKind("ComponentStatus"), Names: []string{"cs"}, Unwatchable: true},
		{
			GVR: core.WithResource("pods"), GVK: core.WithKind("Pod"), Names: []string{"pod", "po"},
			Namespaced: true, Subresources: []string{"binding"},
		},
	}
	got, err := r.Serves(t.Context(), core)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Serves() (-want +got):\n%s", diff)
	}
	if got, err = r.Everything(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Everything() (-want +got):\n%s", diff)
	}
	if got, err := r.Serves(t.Context(), schema.GroupVersion{Group: "example.com", Version: "v1"}); len(got) > 0 || err != nil {
		t.Errorf("Serves() of nothing = %v, %v", got, err)
	}
}

func TestNearest(t *testing.T) {
	apps, old, core := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Group: "old", Version: "v1"}, schema.GroupVersion{Version: "v1"}
	served := []discovery.Resource{
		{GVR: core.WithResource("pods"), GVK: core.WithKind("Pod"), Names: []string{"pod", "po"}},
		{GVR: apps.WithResource("deployments"), GVK: apps.WithKind("Deployment"), Names: []string{"deployment", "deploy"}},
		{GVR: old.WithResource("deployments"), GVK: old.WithKind("Deployment"), Names: []string{"deployment"}},
	}
	for name, tc := range map[string]struct {
		gv   schema.GroupVersion
		name string
		want schema.GroupVersionKind
	}{
		"in lower case":          {gv: apps, name: "deployment", want: apps.WithKind("Deployment")},
		"the kind of a list":     {gv: apps, name: "DeploymentList", want: apps.WithKind("Deployment")},
		"in the plural":          {gv: apps, name: "Deployments", want: apps.WithKind("Deployment")},
		"by a short name":        {gv: core, name: "po", want: core.WithKind("Pod")},
		"in the same group":      {gv: schema.GroupVersion{Group: "old", Version: "v2"}, name: "Deployment", want: old.WithKind("Deployment")},
		"without a group":        {gv: core, name: "Deployment", want: apps.WithKind("Deployment")},
		"in a group that is not": {gv: schema.GroupVersion{Group: "app", Version: "v1"}, name: "Deployment", want: apps.WithKind("Deployment")},
		"nothing like it":        {gv: apps, name: "Widget"},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := discovery.Nearest(served, tc.gv, tc.name)
			if found == tc.want.Empty() || got.GVK != tc.want {
				t.Errorf("Nearest() = %v, %t, want %v", got.GVK, found, tc.want)
			}
		})
	}
}
