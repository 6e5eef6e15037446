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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/eventrecorder"
)

// glassTold is where broken glass is told of: the kinds of the objects of Events and records, and what the audit log has.
type glassTold struct {
	Events, Records []string
	Audited, Reason string
}

// TestBrokenGlassIsToldEverywhere checks of each way of breaking the glass that it is told where the page says so, and of
// what needs none that it is told nowhere and allows nothing.
func TestBrokenGlassIsToldEverywhere(t *testing.T) {
	warning := strings.Replace(deploymentPolicy, "[Deny]", "[Warn]", 1)
	acting := strings.Replace(deploymentPolicy, "  rules:", "  knowledge: {actions: [{path: status.promote}]}\n  rules:", 1)
	promoted := deployment(3)
	mapIn(t, promoted, "status")["promote"] = true
	waiting := func() *unstructured.Unstructured {
		return unsettled(deployment(5, held("spec.replicas", "3")))
	}
	owned := deployment(3)
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1alpha1", Kind: "WebApp", Name: "own", UID: webApp("own").GetUID()}})
	const appPolicy = `
metadata: {name: app}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: WebApp}
  validationActions: [Deny]
  subjects: [{kind: User, name: mallory, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: deployments}, relation: ControllerChild, verbs: ["*"]}]
`
	refs := func(name string) *unstructured.Unstructured {
		return parsed(t, "{apiVersion: example.com/v1, kind: XDatabase, metadata: {name: db-x7}, spec: {size: 1, crossplane: {resourceRefs: ["+
			"{apiVersion: example.com/v1, kind: Instance, name: "+name+"}]}}}")
	}
	earlier := v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: 5, Initiator: "bob",
		Trace: broken(v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Generation: 5, Field: "(breakglass)"}),
	}
	top := glassTold{Events: []string{"Deployment"}, Records: []string{"Deployment"}, Audited: reason, Reason: "BreakGlass"}
	own := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		return annotate(obj, glassKey, reason)
	}
	tests := map[string]struct {
		policies      []string
		groups        []string
		subresource   string
		before, after *unstructured.Unstructured
		want          glassTold
		// says is what a warning has.
		says string
		// keeps is true where the object has an allowance by broken glass from before.
		keeps bool
	}{
		"a change at the top":                     {before: deployment(3), after: own(deployment(5)), want: top, says: "what follows from this change of Deployment web is allowed"},
		"a change at the top of what only warns":  {policies: []string{warning}, before: deployment(3), after: own(deployment(5)), want: top, says: "what follows"},
		"an action through the status at the top": {policies: []string{acting}, subresource: subresourceStatus, before: annotate(deployment(3), glassKey, "status: "+reason), after: annotate(promoted, glassKey, "status: "+reason), want: glassTold{Events: top.Events, Records: top.Records, Audited: "status: " + reason, Reason: "BreakGlass"}, says: "what follows from this change of Deployment web is allowed"},
		"another parent":                          {policies: []string{deploymentPolicy, appPolicy}, before: deployment(3), after: annotate(owned, "deployment."+glassKey, reason), want: glassTold{Events: []string{"WebApp"}, Records: []string{"WebApp"}, Audited: reason, Reason: "BreakGlass"}, says: "the glass is broken"},
		"what is refused at the top, and allows nothing": {
			policies: []string{composingPolicy(composesInside)}, before: refs("a"), after: own(refs("other")), says: "of XDatabase db-x7 is let through, and recorded",
			want: glassTold{Events: []string{"XDatabase"}, Records: []string{"XDatabase"}, Audited: reason, Reason: "BreakGlass"},
		},
		"a change of a child": {
			before: replicaSet(3), after: annotate(replicaSet(5), replicaSetGlassKey, reason), says: "changing spec.replicas of ReplicaSet web-1",
			want: glassTold{Events: []string{"Deployment"}, Records: []string{"Deployment"}, Audited: reason, Reason: "BreakGlass"},
		},
		"a change at the top, by who may initiate":  {groups: platformTeam, before: deployment(3), after: own(deployment(5)), want: glassTold{Reason: "Origin"}, says: "no glass had to be broken"},
		"putting back what is withheld":             {before: waiting(), after: own(unsettled(deployment(3, held("spec.replicas", "3")))), want: glassTold{Reason: "Root"}, says: "no glass had to be broken"},
		"an approval at the top":                    {before: waiting(), after: annotate(own(waiting()), v1alpha1.AnnotationApprove, "spec.replicas"), want: glassTold{Reason: "Unchanged"}, says: "no glass had to be broken"},
		"a change at the top that no rule is about": {before: deployment(3), after: own(annotate(deployment(3), "team", "x")), want: glassTold{Reason: "Unchanged"}, says: "no glass had to be broken"},
		"a change after that, without another reason": {
			before: unsettled(deployment(5, earlier)), after: annotate(unsettled(deployment(5, earlier)), "team", "x"), want: glassTold{Reason: "Unchanged"}, keeps: true,
		},
		"a creation at the top": {after: own(deployment(3)), want: glassTold{Reason: "Root"}, says: "no glass had to be broken"},
		"a deletion at the top": {before: annotate(deployment(3), glassKey, "delete: "+reason), want: glassTold{Reason: "Root"}, says: "no glass had to be broken"},
		"a deletion by what says nothing": {
			before: annotate(replicaSet(3), replicaSetGlassKey, "delete:  "), want: glassTold{Reason: "Denied"}, says: "no glass of ReplicaSet web-1 is broken without a reason",
		},
		"an action by what says nothing": {
			policies: []string{acting}, subresource: subresourceStatus, before: annotate(deployment(3), glassKey, "status:"), after: annotate(promoted.DeepCopy(), glassKey, "status:"),
			want: glassTold{Reason: "Refused"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			parent, app := deployment(3), webApp("own")
			w := &world{
				cached:  map[string]*unstructured.Unstructured{key("Deployment", "web"): parent, key("WebApp", "own"): app},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			w.live = w.cached
			if tt.policies == nil {
				tt.policies = []string{deploymentPolicy, replicaSetPolicy}
			}
			mutator, validator := w.hooks(t, tt.policies...)
			groups := append([]string{glassBreakers[0]}, tt.groups...)
			var warned []string
			if tt.after != nil && tt.subresource == "" {
				mutated := mutator.Handle(t.Context(), asking(t, "bob", groups, tt.before, tt.after))
				warned = mutated.Warnings
				stored := tt.after.DeepCopy()
				stored.SetAnnotations(patched(t, tt.after, mutated))
				if text := stored.GetAnnotations()[ledgerKey]; tt.want.Audited == "" && !tt.keeps && strings.Contains(text, "(breakglass)") {
					t.Errorf("it allows something: %s", text)
				}
				tt.after = counted(stored)
			}
			req := asking(t, "bob", groups, tt.before, tt.after)
			req.SubResource = tt.subresource
			verdict := validator.Handle(t.Context(), req)
			got := glassTold{Audited: verdict.AuditAnnotations[auditGlass], Reason: verdict.AuditAnnotations[auditReason]}
			for _, n := range w.notices {
				if n.Reason == eventrecorder.BreakGlass && strings.Contains(n.Text, reason) {
					got.Events = append(got.Events, n.About.Kind)
				}
			}
			for i := range w.observed {
				if tellsOfGlass(&w.observed[i]) {
					got.Records = append(got.Records, w.observed[i].Target.Kind)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s\nanswer %+v", diff, verdict.Result)
			}
			if says := strings.Join(append(warned, verdict.Warnings...), "\n"); !strings.Contains(says, tt.says) {
				t.Errorf("warnings %q do not say %q", says, tt.says)
			}
			for _, rec := range w.records {
				if len(rec.Status.BrokenGlass) > 0 {
					t.Errorf("a note is left: %v", rec.Status.BrokenGlass)
				}
			}
		})
	}
}

// What only says what it is for is no reason, and is taken away.
func TestNoReasonNoGlass(t *testing.T) {
	for _, text := range []string{"", " ", "delete:", " delete:  ", "status:", "status:\t"} {
		w := &world{}
		mutator, _ := w.hooks(t, deploymentPolicy)
		after := annotate(deployment(3), glassKey, text)
		resp := mutator.Handle(t.Context(), asking(t, "bob", glassBreakers, deployment(3), after))
		if got := strings.Join(resp.Warnings, "\n"); !strings.Contains(got, "no glass of Deployment web is broken without a reason") {
			t.Errorf("%q: warnings %q", text, got)
		}
		if _, stays := patched(t, after, resp)[glassKey]; stays {
			t.Errorf("%q stays", text)
		}
	}
	for text, want := range map[string][2]bool{
		"delete:": {}, "delete: x": {true, false}, "status:": {}, "status: x": {false, true}, "x": {}, "delete:status:": {true, false},
	} {
		if got := [2]bool{forDeletion(text), forStatus(text)}; got != want {
			t.Errorf("%q is for a deletion, or the status: %v, want %v", text, got, want)
		}
	}
}
