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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
)

const (
	glassKey           = "kausality.io/break-glass"
	replicaSetGlassKey = "replicaset.kausality.io/break-glass"
	reason             = "the shop is down"
)

// broken returns a chain that began with broken glass.
func broken(hops ...v1alpha1.TraceHop) []v1alpha1.TraceHop {
	hops[0].Attestations = map[string]string{decision.BreakGlassAttestation: reason}
	return hops
}

func TestBreakGlass(t *testing.T) {
	child := func(replicas int64, note string) *unstructured.Unstructured {
		return annotate(replicaSet(replicas), replicaSetGlassKey, note)
	}
	chain := broken(v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Generation: 4, Field: "(breakglass)"},
		v1alpha1.TraceHop{Kind: "ReplicaSet", Name: "web-1", Generation: 3, Field: "spec.replicas"})
	earned := ledger.Ledger{}.Merge(
		v1alpha1.Allowance{Kind: "Pod", Mutation: "create", Generation: 3, Initiator: "bob", Trace: chain},
		v1alpha1.Allowance{Kind: "Pod", Mutation: "delete", Generation: 3, Initiator: "bob", Trace: chain},
	).Encode()
	ofRoot := ledger.Ledger{}.Merge(v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 5, Initiator: "bob",
		Trace: broken(v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Generation: 5, Field: "(breakglass)"},
			v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Generation: 5, Field: "spec.replicas"}),
	}).Encode()
	withheld := ledger.Ledger{}.Merge(v1alpha1.Allowance{
		Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "bob", Generation: 5,
	}).Encode()

	waiting := func() *unstructured.Unstructured {
		return unsettled(deployment(5, held("spec.replicas", "3")))
	}
	tests := map[string]struct {
		groups        []string
		before, after *unstructured.Unstructured
		cached        *unstructured.Unstructured
		dryRun        bool
		// annotations after the mutating hook.
		want   map[string]string
		warns  string
		denied bool
		reason string
	}{
		"by who may": {
			groups: glassBreakers, before: replicaSet(3), after: child(5, reason), cached: deployment(3),
			want: map[string]string{replicaSetLedger: earned}, warns: "the glass is broken: changing spec.replicas of ReplicaSet web-1", reason: "BreakGlass",
		},
		"by who may not": {
			before: replicaSet(3), after: child(5, reason), cached: deployment(3),
			want: map[string]string{}, warns: "bob may not break the glass of ReplicaSet web-1: that takes the verb breakglass on AllowancePolicies deployment",
			denied: true, reason: "Denied",
		},
		"in an earlier request": {
			groups: glassBreakers, before: child(3, reason), after: child(5, reason), cached: deployment(3),
			want: map[string]string{}, denied: true, reason: "Denied",
		},
		"without a reason": {
			groups: glassBreakers, before: replicaSet(3), after: child(5, " "), cached: deployment(3),
			want: map[string]string{}, warns: "no glass of ReplicaSet web-1 is broken without a reason", denied: true, reason: "Denied",
		},
		"for a deletion only": {
			groups: glassBreakers, before: replicaSet(3), after: child(5, "delete: "+reason), cached: deployment(3),
			want: map[string]string{replicaSetGlassKey: "delete: " + reason}, warns: "serves its deletion only", denied: true, reason: "Denied",
		},
		"for a deletion, by who may not": {
			before: replicaSet(3), after: child(3, "delete: "+reason), cached: deployment(3),
			want: map[string]string{}, warns: "may not break the glass", reason: "Unchanged",
		},
		"where none had to be broken": {
			groups: glassBreakers, before: replicaSet(3), after: child(3, reason), cached: deployment(3),
			want: map[string]string{}, warns: "no glass had to be broken", reason: "Unchanged",
		},
		"for what was withheld before": {
			groups: glassBreakers, before: waiting(), after: annotate(waiting(), glassKey, reason), reason: "Unchanged",
			want:  map[string]string{ledgerKey: ledger.Ledger{}.Merge(held("spec.replicas", "")).Encode(), approvedKey: `{"spec":{"replicas":3}}`},
			warns: "the change of spec.replicas by mallory is withheld: take that back, and make it again with the annotation in the same request",
		},
		"on a dry run": {
			groups: glassBreakers, before: replicaSet(3), after: child(5, reason), cached: deployment(3), dryRun: true,
			want: map[string]string{replicaSetGlassKey: reason, replicaSetLedger: earned}, warns: "the glass is broken", reason: "BreakGlass",
		},
		"on a Deployment, for what follows": {
			groups: glassBreakers, before: deployment(3), after: annotate(deployment(5), glassKey, reason),
			want: map[string]string{ledgerKey: ofRoot}, warns: "what follows from this change of Deployment web is allowed", reason: "BreakGlass",
		},
		"on a Deployment, by who may not": {
			before: deployment(3), after: annotate(deployment(5), glassKey, reason),
			want: map[string]string{ledgerKey: withheld, approvedKey: `{"spec":{"replicas":3}}`}, warns: "may not break the glass of Deployment web", reason: "Root",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{}, live: map[string]*unstructured.Unstructured{},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			if tc.cached != nil {
				w.cached[key("Deployment", "web")], w.live[key("Deployment", "web")] = tc.cached, tc.cached
			}
			mutator, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			request := asking(t, "bob", tc.groups, tc.before, tc.after)
			request.DryRun = &tc.dryRun
			mutated := mutator.Handle(t.Context(), request)
			annotations := patched(t, tc.after, mutated)
			if diff := cmp.Diff(tc.want, readable(t, annotations)); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if got := strings.Join(mutated.Warnings, "\n"); tc.warns == "" != (got == "") || !strings.Contains(got, tc.warns) {
				t.Errorf("warnings %q, want %q", got, tc.warns)
			}
			askAgain(t, mutator, request, mutated)
			if tc.dryRun && len(w.records) > 0 {
				t.Errorf("a dry run left a note: %v", w.records)
			}

			stored := tc.after.DeepCopy()
			stored.SetAnnotations(annotations)
			request = asking(t, "bob", tc.groups, tc.before, counted(stored))
			request.DryRun = &tc.dryRun
			verdict := validator.Handle(t.Context(), request)
			if verdict.Allowed == tc.denied || verdict.AuditAnnotations["reason"] != tc.reason {
				t.Errorf("allowed %t as %s, want %t as %s", verdict.Allowed, verdict.AuditAnnotations["reason"], !tc.denied, tc.reason)
			}
			if len(w.pending) > 0 {
				t.Errorf("pending grants: %v", w.pending)
			}
		})
	}
}

func TestBreakGlassByDeletion(t *testing.T) {
	tests := map[string]struct {
		groups []string
		note   string
		denied bool
		says   string
	}{
		"by who may":             {groups: glassBreakers, note: "delete: " + reason, says: "the glass is broken: deletion of ReplicaSet web-1"},
		"by who may not":         {note: "delete: " + reason, denied: true, says: "bob may not break the glass"},
		"a reason for something": {groups: glassBreakers, note: reason, denied: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			parent := deployment(3)
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
				live:   map[string]*unstructured.Unstructured{key("Deployment", "web"): parent},
			}
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			resp := validator.Handle(t.Context(), asking(t, "bob", tc.groups, annotate(replicaSet(3), replicaSetGlassKey, tc.note), nil))
			if resp.Allowed == tc.denied {
				t.Errorf("allowed %t: %v", resp.Allowed, resp.Result)
			}
			if got := strings.Join(resp.Warnings, "\n"); tc.says == "" != (got == "") || !strings.Contains(got, tc.says) {
				t.Errorf("warnings %q, want %q", got, tc.says)
			}
		})
	}
}

// Nobody may write what a mutating hook would have granted, in the hope that it is
// away: who has the right needs not, and who has it not is refused.
func TestForgedBrokenGlassIsAskedFor(t *testing.T) {
	forged := v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 5, Initiator: "bob",
		Trace: broken(v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Generation: 5, Field: "(breakglass)"}),
	}
	w := &world{}
	_, validator := w.hooks(t, deploymentPolicy)
	resp := validator.Handle(t.Context(), asking(t, "bob", nil, deployment(3), counted(deployment(5, forged))))
	if resp.Allowed || !strings.Contains(resp.Result.Message, "allowances that nobody granted") || len(w.pending) > 0 {
		t.Errorf("allowed %t (%v), pending %v; want a refusal", resp.Allowed, resp.Result, w.pending)
	}
}
