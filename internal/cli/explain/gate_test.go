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

package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// going returns an object that is being deleted.
func going(at standing) standing {
	at.obj.SetDeletionTimestamp(new(metav1.NewTime(now)))
	return at
}

// bucket returns a managed resource with management policies and a condition.
func bucket(policies []any, annotations, condition map[string]any) standing {
	obj := map[string]any{
		"apiVersion": "s3.example.com/v1", "kind": "Bucket",
		"metadata": map[string]any{"name": "b", "generation": int64(4), "annotations": annotations},
		"spec":     map[string]any{"managementPolicies": policies},
	}
	if condition != nil {
		condition["type"], condition["lastTransitionTime"] = v1alpha1.ConditionGate, "2026-03-01T11:00:00Z"
		obj["status"] = map[string]any{"conditions": []any{condition}}
	}
	return standing{obj: &unstructured.Unstructured{Object: obj}}
}

func TestGate(t *testing.T) {
	opener := v1alpha1.Allowance{
		Relation: v1alpha1.RelationExternal, Mutations: []string{"Update"}, Generation: 4, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Bucket", Name: "b", Generation: 4, Field: "spec.forProvider.size"}},
	}
	opened := ledger.Ledger(nil).Merge(opener)
	closed := []any{"Observe", "LateInitialize"}
	open := bucket([]any{"Observe", "Update"}, map[string]any{
		v1alpha1.AnnotationGateContent: "1", v1alpha1.AnnotationAllowances: opened.Encode(),
	}, map[string]any{"reason": "Stuck", "message": "It fails."})
	open.rec = &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{
		FirstSeen: []v1alpha1.SeenAllowance{{ID: opened[0].ID(), Time: metav1.NewTime(now.Add(-2 * time.Hour))}},
	}}
	tests := map[string]struct {
		obj  standing
		want string
	}{
		"no gate": {obj: bucket([]any{"*"}, nil, nil)},
		"closed": {
			obj: bucket(closed, map[string]any{v1alpha1.AnnotationGateContent: "1"}, map[string]any{"reason": "Closed", "message": "As it should be."}),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
`,
		},
		"open": {
			obj: open,
			want: `
ITS GATE
  Open for Update.
  ALLOWED   FOR                     BY      SINCE
  Update    spec.forProvider.size   alice   generation 4, 120m ago
  Stuck, 60m ago: It fails.
`,
		},
		"open for a moment": {
			obj: bucket([]any{"Observe", "Update"}, map[string]any{
				v1alpha1.AnnotationGateContent: "1", v1alpha1.AnnotationAllowances: opened.Encode(),
			}, map[string]any{"reason": "Closed", "message": "As it should be."}),
			want: `
ITS GATE
  Open for Update.
  ALLOWED   FOR                     BY      SINCE
  Update    spec.forProvider.size   alice   generation 4
  The system has not said that it succeeded with the object as it is now.
`,
		},
		"closed before what was allowed was done": {
			obj: bucket(closed, map[string]any{
				v1alpha1.AnnotationGateContent: "1", v1alpha1.AnnotationAllowances: opened.Encode(),
			}, map[string]any{"reason": "Closed", "message": "It was changed since."}),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
  ALLOWED   FOR                     BY      SINCE
  Update    spec.forProvider.size   alice   generation 4
  Closed, 60m ago: It was changed since.
`,
		},
		"held": {
			obj: going(bucket(closed, map[string]any{v1alpha1.AnnotationGateHeld: `{"user":"collector","initiator":"bob"}`}, nil)),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
  Its deletion by collector, caused by bob, waits.
  Whoever may initiate on it or above it lets it go, and what it stands for outside stays:
    kubectl annotate bucket.s3.example.com/b kausality.io/orphan=true
`,
		},
		"held, as its condition says": {
			obj: going(bucket(closed, map[string]any{v1alpha1.AnnotationGateHeld: `{"user":"bob"}`}, map[string]any{"reason": "Held", "message": "It is being looked at."})),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
  Its deletion by bob waits. It is being looked at.
  Whoever may initiate on it or above it lets it go, and what it stands for outside stays:
    kubectl annotate bucket.s3.example.com/b kausality.io/orphan=true
`,
		},
		"of a kind that is another provider's now": {
			obj: bucket(closed, map[string]any{v1alpha1.AnnotationGateContent: "1"}, map[string]any{"reason": "Closed", "message": "The kind was of Provider s3."}),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
  Closed, 60m ago: The kind was of Provider s3.
`,
		},
		"of what was never created": {
			obj: bucket(closed, map[string]any{v1alpha1.AnnotationGateContent: "1"}, map[string]any{"reason": "Closed", "message": "What the object stands for is not outside."}),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
  Closed, 60m ago: What the object stands for is not outside.
`,
		},
		"held, and refused by something else": {
			obj: bucket(closed, map[string]any{v1alpha1.AnnotationGateHeld: `{"user":"bob","allowed":true}`}, nil),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
  Its deletion by bob has not come. It is not being deleted: after Kausality was asked,
  something else has refused that, such as another admission webhook; whoever asks for the
  deletion is told which. Within a minute the object goes on.
`,
		},
		"held, and allowed": {
			obj: going(bucket(closed, map[string]any{v1alpha1.AnnotationGateHeld: `{"user":"bob","allowed":true}`}, nil)),
			want: `
ITS GATE
  Closed: nothing changes outside the cluster.
  Its deletion by bob is allowed, and waits for the operator.
`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &page{terminal: text.Terminal{Width: 96}, now: now}
			p.gate(gateOf(&sight{obj: tt.obj}))
			if diff := cmp.Diff(tt.want, p.out.String()); diff != "" {
				t.Errorf("gate() (-want +got):\n%s", diff)
			}
		})
	}
}

// What is ready allows what it does until its quiet time is over, which nothing else says.
func TestProgressTellsOfQuietTime(t *testing.T) {
	composite := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "XBucket", "metadata": map[string]any{"name": "x", "generation": int64(2)},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Synced", "status": "True", "observedGeneration": int64(2)},
			map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)},
		}},
	}}
	kind := composite.GroupVersionKind().GroupKind()
	policies := []*policy.Policy{{Categories: map[schema.GroupKind][]string{kind: {lineage.CategoryComposite}}}}
	allowing := ledger.Ledger(nil).Merge(v1alpha1.Allowance{Kind: "Bucket", Mutation: "*", Generation: 2, Initiator: "alice"})
	for name, tt := range map[string]struct {
		holder decision.Parent
		by     string
	}{
		"allowing something": {holder: decision.Parent{Policies: policies, Ledger: allowing}, by: "--composite-quiet-time"},
		"allowing nothing":   {holder: decision.Parent{Policies: policies}},
		"of a kind nobody has looked at": {
			holder: decision.Parent{Policies: []*policy.Policy{{}}, Ledger: allowing}, by: "--status-quiet-time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &holder{Parent: tt.holder, standing: standing{obj: composite}}
			if got := h.progress(); !strings.HasPrefix(got, "settled: ") || strings.Contains(got, "quiet-time") != (tt.by != "") || !strings.Contains(got, tt.by) {
				t.Errorf("progress() = %q", got)
			}
		})
	}
}

// In the version that kubectl takes by itself, the object may lose fields.
func TestCommandsNameAVersion(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Thing"}}
	obj.SetNamespace("shop")
	obj.SetName("a")
	s := &sight{obj: standing{obj: obj}, versionToName: "v1"}
	want := "kubectl annotate -n shop thing.v1.example.org/a kausality.io/orphan=true"
	if got := orphanCommand(s.objects()); got != want {
		t.Errorf("orphanCommand() = %s, want %s", got, want)
	}
}
