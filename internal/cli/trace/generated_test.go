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

package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

func ref(kind, namespace, name string) v1alpha1.GeneratingReference {
	return v1alpha1.GeneratingReference{Kind: kind, Namespace: namespace, Name: name}
}

func TestGeneratedIsRendered(t *testing.T) {
	policy := Step{Object: ref("GeneratingPolicy", "", "registry"), Changed: &Changed{Manager: "kubectl", Time: new(before(time.Hour))}}
	many := make([]Made, 0, 9)
	for ns := range strings.SplitSeq("abcdefghi", "") {
		many = append(many, Made{Object: ref("Secret", ns, "pull"), Policy: "registry", For: roleSource})
	}
	tests := map[string]struct {
		report Report
		wide   bool
		want   string
	}{
		"a clone whose trigger somebody changed, and whose source is gone": {
			report: Report{Origin: &Origin{
				Policy: policy, Synchronized: true,
				Triggers: []Step{{
					Object: ref("Namespace", "", "shop"), Changed: &Changed{Manager: "kubectl"},
					Causes: []*Cause{{Initiator: "alice", Since: new(before(time.Minute)), First: newNode(hop("Namespace", "shop", "metadata.labels[team]", 0))}},
				}},
				Source: &Step{Object: ref("Secret", "central", "pull"), Gone: true},
			}},
			want: `a  in namespace shop

Made by a GeneratingPolicy, which keeps it so
├── GeneratingPolicy/registry, last written by kubectl 60m ago
├── for Namespace/shop
│   └── alice, 60s ago
│       └── Namespace/shop  metadata.labels[team], generation 0
└── a clone of Secret/pull in namespace central (gone)
`,
		},
		"whose changes led to it": {
			report: Report{Origin: &Origin{
				Policy:   Step{Object: policy.Object, Changed: &Changed{User: "carol", Manager: "kubectl", Time: new(before(time.Hour))}},
				Triggers: []Step{{Object: ref("Namespace", "", "shop"), Gone: true, Changed: &Changed{User: "alice", Time: new(before(time.Minute))}}},
				Others:   []Step{{Object: ref("ConfigMap", "central", "size"), Changed: &Changed{User: "bob"}}},
			}},
			want: `a  in namespace shop

Made once by a GeneratingPolicy
├── GeneratingPolicy/registry, changed by carol 60m ago
├── for Namespace/shop (gone), changed by alice 60s ago
└── because of ConfigMap/size in namespace central, changed by bob
`,
		},
		"once, for what another policy made, of which nothing can be read": {
			report: Report{Origin: &Origin{
				Policy: Step{Object: ref("GeneratingPolicy", "", "registry"), Note: "It cannot be read: forbidden"},
				Triggers: []Step{{
					Object: ref("ConfigMap", "shop", "team"),
					Origin: &Origin{Synchronized: true, Policy: policy, Triggers: []Step{{Object: ref("Namespace", "", "shop")}}},
				}},
			}},
			want: `a  in namespace shop

Made once by a GeneratingPolicy
├── GeneratingPolicy/registry. It cannot be read: forbidden
└── for ConfigMap/team in namespace shop
    └── Made by a GeneratingPolicy, which keeps it so
        ├── GeneratingPolicy/registry, last written by kubectl 60m ago
        └── for Namespace/shop
`,
		},
		"what was made because of it": {
			report: Report{Deletion: &v1alpha1.Deletion{Time: before(0), User: "bob"}, Made: many},
			want: `a  in namespace shop
Deleted 0s ago by bob

Made because of it
├── Secret/pull in namespace a, by GeneratingPolicy/registry, of which it is a source
├── Secret/pull in namespace b, by GeneratingPolicy/registry, of which it is a source
├── Secret/pull in namespace c, by GeneratingPolicy/registry, of which it is a source
├── Secret/pull in namespace d, by GeneratingPolicy/registry, of which it is a source
└── and 5 more (-o wide lists them)
`,
		},
		"all of what a policy made": {
			report: Report{Deletion: &v1alpha1.Deletion{Time: before(0), User: "bob"}, Made: []Made{{Object: ref("Secret", "a", "pull"), Policy: "registry", For: rolePolicy}}},
			wide:   true,
			want: `a  in namespace shop
Deleted 0s ago by bob

Made because of it
└── Secret/pull in namespace a
`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.report.Object.Namespace = "shop"
			if diff := cmp.Diff(tc.want, render(&tc.report, text.Terminal{Width: text.DefaultWidth}, tc.wide, now)); diff != "" {
				t.Errorf("trace: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	field := func(manager, sub string, age time.Duration) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: sub, Time: new(before(age))}
	}
	tests := map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   *Changed
	}{
		"nothing is known":      {},
		"its status is nothing": {fields: []metav1.ManagedFieldsEntry{field("controller", "status", 0)}},
		"the last one": {
			fields: []metav1.ManagedFieldsEntry{field("helm", "", time.Hour), field("kubectl", "", time.Minute), field("controller", "status", 0), {Manager: "undated"}},
			want:   &Changed{Manager: "kubectl", Time: new(before(time.Minute))},
		},
		"what holds it is nothing": {
			fields: []metav1.ManagedFieldsEntry{
				field("kubectl", "", time.Minute),
				{Manager: "holder", Time: new(before(0)), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:\"a\"":{}}}}`)},
			},
			want: &Changed{Manager: "kubectl", Time: new(before(time.Minute))},
		},
		"what holds it and labels it": {
			fields: []metav1.ManagedFieldsEntry{
				{Manager: "holder", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:\"a\"":{}},"f:labels":{"f:a":{}}}}`)},
			},
			want: &Changed{Manager: "holder"},
		},
		"two of one second": {
			fields: []metav1.ManagedFieldsEntry{field("kubectl", "", 0), field("helm", "", 0), field("older", "", time.Hour)},
			want:   &Changed{Manager: "helm or kubectl", Time: new(before(0))},
		},
		"one that does not say when": {fields: []metav1.ManagedFieldsEntry{{Manager: "undated"}}, want: &Changed{Manager: "undated"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{}}
			object.SetManagedFields(tc.fields)
			got := changed(object)
			if got != nil && tc.want != nil && got.Time != nil && tc.want.Time != nil && got.Time.Equal(tc.want.Time) {
				got.Time = tc.want.Time // The object keeps seconds.
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changed: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestRoleOf(t *testing.T) {
	shop := generate.ID{Kind: "Namespace", Name: "shop"}
	pull := generate.ID{Kind: "Secret", Namespace: "central", Name: "pull"}
	marks := &plan.Marks{Policy: plan.PolicyRef{Name: "registry"}, Triggers: []generate.ID{shop}, Source: &pull}
	for name, tc := range map[string]struct {
		object generate.ID
		want   Role
	}{
		"its policy":               {generate.ID{Group: generatingKind.Group, Kind: generatingKind.Kind, Name: "registry"}, rolePolicy},
		"another policy":           {generate.ID{Group: generatingKind.Group, Kind: generatingKind.Kind, Name: "other"}, ""},
		"its trigger":              {shop, roleTrigger},
		"its source":               {pull, roleSource},
		"one of another namespace": {generate.ID{Kind: "Secret", Namespace: "shop", Name: "pull"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := roleOf(tc.object, marks); got != tc.want || ok != (tc.want != "") {
				t.Errorf("roleOf: %q, %v, want %q", got, ok, tc.want)
			}
		})
	}
}
