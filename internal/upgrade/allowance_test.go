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

package upgrade

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

func TestCompileRefuses(t *testing.T) {
	entry := func(change func(*v1alpha1.PolicyEntry)) []v1alpha1.PolicyEntry {
		e := v1alpha1.PolicyEntry{
			Target:   v1alpha1.Target{APIVersion: "v1", Resource: "configmaps"},
			Relation: v1alpha1.RelationControllerChild, Verbs: []string{"Update"},
		}
		change(&e)
		return []v1alpha1.PolicyEntry{e}
	}
	tests := map[string]struct {
		spec v1alpha1.UpgradeAllowanceSpec
		want []string
	}{
		"what is sound": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Policies: entry(func(*v1alpha1.PolicyEntry) {})},
		},
		"a user without Pods": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: "system:kube-controller-manager"},
			want: []string{"spec.serviceAccount"},
		},
		"a user without Pods, declared": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: "system:kube-controller-manager", Detection: v1alpha1.DetectionDeclared},
		},
		"versions of what is declared": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Detection: v1alpha1.DetectionDeclared, Versions: []string{"*:v2"}},
			want: []string{"spec.versions"},
		},
		"a pattern of all images": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Versions: []string{"a", "**"}},
			want: []string{"spec.versions[1]"},
		},
		"a wrong selector": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "-"}}},
			want: []string{"spec.objectSelector.matchLabels"},
		},
		"a wrong path": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Policies: entry(func(e *v1alpha1.PolicyEntry) {
				e.Mutations = []v1alpha1.FieldMutation{{JSONPath: "spec["}}
			})},
			want: []string{"spec.policies[0].mutations[0].jsonPath"},
		},
		"children of readers": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Policies: entry(func(e *v1alpha1.PolicyEntry) {
				e.Through = &v1alpha1.Through{APIVersion: "v1", Resource: "pods", Names: []string{"spec.nodeName"}}
			})},
			want: []string{"spec.policies[0].through"},
		},
		"the loss of what is outside": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Policies: entry(func(e *v1alpha1.PolicyEntry) {
				e.Relation, e.Target = v1alpha1.RelationExternal, v1alpha1.Target{External: map[string]string{"provider": "aws"}}
				e.Verbs = []string{"Update", "Delete"}
			})},
			want: []string{"spec.policies[0].verbs"},
		},
		"anything to what is outside": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Policies: entry(func(e *v1alpha1.PolicyEntry) {
				e.Relation, e.Target = v1alpha1.RelationExternal, v1alpha1.Target{External: map[string]string{"provider": "aws"}}
				e.Verbs = []string{v1alpha1.Any}
			})},
			want: []string{"spec.policies[0].verbs"},
		},
		"the deletion of children": {
			spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller, Policies: entry(func(e *v1alpha1.PolicyEntry) { e.Verbs = []string{"Delete"} })},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, errs := Compile(&v1alpha1.UpgradeAllowance{Spec: tt.spec}, noKinds)
			var got []string
			for _, err := range errs {
				got = append(got, err.Field)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("wrong fields (-want +got):\n%s\n%v", diff, errs)
			}
		})
	}
}

func TestNames(t *testing.T) {
	tests := map[string]struct {
		versions []string
		image    string
		want     bool
	}{
		"no patterns":                    {image: v1, want: true},
		"the image itself":               {versions: []string{v1}, image: v1, want: true},
		"a part of it":                   {versions: []string{"controller:v1.0"}, image: v1},
		"any registry":                   {versions: []string{"*/controller:v1.*"}, image: v1, want: true},
		"a dot is a dot":                 {versions: []string{"example.org/controller:v1.0"}, image: "example-org/controller:v1.0"},
		"one of several":                 {versions: []string{"*:v1.*", "*:v2.*"}, image: v2, want: true},
		"none of several":                {versions: []string{"*:v1.*", "*:v2.*"}, image: "example.org/controller:v3.0"},
		"a digest":                       {versions: []string{"*@sha256:abc*"}, image: "example.org/controller@sha256:abcdef", want: true},
		"what others mean by a question": {versions: []string{"example.org/controller:v1.?"}, image: v1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := compiled(t, nil, tt.versions...).Names(tt.image); got != tt.want {
				t.Errorf("names %s: %v", tt.image, got)
			}
		})
	}
}

func TestSelects(t *testing.T) {
	one := &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "first"}}
	first, second := map[string]string{"stage": "first"}, map[string]string{"stage": "second"}
	tests := map[string]struct {
		namespaces, objects *metav1.LabelSelector
		namespace, object   map[string]string
		want                bool
	}{
		"everything":                       {namespace: second, want: true},
		"everything, without a namespace":  {want: true},
		"one namespace":                    {namespaces: one, namespace: first, want: true},
		"another namespace":                {namespaces: one, namespace: second},
		"one namespace, and what has none": {namespaces: one},
		"namespaces without a label, and what has none": {namespaces: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: metav1.LabelSelectorOpDoesNotExist}},
		}},
		"some objects":                         {objects: one, namespace: second, object: first, want: true},
		"other objects":                        {objects: one, namespace: first, object: second},
		"some objects, and a namespace of all": {objects: one, object: first, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a, errs := Compile(&v1alpha1.UpgradeAllowance{Spec: v1alpha1.UpgradeAllowanceSpec{
				ServiceAccount: controller, NamespaceSelector: tt.namespaces, ObjectSelector: tt.objects,
			}}, noKinds)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got := a.Selects(tt.object, tt.namespace); got != tt.want {
				t.Errorf("selects: %v", got)
			}
		})
	}
}

func TestStamp(t *testing.T) {
	fresh := &v1alpha1.UpgradeAllowance{Spec: v1alpha1.UpgradeAllowanceSpec{ServiceAccount: controller}}
	fresh.Annotations = map[string]string{v1alpha1.AnnotationChangedBy: "somebody-else", "note": "kept"}
	stamp := func(before, after *v1alpha1.UpgradeAllowance, user string) *v1alpha1.UpgradeAllowance {
		out := after.DeepCopy()
		out.Annotations = Stamp(before, after, user)
		return out
	}
	made := stamp(nil, fresh, "hans")
	if made.Annotations[v1alpha1.AnnotationChangedBy] != "hans" || made.Annotations["note"] != "kept" || !IsStamped(made) {
		t.Errorf("after its creation: %v", made.Annotations)
	}
	if IsStamped(fresh) {
		t.Error("what a request says is a stamp")
	}

	if nobody := stamp(nil, fresh, ""); IsStamped(nobody) {
		t.Errorf("nobody's is stamped: %v", nobody.Annotations)
	}

	relabeled := made.DeepCopy()
	relabeled.Annotations = map[string]string{v1alpha1.AnnotationChangedBy: "mallory"}
	if got := stamp(made, relabeled, "mallory"); got.Annotations[v1alpha1.AnnotationChangedBy] != "hans" || !IsStamped(got) {
		t.Errorf("after a change of annotations: %v", got.Annotations)
	}

	changed := made.DeepCopy()
	changed.Spec.Versions = []string{"*:v2"}
	if IsStamped(changed) {
		t.Error("a spec that changed while nobody was asked is stamped")
	}
	if got := stamp(made, changed, "greta"); got.Annotations[v1alpha1.AnnotationChangedBy] != "greta" || !IsStamped(got) {
		t.Errorf("after a change of the spec: %v", got.Annotations)
	}
	// Nobody is made the author of what changed while nobody was asked.
	if got := stamp(changed, changed, "greta"); IsStamped(got) {
		t.Errorf("after a write that changes nothing: %v", got.Annotations)
	}
}
