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
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// TestSelecting shows what a controller may take that its parent selects, where the object has initiators of
// its own: not for what a stranger makes around it.
func TestSelecting(t *testing.T) {
	initiators := strings.Replace(replicaSetPolicy, "  rules:", "  subjects: [{kind: Group, name: owners, mayInitiate: true}]\n  rules:", 1)
	created := func(by string, groups ...string) v1alpha1.Allowance {
		hop := v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Generation: 4, Field: v1alpha1.FieldCreated}
		if len(groups) > 0 {
			hop.Attestations = map[string]string{decision.GroupsAttestation: strings.Join(groups, "\n")}
		}
		return v1alpha1.Allowance{Kind: "*", Mutation: "*", Generation: 4, Initiator: by, Trace: []v1alpha1.TraceHop{hop}}
	}
	made := func(by string, hops ...v1alpha1.TraceHop) []v1alpha1.HistoryEntry {
		trace := slices.Concat(hops, []v1alpha1.TraceHop{{Kind: "ReplicaSet", Name: "web-1", Field: v1alpha1.FieldCreated}})
		return []v1alpha1.HistoryEntry{{Time: metav1.NewTime(time.Unix(100, 0)), Event: v1alpha1.EventGranted, Initiator: by, Trace: trace}}
	}
	of := func(name string) v1alpha1.TraceHop {
		return v1alpha1.TraceHop{Kind: "Deployment", Name: name, Generation: 1, Field: v1alpha1.FieldCreated}
	}
	for name, tc := range map[string]struct {
		own     string // the policy of the object
		creator v1alpha1.Allowance
		history []v1alpha1.HistoryEntry
		younger bool // the object is younger than the parent
		denied  bool
	}{
		"a stranger's parent, of an initiator's object":               {own: initiators, creator: created("mallory"), history: made("alice"), denied: true},
		"the same, of which nothing is known":                         {own: initiators, creator: created("mallory"), denied: true},
		"the same, with other groups of hers":                         {own: initiators, creator: created("mallory", "guests"), history: made("alice"), denied: true},
		"a stranger's parent, of an object that was another parent's": {own: initiators, creator: created("mallory"), history: made("alice", of("other")), denied: true},
		"the parent was made again, by whomever":                      {own: initiators, creator: created("robot"), history: made("alice", of("web"))},
		"the parent is of who made the object":                        {own: initiators, creator: created("alice"), history: made("alice")},
		"the parent is of who may initiate on the object":             {own: initiators, creator: created("bob", "owners"), history: made("alice")},
		"the object becomes a stray":                                  {own: initiators, creator: created("mallory"), history: made("alice"), younger: true},
		"the object has no initiators of its own":                     {own: replicaSetPolicy, creator: created("mallory"), history: made("alice")},
	} {
		t.Run(name, func(t *testing.T) {
			parent := unsettled(deployment(3, tc.creator))
			parent.SetCreationTimestamp(metav1.NewTime(time.Unix(200, 0)))
			before, after := replicaSet(3), replicaSet(3)
			for _, obj := range []*unstructured.Unstructured{before, after} {
				since := time.Unix(100, 0)
				if tc.younger {
					since = time.Unix(300, 0)
				}
				obj.SetCreationTimestamp(metav1.NewTime(since))
			}
			before.SetOwnerReferences(nil)
			w := &world{cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): parent}, records: map[types.UID]*v1alpha1.AllowanceRecord{
				before.GetUID(): {Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(before)}, Status: v1alpha1.AllowanceRecordStatus{History: tc.history}},
			}}
			w.live = w.cached
			_, hook := w.hooks(t, deploymentPolicy, tc.own)
			resp := hook.Handle(t.Context(), asking(t, deployer, nil, before, after))
			if resp.Allowed == tc.denied || tc.denied && !strings.Contains(resp.Result.Message, "is for who may initiate on it: Group owners") {
				t.Errorf("allowed %t, want %t: %+v", resp.Allowed, !tc.denied, resp.Result)
			}
		})
	}
}

// TestAttestsForSelectors shows that the creation of what selects says for which groups it was.
func TestAttestsForSelectors(t *testing.T) {
	initiators := strings.Replace(replicaSetPolicy, "  rules:", "  subjects: [{kind: Group, name: owners, mayInitiate: true}]\n  rules:", 1)
	for own, want := range map[string]string{initiators: "owners", replicaSetPolicy: ""} {
		mutator, _ := (&world{}).hooks(t, deploymentPolicy, own)
		obj := unsettled(deployment(1))
		resp := mutator.Handle(t.Context(), asking(t, "alice", append([]string{"owners", "others"}, platformTeam...), nil, obj))
		has, err := ledger.Decode(patched(t, obj, resp)[ledgerKey])
		if err != nil || len(has) != 1 {
			t.Fatalf("ledger %v, error %v", has, err)
		}
		if hop, _ := has[0].LastHop(); hop.Attestations[decision.GroupsAttestation] != want {
			t.Errorf("attests %v, want the groups %q", hop.Attestations, want)
		}
	}
}
