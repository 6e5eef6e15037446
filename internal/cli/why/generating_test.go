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

package why

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
)

func TestWhyOfGeneratingPolicies(t *testing.T) {
	conflict := v1alpha1.GeneratingFailure{
		Trigger: &v1alpha1.GeneratingReference{Kind: "Namespace", Name: "shop"},
		Object:  &v1alpha1.GeneratingReference{Kind: "Secret", Namespace: "shop", Name: "pull"},
		Reason:  "Conflicting", Message: "it is there, and no policy made it",
	}
	unread := v1alpha1.GeneratingFailure{
		Trigger: &v1alpha1.GeneratingReference{Kind: "Namespace", Name: "garden"}, Reason: "ReadFailed", Message: "it cannot be read",
	}
	registry := v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "registry"}}
	registry.Status.Failures = []v1alpha1.GeneratingFailure{conflict, unread}
	invalid := v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "invalid"}}
	invalid.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: "Invalid", Message: "it makes nothing"}}
	ending := v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "ending"}}
	ending.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDeleting, Message: "it waits"}}
	ending.Status.Failures = []v1alpha1.GeneratingFailure{{Trigger: conflict.Trigger, Object: conflict.Object, Reason: "Refused", Message: "approve that"}}
	crowded := v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "crowded"}}
	for range mostFailures {
		crowded.Status.Failures = append(crowded.Status.Failures, unread)
	}
	of := func(kind, namespace, name string) *cluster.Target {
		gvk := schema.GroupVersionKind{Version: "v1", Kind: kind}
		if kind == "GeneratingPolicy" {
			gvk.Group, gvk.Version = "kausality.io", "v1alpha1"
		}
		return &cluster.Target{GVK: gvk, Namespace: namespace, Name: name}
	}
	const conflicting = `Conflicting  Secret/pull in namespace shop
  wanted by   GeneratingPolicy/registry
  for         Namespace/shop
  because     it is there, and no policy made it
`
	const failing = `ReadFailed  GeneratingPolicy/registry
  for       Namespace/garden
  because   it cannot be read
`
	const waiting = `Refused  Secret/pull in namespace shop
  to go with   GeneratingPolicy/ending, which is being deleted and waits for it
  for          Namespace/shop
  because      approve that
`
	for name, tc := range map[string]struct {
		policies []v1alpha1.GeneratingPolicy
		about    about
		want     string
	}{
		"the object":         {[]v1alpha1.GeneratingPolicy{registry}, about{"shop", of("Secret", "shop", "pull")}, conflicting},
		"the trigger":        {[]v1alpha1.GeneratingPolicy{registry}, about{"", of("Namespace", "", "garden")}, failing},
		"the policy":         {[]v1alpha1.GeneratingPolicy{registry}, about{"", of("GeneratingPolicy", "", "registry")}, conflicting + "\n" + failing},
		"a policy of no use": {[]v1alpha1.GeneratingPolicy{invalid}, about{"", of("GeneratingPolicy", "", "invalid")}, "Invalid  GeneratingPolicy/invalid\n  because   it makes nothing\n"},
		"what a policy that is being deleted waits for": {[]v1alpha1.GeneratingPolicy{ending}, about{"shop", of("Secret", "shop", "pull")}, waiting},
		"a policy that is being deleted": {
			[]v1alpha1.GeneratingPolicy{ending}, about{"", of("GeneratingPolicy", "", "ending")},
			"Deleting  GeneratingPolicy/ending\n  because   it waits\n\n" + waiting,
		},
		"a namespace":            {[]v1alpha1.GeneratingPolicy{registry, invalid}, about{"shop", nil}, conflicting},
		"a trigger namespace":    {[]v1alpha1.GeneratingPolicy{registry}, about{"garden", nil}, failing},
		"somebody else's object": {[]v1alpha1.GeneratingPolicy{registry, invalid}, about{"shop", of("Secret", "shop", "other")}, nothing("shop")},
		"more than are named":    {[]v1alpha1.GeneratingPolicy{crowded}, about{"shop", of("Secret", "shop", "other")}, "GeneratingPolicy crowded names only the first 16 of what it wants and does not get.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			report := &Report{Subject: "shop"}
			report.addGenerating(tc.policies, tc.about)
			if diff := cmp.Diff(tc.want, render(report, text.Terminal{Width: text.DefaultWidth}, false, now)); diff != "" {
				t.Errorf("why: -want, +got:\n%s", diff)
			}
		})
	}
}
