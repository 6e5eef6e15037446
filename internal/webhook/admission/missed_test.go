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
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// started is when this operator had its first request, in the middle of a second.
var started = time.Date(2026, 1, 1, 12, 0, 0, int(500*time.Millisecond), time.UTC)

// lastLook is what an operator saw before this one.
type lastLook struct {
	young bool
	known *v1alpha1.ApprovedContent
	// explained has the objects of which nothing was changed while nobody looked, where it is
	// asked for.
	explained map[types.UID]bool
}

func (l lastLook) Since() (time.Time, bool) { return started, l.young }

func (l lastLook) LastKnown(context.Context, schema.GroupVersionKind, types.NamespacedName, types.UID) *v1alpha1.ApprovedContent {
	return l.known
}

func (l lastLook) NoteExplained(uid types.UID) {
	if l.explained != nil {
		l.explained[uid] = true
	}
}

const labelsPolicy = `
metadata: {name: labels}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  rules:
  - trigger: spec.paused
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}]
`

// TestMissed shows that what was changed while no operator looked is withheld in the first
// change that is asked for afterwards, whoever asks, and by whichever hook is asked.
func TestMissed(t *testing.T) {
	const withheld = "spec.replicas"
	before := func(generation int64, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
		obj := unsettled(deployment(9, allowances...))
		obj.SetGeneration(generation)
		return obj
	}
	approved := func(generation int64) *v1alpha1.ApprovedContent {
		_, v := (&world{}).hooks(t, deploymentPolicy, labelsPolicy)
		content := record.ContentOf(deployment(3), v.Policies.Index().For(schema.GroupKind{Group: "apps", Kind: "Deployment"}), "")
		content.Generation = generation
		return content
	}
	scaled := before(4)
	earlier, later := metav1.NewTime(started.Add(-time.Second)), metav1.NewTime(started.Add(time.Second))
	scaled.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "hpa", Operation: "Update", Subresource: "scale", Time: &earlier}})
	since := before(4)
	since.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Update", Time: &later}})
	meanwhile, second := before(4), metav1.NewTime(started.Truncate(time.Second))
	meanwhile.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Update", Time: &second}})
	tests := map[string]struct {
		before *unstructured.Unstructured
		record *v1alpha1.AllowanceRecordStatus
		look   lastLook
		want   bool
		// explained is true where the holder's controller has nothing to find any more.
		explained bool
	}{
		"by its record": {before: before(4), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}, look: lastLook{young: true}, want: true},
		"by what is remembered of an object without a record": {
			before: before(4), look: lastLook{young: true, known: approved(3)}, want: true,
		},
		"where the leader has had the time to look": {before: before(4), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}},
		"at the generation that is approved": {
			before: before(4), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(4)}, look: lastLook{young: true}, explained: true,
		},
		"of what counts no generations": {
			before: before(0), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(0)}, look: lastLook{young: true}, want: true,
		},
		"where an allowance explains it": {
			before: before(4, mayScale("alice", 4)), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}, look: lastLook{young: true},
			explained: true,
		},
		"while it settles after a policy came": {
			before: before(4), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3), Adopting: true}, look: lastLook{young: true},
		},
		"by an autoscaler":   {before: scaled, record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}, look: lastLook{young: true}},
		"in the same second": {before: meanwhile, record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}, look: lastLook{young: true}},
		"since then":         {before: since, record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}, look: lastLook{young: true}},
		"with nothing known": {before: before(4), look: lastLook{young: true}},
		"in what is as it was": {
			before: unsettled(deployment(3)), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}, look: lastLook{young: true},
			explained: true,
		},
		"that is withheld already": {
			before: before(4, held(withheld, "3")), record: &v1alpha1.AllowanceRecordStatus{Approved: approved(3)}, look: lastLook{young: true}, want: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{live: map[string]*unstructured.Unstructured{key("Deployment", "web"): tc.before}, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			if tc.record != nil {
				w.records["uid-web"] = &v1alpha1.AllowanceRecord{
					Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(tc.before)}, Status: *tc.record,
				}
			}
			after := tc.before.DeepCopy()
			if err := unstructured.SetNestedField(after.Object, true, "spec", "paused"); err != nil {
				t.Fatal(err)
			}
			mutator, validator := w.hooks(t, deploymentPolicy, labelsPolicy)
			tc.look.explained = map[types.UID]bool{}
			mutator.Baseline = tc.look
			resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, tc.before, after))
			if !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			l, err := ledger.Decode(patched(t, after, resp)[ledgerKey])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, withholds(l.Allowances(), withheld)); diff != "" {
				t.Errorf("withheld (-want +got):\n%s\nin %+v", diff, l)
			}
			if got := tc.look.explained[tc.before.GetUID()]; got != tc.explained {
				t.Errorf("noted as explained: %t", got)
			}

			resp = validator.Handle(t.Context(), asking(t, "alice", platformTeam, tc.before, counted(after)))
			if !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			var pending []v1alpha1.Allowance
			for _, p := range w.pending {
				pending = append(pending, p.Allowances...)
			}
			stored := len(tc.before.GetAnnotations()) > 0 // It has it already.
			if got := withholds(pending, withheld); got != (tc.want && !stored) {
				t.Errorf("the validating hook withholds: %t, in %+v", got, pending)
			}
			for _, o := range w.observed {
				if tc.want && o.Approved != nil {
					t.Error("what nobody approved is told to be approved")
				}
			}
		})
	}
}

// TestIsUnseen shows of which objects a request does not tell the record that all they have by it is
// approved: somebody else may have changed them before, whom nobody has seen.
func TestIsUnseen(t *testing.T) {
	for name, tc := range map[string]struct {
		was, generation int64
		replicas        int64
		want            bool
	}{
		"as it was":                      {was: 4, generation: 4, replicas: 3},
		"changed at another generation":  {was: 3, generation: 4, replicas: 9, want: true},
		"a new default":                  {was: 4, generation: 4, replicas: 9},
		"as it was, without generations": {replicas: 3},
		"changed, without generations":   {replicas: 9, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, v := (&world{}).hooks(t, deploymentPolicy, labelsPolicy)
			before := deployment(tc.replicas)
			before.SetGeneration(tc.generation)
			f := &facts{record: &v1alpha1.AllowanceRecord{}}
			f.OwnPolicies = v.Policies.Index().For(schema.GroupKind{Group: "apps", Kind: "Deployment"})
			f.record.Status.Approved = record.ContentOf(deployment(3), f.OwnPolicies, "")
			f.record.Status.Approved.Generation = tc.was
			if got := v.isUnseen(&request{old: before}, f); got != tc.want {
				t.Errorf("unseen: %t", got)
			}
		})
	}
}

// TestMissedOnlyBeforeTheFirstChange shows that what this process has admitted was seen,
// before its record tells.
func TestMissedOnlyBeforeTheFirstChange(t *testing.T) {
	var a admitted
	first, second := deployment(3), counted(deployment(3))
	if a.has(first) {
		t.Error("a change is known that nobody made")
	}
	a.note(first)
	if a.has(first) {
		t.Error("what was admitted and not stored counts as seen")
	}
	if !a.has(second) {
		t.Error("what was admitted is not known")
	}
}

// TestMissedOnlyBeforeTheFirstWrite shows the same of an object that counts no generations.
func TestMissedOnlyBeforeTheFirstWrite(t *testing.T) {
	var a admitted
	obj := deployment(3)
	obj.SetGeneration(0)
	obj.SetResourceVersion("1")
	a.note(obj)
	if a.has(obj) {
		t.Error("what was admitted and not stored counts as seen")
	}
	obj.SetResourceVersion("2")
	if !a.has(obj) {
		t.Error("what was admitted is not known")
	}
}

func withholds(allowances []v1alpha1.Allowance, path string) bool {
	for _, a := range allowances {
		if a.Relation == v1alpha1.RelationWithheld && a.Mutation == path {
			return true
		}
	}
	return false
}
