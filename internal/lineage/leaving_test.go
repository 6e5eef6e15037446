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
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestLeaves covers what takes a child away from its parent, of all that counts of a reference.
func TestLeaves(t *testing.T) {
	parent := object("example.com/v1", "App", nil, nil)
	parent.SetName("web")
	parent.SetUID("1")
	right := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "App", Name: "web", UID: "1", Controller: new(true)}
	with := func(change func(*metav1.OwnerReference)) []metav1.OwnerReference {
		other := right
		change(&other)
		return []metav1.OwnerReference{other}
	}
	name := with(func(o *metav1.OwnerReference) { o.Name = "other" })
	shared := with(func(o *metav1.OwnerReference) { o.Controller = nil })
	owned := []metav1.OwnerReference{right}
	tests := map[string]struct {
		before, after []metav1.OwnerReference
		want          bool
	}{
		"the owner goes":                  {owned, nil, true},
		"another one comes in its place":  {owned, with(func(o *metav1.OwnerReference) { o.UID = "2" }), true},
		"by another name":                 {owned, name, true},
		"as of another kind":              {owned, with(func(o *metav1.OwnerReference) { o.Kind = "Other" }), true},
		"as of another group":             {owned, with(func(o *metav1.OwnerReference) { o.APIVersion = "other.example.com/v1" }), true},
		"as one that controls nothing":    {owned, shared, true},
		"by yet another name":             {name, with(func(o *metav1.OwnerReference) { o.Name = "third" }), true},
		"one that was named wrongly goes": {name, nil, true},
		"by the right name again":         {name, owned, false},
		"as the controller again":         {shared, owned, false},
		"one that controls nothing, by another name": {shared, with(func(o *metav1.OwnerReference) {
			o.Name, o.Controller = "other", nil
		}), true},
		"one that controls nothing, rightly again": {with(func(o *metav1.OwnerReference) {
			o.Name, o.Controller = "other", nil
		}), shared, false},
		"in another version":             {owned, with(func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v2" }), false},
		"it comes":                       {nil, owned, false},
		"a second time, by another name": {owned, append(slices.Clone(owned), with(func(o *metav1.OwnerReference) { o.Name, o.Controller = "other", nil })...), true},
		"another owner goes":             {append(slices.Clone(owned), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "3"}), owned, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := object("v1", "ConfigMap", nil, nil), object("v1", "ConfigMap", nil, nil)
			before.SetOwnerReferences(tc.before)
			after.SetOwnerReferences(tc.after)
			got := false
			for _, c := range Changes(graphs, before, after, Counting{Binds: func(Ref) bool { return true }}) {
				got = got || Leaves(c, parent, after)
			}
			if got != tc.want {
				t.Errorf("Leaves() = %t, want %t", got, tc.want)
			}
		})
	}
}

// TestLeavesByLabels covers a parent that labels name.
func TestLeavesByLabels(t *testing.T) {
	parent := object("example.com/v1alpha1", "WebApp", nil, nil)
	parent.SetName("web")
	parent.SetUID("u1")
	tests := map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"by another name": {func(o *unstructured.Unstructured) {
			o.SetLabels(kroLabels(map[string]string{"kro.run/instance-name": "other"}))
		}, true},
		"by no label": {func(o *unstructured.Unstructured) { o.SetLabels(nil) }, true},
		"of another version of kro": {func(o *unstructured.Unstructured) {
			o.SetLabels(kroLabels(map[string]string{"kro.run/kro-version": "v0.9.5"}))
		}, false},
		"in another order": {func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"internal.kro.run/apply-order": "2"})
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := made(t, "", kroLabels(nil))
			after := before.DeepCopy()
			tc.change(after)
			got := false
			for _, c := range Changes(graphs, before, after, Counting{Binds: func(Ref) bool { return true }}) {
				got = got || Leaves(c, parent, after)
			}
			if got != tc.want {
				t.Errorf("Leaves() = %t, want %t", got, tc.want)
			}
		})
	}
}
