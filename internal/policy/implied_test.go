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

	"kausality.io/operator/api/v1alpha1"
)

var controllerRevisions = schema.GroupKind{Group: "apps", Kind: "ControllerRevision"}

// forKind returns a policy for a kind of the group apps with this in its spec, each line of
// which is indented by two.
func forKind(kind, spec string) string {
	return "metadata: {name: test}\nspec:\n  for: {apiGroup: apps, apiVersion: v1, kind: " + kind + "}\n" + spec
}

const (
	podsInRules = `
  rules:
  - trigger: spec.template
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}`
	podsInMaintaining = `
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}`
	podsInInitializing = `
  initializing:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}`
	podsInDeleting = `
  deleting:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}`
	othersInInitializing = `
  initializing:
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Create]}`
)

func TestImpliedBounds(t *testing.T) {
	type bounds struct{ Any, Initializing, Steady, Deleting, InitializingSection, DeletingSection bool }
	steady := bounds{Any: true, Initializing: true, Steady: true}
	initializing := bounds{Any: true, Initializing: true, Steady: true, InitializingSection: true}
	tests := map[string]struct {
		kind, spec string
		want       bounds
	}{
		"a StatefulSet, Pods in rules":                     {"StatefulSet", podsInRules, steady},
		"a StatefulSet, Pods in maintaining":               {"StatefulSet", podsInMaintaining, steady},
		"a StatefulSet, Pods in initializing":              {"StatefulSet", podsInInitializing, initializing},
		"a StatefulSet, Pods in deleting":                  {"StatefulSet", podsInDeleting, steady},
		"a StatefulSet, something else in initializing":    {"StatefulSet", othersInInitializing + podsInRules, initializing},
		"a DaemonSet, Pods in rules":                       {"DaemonSet", podsInRules, steady},
		"a DaemonSet, Pods in maintaining":                 {"DaemonSet", podsInMaintaining, steady},
		"a DaemonSet, Pods in initializing":                {"DaemonSet", podsInInitializing, initializing},
		"a StatefulSet, no Pods":                           {"StatefulSet", othersInInitializing, bounds{}},
		"a StatefulSet, a rule that allows anything":       {"StatefulSet", "\n  rules:\n  - trigger: spec", bounds{}},
		"a ReplicaSet, which makes Pods from its template": {"ReplicaSet", podsInRules, bounds{}},
		"a Deployment": {"Deployment", podsInRules, bounds{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, forKind(tc.kind, tc.spec))
			got := bounds{
				Any:                 p.Bounds(controllerRevisions),
				Initializing:        p.BoundsIn(v1alpha1.PhaseInitializing, controllerRevisions),
				Steady:              p.BoundsIn(v1alpha1.PhaseSteady, controllerRevisions),
				Deleting:            p.BoundsIn(v1alpha1.PhaseDeleting, controllerRevisions),
				InitializingSection: p.Initializing != nil && p.Initializing.Names(controllerRevisions),
				DeletingSection:     p.Deleting != nil && p.Deleting.Names(controllerRevisions),
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("bounds of ControllerRevisions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImpliedAllowsNothing(t *testing.T) {
	p := compile(t, forKind("DaemonSet", podsInInitializing+podsInMaintaining+podsInRules))
	found := 0
	for _, e := range p.Entries() {
		if e.Kind != controllerRevisions {
			continue
		}
		found++
		want := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
		if diff := cmp.Diff(Entry{Resource: want, Kind: controllerRevisions}, e); diff != "" {
			t.Errorf("the entry (-want +got):\n%s", diff)
		}
	}
	if found != 1 {
		t.Errorf("there are %d entries about ControllerRevisions, want one", found)
	}
}

func TestImpliedNeedsAServedResource(t *testing.T) {
	p, errs := Compile(parse(t, forKind("StatefulSet", podsInRules)), func(r schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		if r.Resource == "controllerrevisions" {
			return schema.GroupVersionKind{}, false
		}
		return servedKinds(r)
	})
	if len(errs) > 0 || len(p.Entries()) != 1 || p.Bounds(controllerRevisions) {
		t.Errorf("got %v and %v, want the entry about Pods", p.Entries(), errs)
	}
}
