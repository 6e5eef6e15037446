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

package stops

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// world is a chain of objects, the topmost first; that of a name that is gone is left out.
type world struct {
	chain []*unstructured.Unstructured
	gone  string
}

func (w world) at(obj *unstructured.Unstructured) int {
	for i := range w.chain {
		if w.chain[i] == obj {
			return i
		}
	}
	return -1
}

func (w world) Parent(_ context.Context, _ cluster.Policies, obj *unstructured.Unstructured) (lineage.Ref, bool, error) {
	i := w.at(obj) - 1
	if i < 0 {
		return lineage.Ref{}, false, nil
	}
	above := w.chain[i]
	return lineage.Ref{GVK: above.GroupVersionKind(), Namespace: above.GetNamespace(), Name: above.GetName(), Mutual: i == 0}, true, nil
}

func (w world) Referred(_ context.Context, ref lineage.Ref) (*unstructured.Unstructured, error) {
	for _, obj := range w.chain {
		if obj.GetName() == ref.Name && ref.Name != w.gone {
			return obj, nil
		}
	}
	return nil, nil
}

func (w world) Children(_ context.Context, _ cluster.Policies, kind schema.GroupKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	i := w.at(parent) + 1
	if i == len(w.chain) || w.chain[i].GroupVersionKind().GroupKind() != kind {
		return nil, nil
	}
	return w.chain[i : i+1], nil
}

// declared are policies for claims, and for what they are composed of.
func declared(t *testing.T) cluster.Policies {
	t.Helper()
	kinds := map[string]string{"xdatabases": "XDatabase", "instances": "Instance"}
	var out []*policy.Policy
	for _, text := range []string{`
metadata: {name: claim}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: Database}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  rules:
  - {trigger: spec, policies: [{target: {apiGroup: example.com, apiVersion: v1, resource: xdatabases}, relation: ControllerChild, mutations: [{jsonPath: spec}]}]}
`, `
metadata: {name: composite}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: XDatabase}
  rules:
  - {trigger: spec, policies: [{target: {apiGroup: cloud.example.com, apiVersion: v1, resource: instances}, relation: ControllerChild, mutations: [{jsonPath: spec}]}]}
`} {
		p := &v1alpha1.AllowancePolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		compiled, errs := policy.Compile(p, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
			return gvr.GroupVersion().WithKind(kinds[gvr.Resource]), true
		})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		out = append(out, compiled)
	}
	return cluster.Policies{Index: policy.NewIndex(out)}
}

func object(apiVersion, kind, namespace, name string, annotations map[string]string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetAnnotations(annotations)
	return obj
}

// TestOn says of each object of a chain what is paused at it, above and below it, and what is gone above it.
func TestOn(t *testing.T) {
	const why = " is paused: its annotation crossplane.io/paused has Crossplane, or its provider, do nothing with it, " +
		"and nothing follows from what is changed, until that is taken away."
	const goes = "Database/db in namespace shop, the parent that XDatabase/x names, does not exist: what it allowed is over, and policies for XDatabase that name nobody who may initiate are not in effect. " +
		"XDatabase/x is being deleted as well: see what keeps it, such as a pause or its finalizers. Whoever wants Database db back makes it anew once that is gone: it would lose what it names."
	policies := declared(t)
	paused := map[string]string{"crossplane.io/paused": "true"}
	for name, tt := range map[string]struct {
		annotations map[string]string
		gone        string
		deleting    bool
		kind        string
		want        [3][]string
	}{
		"nothing": {kind: "XDatabase"},
		"a composite resource": {annotations: paused, kind: "XDatabase", want: [3][]string{
			{"Below it XDatabase/x" + why}, {"XDatabase/x" + why}, {"Above it XDatabase/x" + why},
		}},
		"one whose pause is over": {annotations: map[string]string{"crossplane.io/paused": "false"}, kind: "XDatabase"},
		"one that Kausality holds": {
			annotations: map[string]string{"crossplane.io/paused": "true", v1alpha1.AnnotationGateHeld: `{"user":"bob"}`}, kind: "XDatabase",
		},
		"the claim is gone": {gone: "db", kind: "XDatabase", want: [3][]string{
			nil,
			{"Database/db in namespace shop, the parent that XDatabase/x names, does not exist: what it allowed is over, and policies for XDatabase that name nobody who may initiate are not in effect. " +
				"Group platform-team may create it again, with spec.resourceRef naming XDatabase/x; or delete XDatabase/x if it is not needed."},
			{"Database/db in namespace shop, the parent that XDatabase/x names, does not exist: what it allowed is over, and policies for XDatabase that name nobody who may initiate are not in effect. " +
				"Group platform-team may create it again, with spec.resourceRef naming XDatabase/x; or delete XDatabase/x if it is not needed."},
		}},
		"the claim is gone, and the composite resource goes": {gone: "db", deleting: true, kind: "XDatabase", want: [3][]string{nil, {goes}, {goes}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{gone: tt.gone, chain: []*unstructured.Unstructured{
				object("example.com/v1", "Database", "shop", "db", nil),
				object("example.com/v1", tt.kind, "", "x", tt.annotations),
				object("cloud.example.com/v1", "Instance", "", "i", nil),
			}}
			if tt.deleting {
				w.chain[1].SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1_700_000_000, 0)})
			}
			var got [3][]string
			for i, obj := range w.chain {
				got[i] = On(t.Context(), w, policies, obj)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what it says (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPaused knows what stops the controllers of a kind, and to whom an annotation says nothing.
func TestPaused(t *testing.T) {
	job := func(suspend any) *unstructured.Unstructured {
		obj := object("batch/v1", "CronJob", "shop", "nightly", nil)
		obj.Object["spec"] = map[string]any{"suspend": suspend}
		return obj
	}
	for name, tt := range map[string]struct {
		obj  *unstructured.Unstructured
		want string
	}{
		"suspended":      {job(true), "by spec.suspend its controller makes no Job until that is false"},
		"not suspended":  {obj: job(false)},
		"a built-in one": {obj: object("apps/v1", "Deployment", "shop", "web", map[string]string{"crossplane.io/paused": "true"})},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Paused(tt.obj, cluster.Policies{Index: policy.NewIndex(nil)})); diff != "" {
				t.Errorf("what it says (-want +got):\n%s", diff)
			}
		})
	}
}
