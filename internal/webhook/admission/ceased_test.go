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

package admission

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// goodPolicy leaves it to the convention when an Instance has settled; declaredGoodPolicy says it.
const (
	goodPolicy = `
metadata: {name: instance}
spec:
  for: {apiGroup: example.org, apiVersion: v1, kind: Instance}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: deployment-controller, namespace: kube-system}
  rules:
  - trigger: spec.replicas
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}]
`
	declaredGoodPolicy = goodPolicy + `  knowledge:
    settled: {conditions: [{type: Ready, status: "True"}], generation: status.observedGeneration}
`
)

// The statuses of an Instance at its first generation.
const (
	instanceReady = `{observedGeneration: 1, conditions: [{type: Ready, status: "True", observedGeneration: 1}]}`
	instanceNot   = `{observedGeneration: 1, conditions: [{type: Ready, status: "False", observedGeneration: 1}]}`
)

// stranger is a service account that no policy names.
const stranger = "system:serviceaccount:tools:autoscaler"

// newInstance returns an Instance as it was created by alice, with a status.
func newInstance(t *testing.T, status string) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(`{apiVersion: example.org/v1, kind: Instance, metadata: {name: shop, namespace: default, uid: uid-shop, generation: 1}, spec: {replicas: 1}, status: ` + status + `}`))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return holding(obj, ledgerKey, instanceCreation())
}

func instanceCreation() v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind: "*", Mutation: "*", Generation: 1, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Instance", Name: "shop", Generation: 1, Field: v1alpha1.FieldCreated}},
	}
}

// atInstance returns a world that has an Instance, and what is noted of it.
func atInstance(obj *unstructured.Unstructured, consumed bool) *world {
	w := &world{cached: map[string]*unstructured.Unstructured{key("Instance", "shop"): obj}, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
	w.live = w.cached
	if consumed {
		rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(obj)}}
		rec.Status.Consumed = []v1alpha1.ConsumedAllowance{{ID: ledger.NewEntry(instanceCreation()).ID(), Generation: 1}}
		w.records[obj.GetUID()] = rec
	}
	return w
}

// scaledInstance returns an Instance as a request would have it with five replicas.
func scaledInstance(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	out := obj.DeepCopy()
	if err := unstructured.SetNestedField(out.Object, int64(5), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCeased shows that an object which says that it has settled is new for its controllers alone from then
// on, although its ledger has what its creation allowed until the operator has looked.
func TestCeased(t *testing.T) {
	const withheld = "Withheld spec.replicas"
	created, scales := "* * by alice", "ReplicaSet spec.replicas by "
	tests := map[string]struct {
		user   string
		groups []string
		status string
		policy string
		want   []string
	}{
		"a stranger, who is too early":         {user: "mallory", status: instanceNot, want: []string{created, scales + "mallory"}},
		"a stranger":                           {user: "mallory", status: instanceReady, want: []string{withheld}},
		"a stranger, where that is declared":   {user: "mallory", status: instanceReady, policy: declaredGoodPolicy, want: []string{withheld}},
		"a controller that serves others":      {user: stranger, status: instanceReady, want: []string{withheld}},
		"its controller, which writes late":    {user: deployer, status: instanceReady, want: []string{created, scales + deployer}},
		"an initiator":                         {user: "alice", groups: platformTeam, status: instanceReady, want: []string{scales + "alice"}},
		"an initiator, before it has settled":  {user: "alice", groups: platformTeam, status: instanceNot, want: []string{created, scales + "alice"}},
		"a stranger, where time alone ends it": {user: "mallory", status: `{observedGeneration: 1}`, want: []string{withheld, created}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := newInstance(t, tc.status)
			text := tc.policy
			if text == "" {
				text = goodPolicy
			}
			w := atInstance(before, false)
			mutator, validator := w.hooks(t, text)
			after := scaledInstance(t, before)
			after.SetAnnotations(patched(t, after, mutator.Handle(t.Context(), asking(t, tc.user, tc.groups, before, after))))
			resp := validator.Handle(t.Context(), asking(t, tc.user, tc.groups, before, counted(after)))
			if !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			if len(w.pending) > 0 {
				t.Errorf("pending %+v", w.pending)
			}
			has, err := ledger.Decode(ledger.Annotation(after, ledger.NameAllowances))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range has {
				switch {
				case e.IsWithheld():
					got = append(got, "Withheld "+e.Mutation)
				default:
					got = append(got, e.Kind+" "+e.Mutation+" by "+e.Initiator)
				}
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCeasedOnTheWay shows what is said where the operator notes, between both webhooks, that an object has
// settled: what the first has granted nobody else has written.
func TestCeasedOnTheWay(t *testing.T) {
	forged := v1alpha1.Allowance{Kind: "Pod", Mutation: "*", Generation: 2, Initiator: deployer}
	for name, tc := range map[string]struct {
		code int
		says string
		more []v1alpha1.Allowance
	}{
		"by the controller's change":            {code: http.StatusConflict, says: "Instance shop has ceased to be initializing while this change of it was on its way; try again"},
		"and another webhook has written to it": {code: http.StatusForbidden, says: "another mutating webhook has written", more: []v1alpha1.Allowance{forged}},
	} {
		t.Run(name, func(t *testing.T) {
			before := newInstance(t, instanceReady)
			mutator, _ := atInstance(before, false).hooks(t, goodPolicy)
			after := scaledInstance(t, before)
			after.SetAnnotations(patched(t, after, mutator.Handle(t.Context(), asking(t, deployer, nil, before, after))))
			if len(tc.more) > 0 {
				has, _ := ledger.Decode(ledger.Annotation(after, ledger.NameAllowances))
				annotate(after, ledgerKey, has.Merge(tc.more...).Encode())
			}
			_, validator := atInstance(before, true).hooks(t, goodPolicy)
			resp := validator.Handle(t.Context(), asking(t, deployer, nil, before, counted(after)))
			if resp.Allowed || int(resp.Result.Code) != tc.code || !strings.Contains(resp.Result.Message, tc.says) {
				t.Errorf("allowed %t: %+v, want %d and %q", resp.Allowed, resp.Result, tc.code, tc.says)
			}
		})
	}
}

// TestChildOfCeased shows the same of what is changed below such an object.
func TestChildOfCeased(t *testing.T) {
	for name, tc := range map[string]struct {
		user, status, cached string
		denied               bool
	}{
		"a stranger, who is too early":               {user: "mallory", status: instanceNot},
		"a stranger":                                 {user: "mallory", status: instanceReady, denied: true},
		"a stranger, before the cache knows":         {user: "mallory", status: instanceReady, cached: instanceNot, denied: true},
		"its controller, which has not finished yet": {user: deployer, status: instanceReady},
	} {
		t.Run(name, func(t *testing.T) {
			w := atInstance(newInstance(t, tc.status), false)
			if tc.cached != "" {
				w.cached = map[string]*unstructured.Unstructured{key("Instance", "shop"): newInstance(t, tc.cached)}
			}
			_, validator := w.hooks(t, goodPolicy)
			of := func(replicas int64) *unstructured.Unstructured {
				obj := replicaSet(replicas)
				_ = unstructured.SetNestedSlice(obj.Object, []any{map[string]any{
					"apiVersion": "example.org/v1", "kind": "Instance", "name": "shop", "uid": "uid-shop", "controller": true,
				}}, "metadata", "ownerReferences")
				return obj
			}
			resp := validator.Handle(t.Context(), asking(t, tc.user, nil, of(1), counted(of(5))))
			if resp.Allowed == tc.denied {
				t.Errorf("allowed %t: %+v", resp.Allowed, resp.Result)
			}
		})
	}
}
