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

package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

func TestPolicyNotes(t *testing.T) {
	deployments := controllertest.ExercisedBy(controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets"), "deployment-controller", false)
	replicaSets := controllertest.Bounding(controllertest.PolicyFor("ReplicaSet"), "", "pods")
	maintaining := replicaSets.DeepCopy()
	maintaining.Spec.Maintaining = &v1alpha1.MaintainingSection{Policies: []v1alpha1.MaintainingEntry{
		{PolicyEntry: controllertest.ChildEntry("", "pods", "Create")},
	}}
	draining := replicaSets.DeepCopy()
	draining.Spec.Maintaining = &v1alpha1.MaintainingSection{Policies: []v1alpha1.MaintainingEntry{
		{PolicyEntry: controllertest.ChildEntry("", "pods", "Delete")},
	}}

	for name, tc := range map[string]struct {
		of        *v1alpha1.AllowancePolicy
		unserved  []schema.GroupVersionResource
		unmatched []string
		misjudged []string
		uncovered []schema.GroupKind
		want      []string
	}{
		"nothing to say":                  {of: deployments},
		"Pods will not be replaced":       {of: replicaSets, want: []string{"replacing one that was evicted or lost will be denied"}},
		"draining does not replace":       {of: draining, want: []string{"replacing one that was evicted or lost will be denied"}},
		"Pods are replaced":               {of: maintaining},
		"controller of the parent":        {of: controllertest.ExercisedBy(maintaining.DeepCopy(), "deployment-controller", true), want: []string{"ServiceAccount kube-system/deployment-controller"}},
		"controller, not initiating":      {of: controllertest.ExercisedBy(controllertest.ExercisedBy(maintaining.DeepCopy(), "deployment-controller", false), "replicaset-controller", false)},
		"without that of the children":    {of: controllertest.ExercisedBy(maintaining.DeepCopy(), "deployment-controller", false), want: []string{"ServiceAccount kube-system/replicaset-controller makes the Pod objects"}},
		"another account that initiates":  {of: controllertest.ExercisedBy(maintaining.DeepCopy(), "autoscaler", true)},
		"targets that are not served":     {of: deployments, unserved: []schema.GroupVersionResource{{Group: "example.com", Version: "v1", Resource: "widgets"}}, want: []string{"widgets.example.com in example.com/v1"}},
		"owners that no policy is for":    {of: deployments, uncovered: []schema.GroupKind{{Group: "example.com", Kind: "App"}}, want: []string{"App.example.com"}},
		"parts that never match":          {of: deployments, unmatched: []string{"a", "b"}, want: []string{"never matches anything: a; b."}},
		"what compares in vain":           {of: deployments, misjudged: []string{"a", "b"}, want: []string{"do not fit the objects that they are about: a; b."}},
		"what readers make is bounded":    {of: readBy("deployments")},
		"nothing of readers is bounded":   {of: readBy("replicasets"), want: []string{"allowed or withheld through ReplicaSet.apps"}},
		"more than one thing, each apart": {of: replicaSets, uncovered: []schema.GroupKind{{Kind: "App"}}, want: []string{"replacing one that was evicted or lost will be denied", "owned by App"}},
	} {
		t.Run(name, func(t *testing.T) {
			policies := controllertest.Compiled(t, tc.of, deployments)
			notes := notesOn(policy.NewIndex(policies), policies[0], tc.of.Spec.Subjects, doubts{unserved: tc.unserved, unmatched: tc.unmatched, misjudged: tc.misjudged, uncovered: tc.uncovered})
			if len(notes) != len(tc.want) {
				t.Fatalf("notesOn() = %q, want %d notes", notes, len(tc.want))
			}
			for i, part := range tc.want {
				if !strings.Contains(notes[i], part) {
					t.Errorf("note %q does not say %q", notes[i], part)
				}
			}
		})
	}
}

// readBy returns a policy for ConfigMaps that allows something of the ReplicaSets of readers.
func readBy(readers string) *v1alpha1.AllowancePolicy {
	p := controllertest.Initiated(controllertest.PolicyFor("Service"))
	entry := controllertest.ChildEntry("apps", "replicasets", "Update")
	entry.Through = &v1alpha1.Through{APIGroup: "apps", APIVersion: "v1", Resource: readers, NamedBy: []string{"spec.name"}}
	p.Spec.Rules = []v1alpha1.Rule{{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{entry}}}
	return p
}

func TestOverdueNotes(t *testing.T) {
	record := func(name string, phase v1alpha1.Phase) v1alpha1.AllowanceRecord {
		rec := v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Namespace: "shop", Name: name}}}
		rec.Status.Phase = phase
		return rec
	}
	p := controllertest.Compiled(t, controllertest.PolicyFor("Deployment"))[0]
	got := overdueNotes(p, []v1alpha1.AllowanceRecord{
		record("web", v1alpha1.PhaseSteady), record("new", v1alpha1.PhaseInitializing), record("api", v1alpha1.PhaseSteady),
	})
	want := []string{
		"Initializing for longer than 24h0m0s (maxOpen): shop/new. Their AllowanceRecords have the condition Overdue.",
		"With allowances that are open for longer than 24h0m0s (maxOpen): shop/api, shop/web. Their AllowanceRecords have the condition Overdue.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overdueNotes() (-want +got):\n%s", diff)
	}
}

func TestUncoveredOwners(t *testing.T) {
	app := controllertest.Workload("App", "app")
	app.SetAPIVersion("example.com/v1")
	web := controllertest.Workload("Deployment", "web")
	p := controllertest.Compiled(t, controllertest.Initiated(controllertest.PolicyFor("ReplicaSet")))[0]
	objects := controllertest.Holders{
		controllertest.Workload("ReplicaSet", "alone"),
		controllertest.OwnedBy(controllertest.Workload("ReplicaSet", "web-1"), web), controllertest.OwnedBy(controllertest.Workload("ReplicaSet", "web-2"), web),
		controllertest.OwnedBy(controllertest.Workload("ReplicaSet", "app-1"), app), web,
		calling(controllertest.OwnedBy(controllertest.Workload("ReplicaSet", "web-3"), web), "nogroup.example.com/v1", "Deployment"),
	}
	withDeployments := append(controllertest.Compiled(t, controllertest.PolicyFor("Deployment")), p)

	for name, tc := range map[string]struct {
		policies []*policy.Policy
		want     []schema.GroupKind
	}{
		"each kind of owners": {[]*policy.Policy{p}, []schema.GroupKind{
			{Group: "example.com", Kind: "App"}, {Group: "apps", Kind: "Deployment"}, {Group: "nogroup.example.com", Kind: "Deployment"},
		}},
		"one of them has a policy, whatever it is called": {withDeployments, []schema.GroupKind{{Group: "example.com", Kind: "App"}}},
	} {
		t.Run(name, func(t *testing.T) {
			adoption := &Adoption{Holders: objects, Namespaces: controllertest.NoNamespaceLabels{}, Clock: clock.RealClock{}}
			got, err := adoption.standingOf(t.Context(), policy.NewIndex(tc.policies), p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.uncovered); diff != "" {
				t.Errorf("standingOf() has other uncovered owners (-want +got):\n%s", diff)
			}
		})
	}
}

// calling has an object call its owner otherwise.
func calling(obj *unstructured.Unstructured, apiVersion, kind string) *unstructured.Unstructured {
	owners := obj.GetOwnerReferences()
	owners[0].APIVersion, owners[0].Kind = apiVersion, kind
	obj.SetOwnerReferences(owners)
	return obj
}
