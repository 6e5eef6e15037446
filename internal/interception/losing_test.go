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

package interception

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Who writes in a version that lacks fields changes the object, though nothing differs that the API server shows.
func TestLossesAreAskedAbout(t *testing.T) {
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	things, parts := thing.GroupVersion().WithResource("things"), thing.GroupVersion().WithResource("parts")
	forThings := compile(t, v1alpha1.AllowancePolicySpec{
		For: v1alpha1.ParentKind{APIGroup: "example.com", APIVersion: "v1", Kind: "Thing"},
		Rules: []v1alpha1.Rule{{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{{
			Relation: v1alpha1.RelationControllerChild, Target: v1alpha1.Target{APIGroup: new("example.com"), APIVersion: "v1", Resource: "parts"},
		}}}},
	})
	for name, tc := range map[string]struct {
		resource            schema.GroupVersionResource
		requested           string
		subresource         string
		losing, childLosing []string
		granted, judged     bool
	}{
		"in the version of the policies":    {resource: things, requested: "v1", losing: []string{"v1beta1"}},
		"in one that lacks fields":          {resource: things, requested: "v1beta1", losing: []string{"v1beta1"}, granted: true, judged: true},
		"in one that does not":              {resource: things, requested: "v2", losing: []string{"v1beta1"}},
		"where none does":                   {resource: things, requested: "v1beta1"},
		"a status":                          {resource: things, requested: "v1beta1", subresource: "status", losing: []string{"v1beta1"}, judged: true},
		"a status, in that of the policies": {resource: things, requested: "v1", subresource: "status", losing: []string{"v1beta1"}},
		"a child":                           {resource: parts, requested: "v1beta1", childLosing: []string{"v1beta1"}, granted: true, judged: true},
		"another kind":                      {resource: thing.GroupVersion().WithResource("others"), requested: "v1beta1", losing: []string{"v1beta1"}, childLosing: []string{"v1beta1"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				OperatorUser: operatorUser, Policies: []*policy.Policy{forThings},
				Holder: func(schema.GroupVersionKind) (Served, bool) {
					return Served{Resource: things, Namespaced: true, Subresources: []string{"status"}, Losing: tc.losing}, true
				},
				Child: func(schema.GroupVersionResource) (Served, bool) {
					return Served{Resource: parts, Namespaced: true, Losing: tc.childLosing}, true
				},
			}
			obj := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"color": "red"},
			}}
			requested := schema.GroupVersionResource{Group: tc.resource.Group, Version: tc.requested, Resource: tc.resource.Resource}
			attributes := &admission.VersionedAttributes{
				Attributes: admission.NewAttributesRecord(obj, obj, thing.GroupKind().WithVersion(tc.requested), "ns", "a", requested, tc.subresource,
					admission.Update, nil, false, &user.DefaultInfo{Name: "jane"}),
				VersionedKind:      thing,
				VersionedObject:    admission.NewLazyObject(obj),
				VersionedOldObject: admission.NewLazyObject(obj),
			}
			if got := called(t, grantConditions(in), attributes); got != tc.granted {
				t.Errorf("the mutating hook is called: %t, want %t", got, tc.granted)
			}
			if got := called(t, verdictConditions(in), attributes); got != tc.judged {
				t.Errorf("the validating hook is called: %t, want %t", got, tc.judged)
			}
		})
	}
}
