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
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/knowledge"
)

// object returns an object with labels, and with a spec.
func object(apiVersion, kind string, labels, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": "web", "labels": labels},
		"spec":     spec,
	}}
}

func TestLettingGo(t *testing.T) {
	type m = map[string]any
	matching := m{"app": "web", "hash": "1", "note": "x"}
	selector := m{"matchLabels": m{"app": "web"}, "matchExpressions": []any{m{"key": "hash", "operator": "Exists"}, m{"key": "old", "operator": "DoesNotExist"}}}
	tests := map[string]struct {
		parent        *unstructured.Unstructured
		before, after m
		want          []string
	}{
		"another value":          {after: m{"app": "other", "hash": "1", "note": "x"}, want: []string{"Mutate metadata.labels[app]"}},
		"a value that fits, too": {after: m{"app": "web", "hash": "2", "note": "y"}},
		"removed":                {after: m{"app": "web", "note": "x"}, want: []string{"Delete metadata.labels[hash]"}},
		"added":                  {after: m{"app": "web", "hash": "1", "old": "", "note": "x"}, want: []string{"Insert metadata.labels[old]"}},
		"all removed":            {after: nil, want: []string{"Delete metadata.labels[app]", "Delete metadata.labels[hash]"}},
		"two at once, and one that does not matter": {
			after: m{"app": "other", "note": "y"}, want: []string{"Delete metadata.labels[hash]", "Mutate metadata.labels[app]"},
		},
		"matched before, by none": {before: m{"app": "other"}, after: m{"app": "third"}},
		"of a kind that selects otherwise": {
			parent: object("example.org/v1", "Selector", nil, m{"selector": selector}), after: m{"app": "other"},
		},
		"of a kind whose selector is a set of labels": {
			parent: object("v1", "ReplicationController", nil, m{"selector": m{"app": "web"}}), after: m{"app": "other"},
			want: []string{"Mutate metadata.labels[app]"},
		},
		"without a selector":                  {parent: object("apps/v1", "ReplicaSet", nil, m{}), after: m{"app": "other"}},
		"with a selector that makes no sense": {parent: object("apps/v1", "ReplicaSet", nil, m{"selector": m{"matchLabels": "x"}}), after: m{"app": "other"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			parent, before := tc.parent, tc.before
			if parent == nil {
				parent = object("apps/v1", "Deployment", nil, m{"selector": selector})
			}
			if before == nil {
				before = matching
			}
			var got []string
			for _, c := range LettingGo(knowledge.BuiltIn(parent.GroupVersionKind().GroupKind()), parent, object("apps/v1", "ReplicaSet", before, nil), object("apps/v1", "ReplicaSet", tc.after, nil)) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
				if !IsLabel(c.Path) || !IsLineage(c.Path) {
					t.Errorf("%s is not known as a label that says whose child it is", c.Path)
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeeps(t *testing.T) {
	type m = map[string]any
	named := func(kind, name string, labels m) *unstructured.Unstructured {
		obj := object("v1", kind, labels, nil)
		obj.SetName(name)
		return obj
	}
	parent := func(kind string) *unstructured.Unstructured {
		return object("apps/v1", kind, nil, m{"selector": m{"matchLabels": m{"app": "web"}}})
	}
	going := parent("Deployment")
	going.SetDeletionTimestamp(new(metav1.Unix(1, 0)))
	selected, others := m{"app": "web"}, m{"app": "other"}
	tests := map[string]struct {
		parent, child *unstructured.Unstructured
		want          bool
	}{
		"it selects it":                   {parent("Deployment"), named("ReplicaSet", "web-1", selected), true},
		"it does not select it":           {parent("Deployment"), named("ReplicaSet", "web-1", others), false},
		"it is being deleted":             {going, named("ReplicaSet", "web-1", selected), false},
		"a kind that selects otherwise":   {parent("Other"), named("ReplicaSet", "web-1", selected), false},
		"a Pod of a set":                  {parent("StatefulSet"), named("Pod", "web-1", selected), true},
		"a Pod with no name of a set":     {parent("StatefulSet"), named("Pod", "db-1", selected), false},
		"a revision with no name of them": {parent("StatefulSet"), named("ControllerRevision", "db-1", selected), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Keeps(knowledge.BuiltIn(tc.parent.GroupVersionKind().GroupKind()), tc.parent, tc.child); got != tc.want {
				t.Errorf("Keeps() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestForsakes(t *testing.T) {
	parent := object("apps/v1", "Deployment", nil, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}})
	parent.SetName("web")
	parent.SetUID("1")
	tests := map[string]struct {
		change func(*metav1.OwnerReference)
		second *metav1.OwnerReference
		labels map[string]string
		want   bool
	}{
		"it is named rightly":            {change: func(*metav1.OwnerReference) {}},
		"of another version":             {change: func(o *metav1.OwnerReference) { o.APIVersion = "apps/v2" }},
		"blocking nothing":               {change: func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = nil }},
		"by another name":                {change: func(o *metav1.OwnerReference) { o.Name = "other" }, want: true},
		"as of another kind":             {change: func(o *metav1.OwnerReference) { o.Kind = "Other" }, want: true},
		"as of another group":            {change: func(o *metav1.OwnerReference) { o.APIVersion = "other/v1" }, want: true},
		"as of a group that is none":     {change: func(o *metav1.OwnerReference) { o.APIVersion = "a/b/c" }, want: true},
		"as one that controls nothing":   {change: func(o *metav1.OwnerReference) { o.Controller = new(false) }, want: true},
		"as one that says nothing of it": {change: func(o *metav1.OwnerReference) { o.Controller = nil }, want: true},
		"another one":                    {change: func(o *metav1.OwnerReference) { o.UID = "2" }, want: true},
		"rightly, and otherwise besides": {
			change: func(*metav1.OwnerReference) {}, want: true,
			second: &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "1"},
		},
		"rightly, and another one besides": {
			change: func(*metav1.OwnerReference) {},
			second: &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "2"},
		},
		"another one that it selects no more": {
			change: func(o *metav1.OwnerReference) { o.UID = "2" }, labels: map[string]string{"app": "other"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "1", Controller: new(true), BlockOwnerDeletion: new(true)}
			tc.change(&owner)
			child := object("apps/v1", "ReplicaSet", map[string]any{"app": "web"}, nil)
			if tc.labels != nil {
				child.SetLabels(tc.labels)
			}
			owners := []metav1.OwnerReference{owner}
			if tc.second != nil {
				owners = append(owners, *tc.second)
			}
			child.SetOwnerReferences(owners)
			if got := Forsakes(knowledge.BuiltIn(parent.GroupVersionKind().GroupKind()), parent, child); got != tc.want {
				t.Errorf("Forsakes() = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestWouldAdopt(t *testing.T) {
	type m = map[string]any
	selector := m{"selector": m{"matchLabels": m{"app": "web"}}}
	labels, others := m{"app": "web", "note": "x"}, m{"app": "other", "note": "y"}
	set := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		obj := object("apps/v1", "StatefulSet", nil, selector)
		change(obj)
		return obj
	}
	owned := func(controller bool) *unstructured.Unstructured {
		obj := object("apps/v1", "ControllerRevision", labels, nil)
		obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "1", Controller: &controller}})
		return obj
	}
	free := object("apps/v1", "ControllerRevision", labels, nil)
	tests := map[string]struct {
		parent, obj *unstructured.Unstructured
		want        bool
	}{
		"selected":                       {obj: free, want: true},
		"an owner that controls nothing": {obj: owned(false), want: true},
		"somebody else's":                {obj: owned(true)},
		"other labels":                   {obj: object("apps/v1", "ControllerRevision", others, nil)},
		"no labels":                      {obj: object("apps/v1", "ControllerRevision", nil, nil)},
		"in another namespace":           {parent: set(func(o *unstructured.Unstructured) { o.SetNamespace("a") }), obj: free},
		"the parent is being deleted":    {parent: set(func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(new(metav1.Unix(1, 0))) }), obj: free},
		"a kind that adopts nothing":     {parent: set(func(o *unstructured.Unstructured) { o.SetKind("Other") }), obj: free},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			parent := tc.parent
			if parent == nil {
				parent = set(func(*unstructured.Unstructured) {})
			}
			if got := WouldAdopt(knowledge.BuiltIn(parent.GroupVersionKind().GroupKind()), parent, tc.obj); got != tc.want {
				t.Errorf("WouldAdopt() = %t, want %t", got, tc.want)
			}
			other := object("apps/v1", "ControllerRevision", others, nil)
			var got []string
			for _, c := range Joining(knowledge.BuiltIn(parent.GroupVersionKind().GroupKind()), parent, other, tc.obj) {
				got = append(got, string(c.Verb)+" "+c.Path.String())
			}
			var want []string
			if tc.want {
				want = []string{"Mutate metadata.labels[app]"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("joining by changes (-want +got):\n%s", diff)
			}
			if got := Joining(knowledge.BuiltIn(parent.GroupVersionKind().GroupKind()), parent, tc.obj, tc.obj); got != nil {
				t.Errorf("it joins by nothing: %v", got)
			}
		})
	}
}
