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

package lineage

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// graphs has a kind that kro serves.
var graphs = categorized{"WebApp": "kro.run/owned", "XDatabase": CategoryComposite, "Database": CategoryClaim}

// kroLabels returns what kro puts on a child of WebApp shop/web, with changes.
func kroLabels(changes map[string]string) map[string]string {
	labels := map[string]string{
		"kro.run/instance-id": "u1", "kro.run/instance-group": "example.com", "kro.run/instance-version": "v1alpha1", "kro.run/instance-kind": "WebApp",
		"kro.run/instance-namespace": "shop", "kro.run/instance-name": "web", "kro.run/node-id": "deployment", "kro.run/kro-version": "v0.9.4",
		"applyset.kubernetes.io/part-of": "applyset-1", "kro.run/collection-size": "1",
	}
	maps.Copy(labels, changes)
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return labels
}

func made(tb testing.TB, owners string, labels map[string]string) *unstructured.Unstructured {
	tb.Helper()
	obj := owned(tb, owners)
	obj.SetLabels(labels)
	obj.SetAnnotations(map[string]string{"internal.kro.run/apply-order": "1"})
	return obj
}

func TestParentOfLabeled(t *testing.T) {
	web := Ref{
		GVK:       schema.GroupVersionKind{Group: "example.com", Version: "v1alpha1", Kind: "WebApp"},
		Namespace: "shop", Name: "web", UID: "u1", Path: "metadata.labels[kro.run/instance-id]", Category: "kro.run/owned",
	}
	fleet := web
	fleet.Namespace = ""
	claimed := composite(t, toClaim)
	claimed.SetLabels(kroLabels(nil))
	tests := map[string]struct {
		obj  *unstructured.Unstructured
		want Ref
	}{
		"an instance in another namespace":    {made(t, "", kroLabels(nil)), web},
		"a cluster-scoped instance":           {made(t, "", kroLabels(map[string]string{"kro.run/instance-namespace": ""})), fleet},
		"an instance before other owners":     {made(t, owner, kroLabels(nil)), web},
		"a kind that is not the system's own": {obj: made(t, "", kroLabels(map[string]string{"kro.run/instance-kind": "Deployment"}))},
		"no UID":                              {obj: made(t, "", kroLabels(map[string]string{"kro.run/instance-id": ""}))},
		"no name":                             {obj: made(t, "", kroLabels(map[string]string{"kro.run/instance-name": ""}))},
		"no labels":                           {obj: made(t, "", nil)},
		"its controller, which copied them": {made(t, controller, kroLabels(nil)), Ref{
			GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
			Namespace: "default", Name: "rs", UID: "u1", Path: "metadata.ownerReferences[0]", Controller: true,
		}},
		"its claim, which had them": {claimed, Ref{
			GVK:       schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Database"},
			Namespace: "shop", Name: "db", Path: "spec.claimRef", Mutual: true,
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, _ := Parent(graphs, tc.obj)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Parent() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChangesOfLabels(t *testing.T) {
	tests := map[string]struct {
		labels, annotations map[string]string
		owners              string
		want                []string
	}{
		"nothing":                {},
		"its place":              {labels: map[string]string{"kro.run/collection-size": "2", "kro.run/collection-index": "1"}},
		"kro is upgraded":        {labels: map[string]string{"kro.run/kro-version": "v0.9.5", "kro.run/instance-version": "v1beta1"}},
		"a label of its own":     {labels: map[string]string{"app": "web"}},
		"another instance":       {labels: map[string]string{"kro.run/instance-id": "u9"}, want: []string{"Delete metadata.labels[kro.run/instance-id]", "Insert metadata.labels[kro.run/instance-id]"}},
		"nobody's":               {labels: map[string]string{"kro.run/instance-id": ""}, want: []string{"Delete metadata.labels[kro.run/instance-id]"}},
		"of a kind that is none": {labels: map[string]string{"kro.run/instance-kind": "Thing"}, want: []string{"Delete metadata.labels[kro.run/instance-id]"}},
		"another name":           {labels: map[string]string{"kro.run/instance-name": "other"}, want: []string{"Mutate metadata.labels[kro.run/instance-name]"}},
		"another namespace":      {labels: map[string]string{"kro.run/instance-namespace": ""}, want: []string{"Delete metadata.labels[kro.run/instance-namespace]"}},
		"not to be listed":       {labels: map[string]string{"applyset.kubernetes.io/part-of": ""}, want: []string{"Delete metadata.labels[applyset.kubernetes.io/part-of]"}},
		"another resource":       {labels: map[string]string{"kro.run/node-id": "service"}, want: []string{"Mutate metadata.labels[kro.run/node-id]"}},
		"to be deleted later":    {annotations: map[string]string{"internal.kro.run/apply-order": "0"}, want: []string{"Mutate metadata.annotations[internal.kro.run/apply-order]"}},
		"a controller":           {owners: controller, want: []string{"Delete metadata.labels[kro.run/instance-id]", "Insert metadata.ownerReferences[0]"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			updated := made(t, tc.owners, kroLabels(tc.labels))
			if tc.annotations != nil {
				updated.SetAnnotations(tc.annotations)
			}
			var got []string
			for _, c := range Changes(graphs, made(t, "", kroLabels(nil)), updated, Counting{Binds: func(Ref) bool { return false }}) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
				if _, ok := IsOwner(c); !ok || !IsLineage(c.Path) {
					t.Errorf("%s is not of a parent", c.Path)
				}
			}
			// The controller of the last case has the UID of the instance, which is another one all the same.
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Changes() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsReference(t *testing.T) {
	for text, want := range map[string]bool{
		"metadata.ownerReferences[0]": true, "metadata.labels[kro.run/instance-id]": true, "metadata.annotations[internal.kro.run/apply-order]": true,
		"metadata.labels[kro.run/kro-version]": false, "metadata.labels[kro.run/instance-version]": false, "metadata.labels": false, "spec": false,
	} {
		path, err := change.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsReference(path); got != want {
			t.Errorf("IsReference(%s) = %t", text, got)
		}
	}
}
