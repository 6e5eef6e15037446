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
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/change"
)

// owned returns a Pod with these owner references, each of them YAML.
func owned(tb testing.TB, owners string) *unstructured.Unstructured {
	tb.Helper()
	pod := &unstructured.Unstructured{}
	text := "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, ownerReferences: [" + owners + "]}}"
	if err := yaml.Unmarshal([]byte(text), &pod.Object); err != nil {
		tb.Fatal(err)
	}
	return pod
}

// categorized are kinds that say that they belong to a category.
type categorized map[string]string

func (c categorized) HasCategory(kind schema.GroupKind, category string) bool {
	return c[kind.Kind] == category
}

// noKinds say nothing.
var noKinds = categorized{}

const (
	controller = "{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u1, controller: true}"
	owner      = "{apiVersion: v1, kind: ConfigMap, name: cm, uid: u2}"
	malformed  = "{apiVersion: a/b/c, kind: Thing, name: t, uid: u3}"
)

func TestParent(t *testing.T) {
	replicaSet := Ref{
		GVK:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		Namespace: "default", Name: "rs", UID: "u1", Controller: true,
	}
	configMap := Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "default", Name: "cm", UID: "u2"}
	at := func(ref Ref, path string) Ref {
		ref.Path = path
		return ref
	}
	tests := map[string]struct {
		owners string
		want   Ref
		root   bool
	}{
		"none":                              {root: true},
		"its controller":                    {owners: controller, want: at(replicaSet, "metadata.ownerReferences[0]")},
		"its controller, whatever is first": {owners: owner + "," + controller, want: at(replicaSet, "metadata.ownerReferences[1]")},
		"the first without a controller":    {owners: owner + "," + owner, want: at(configMap, "metadata.ownerReferences[0]")},
		"the first that names a kind":       {owners: malformed + "," + owner, want: at(configMap, "metadata.ownerReferences[1]")},
		"none that names a kind":            {owners: malformed, root: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := Parent(noKinds, owned(t, tc.owners))
			if diff := cmp.Diff(tc.want, got); diff != "" || ok == tc.root {
				t.Errorf("Parent() = %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	const (
		other    = "{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u9, controller: true}"
		renamed  = "{apiVersion: apps/v1, kind: ReplicaSet, name: other, uid: u1, controller: true}"
		rekinded = "{apiVersion: v1, kind: ConfigMap, name: rs, uid: u1, controller: true}"
		older    = "{apiVersion: apps/v1beta1, kind: ReplicaSet, name: rs, uid: u1, controller: true}"
		owning   = "{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u1}"
		blocking = "{apiVersion: apps/v1, kind: ReplicaSet, name: rs, uid: u1, controller: true, blockOwnerDeletion: true}"
		bound    = "{apiVersion: v1, kind: Thing, name: t, uid: bound}"
		typo     = "{apiVersion: apps/v1, kind: ReplicaSet, name: typo, uid: u1}"
		unserved = "{apiVersion: apps/v0, kind: ReplicaSet, name: rs, uid: u1, controller: true}"
	)
	tests := map[string]struct {
		before, after string
		added         bool
		want          []string
	}{
		"the same":                                   {before: controller, after: controller},
		"the same at another place":                  {before: controller, after: owner + "," + controller},
		"one owner more beside it":                   {before: controller, after: controller + "," + owner},
		"released":                                   {before: controller, want: []string{"Delete metadata.ownerReferences[0]"}},
		"adopted":                                    {after: controller, want: []string{"Insert metadata.ownerReferences[0]"}},
		"another object of that name":                {before: controller, after: other, want: []string{"Delete metadata.ownerReferences[0]", "Insert metadata.ownerReferences[0]"}},
		"a controller beside its owner":              {before: owner, after: owner + "," + controller, want: []string{"Insert metadata.ownerReferences[1]"}},
		"its controller goes":                        {before: owner + "," + controller, after: owner, want: []string{"Delete metadata.ownerReferences[1]"}},
		"another name of the same object":            {before: controller, after: renamed, want: []string{"Mutate metadata.ownerReferences[0].name"}},
		"another kind and group of it":               {before: controller, after: rekinded, want: []string{"Mutate metadata.ownerReferences[0].apiVersion", "Mutate metadata.ownerReferences[0].kind"}},
		"another version of its group":               {before: controller, after: older},
		"not its controller any more":                {before: controller, after: owning, want: []string{"Mutate metadata.ownerReferences[0].controller"}},
		"what is for the collector only":             {before: controller, after: blocking},
		"one that bounds, beside it":                 {before: controller, after: controller + "," + bound, want: []string{"Insert metadata.ownerReferences[1]"}},
		"one that bounds, and goes":                  {before: controller + "," + bound, after: controller, want: []string{"Delete metadata.ownerReferences[1]"}},
		"a version that nobody serves":               {before: controller, after: unserved, want: []string{"Mutate metadata.ownerReferences[0].apiVersion"}},
		"from a version nobody serves":               {before: unserved, after: controller},
		"the same object under another name besides": {before: controller, after: controller + "," + typo, want: []string{"Insert metadata.ownerReferences[1]"}},
		"the same, before the reference it had":      {before: controller, after: typo + "," + controller, want: []string{"Insert metadata.ownerReferences[0]"}},
		"the same in a version nobody serves":        {before: owning, after: owning + "," + unserved, want: []string{"Insert metadata.ownerReferences[1]"}},
		"the same object twice":                      {before: owning, after: owning + "," + owning},
		"the same twice, once not as its controller": {before: controller, after: controller + "," + owning},
		"of two that name an object, the right one goes": {
			before: controller + "," + typo, after: typo,
			want: []string{"Mutate metadata.ownerReferences[0].name", "Mutate metadata.ownerReferences[0].controller"},
		},
		"of two that name an object, the other one goes": {before: controller + "," + typo, after: controller},
		"another name of what bounds nothing":            {before: controller + "," + owner, after: controller + "," + owner + ",{apiVersion: v1, kind: ConfigMap, name: typo, uid: u2}"},
		"any owner beside it that counts":                {before: controller, after: controller + "," + owner, added: true, want: []string{"Insert metadata.ownerReferences[1]"}},
		"an owner beside it that was there":              {before: controller + "," + owner, after: owner + "," + controller, added: true},
		"an owner beside it that goes":                   {before: controller + "," + owner, after: controller, added: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			counting := Counting{
				Binds: func(ref Ref) bool { return ref.UID == "bound" }, Added: tc.added,
				Served: func(kind schema.GroupVersionKind) bool { return kind.Version != "v0" },
			}
			for _, c := range Changes(noKinds, owned(t, tc.before), owned(t, tc.after), counting) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
				if !IsLineage(c.Path) {
					t.Errorf("IsLineage(%s) = false", c.Path)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Changes() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsLineage(t *testing.T) {
	for text, want := range map[string]bool{
		"metadata.ownerReferences[0]": true, "metadata.ownerReferences": true,
		"metadata.labels[app]": true, "metadata": false, "metadata.annotations": false, "spec.ownerReferences[0]": false,
	} {
		path, err := change.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := IsLineage(path); got != want {
			t.Errorf("IsLineage(%s) = %t", text, got)
		}
	}
}
