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
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

func TestUpgradesFor(t *testing.T) {
	kinds := func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		kind, ok := map[string]string{"replicasets": "ReplicaSet", "services": "Service"}[gvr.Resource]
		return gvr.GroupVersion().WithKind(kind), ok
	}
	entry := func(group, resource string, paths ...string) v1alpha1.PolicyEntry {
		e := v1alpha1.PolicyEntry{
			Target: v1alpha1.Target{APIGroup: &group, APIVersion: "v1", Resource: resource}, Relation: v1alpha1.RelationControllerChild,
		}
		for _, path := range paths {
			e.Mutations = append(e.Mutations, v1alpha1.FieldMutation{JSONPath: path})
		}
		return e
	}
	replicaSets, services := entry("apps", "replicasets", "spec.template"), entry("", "services", "spec.ports")
	deployments, errs := policy.Compile(&v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
		For:   v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
		Rules: []v1alpha1.Rule{{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{replicaSets}}},
	}}, kinds)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	agreed := func(change func(*v1alpha1.UpgradeAllowance)) cluster.Upgrade {
		u := &v1alpha1.UpgradeAllowance{
			ObjectMeta: metav1.ObjectMeta{Name: "v2", Annotations: map[string]string{v1alpha1.AnnotationChangedBy: "greta"}},
			Spec: v1alpha1.UpgradeAllowanceSpec{
				ServiceAccount: "system:serviceaccount:web-system:web", Triggers: []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController},
				Policies: []v1alpha1.PolicyEntry{replicaSets, services},
			},
			Status: v1alpha1.UpgradeAllowanceStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue}}},
		}
		change(u)
		a, errs := upgrade.Compile(u, kinds)
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		return cluster.Upgrade{UpgradeAllowance: u, Allowance: a}
	}
	const head = "\nUpgradeAllowance v2 by greta, for what web-system/web does when another Controller is there\n"
	const through = "  would let through: change spec.template of ReplicaSet\n"
	tests := map[string]struct {
		change func(*v1alpha1.UpgradeAllowance)
		want   string
	}{
		"one":                       {func(*v1alpha1.UpgradeAllowance) {}, head + through},
		"one about other children":  {func(u *v1alpha1.UpgradeAllowance) { u.Spec.Policies = u.Spec.Policies[1:] }, ""},
		"one that nobody looked at": {func(u *v1alpha1.UpgradeAllowance) { u.Status.Conditions = nil }, head + "  lets nothing through now: nobody has looked at it yet\n" + through},
		"one that goes":             {func(u *v1alpha1.UpgradeAllowance) { u.DeletionTimestamp = &metav1.Time{} }, head + "  lets nothing through now: it is being deleted\n" + through},
		"one that cannot work": {func(u *v1alpha1.UpgradeAllowance) {
			u.Status.Conditions[0].Status, u.Status.Conditions[0].Reason, u.Status.Conditions[0].Message = metav1.ConditionFalse, "Unstamped", "Change it."
		}, head + "  lets nothing through now: Unstamped: Change it.\n" + through},
		"one of revisions, for some parents": {
			func(u *v1alpha1.UpgradeAllowance) {
				u.Spec.Triggers = []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfComposition, v1alpha1.UpgradeOfFunction}
				u.Spec.Versions = []string{"web-*"}
				u.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
				u.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "first"}}
				u.Annotations = nil
			},
			"\nUpgradeAllowance v2 by somebody, for what web-system/web does when another Composition or Function is there (web-*)\n" +
				"  selects objects with app=web, in namespaces with stage=first\n" + through,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := upgradesText(upgradesFor([]*policy.Policy{deployments}, []cluster.Upgrade{agreed(tt.change)}))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// upgradeOfReplicaSets returns an UpgradeAllowance for what Deployments make.
func upgradeOfReplicaSets(t *testing.T, name string, changes ...func(*v1alpha1.UpgradeAllowance)) cluster.Upgrade {
	t.Helper()
	group := "apps"
	u := &v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec: v1alpha1.UpgradeAllowanceSpec{
			ServiceAccount: "system:serviceaccount:web-system:web",
			Policies: []v1alpha1.PolicyEntry{{
				Target: v1alpha1.Target{APIGroup: &group, APIVersion: "v1", Resource: "replicasets"}, Relation: v1alpha1.RelationControllerChild,
				Mutations: []v1alpha1.FieldMutation{{JSONPath: "spec.template"}},
			}},
		},
		Status: v1alpha1.UpgradeAllowanceStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(u)
	}
	a, errs := upgrade.Compile(u, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return gvr.GroupVersion().WithKind("ReplicaSet"), true
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return cluster.Upgrade{UpgradeAllowance: u, Allowance: a}
}

// TestUpgradesOfAnObject shows of an object the UpgradeAllowances that select it, and how far it is.
func TestUpgradesOfAnObject(t *testing.T) {
	agreed := func(name string, change func(*v1alpha1.UpgradeAllowance)) cluster.Upgrade {
		return upgradeOfReplicaSets(t, name, change)
	}
	same := func(*v1alpha1.UpgradeAllowance) {}
	selecting := func(labels map[string]string) func(*v1alpha1.UpgradeAllowance) {
		return func(u *v1alpha1.UpgradeAllowance) { u.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: labels} }
	}
	version := func(by string, at *metav1.Time) v1alpha1.ControllerVersion {
		return v1alpha1.ControllerVersion{Trigger: v1alpha1.UpgradeOfController, Image: "web:" + by, UpgradeAllowanceUID: types.UID("uid-" + by), MovedAt: at}
	}
	tests := map[string]struct {
		upgrades []cluster.Upgrade
		versions []v1alpha1.ControllerVersion
		unknown  bool
		want     map[string]string
	}{
		"none":                {want: map[string]string{}},
		"one of others":       {upgrades: []cluster.Upgrade{agreed("v2", selecting(map[string]string{"stage": "canary"}))}, want: map[string]string{}},
		"no record":           {upgrades: []cluster.Upgrade{agreed("v2", same)}, unknown: true, want: map[string]string{"v2": "it is not upgraded"}},
		"made by the old one": {upgrades: []cluster.Upgrade{agreed("v2", same)}, versions: []v1alpha1.ControllerVersion{version("v1", &metav1.Time{})}, want: map[string]string{"v2": "it is not upgraded"}},
		"moving":              {upgrades: []cluster.Upgrade{agreed("v2", same)}, versions: []v1alpha1.ControllerVersion{version("v2", nil)}, want: map[string]string{"v2": "it is being upgraded to image web:v2"}},
		"declared": {
			upgrades: []cluster.Upgrade{agreed("v2", same)},
			versions: []v1alpha1.ControllerVersion{{Trigger: v1alpha1.UpgradeOfController, UpgradeAllowanceUID: "uid-v2"}},
			want:     map[string]string{"v2": "it is being upgraded to what was declared"},
		},
		"moved by one of two": {
			upgrades: []cluster.Upgrade{agreed("v2", same), agreed("v3", same)},
			versions: []v1alpha1.ControllerVersion{version("v2", &metav1.Time{})},
			want:     map[string]string{"v2": "it was upgraded to image web:v2, and nothing more passes for that", "v3": "it is not upgraded"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := see(t, deployment(t))
			s.upgrades = tt.upgrades
			s.obj.rec.Status.Versions = tt.versions
			if tt.unknown {
				s.obj.rec = nil
			}
			report := build(s)
			got := map[string]string{}
			for _, u := range report.AsParent.Upgrades {
				got[u.Name] = u.Parent
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
