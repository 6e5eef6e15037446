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
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// treeKind is a kind whose objects are parents of others of the same kind.
var treeKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Tree"}

func treePolicies(t *testing.T) cluster.Policies {
	t.Helper()
	source := &v1alpha1.AllowancePolicy{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: trees}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Tree}
  subjects:
  - {kind: User, name: alice, mayInitiate: true}
  rules:
  - trigger: spec.size
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: trees}, relation: ControllerChild, mutations: [{jsonPath: spec.size}]}
`), source); err != nil {
		t.Fatal(err)
	}
	p, errs := policy.Compile(source, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) { return treeKind, true })
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return cluster.Policies{Index: policy.NewIndex([]*policy.Policy{p})}
}

// tree returns an object whose uid is its name, and its parent.
func tree(name, parent string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(treeKind)
	obj.SetNamespace("shop")
	obj.SetName(name)
	obj.SetUID(types.UID(name))
	if parent != "" {
		obj.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "Tree", Name: parent, UID: types.UID(parent), Controller: new(true),
		}})
	}
	return obj
}

// Where a kind is the parent of its own kind, what exists is not gone: neither what is above, nor what is
// several generations below.
func TestGoneOfOneKind(t *testing.T) {
	chain := []v1alpha1.TraceHop{
		hop("Tree", "t1", "spec.size", 2), hop("Tree", "t2", "spec.size", 2), hop("Tree", "t3", "spec.size", 2), hop("Tree", "t4", "spec.size", 2),
	}
	records := []v1alpha1.AllowanceRecord{
		recordOf("Tree", "t1", "", history()), recordOf("Tree", "t2", "t1", history()), recordOf("Tree", "t3", "t2", history()),
		recordOf("Tree", "t4", "t3", history(granted(0, "alice", chain...))),
	}
	const all = `
alice, 0s ago
└── Tree/t1  spec.size, generation 2
    └── Tree/t2  spec.size, generation 2
        └── Tree/t3  spec.size, generation 2
            └── Tree/t4  spec.size, generation 2
`
	for name, tc := range map[string]struct {
		there []*unstructured.Unstructured
		want  string
	}{
		"all exist": {there: []*unstructured.Unstructured{tree("t1", ""), tree("t2", "t1"), tree("t3", "t2"), tree("t4", "t3")}, want: all},
		"the last is gone": {there: []*unstructured.Unstructured{tree("t1", ""), tree("t2", "t1"), tree("t3", "t2")}, want: `
alice, 0s ago
└── Tree/t1  spec.size, generation 2
    └── Tree/t2  spec.size, generation 2
        └── Tree/t3  spec.size, generation 2
            └── Tree/t4  spec.size, generation 2 (gone)
`},
		"one in a ring": {there: []*unstructured.Unstructured{tree("t1", "t4"), tree("t2", "t1"), tree("t3", "t2"), tree("t4", "t3")}, want: all},
	} {
		for _, asked := range tc.there[:3] {
			t.Run(name+", from "+asked.GetName(), func(t *testing.T) {
				builder := fake.NewClientBuilder().WithScheme(runtime.NewScheme())
				for _, obj := range tc.there {
					builder = builder.WithObjects(obj)
				}
				s := &sight{target: target("apps", "Tree", asked.GetName()), object: asked, uid: asked.GetUID(), records: records}
				s.listBelow(t.Context(), &cluster.Cluster{Client: builder.Build()}, treePolicies(t), asked)
				report, err := build(s)
				if err != nil {
					t.Fatal(err)
				}
				want := "Tree/" + asked.GetName() + " in namespace shop, Steady\n" + tc.want
				if diff := cmp.Diff(want, render(report, text.Terminal{Width: text.DefaultWidth}, false, now)); diff != "" {
					t.Errorf("trace: -want, +got:\n%s", diff)
				}
			})
		}
	}
}

// TestTraceWithoutRecords tells what the ledger of an object says to who may read nothing else.
func TestTraceWithoutRecords(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ ledger, want string }{
		"with a ledger": {
			`[{"kind":"Tree","relation":"ControllerChild","mutation":"spec.size","initiator":"alice","generation":2,"trace":[{"kind":"Tree","name":"t1","generation":2,"field":"spec.size"}]}]`,
			"\nalice\n└── Tree/t1  spec.size, generation 2, active\n",
		},
		"without one": {"[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t1 := tree("t1", "")
			t1.SetAnnotations(map[string]string{"kausality.io/allowances": tc.ledger})
			c := &cluster.Cluster{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(t1).WithInterceptorFuncs(interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "anything"}, "", errors.New("no"))
				},
			}).Build()}
			s, err := read(t.Context(), c, target("apps", "Tree", "t1"))
			if err != nil {
				t.Fatal(err)
			}
			report, err := build(s)
			if err != nil {
				t.Fatal(err)
			}
			want := "Tree/t1 in namespace shop\n" + tc.want + "\nWhat caused it, but for what its ledger says, cannot be told:"
			if got := render(report, text.Terminal{Width: text.DefaultWidth}, false, now); !strings.HasPrefix(got, want) {
				t.Errorf("trace (-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

// TestHeld shows what counts of the ledger of an object: not what its record says is over.
func TestHeld(t *testing.T) {
	entry := func(field string) v1alpha1.Allowance {
		return v1alpha1.Allowance{
			Kind: "Tree", Relation: v1alpha1.RelationControllerChild, Mutation: field, Initiator: "alice", Generation: 2,
			Trace: []v1alpha1.TraceHop{{Kind: "Tree", Name: "t1", Generation: 2, Field: field}},
		}
	}
	over := ledger.NewEntry(entry("spec.size")).ID()
	all := []v1alpha1.Allowance{entry("spec.color"), entry("spec.size")}
	for name, tc := range map[string]struct {
		ledger []v1alpha1.Allowance
		status *v1alpha1.AllowanceRecordStatus
		want   []string
	}{
		"nothing":                    {status: &v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady}},
		"with a record":              {all, &v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady}, []string{"spec.color", "spec.size"}},
		"of which some is over":      {all, &v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: []v1alpha1.ConsumedAllowance{{ID: over}}}, []string{"spec.color"}},
		"of which all is over":       {all[1:], &v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, Consumed: []v1alpha1.ConsumedAllowance{{ID: over}}}, nil},
		"without a record":           {all, nil, []string{"spec.color", "spec.size"}},
		"with one that is not ready": {all, &v1alpha1.AllowanceRecordStatus{}, []string{"spec.color", "spec.size"}},
	} {
		t.Run(name, func(t *testing.T) {
			t1 := tree("t1", "")
			t1.SetGeneration(2)
			t1.SetAnnotations(map[string]string{v1alpha1.AnnotationAllowances: ledger.Ledger{}.Merge(tc.ledger...).Encode()})
			var records []v1alpha1.AllowanceRecord
			if tc.status != nil {
				records = append(records, recordOf("Tree", "t1", "", *tc.status))
			}
			var got []string
			if rec := held(t1, records); rec != nil {
				for _, a := range rec.Status.Active {
					got = append(got, a.Mutation)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what is held (-want +got):\n%s", diff)
			}
		})
	}
}
