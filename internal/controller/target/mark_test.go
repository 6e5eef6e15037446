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

package target

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/objectcache"
)

// showing gives an object a condition and an annotation; empty is none.
func showing(obj *unstructured.Unstructured, condition, annotation string) *unstructured.Unstructured {
	if condition != "" {
		obj.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "message": "is ready"},
			map[string]any{"type": v1alpha1.ConditionAffected, "message": condition, "lastTransitionTime": "2026-01-01T00:00:00Z"},
		}}
	}
	if annotation != "" {
		obj.SetAnnotations(map[string]string{markOf(obj).key: annotation})
	}
	return obj
}

// annotated gives an object an annotation.
func annotated(obj *unstructured.Unstructured, key string) *unstructured.Unstructured {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = "a"
	obj.SetAnnotations(annotations)
	return obj
}

func TestMark(t *testing.T) {
	const (
		deploymentText = "AllowancePolicy a says what may happen to its children."
		setDeployment  = `{"metadata":{"uid":"uid-web"},"status":{"conditions":[{"lastTransitionTime":"2026-01-01T12:00:00Z","lastUpdateTime":"2026-01-01T12:00:00Z","message":"AllowancePolicy a says what may happen to its children.","reason":"PolicyInEffect","status":"True","type":"kausality.io/AllowancePolicyAffected"}]}}`
	)
	deployment := func() *unstructured.Unstructured { return controllertest.Workload("Deployment", "web") }
	owned := func() *unstructured.Unstructured {
		return controllertest.OwnedBy(controllertest.Workload("ReplicaSet", "web"), deployment())
	}
	thing := func() *unstructured.Unstructured {
		obj := controllertest.Workload("Thing", "web")
		obj.SetAPIVersion("example.com/v1")
		return obj
	}
	for name, tc := range map[string]struct {
		obj      *unstructured.Unstructured
		where    place
		policies []string
		// want is the type of the patch and the patch, none where nothing is written.
		want []string
	}{
		"nothing to show": {obj: deployment(), where: inCondition},
		"a Deployment":    {deployment(), inCondition, []string{"a"}, []string{string(types.StrategicMergePatchType), setDeployment}},
		"it shows it":     {showing(deployment(), deploymentText, ""), inCondition, []string{"a"}, nil},
		"never an annotation on a Deployment, be it to remove it": {showing(deployment(), deploymentText, "a"), inCondition, []string{"a"}, nil},
		"other policies, and the time stays": {showing(deployment(), deploymentText, ""), inCondition, []string{"a", "b"}, []string{string(types.StrategicMergePatchType),
			`{"metadata":{"uid":"uid-web"},"status":{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","lastUpdateTime":"2026-01-01T12:00:00Z","message":"AllowancePolicies a, b say what may happen to its children.","reason":"PolicyInEffect","status":"True","type":"kausality.io/AllowancePolicyAffected"}]}}`}},
		"not any more": {showing(deployment(), deploymentText, ""), inCondition, nil, []string{string(types.StrategicMergePatchType),
			`{"metadata":{"uid":"uid-web"},"status":{"conditions":[{"$patch":"delete","type":"kausality.io/AllowancePolicyAffected"}]}}`}},
		"a ReplicaSet of a Deployment": {owned(), inAnnotation, []string{"a", "b"}, []string{string(types.MergePatchType),
			`{"metadata":{"annotations":{"replicaset.kausality.io/AllowancePolicyAffected":"a, b"},"uid":"uid-web"}}`}},
		"a ReplicaSet that a Deployment has taken over": {annotated(owned(), "kausality.io/AllowancePolicyAffected"), inAnnotation, []string{"a"}, []string{string(types.MergePatchType),
			`{"metadata":{"annotations":{"kausality.io/AllowancePolicyAffected":null,"replicaset.kausality.io/AllowancePolicyAffected":"a"},"uid":"uid-web"}}`}},
		"a ReplicaSet that a Deployment has let go":      {annotated(controllertest.Workload("ReplicaSet", "web"), "replicaset.kausality.io/AllowancePolicyAffected"), inAnnotation, nil, nil},
		"a ReplicaSet onto which a mark is copied again": {annotated(annotated(owned(), "replicaset.kausality.io/AllowancePolicyAffected"), "kausality.io/AllowancePolicyAffected"), inAnnotation, []string{"a"}, nil},
		"an annotation, not any more": {showing(thing(), "", "a"), inAnnotation, nil, []string{string(types.MergePatchType),
			`{"metadata":{"annotations":{"kausality.io/AllowancePolicyAffected":null},"uid":"uid-web"}}`}},
		"a custom resource": {thing(), inCondition, []string{"a"}, []string{string(types.ApplyPatchType),
			`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"uid":"uid-web"},"status":{"conditions":[{"lastTransitionTime":"2026-01-01T12:00:00Z","message":"AllowancePolicy a says what may happen to its children.","reason":"PolicyInEffect","status":"True","type":"kausality.io/AllowancePolicyAffected"}]}}`}},
		"a condition that an annotation has taken the place of": {showing(thing(), deploymentText, "a"), inAnnotation, []string{"a"}, []string{string(types.ApplyPatchType),
			`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"uid":"uid-web"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			m := markOf(tc.obj)
			var got []string
			if in, text, differs := m.differs(tc.where, tc.policies); differs {
				patch := m.write(objectcache.RequestFor(tc.obj.GroupVersionKind(), types.NamespacedName{}), in, text, controllertest.Noon).patch
				raw, err := patch.Data(nil)
				if err != nil {
					t.Fatal(err)
				}
				got = []string{string(patch.Type()), string(raw)}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("write (-want +got):\n%s", diff)
			}
		})
	}
}
