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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

// said is what a test of a condition looks at.
type said struct {
	Status metav1.ConditionStatus
	Reason string
	// Says are parts of the message.
	Says []string
}

func checkCondition(t *testing.T, got metav1.Condition, want said) {
	t.Helper()
	if diff := cmp.Diff(said{want.Status, want.Reason, want.Says}, said{got.Status, got.Reason, want.Says}); diff != "" {
		t.Errorf("condition (-want +got):\n%s", diff)
	}
	if got.ObservedGeneration != 1 {
		t.Errorf("observedGeneration = %d, want that of the policy, 1", got.ObservedGeneration)
	}
	for _, part := range want.Says {
		if !strings.Contains(got.Message, part) {
			t.Errorf("message %q does not say %q", got.Message, part)
		}
	}
}

func TestAccepted(t *testing.T) {
	p := controllertest.Compiled(t, controllertest.PolicyFor("Deployment"))[0]
	broken := field.ErrorList{field.Invalid(field.NewPath("spec", "rules").Index(0).Child("trigger"), "a[", "does not parse")}
	many := field.ErrorList{}
	for range 20 {
		many = append(many, broken...)
	}
	void := standing{affected: 2, void: 2, overridden: map[policy.DecidingField][]string{policy.FieldConsumptionWhen: {"older"}}}
	for name, tc := range map[string]struct {
		given acceptance
		want  said
	}{
		"works": {acceptance{served: true}, said{metav1.ConditionTrue, v1alpha1.ReasonAccepted, []string{"The policy can work."}}},
		"names another version": {
			acceptance{served: true, errs: broken, clashes: []policy.Clash{{
				Kind: schema.GroupKind{Group: "h2", Kind: "Disk"}, Version: "v2", Stands: "v1", By: "older",
			}}},
			said{metav1.ConditionFalse, v1alpha1.ReasonConflicted, []string{"None of this policy counts", "Disk.h2 is named in h2/v2 here, and in h2/v1 by policy older"}},
		},
		"works, with note": {acceptance{served: true, notes: []string{"Mind the gap."}}, said{metav1.ConditionTrue, v1alpha1.ReasonAccepted, []string{"work. Mind the gap."}}},
		"broken rule":      {acceptance{errs: broken, served: true}, said{metav1.ConditionFalse, v1alpha1.ReasonInvalid, []string{"spec.rules[0].trigger", "works without"}}},
		"many broken":      {acceptance{errs: many, served: true}, said{metav1.ConditionFalse, v1alpha1.ReasonInvalid, []string{"and 12 more"}}},
		"unserved kind":    {acceptance{}, said{metav1.ConditionFalse, v1alpha1.ReasonTargetNotFound, []string{"kind Deployment in apps/v1"}}},
		"unwatchable kind": {acceptance{unwatchable: true}, said{metav1.ConditionFalse, v1alpha1.ReasonTargetNotFound, []string{"cannot be listed and watched"}}},
		"both":             {acceptance{errs: broken}, said{metav1.ConditionFalse, v1alpha1.ReasonInvalid, []string{"spec.rules[0].trigger"}}},
		"void":             {acceptance{served: true, standing: void}, said{metav1.ConditionFalse, v1alpha1.ReasonConflicted, []string{"spec.consumption.when by older"}}},
	} {
		t.Run(name, func(t *testing.T) { checkCondition(t, accepted(p, tc.given), tc.want) })
	}
}

// lack is that of a right without which creations are refused.
func lack(vital bool) access.Lack {
	return access.Lack{
		Duty:    access.Duty{Vital: vital, Without: "creations are refused"},
		Missing: []access.Need{{Group: "kausality.io", Resource: "allowancerecords", Verb: "create"}},
	}
}

// An Event tells of what a condition says where that begins or ends, and of nothing else.
func TestTrouble(t *testing.T) {
	p := controllertest.Compiled(t, controllertest.PolicyFor("ReplicaSet"))[0]
	all := enforcement{served: true, active: true, adopted: true, rendered: true}
	for name, tc := range map[string]struct {
		change func(*enforcement)
		want   string
	}{
		"enforced":              {func(*enforcement) {}, ""},
		"pending":               {func(e *enforcement) { e.rendered = false }, ""},
		"not intercepted":       {func(e *enforcement) { e.gone = true }, v1alpha1.ReasonNotIntercepted},
		"impaired":              {func(e *enforcement) { e.lacks = []access.Lack{lack(true)} }, v1alpha1.ReasonImpaired},
		"without another right": {func(e *enforcement) { e.lacks = []access.Lack{lack(false)} }, v1alpha1.ReasonImpaired},
	} {
		e := all
		tc.change(&e)
		if got := trouble(&enforced(p, e)[0]); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := trouble(nil); got != "" {
		t.Errorf("without a condition: %q", got)
	}
}

func TestEnforced(t *testing.T) {
	p := controllertest.Compiled(t, controllertest.PolicyFor("ReplicaSet"))[0]
	all := enforcement{served: true, active: true, adopted: true, rendered: true}
	with := func(change func(*enforcement)) enforcement {
		e := all
		change(&e)
		return e
	}
	lost := func(names ...string) map[policy.DecidingField][]string {
		return map[policy.DecidingField][]string{policy.FieldInitializingWhen: names}
	}
	pending := func(says ...string) said { return said{metav1.ConditionFalse, v1alpha1.ReasonPending, says} }

	for name, tc := range map[string]struct {
		given enforcement
		want  said
	}{
		"enforced": {all, said{metav1.ConditionTrue, v1alpha1.ReasonEnforced, nil}},
		"not asked": {with(func(e *enforcement) { e.gone, e.failing = true, "writing x: forbidden" }),
			said{metav1.ConditionFalse, v1alpha1.ReasonNotIntercepted, []string{"cannot be put back", "writing x: forbidden. ", "apply the installation again"}}},
		"not asked about this one": {with(func(e *enforcement) { e.rendered, e.failing = false, "writing x: forbidden" }),
			said{metav1.ConditionFalse, v1alpha1.ReasonNotIntercepted, []string{"cannot be told", "writing x: forbidden. "}}},
		"switched off": {with(func(e *enforcement) { e.off, e.rendered = true, false }),
			said{metav1.ConditionFalse, v1alpha1.ReasonSwitchedOff, []string{"is not installed", "Apply the installation again"}}},
		"forbidden": {with(func(e *enforcement) {
			e.missing = []access.Need{{Group: "apps", Resource: "replicasets", Verb: "list"}, {Group: "apps", Resource: "replicasets", Subresource: "status", Verb: "patch"}}
			e.unread.awaited, e.active = []schema.GroupKind{{Group: "apps", Kind: "ReplicaSet"}}, false
		}), said{metav1.ConditionFalse, v1alpha1.ReasonForbidden, []string{
			"list replicasets.apps, patch replicasets.apps/status", "none of the policy is enforced", "kubectl kausality access ReplicaSet | kubectl apply -f -",
		}}},
		"without a right of its own": {with(func(e *enforcement) {
			e.lacks, e.active = []access.Lack{lack(true)}, false
		}), said{metav1.ConditionFalse, v1alpha1.ReasonImpaired, []string{
			"The operator lacks rights of its own. To give them back, apply the installation again", "no right to create allowancerecords.kausality.io: creations are refused.",
		}}},
		"without one that is not vital": {with(func(e *enforcement) { e.lacks = []access.Lack{lack(false)} }),
			said{metav1.ConditionTrue, v1alpha1.ReasonEnforced, []string{"are judged by it. The operator lacks rights", "creations are refused."}}},
		"without rights for its kind and of its own": {with(func(e *enforcement) {
			e.lacks, e.missing = []access.Lack{lack(true)}, []access.Need{{Group: "apps", Resource: "replicasets", Verb: "list"}}
		}), said{metav1.ConditionFalse, v1alpha1.ReasonForbidden, nil}},
		"not served": {with(func(e *enforcement) { e.served = false }), pending("kind ReplicaSet", "apps/v1")},
		"not watched": {with(func(e *enforcement) {
			e.unread.awaited = []schema.GroupKind{{Group: "apps", Kind: "ReplicaSet"}, {Group: "apps", Kind: "Deployment"}}
		}), pending("Deployment.apps, ReplicaSet.apps")},
		"another kind cannot be read": {with(func(e *enforcement) { e.unread.failing = []schema.GroupKind{{Group: "apps", Kind: "Deployment"}} }),
			said{metav1.ConditionTrue, v1alpha1.ReasonEnforced, []string{"objects of Deployment.apps", "cannot be read"}}},
		"not to be watched":      {with(func(e *enforcement) { e.served, e.unwatchable = false, true }), pending("cannot be listed and watched", "None of the policy")},
		"not active":             {with(func(e *enforcement) { e.active = false }), pending("being recorded")},
		"changed, to be adopted": {with(func(e *enforcement) { e.adopted = false }), pending("being recorded")},
		"not rendered":           {with(func(e *enforcement) { e.rendered = false }), pending("being told")},
		"nobody initiates": {with(func(e *enforcement) { e.waiting = true }),
			said{metav1.ConditionFalse, v1alpha1.ReasonWaiting, []string{"no policy for an owner", "mayInitiate: true"}}},
		"nobody initiates above": {with(func(e *enforcement) { e.waiting, e.parents = true, []string{"deployments"} }),
			said{metav1.ConditionFalse, v1alpha1.ReasonWaiting, []string{"neither here nor in deployments"}}},
		"overriding": {with(func(e *enforcement) { e.standing = standing{overrides: lost("younger")} }),
			said{metav1.ConditionTrue, v1alpha1.ReasonEnforced, []string{"spec.initializing.when of younger"}}},
		"overridden in part": {with(func(e *enforcement) {
			e.standing = standing{affected: 2, void: 1, overridden: lost("b", "c"), overrides: lost("younger")}
		}), said{metav1.ConditionFalse, v1alpha1.ReasonPartiallyEnforced, []string{"spec.initializing.when by b, c", "of younger"}}},
		"overridden": {with(func(e *enforcement) { e.standing = standing{affected: 2, void: 2, overridden: lost("b")} }),
			said{metav1.ConditionFalse, v1alpha1.ReasonOverridden, []string{"spec.initializing.when by b"}}},
		"overridden, and not served": {with(func(e *enforcement) {
			e.served, e.standing = false, standing{affected: 2, void: 2, overridden: lost("b")}
		}), pending("kind ReplicaSet")},
	} {
		t.Run(name, func(t *testing.T) {
			conditions := enforced(p, tc.given)
			checkCondition(t, conditions[0], tc.want)
			for _, c := range conditions {
				if c.Reason != conditions[0].Reason || (c.Status == metav1.ConditionTrue) != (c.Type == c.Reason) {
					t.Errorf("%s is %s with reason %s beside %s", c.Type, c.Status, c.Reason, conditions[0].Reason)
				}
			}
		})
	}
}

func TestStartable(t *testing.T) {
	deployments := controllertest.Bounding(controllertest.PolicyFor("Deployment"), "apps", "replicasets")
	withInitiator := controllertest.Initiated(deployments.DeepCopy())
	replicaSets := controllertest.Bounding(controllertest.PolicyFor("ReplicaSet"), "", "pods")
	looping := controllertest.Bounding(replicaSets.DeepCopy(), "apps", "deployments")
	pods := controllertest.PolicyFor("Pod")
	pods.Spec.For = v1alpha1.ParentKind{APIVersion: "v1", Kind: "Pod"}

	for name, tc := range map[string]struct {
		policies []*v1alpha1.AllowancePolicy
		want     bool
		parents  []string
	}{
		"its own initiator":    {[]*v1alpha1.AllowancePolicy{withInitiator}, true, nil},
		"that of the parent":   {[]*v1alpha1.AllowancePolicy{replicaSets, withInitiator}, true, nil},
		"from further up":      {[]*v1alpha1.AllowancePolicy{pods, replicaSets, withInitiator}, true, nil},
		"nobody":               {[]*v1alpha1.AllowancePolicy{replicaSets}, false, nil},
		"the parent waits too": {[]*v1alpha1.AllowancePolicy{replicaSets, deployments}, false, []string{"Deployment"}},
		"a loop":               {[]*v1alpha1.AllowancePolicy{looping, deployments}, false, []string{"Deployment"}},
		"a parent of another":  {[]*v1alpha1.AllowancePolicy{pods, withInitiator}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			policies := controllertest.Compiled(t, tc.policies...)
			got, parents := startable(policy.NewIndex(policies), policies[0])
			if got != tc.want {
				t.Errorf("startable() = %t, want %t", got, tc.want)
			}
			if diff := cmp.Diff(tc.parents, parents); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
		})
	}
}
