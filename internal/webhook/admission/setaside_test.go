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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/lineage"
)

// TestReturnedChildIsNoStray shows who has an adoption caused before the controller makes it: an
// initiator who gives back what was released, as it was, or who makes an object.
func TestReturnedChildIsNoStray(t *testing.T) {
	const healing = replicaSetPolicy + `
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
`
	type pods = *unstructured.Unstructured
	type step struct {
		user string
		do   func(pods)
	}
	matching := func(p pods) { p.SetLabels(map[string]string{"app": "web", "x": "y"}) }
	adopted := func(p pods) { p.SetOwnerReferences(pod().GetOwnerReferences()) }
	value := func(value string, fields ...string) func(pods) {
		return func(p pods) { _ = unstructured.SetNestedField(p.Object, value, fields...) }
	}
	age := func(by time.Duration, what func(*v1alpha1.SetAsideChild) *metav1.Time) func(*world) {
		return func(w *world) {
			at := what(&w.records["uid-web-1"].Status.SetAside[0])
			at.Time = at.Add(-by)
		}
	}
	var (
		adopts    = step{deployer, adopted}
		takesOut  = func(user string) step { return step{user, func(p pods) { p.SetLabels(map[string]string{"x": "y"}) }} }
		releases  = step{deployer, func(p pods) { p.SetOwnerReferences(nil) }}
		putsBack  = func(user string) step { return step{user, matching} }
		changes   = func(user string) step { return step{user, value("evil", "spec", "image")} }
		makes     = func(user string) step { return step{user, nil} }
		returned  = func(c *v1alpha1.SetAsideChild) *metav1.Time { return &c.Returned.Time }
		wasPutOff = func(c *v1alpha1.SetAsideChild) *metav1.Time { return &c.Time }
	)
	const byLabel, byCreation = `alice [{"kind":"Pod","name":"web-1-a","field":"metadata.labels"}]`, `alice [{"kind":"Pod","name":"web-1-a","field":"(created)"}]`
	tests := map[string]struct {
		steps []step
		// before is done before the step of a number.
		at     int
		before func(*world)
		dryRun int
		// cause is empty where it is a stray.
		cause string
	}{
		"an initiator puts it back":                       {steps: []step{takesOut("alice"), releases, putsBack("alice"), adopts}, cause: byLabel},
		"an initiator puts back what a stranger took out": {steps: []step{takesOut("mallory"), releases, putsBack("alice"), adopts}, cause: byLabel},
		"the status changes meanwhile": {
			steps: []step{takesOut("alice"), releases, {"kubelet", value("Running", "status", "phase")}, putsBack("alice"), adopts}, cause: byLabel,
		},
		"an initiator makes it": {steps: []step{makes("alice"), adopts}, cause: byCreation},
		"an initiator makes it, and it is scheduled": {
			steps: []step{makes("alice"), {"scheduler", value("n1", "spec", "nodeName")}, adopts}, cause: byCreation,
		},
		"a stranger puts it back":                       {steps: []step{takesOut("alice"), releases, putsBack("mallory"), adopts}},
		"a stranger changes it meanwhile":               {steps: []step{takesOut("alice"), releases, changes("mallory"), putsBack("alice"), adopts}},
		"a stranger changes it when it was put back":    {steps: []step{takesOut("alice"), releases, putsBack("alice"), changes("mallory"), adopts}},
		"a stranger makes it":                           {steps: []step{makes("mallory"), adopts}},
		"a stranger changes what an initiator has made": {steps: []step{makes("alice"), changes("mallory"), adopts}},
		"a stranger annotates it meanwhile": {
			steps: []step{takesOut("alice"), releases, {"mallory", value("9", "metadata", "annotations", "note")}, putsBack("alice"), adopts},
		},
		"a stranger labels it meanwhile": {
			steps: []step{takesOut("alice"), releases, {"mallory", value("z", "metadata", "labels", "x")}, putsBack("alice"), adopts},
		},
		"a stranger puts it back after an initiator has once": {
			steps: []step{takesOut("alice"), releases, putsBack("alice"), adopts, takesOut("mallory"), releases, putsBack("mallory"), adopts},
		},
		"an initiator puts back a stray": {steps: []step{makes("mallory"), adopts, takesOut("alice"), releases, putsBack("alice"), adopts}},
		"an initiator only tries to":     {steps: []step{takesOut("alice"), releases, putsBack("alice"), adopts}, dryRun: 2},
		"it is adopted much later": {
			steps: []step{takesOut("alice"), releases, putsBack("alice"), adopts}, at: 3, before: age(2*time.Minute, returned),
		},
		"it is put back much later": {
			steps: []step{takesOut("alice"), releases, putsBack("alice"), adopts}, at: 2, before: age(24*time.Hour, wasPutOff),
		},
		"its record is lost": {
			steps: []step{takesOut("alice"), releases, putsBack("alice"), adopts}, at: 3, before: func(w *world) { delete(w.records, "uid-web-1") },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := strayWorld()
			rs := replicaSet(3)
			_ = unstructured.SetNestedStringMap(rs.Object, map[string]string{"app": "web"}, "spec", "selector", "matchLabels")
			w.cached[key("ReplicaSet", "web-1")] = rs
			_, validator := w.hooks(t, deploymentPolicy, healing)
			now := pod()
			_ = unstructured.SetNestedField(now.Object, "good", "spec", "image")
			matching(now)
			for i, s := range tt.steps {
				if tt.before != nil && i == tt.at {
					tt.before(w)
				}
				was := now
				if now = was.DeepCopy(); s.do == nil {
					was = nil
					now.SetOwnerReferences(nil)
				} else {
					s.do(now)
				}
				var groups []string
				if s.user == "alice" {
					groups = platformTeam
				}
				req := asking(t, s.user, groups, was, now)
				req.DryRun = new(tt.dryRun > 0 && i == tt.dryRun)
				resp := validator.Handle(t.Context(), req)
				if !resp.Allowed {
					t.Fatalf("step %d is refused: %+v", i, resp.Result)
				}
				if i < len(tt.steps)-1 {
					continue
				}
				stray := resp.AuditAnnotations[auditReason] == "Stray"
				noted := len(w.records["uid-web-1"].Status.Strays) > 0
				if want := tt.cause == ""; stray != want || noted != want || resp.AuditAnnotations[auditTrace] != tt.cause {
					t.Errorf("stray %t, noted %t, got %v", stray, noted, resp.AuditAnnotations)
				}
			}
		})
	}
}

// An initiator who takes the owner of a child away, whose controller selects it, is refused like anybody,
// and one of the object itself has it adopted again.
func TestChildWithoutItsOwnerIsAdoptedAgain(t *testing.T) {
	const initiated = replicaSetPolicy + `
  subjects: [{kind: User, name: greta, mayInitiate: true}]
`
	w := strayWorld()
	d := deployment(3)
	_ = unstructured.SetNestedStringMap(d.Object, map[string]string{"app": "web"}, "spec", "selector", "matchLabels")
	w.cached[key("Deployment", "web")] = d
	_, validator := w.hooks(t, deploymentPolicy, initiated)
	before, after := replicaSet(3), free()
	before.SetLabels(map[string]string{"app": "web"})
	after.SetLabels(map[string]string{"app": "web"})
	if resp := validator.Handle(t.Context(), asking(t, "alice", platformTeam, before, after)); resp.Allowed || !strings.Contains(resp.Result.Message, lineage.OwnersPath) {
		t.Fatalf("got %+v", resp)
	}
	if resp := validator.Handle(t.Context(), asking(t, "greta", nil, before, after)); !resp.Allowed {
		t.Fatalf("got %+v", resp)
	}
	resp := validator.Handle(t.Context(), asking(t, deployer, nil, after, before))
	if want := `greta [{"kind":"ReplicaSet","name":"web-1","generation":2,"field":"metadata.ownerReferences"}]`; !resp.Allowed ||
		resp.AuditAnnotations[auditTrace] != want || len(w.strays()) > 0 {
		t.Errorf("got %+v", resp)
	}
}
