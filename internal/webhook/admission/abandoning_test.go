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
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/lineage"
)

// TestClaimIsNotGoneAlone checks who may let a claim go without its composite resource, and what they are told.
func TestClaimIsNotGoneAlone(t *testing.T) {
	claimOf := func(fields string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
		claim := database(t, fields)
		for _, edit := range edits {
			edit(claim)
		}
		return claim
	}
	kept := func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"its.own", lineage.ClaimFinalizer}) }
	own := func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{"its.own"}) }
	now := metav1.Unix(1_700_000_000, 0)
	going := func(obj *unstructured.Unstructured) { obj.SetDeletionTimestamp(&now) }
	goingComposite := xdatabase(t, pointsAtClaim)
	going(goingComposite)
	const stays = "by which Crossplane deletes XDatabase db-x7 first, Database db is gone, and that stays"
	const namespaces = "system:serviceaccount:kube-system:namespace-controller"
	for name, tt := range map[string]struct {
		user   string
		groups []string
		before *unstructured.Unstructured
		// after is nil for a deletion.
		after     *unstructured.Unstructured
		composite *unstructured.Unstructured
		policy    string
		refused   bool
		says      string
	}{
		"a stranger takes the finalizer off": {
			user: "mallory", before: claimOf(pointsAtXR, going, kept), after: claimOf(pointsAtXR, going, own), refused: true, says: stays,
		},
		"who may initiate does": {
			user: "alice", groups: platformTeam, before: claimOf(pointsAtXR, going, kept), after: claimOf(pointsAtXR, going, own), says: stays,
		},
		"Crossplane does":                      {user: crossplane, before: claimOf(pointsAtXR, going, kept), after: claimOf(pointsAtXR, going)},
		"a stranger takes another one off":     {user: "mallory", before: claimOf(pointsAtXR, going, kept), after: claimOf(pointsAtXR, going, func(obj *unstructured.Unstructured) { obj.SetFinalizers([]string{lineage.ClaimFinalizer}) })},
		"of one that is not being deleted":     {user: "mallory", before: claimOf(pointsAtXR, kept), after: claimOf(pointsAtXR)},
		"a stranger deletes one that has none": {user: "mallory", before: claimOf(pointsAtXR, own), refused: true, says: "Group platform-team may let the claim go without"},
		"who may initiate deletes it":          {user: "alice", groups: platformTeam, before: claimOf(pointsAtXR), says: stays},
		"with its namespace":                   {user: namespaces, before: claimOf(pointsAtXR)},
		"one that is kept":                     {user: "mallory", before: claimOf(pointsAtXR, kept)},
		"one without a composite resource":     {user: "mallory", before: claimOf("size: 1")},
		"whose composite resource goes":        {user: "mallory", before: claimOf(pointsAtXR), composite: goingComposite},
		"which another claim has":              {user: "mallory", before: claimOf(pointsAtXR), composite: xdatabase(t, strings.Replace(pointsAtClaim, "name: db", "name: other", 1))},
		"where a policy only warns": {
			user: "mallory", before: claimOf(pointsAtXR), policy: strings.Replace(claimPolicy, "[Deny]", "[Warn]", 1), says: stays,
		},
	} {
		t.Run(name, func(t *testing.T) {
			composite, policy := tt.composite, tt.policy
			if composite == nil {
				composite = xdatabase(t, pointsAtClaim)
			}
			if policy == "" {
				policy = claimPolicy
			}
			objects := map[string]*unstructured.Unstructured{"XDatabase/db-x7": composite}
			_, validator := (&world{cached: objects, live: objects}).hooks(t, policy, compositePolicy)
			resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, tt.before, tt.after))
			said := strings.Join(resp.Warnings, "\n")
			if resp.Allowed == tt.refused {
				t.Fatalf("allowed = %t: %v", resp.Allowed, resp.Result)
			}
			if tt.refused {
				said += resp.Result.Message
			}
			if !strings.Contains(said, tt.says) || tt.says == "" && strings.Contains(said, lineage.ClaimFinalizer) {
				t.Errorf("it says %q, want %q", said, tt.says)
			}
		})
	}
}
