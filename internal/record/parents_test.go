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

package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// plainKinds are of no category.
type plainKinds struct{}

func (plainKinds) HasCategory(schema.GroupKind, string) bool { return false }

// TestKnownNamesAnOwnerOnce shows that each owner is remembered once, however often an object names it: the API server
// takes two references to one owner that differ in anything, and no record that has one twice.
func TestKnownNamesAnOwnerOnce(t *testing.T) {
	ref := func(uid, name string) any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
	}
	compiled, errs := policy.Compile(&v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
		For:               v1alpha1.ParentKind{APIGroup: "example.com", APIVersion: "v1", Kind: "Database"},
		ValidationActions: []v1alpha1.ValidationAction{v1alpha1.ActionDeny},
		Subjects: []v1alpha1.PolicySubject{{
			Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: "alice"}, MayInitiate: true,
		}},
	}}, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, tt := range map[string]struct {
		owners []any
		want   []string
	}{
		"one":               {owners: []any{ref("a", "x")}, want: []string{"a"}},
		"two":               {owners: []any{ref("b", "y"), ref("a", "x")}, want: []string{"b", "a"}},
		"one by two names":  {owners: []any{ref("a", "x"), ref("a", "y")}, want: []string{"a"}},
		"one around others": {owners: []any{ref("a", "x"), ref("b", "x"), ref("a", "y"), ref("b", "y")}, want: []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := databaseOf(t, "size: 1")
			if err := unstructured.SetNestedSlice(obj.Object, tt.owners, "metadata", "ownerReferences"); err != nil {
				t.Fatal(err)
			}
			known := Known(plainKinds{}, obj, false, []*policy.Policy{compiled}, "key")
			if known == nil {
				t.Fatal("nothing is remembered")
			}
			if diff := cmp.Diff(tt.want, known.Parents); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
		})
	}
}
