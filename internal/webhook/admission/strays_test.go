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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/lineage"
)

// free returns a ReplicaSet without an owner, unless one is given.
func free(owners ...any) *unstructured.Unstructured {
	obj := replicaSet(3)
	if len(owners) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", "ownerReferences")
		return obj
	}
	_ = unstructured.SetNestedSlice(obj.Object, owners, "metadata", "ownerReferences")
	return obj
}

// strayWorld returns a world in which there is the Deployment, with what its ledger has.
func strayWorld(allowances ...v1alpha1.Allowance) *world {
	parents := map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3, allowances...)}
	return &world{cached: parents, live: parents, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
}

func (w *world) strays() []v1alpha1.StrayChild {
	if rec := w.records["uid-web"]; rec != nil {
		return rec.Status.Strays
	}
	return nil
}

func TestAdoptionWithoutCauseIsNoted(t *testing.T) {
	other := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "uid-other"}
	gone := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone", "uid": "uid-gone"}
	tests := map[string]struct {
		user          string
		groups        []string
		before        *unstructured.Unstructured
		dryRun        bool
		code          int32
		reason, stray string
	}{
		"by the controller":                       {user: deployer, before: free(), reason: "Stray", stray: "web-1"},
		"by the controller, beside another owner": {user: deployer, before: free(other), reason: "Stray", stray: "web-1"},
		"by the controller, beside one that does not exist": {
			user: deployer, before: free(gone), reason: "Stray", stray: "web-1",
		},
		"as a dry run":                      {user: deployer, before: free(), dryRun: true, reason: "Stray"},
		"by an initiator":                   {user: "alice", groups: platformTeam, before: free(), reason: "Maintaining"},
		"by a stranger":                     {user: "mallory", before: free(), code: 403, reason: "Denied"},
		"by a stranger, beside another one": {user: "mallory", before: free(other), code: 403, reason: "Denied"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := strayWorld()
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			req := asking(t, tt.user, tt.groups, tt.before, replicaSet(3))
			req.DryRun = &tt.dryRun
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed != (tt.code == 0) || resp.AuditAnnotations[auditReason] != tt.reason {
				t.Fatalf("got %+v", resp)
			}
			if said := resp.AuditAnnotations[auditStray] != ""; said != (tt.reason == "Stray") {
				t.Errorf("audit annotations: %v", resp.AuditAnnotations)
			}
			var noted []string
			for _, s := range w.strays() {
				noted = append(noted, s.Name)
			}
			if got := strings.Join(noted, ","); got != tt.stray {
				t.Errorf("got strays %q, want %q", got, tt.stray)
			}
			if posted := len(w.notices) > 0 && w.notices[0].Reason == eventrecorder.Stray; posted != (tt.stray != "") {
				t.Errorf("notices: %+v", w.notices)
			}
		})
	}
}

// What is refused has not happened: the denial tells nobody to delete what it calls a stray.
func TestRefusedAdoptionIsNone(t *testing.T) {
	initiated := replicaSetPolicy + `
  subjects: [{kind: Group, name: replica-admins, mayInitiate: true}]
`
	tests := map[string]struct {
		user     string
		policies []string
		after    *unstructured.Unstructured
		want     string
	}{
		"by a stranger": {
			user: "mallory", policies: []string{replicaSetPolicy}, after: replicaSet(3),
			want: "adding metadata.ownerReferences[0] of ReplicaSet web-1 is not allowed by the parent that it would get, Deployment web (Steady, AllowancePolicy deployment), " +
				"whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller. " +
				"It is for these to let go of it, or to adopt it.",
		},
		"by a stranger, of an object that others may initiate on": {
			user: "mallory", policies: []string{initiated}, after: replicaSet(3),
			want: "adding metadata.ownerReferences[0] of ReplicaSet web-1 is not allowed by the parent that it would get, Deployment web (Steady, AllowancePolicy deployment), " +
				"whose allowances mallory may not use: they are for Group platform-team, ServiceAccount kube-system/deployment-controller, Group replica-admins. " +
				"It is for these to let go of it, or to adopt it.",
		},
		"by the controller, which scales it as well": {
			user: deployer, policies: []string{replicaSetPolicy}, after: counted(replicaSet(5)),
			want: "changing spec.replicas of ReplicaSet web-1 is not allowed by the parent that it would get, Deployment web (Steady, AllowancePolicy deployment), " +
				"which would adopt it without a cause, so that no allowance covers it. " +
				"The adoption alone passes, and Group platform-team may approve it; what is allowed of Deployment web covers it then.",
		},
		"the same of an object that others may initiate on": {
			user: deployer, policies: []string{initiated}, after: counted(replicaSet(5)),
			want: "changing spec.replicas of ReplicaSet web-1 is not allowed by the parent that it would get, Deployment web (Steady, AllowancePolicy deployment), " +
				"which would adopt it without a cause, so that no allowance covers it. Group replica-admins may do it. " +
				"The adoption alone passes, and Group platform-team may approve it; what is allowed of Deployment web covers it then.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := strayWorld()
			_, validator := w.hooks(t, append([]string{deploymentPolicy}, tt.policies...)...)
			resp := validator.Handle(t.Context(), asking(t, tt.user, nil, free(), tt.after))
			if resp.Allowed {
				t.Fatal("it is allowed")
			}
			got, _, _ := strings.Cut(resp.Result.Message, " Details: ")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the denial (-want +got):\n%s", diff)
			}
			if len(w.strays()) > 0 {
				t.Errorf("noted as strays: %v", w.strays())
			}
		})
	}
}

// TestAdoptionBehindParent shows that a parent that bounds nothing hides nobody who adopts its child.
func TestAdoptionBehindParent(t *testing.T) {
	const appPolicy = `
metadata: {name: app}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: WebApp}
  validationActions: [Deny]
  subjects: [{kind: User, name: bob, mayInitiate: true}]
`
	replicaSets := func(section string) string {
		return `
  ` + section + `:
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}]
`
	}
	const uninitiated = `
metadata: {name: app}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: WebApp}
  validationActions: [Deny]
`
	tests := map[string]struct {
		user          string
		groups        []string
		policy        string
		reason, stray string
		observed      string
	}{
		"whose policy names other children": {user: "mallory", policy: appPolicy, reason: "Denied", observed: "web"},
		"whose policy names them in another phase": {
			user: "mallory", policy: appPolicy + replicaSets("initializing"), reason: "Denied", observed: "web",
		},
		"whose policy is not in effect": {
			user: "mallory", policy: uninitiated + replicaSets("maintaining"), reason: "Denied", observed: "web",
		},
		"by the controller that adopts it": {user: deployer, policy: appPolicy, reason: "Stray", stray: "web-1", observed: "web"},
		"by an initiator":                  {user: "alice", groups: platformTeam, policy: appPolicy, reason: "Maintaining", observed: "web"},
		"that bounds it": {
			user: deployer, policy: appPolicy + replicaSets("maintaining"), reason: "Denied", observed: "own",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := strayWorld()
			app := webApp("own")
			app.SetNamespace("default")
			w.cached[key("WebApp", "own")] = app
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy, tt.policy)
			before := free(map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "WebApp", "name": "own", "uid": "uid-own", "controller": true})
			resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, before, replicaSet(3)))
			if got := resp.AuditAnnotations[auditReason]; got != tt.reason || resp.Allowed != (tt.reason != "Denied") {
				t.Fatalf("got %+v", resp)
			}
			var noted, observed []string
			for _, s := range w.strays() {
				noted = append(noted, s.Name)
			}
			for _, o := range w.observed {
				observed = append(observed, o.Target.Name)
			}
			if got := strings.Join(noted, ","); got != tt.stray {
				t.Errorf("got strays %q, want %q", got, tt.stray)
			}
			if got := strings.Join(observed, ","); got != tt.observed {
				t.Errorf("recorded for %q, want %q", got, tt.observed)
			}
		})
	}
}

// TestAdoptionAlongWithOthers shows that each parent is asked that bounds the object, before or after.
func TestAdoptionAlongWithOthers(t *testing.T) {
	appPolicy := func(initiator, section string) string {
		return `
metadata: {name: app}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: WebApp}
  validationActions: [Deny]
  subjects: [{kind: User, name: bob, mayInitiate: ` + initiator + `}]
` + section
	}
	const (
		names = `
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
`
		hers = `
metadata: {name: hers}
spec:
  for: {apiGroup: example.com, apiVersion: v1alpha1, kind: Instance}
  validationActions: [Deny]
  subjects: [{kind: User, name: mallory, mayInitiate: true}]` + names
	)
	owner := func(kind, name, controller string) map[string]any {
		version := map[string]string{"Deployment": "apps/v1"}[kind]
		if version == "" {
			version = "example.com/v1alpha1"
		}
		return map[string]any{"apiVersion": version, "kind": kind, "name": name, "uid": "uid-" + name, "controller": controller == "controls"}
	}
	app, web := owner("WebApp", "own", "controls"), owner("Deployment", "web", "")
	tests := map[string]struct {
		policy        string
		before, after []any
		denied        string
	}{
		"one that is hers, and one that is not": {
			policy: appPolicy("true", ""), before: []any{app}, after: []any{app, owner("Instance", "hers", ""), web}, denied: "parent Deployment web",
		},
		"one that is hers, in place of one that is not": {
			policy: appPolicy("true", ""), before: []any{app, web}, after: []any{owner("Instance", "hers", "controls")}, denied: "parent Deployment web",
		},
		"one that bounds nothing, and one that does": {
			policy: appPolicy("false", names), before: []any{owner("Deployment", "web", "controls")},
			after: []any{owner("Deployment", "web", "controls"), owner("WebApp", "own", ""), owner("Instance", "hers", "")}, denied: "parent Deployment web",
		},
		"one that is hers": {policy: appPolicy("true", ""), before: []any{app}, after: []any{app, owner("Instance", "hers", "")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := strayWorld()
			for kind, name := range map[string]string{"WebApp": "own", "Instance": "hers"} {
				obj := webApp(name)
				obj.SetKind(kind)
				obj.SetNamespace("default")
				w.cached[key(kind, name)] = obj
			}
			_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy, tt.policy, hers)
			resp := validator.Handle(t.Context(), asking(t, "mallory", nil, free(tt.before...), free(tt.after...)))
			if resp.Allowed != (tt.denied == "") || !resp.Allowed && !strings.Contains(resp.Result.Message, tt.denied) {
				t.Errorf("allowed = %v, want it denied for %q: %+v", resp.Allowed, tt.denied, resp.Result)
			}
		})
	}
}

// behind has no records in its cache.
type behind struct{ store }

func (behind) Get(context.Context, v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	return nil, nil
}

func TestStrayIsKnownBeforeTheCacheHasIt(t *testing.T) {
	w := strayWorld(mayScale("alice", 4))
	w.live = map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3, mayScale("alice", 4))}
	mutator, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
	validator.Records = behind{store{w}}
	if resp := validator.Handle(t.Context(), asking(t, deployer, nil, free(), replicaSet(3))); !resp.Allowed {
		t.Fatal(resp.Result)
	}
	grow := asking(t, deployer, nil, replicaSet(3), counted(replicaSet(5)))
	resp := validator.Handle(t.Context(), grow)
	if resp.Allowed || !strings.Contains(resp.Result.Message, "adopted it without a cause") {
		t.Fatalf("got %+v", resp)
	}
	if resp := validator.Handle(t.Context(), asking(t, deployer, nil, replicaSet(3), counted(replicaSet(0)))); !resp.Allowed ||
		resp.AuditAnnotations[auditReason] != "Discarding" {
		t.Fatalf("got %+v", resp)
	}

	// Approving it is for who may, and ends that.
	for _, text := range []string{"spec.template", "metadata.ownerReferences"} {
		approving := asking(t, "alice", platformTeam, replicaSet(3), annotate(replicaSet(3), "replicaset.kausality.io/approve", text))
		if resp := mutator.Handle(t.Context(), approving); !resp.Allowed {
			t.Fatal(resp.Result)
		}
		if approved := len(w.strays()) == 0; approved != (text == lineage.OwnersPath) {
			t.Errorf("%s: strays %v", text, w.strays())
		}
	}
	if resp := validator.Handle(t.Context(), grow); !resp.Allowed || resp.AuditAnnotations[auditReason] != "Covered" {
		t.Errorf("got %+v", resp)
	}
}

// Who approves of all of a stray approves of its owners, too, and of nothing where that is less than all.
func TestApprovingAllOfStray(t *testing.T) {
	// What only warns beside a policy that denies lets nobody approve.
	lenient := strings.NewReplacer("[Deny]", "[Warn]", "{name: deployment}", "{name: lenient}", "kind: Group, name: platform-team", "kind: User, name: bea").
		Replace(deploymentPolicy)
	lenientOfItself := strings.NewReplacer("[Deny]", "[Warn]", "{name: replicaset}", "{name: lenient-of-itself}").
		Replace(replicaSetPolicy) + "  subjects: [{kind: User, name: bob, mayInitiate: true}]\n"
	for text, want := range map[string]bool{
		"*": true, "metadata.ownerReferences": true, "spec.replicas,*": true,
		"spec": false, "metadata.labels": false, "": false,
	} {
		t.Run(text, func(t *testing.T) {
			w := strayWorld()
			mutator, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy, lenient, lenientOfItself)
			if resp := validator.Handle(t.Context(), asking(t, deployer, nil, free(), replicaSet(3))); !resp.Allowed {
				t.Fatal(resp.Result)
			}
			after := annotate(replicaSet(3), "replicaset.kausality.io/approve", text)
			for user, groups := range map[string][]string{"mallory": nil, "bea": nil, "bob": nil, "alice": platformTeam} {
				tried := asking(t, user, groups, replicaSet(3), after)
				tried.DryRun = new(user == "alice")
				mutator.Handle(t.Context(), tried)
				if len(w.strays()) != 1 {
					t.Errorf("%s ends that it is a stray, or only tries to", user)
				}
			}
			if resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, replicaSet(3), after)); !resp.Allowed {
				t.Fatal(resp.Result)
			}
			if approved := len(w.strays()) == 0; approved != want {
				t.Errorf("approved %t, want %t", approved, want)
			}
		})
	}
}

func TestHealingMakesNoRoomForStrays(t *testing.T) {
	const healing = replicaSetPolicy + `
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}
`
	other := pod()
	other.SetName("stray")
	other.SetUID("uid-stray")
	tests := map[string]struct {
		stray   func(*unstructured.Unstructured) *unstructured.Unstructured
		allowed bool
	}{
		"alive":       {stray: func(s *unstructured.Unstructured) *unstructured.Unstructured { return s }},
		"gone":        {stray: func(*unstructured.Unstructured) *unstructured.Unstructured { return nil }, allowed: true},
		"another now": {stray: func(s *unstructured.Unstructured) *unstructured.Unstructured { s.SetUID("else"); return s }, allowed: true},
		"let go":      {stray: func(s *unstructured.Unstructured) *unstructured.Unstructured { s.SetOwnerReferences(nil); return s }, allowed: true},
		"being deleted": {stray: func(s *unstructured.Unstructured) *unstructured.Unstructured {
			s.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(0, 0)})
			return s
		}, allowed: true},
		"ended": {stray: func(s *unstructured.Unstructured) *unstructured.Unstructured {
			s.Object["status"] = map[string]any{"phase": "Succeeded"}
			return s
		}, allowed: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := strayWorld()
			rs := replicaSet(3)
			w.cached[key("ReplicaSet", "web-1")] = rs
			if s := tt.stray(other.DeepCopy()); s != nil {
				w.live[key("Pod", "stray")] = s
			}
			parent := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "default", Name: "web-1", UID: "uid-web-1"}
			_ = store{w}.AddStray(t.Context(), parent, v1alpha1.StrayChild{UID: "uid-stray", APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "stray"})
			_, validator := w.hooks(t, deploymentPolicy, healing)
			resp := validator.Handle(t.Context(), asking(t, deployer, nil, pod(), nil))
			if resp.Allowed != tt.allowed {
				t.Fatalf("got %+v", resp)
			}
			if !tt.allowed && !strings.Contains(resp.Result.Message, "adopted Pod stray without a cause, for which healing makes no room. Delete Pod stray") {
				t.Errorf("got %q", resp.Result.Message)
			}
		})
	}
}

// A controller that has not seen yet that the stray is gone makes room for it no more.
func TestStrayThatIsJustDeletedIsInTheWay(t *testing.T) {
	const healing = replicaSetPolicy + `
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}
`
	w := strayWorld()
	w.cached[key("ReplicaSet", "web-1")] = replicaSet(3)
	parent := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "ReplicaSet", Namespace: "default", Name: "web-1", UID: "uid-web-1"}
	_ = store{w}.AddStray(t.Context(), parent, v1alpha1.StrayChild{UID: "uid-pod", APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "web-1-a"})
	_, validator := w.hooks(t, deploymentPolicy, healing)
	other := pod()
	other.SetName("web-1-b")
	other.SetUID("uid-other")
	if resp := validator.Handle(t.Context(), asking(t, deployer, nil, other, nil)); !resp.Allowed {
		t.Fatalf("the stray is gone: %+v", resp)
	}
	if resp := validator.Handle(t.Context(), asking(t, "alice", platformTeam, pod(), nil)); !resp.Allowed {
		t.Fatalf("got %+v", resp)
	}
	if resp := validator.Handle(t.Context(), asking(t, deployer, nil, other, nil)); resp.Allowed {
		t.Errorf("got %+v", resp)
	}
}

// Who deletes an object that is being adopted deletes what is nobody's, and the controller that
// adopts it goes on as if it lived.
func TestStrayThatIsDeletedAsItIsAdoptedIsInTheWay(t *testing.T) {
	const healing = deploymentPolicy + `
  maintaining:
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Delete]}
`
	w := strayWorld()
	_, validator := w.hooks(t, healing, replicaSetPolicy)
	another := replicaSet(3)
	another.SetName("web-2")
	another.SetUID("uid-web-2")
	if resp := validator.Handle(t.Context(), asking(t, deployer, nil, another, nil)); !resp.Allowed {
		t.Fatalf("there is no stray: %+v", resp)
	}
	if resp := validator.Handle(t.Context(), asking(t, deployer, nil, free(), replicaSet(3))); !resp.Allowed {
		t.Fatalf("got %+v", resp)
	}
	// Nothing has web-1, which is gone.
	resp := validator.Handle(t.Context(), asking(t, deployer, nil, another, nil))
	if resp.Allowed || !strings.Contains(resp.Result.Message, "for which healing makes no room") {
		t.Errorf("got %+v", resp)
	}
}

func TestAdoptionIsRefusedWhereNoStrayCanBeNoted(t *testing.T) {
	w := strayWorld()
	_, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
	parent := v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "default", Name: "web", UID: "uid-web"}
	for i := range v1alpha1.MaxStrays {
		_ = store{w}.AddStray(t.Context(), parent, v1alpha1.StrayChild{UID: types.UID(strconv.Itoa(i))})
	}
	resp := validator.Handle(t.Context(), asking(t, deployer, nil, free(), replicaSet(3)))
	if resp.Allowed || !strings.Contains(resp.Result.Message, "no more can be noted") {
		t.Fatalf("got %+v", resp)
	}
	w.records["uid-web"].Status.Strays[0].UID = "uid-web-1"
	if resp := validator.Handle(t.Context(), asking(t, deployer, nil, free(), replicaSet(3))); !resp.Allowed {
		t.Fatalf("got %+v", resp)
	}
}
