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
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// What reaches the validating webhook need not be what the mutating one has made of it.
func TestDeviation(t *testing.T) {
	// rolling is a Deployment that has not settled.
	rolling := func(replicas int64, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
		obj := deployment(replicas, allowances...)
		delete(obj.Object, "status")
		obj.SetResourceVersion("77")
		return obj
	}
	labeled := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		obj.SetLabels(map[string]string{"note": "x"})
		return counted(obj)
	}
	anything := v1alpha1.Allowance{Kind: "*", Mutation: "*", Generation: 5, Initiator: "alice"}
	// A record has only a digest of what was approved.
	lost := held("spec.replicas", approved.Print("uid-web", int64(3)))
	tests := map[string]struct {
		user          string
		groups        []string
		before, after *unstructured.Unstructured
		refused       string
		pending       []v1alpha1.Allowance
		cleared       []string
	}{
		"as it should be": {
			user: "mallory", before: rolling(3, mayScale("alice", 4)), after: labeled(rolling(3, mayScale("alice", 4))),
		},
		"an allowance from before is lost": {
			user: "mallory", before: rolling(3, mayScale("alice", 4)), after: labeled(rolling(3)),
			pending: []v1alpha1.Allowance{mayScale("alice", 4)},
		},
		"what is withheld is lost": {
			user: "mallory", before: rolling(5, held("spec.replicas", "3")), after: labeled(rolling(5)),
			pending: []v1alpha1.Allowance{lost},
		},
		"what is withheld is lost, with the request of an initiator": {
			user: "alice", groups: platformTeam, before: rolling(5, held("spec.replicas", "3")), after: labeled(rolling(5)),
			pending: []v1alpha1.Allowance{lost},
		},
		"what is withheld says that it replaced something else": {
			user: "mallory", before: rolling(5, held("spec.replicas", "3")), after: labeled(rolling(5, held("spec.replicas", "5"))),
			pending: []v1alpha1.Allowance{lost},
		},
		"what was withheld is approved": {
			user: "alice", groups: platformTeam, before: rolling(5, held("spec.replicas", "3")), after: counted(rolling(5, mayScale("alice", 5))),
		},
		"an approval was lost": {
			user: "alice", groups: platformTeam, before: rolling(5, held("spec.replicas", "3")),
			after:   annotate(counted(rolling(5, held("spec.replicas", "3"))), v1alpha1.AnnotationApprove, "*"),
			pending: []v1alpha1.Allowance{mayScale("alice", 5)}, cleared: []string{"spec.replicas"},
		},
		"an allowance that nobody granted": {
			user: "mallory", before: rolling(3), after: labeled(rolling(3, anything)), refused: "* anything by alice",
		},
		"an allowance that not even an initiator was granted": {
			user: "alice", groups: platformTeam, before: rolling(3), after: labeled(rolling(3, anything)), refused: "* anything by alice",
		},
		"an allowance that nobody granted, at the creation": {
			user: "mallory", after: rolling(3, mayScale("alice", 1)), refused: "ReplicaSet spec.replicas by alice",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			_, validator := w.hooks(t, deploymentPolicy)
			resp := validator.Handle(t.Context(), asking(t, tc.user, tc.groups, tc.before, tc.after))
			if tc.refused != "" {
				if resp.Allowed || resp.Result.Code != http.StatusForbidden || !strings.Contains(resp.Result.Message, tc.refused) {
					t.Errorf("allowed %t (%+v), want a refusal that says %q", resp.Allowed, resp.Result, tc.refused)
				}
				return
			}
			if !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			var want []v1alpha1.PendingGrant
			if len(tc.pending)+len(tc.cleared) > 0 {
				want = append(want, v1alpha1.PendingGrant{After: "77", Allowances: tc.pending, Cleared: tc.cleared})
			}
			for i := range w.pending {
				w.pending[i].ID, w.pending[i].ContentHash = "", ""
			}
			if diff := cmp.Diff(want, w.pending, cmpopts.IgnoreFields(v1alpha1.Allowance{}, "Content")); diff != "" {
				t.Errorf("pending grants (-want +got):\n%s", diff)
			}
		})
	}
}

// A grant that came with another one and is not folded in yet is not lost to a scale,
// which can carry neither.
func TestScaleKeepsWhatIsPending(t *testing.T) {
	behind := deployment(3)
	delete(behind.Object, "status")
	waiting := record.NewPending(&record.Content{Path: "spec.replicas", Value: 3}, nil, []v1alpha1.Allowance{mayScale("bob", 0)}, nil)
	w := &world{
		cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): behind},
		records: map[types.UID]*v1alpha1.AllowanceRecord{"uid-web": {
			Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(behind)},
			Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{waiting}},
		}},
	}
	_, validator := w.hooks(t, deploymentPolicy)
	if resp := validator.Handle(t.Context(), scaling(t, "alice", platformTeam, 3, 5)); !resp.Allowed {
		t.Fatalf("refused: %+v", resp.Result)
	}
	if len(w.pending) != 1 {
		t.Fatalf("%d pending grants, want 1", len(w.pending))
	}
	if diff := cmp.Diff([]v1alpha1.Allowance{mayScale("alice", 0), mayScale("bob", 4)}, w.pending[0].Allowances); diff != "" {
		t.Errorf("pending allowances (-want +got):\n%s", diff)
	}
}

// A scale of an object on its way out is noted where something of that is withheld, so that nobody takes
// the number for a change that nobody has made. Else nothing is written for it.
func TestScaleOfWhatIsDeleted(t *testing.T) {
	withImage := deploymentPolicy + "  - {trigger: spec.image, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]}\n"
	approvedContent := &approved.State{
		Content: map[string]any{"spec": map[string]any{"replicas": int64(3), "image": "web:1"}}, Version: "apps/v1", Generation: 4,
		Withheld: []approved.Author{{Path: "spec.image", User: "mallory", Generation: 4}},
	}
	tests := map[string]struct {
		state *approved.State
		want  [][]string
	}{
		"something is withheld": {approvedContent, [][]string{{"spec.replicas"}}},
		"nothing is":            {nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			behind := deployment(3)
			behind.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
			if err := unstructured.SetNestedField(behind.Object, "web:2", "spec", "image"); err != nil {
				t.Fatal(err)
			}
			if tc.state != nil {
				behind = annotate(behind, v1alpha1.AnnotationApproved, tc.state.Encode("uid-web"))
			}
			w := &world{cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): behind}}
			_, validator := w.hooks(t, withImage)
			if resp := validator.Handle(t.Context(), scaling(t, "alice", platformTeam, 3, 5)); !resp.Allowed || resp.AuditAnnotations[auditReason] != string(decision.ReasonFinishing) {
				t.Fatalf("answer: %+v", resp)
			}
			var got [][]string
			for _, p := range w.pending {
				got = append(got, p.Cleared)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("approved in pending grants (-want +got):\n%s", diff)
			}
		})
	}
}

// What the mutating webhook has folded in for the initiator who got it is not taken for an
// approval, which would be granted anew.
func TestWhatIsFoldedInIsNoApproval(t *testing.T) {
	behind := deployment(3)
	delete(behind.Object, "status")
	waiting := record.NewPending(nil, behind, []v1alpha1.Allowance{mayScale("alice", 4)}, nil)
	w := &world{
		cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): behind},
		records: map[types.UID]*v1alpha1.AllowanceRecord{"uid-web": {
			Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(behind)},
			Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{waiting}},
		}},
	}
	_, validator := w.hooks(t, deploymentPolicy)
	after := deployment(3, mayScale("alice", 4))
	delete(after.Object, "status")
	if err := unstructured.SetNestedField(after.Object, "web:2", "spec", "image"); err != nil {
		t.Fatal(err)
	}
	if resp := validator.Handle(t.Context(), asking(t, "alice", platformTeam, behind, counted(after))); !resp.Allowed {
		t.Fatalf("refused: %+v", resp.Result)
	}
	for _, p := range w.pending {
		for _, a := range p.Allowances {
			if a.Mutation == "spec.replicas" {
				t.Errorf("granted again: %+v", a)
			}
		}
	}
}

// An approval of several fields that allow the same leaves one entry, with the first of
// them: the others are approved as well.
func TestApprovingFieldsThatAllowTheSame(t *testing.T) {
	before := deployment(5, held("spec.replicas", "3"), held("spec.paused", ""))
	delete(before.Object, "status")
	if err := unstructured.SetNestedField(before.Object, true, "spec", "paused"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		approve string
		// image is what the request sets along with it.
		image string
		// others have allowances in the ledger already.
		others int
		edit   func(after *unstructured.Unstructured)
		// lost are the fields that are withheld, and that the object would be stored without.
		lost []string
	}{
		"both":                                   {approve: "spec.replicas,spec.paused"},
		"all":                                    {approve: "*"},
		"one":                                    {approve: "spec.replicas"},
		"one, along with a change":               {approve: "spec.replicas", image: "web:2"},
		"one, along with a change, without room": {approve: "spec.replicas", image: "web:2", others: ledger.MaxEntries},
		"none, along with a change":              {image: "web:2"},
		"none, and all lost":                     {edit: func(after *unstructured.Unstructured) { after.SetAnnotations(nil) }, lost: []string{"spec.paused", "spec.replicas"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			mutator, validator := w.hooks(t, strings.ReplaceAll(deploymentPolicy, "trigger: spec.replicas", "trigger: spec"))
			before := before.DeepCopy()
			entries, err := ledger.Decode(ledger.Annotation(before, ledger.NameAllowances))
			if err != nil {
				t.Fatal(err)
			}
			for i := range tc.others {
				entries = entries.Merge(mayScale(fmt.Sprint("user-", i), 4))
			}
			before = annotate(before, v1alpha1.AnnotationAllowances, entries.Encode())
			after := before.DeepCopy()
			if tc.approve != "" {
				after = annotate(after, v1alpha1.AnnotationApprove, tc.approve)
			}
			if tc.image != "" {
				if err := unstructured.SetNestedField(after.Object, tc.image, "spec", "image"); err != nil {
					t.Fatal(err)
				}
			}
			resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, before, after))
			if !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			if full := strings.Contains(strings.Join(resp.Warnings, ""), "its ledger is full"); full != (tc.others > 0) {
				t.Fatalf("the ledger is full: %t: %q", full, resp.Warnings)
			}
			after.SetAnnotations(patched(t, after, resp))
			if tc.edit != nil {
				tc.edit(after)
			}
			if resp := validator.Handle(t.Context(), asking(t, "alice", platformTeam, before, after)); !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			var lost []string
			for _, p := range w.pending {
				for _, a := range p.Allowances {
					lost = append(lost, a.Mutation)
				}
			}
			if diff := cmp.Diff(tc.lost, lost); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
		})
	}
}

// That something else than the number is as approved, a scale tells of the object as it is only.
func TestPendingOfAScale(t *testing.T) {
	r := &request{new: deployment(5), scale: &record.Content{Path: "spec.replicas", Value: 5}}
	missing := []v1alpha1.Allowance{mayScale("alice", 0)}
	d := deviation{missing: missing, ended: []string{"spec.replicas", "spec.image"}}
	want := []v1alpha1.PendingGrant{
		record.NewPending(nil, r.new, nil, []string{"spec.image"}), record.NewPending(r.scale, nil, missing, []string{"spec.replicas"}),
	}
	if diff := cmp.Diff(want, d.pending(r)); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if r.scale = nil; len(d.pending(r)) != 1 {
		t.Error("an update has more than one")
	}
}

// What is withheld by a pending grant, and by nothing in the object, ends with its approval: its
// mark would be folded in afterwards.
func TestApprovingWhatIsPending(t *testing.T) {
	before := unsettled(deployment(5))
	mark := held("spec.replicas", approved.Print("uid-web", int64(3)))
	w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{"uid-web": {
		Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(before)},
		Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{record.NewPending(nil, before, []v1alpha1.Allowance{mark}, nil)}},
	}}}
	mutator, validator := w.hooks(t, deploymentPolicy)
	after := annotate(before.DeepCopy(), v1alpha1.AnnotationApprove, "spec.replicas")
	resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, before, after))
	after.SetAnnotations(patched(t, after, resp))
	if resp := validator.Handle(t.Context(), asking(t, "alice", platformTeam, before, counted(after))); !resp.Allowed || len(resp.Warnings) > 0 {
		t.Fatalf("allowed %t, %q: %+v", resp.Allowed, resp.Warnings, resp.Result)
	}
	if diff := cmp.Diff([]v1alpha1.PendingGrant{record.NewPending(nil, before, nil, []string{"spec.replicas"})}, w.pending, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
}

// A pending grant of what the object was like before counts again if the object is like that again. What
// somebody else makes so is withheld all the same: a grant of its own says that, after the former one.
func TestWithholdingWhatWasApprovedOnce(t *testing.T) {
	once, before := unsettled(deployment(1)), unsettled(deployment(5))
	for name, tc := range map[string]struct {
		version string // of the object that the request finds
		cleared []string
		want    bool
	}{
		"all of it":                                   {version: "9", cleared: []string{"spec.replicas"}, want: true},
		"by a grant that clears something else":       {version: "9", cleared: []string{"spec.note"}},
		"by a request that may come to be stored yet": {version: "7", cleared: []string{"spec.replicas"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := before.DeepCopy()
			before.SetResourceVersion(tc.version)
			grant := record.NewPending(nil, once, []v1alpha1.Allowance{mayScale("alice", 4)}, tc.cleared)
			grant.After = "7"
			w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{"uid-web": {
				Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(before)},
				Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{grant}},
			}}}
			mutator, validator := w.hooks(t, deploymentPolicy)
			after := once.DeepCopy()
			resp := mutator.Handle(t.Context(), asking(t, "mallory", nil, before, after))
			after.SetAnnotations(patched(t, after, resp))
			if resp := validator.Handle(t.Context(), asking(t, "mallory", nil, before, counted(after))); !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			var want []v1alpha1.PendingGrant
			if mark := held("spec.replicas", approved.Print("uid-web", int64(5))); tc.want {
				mark.Generation = after.GetGeneration()
				want = append(want, record.NewPending(nil, after, []v1alpha1.Allowance{mark}, nil))
				want[0].After = tc.version
			}
			if diff := cmp.Diff(want, w.pending, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
		})
	}
}
