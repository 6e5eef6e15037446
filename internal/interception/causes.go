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

package interception

import (
	"cmp"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
)

// CausePath is where the operator serves the hook that notes on an object who changed it.
const CausePath = "/cause"

// causesSuffix is what the name of the configuration with that hook has beside Input.Name. It has a
// configuration of its own, so that a rule of a GeneratingPolicy which the API server does not accept
// keeps no AllowancePolicy from being enforced.
const causesSuffix = "-causes"

// causeTimeoutSeconds is how long the API server waits for that hook: a note is not worth more.
const causeTimeoutSeconds int32 = 2

// CausesName is the name of the configuration that has the API server ask who changes what objects
// are made from.
func CausesName(name string) string { return cmp.Or(name, DefaultName) + causesSuffix }

// causes renders the hook that notes who changes GeneratingPolicies, their triggers and what they
// read. It denies nothing, and where it is not called nothing is noted, so that failures are ignored
// whatever policies say.
func causes(in Input, scope *metav1.LabelSelector) *admissionregistrationv1.MutatingWebhookConfiguration {
	meta := objectMeta(in)
	meta.Name = CausesName(in.Name)
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: meta,
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:              "cause.kausality.io",
			ClientConfig:      clientConfig(in, CausePath),
			Rules:             causeRules(in.Causes),
			FailurePolicy:     ptr.To(admissionregistrationv1.Ignore),
			MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
			NamespaceSelector: scope,
			ObjectSelector:    &metav1.LabelSelector{},
			// It keeps requests that are triggers, unless they are tried only.
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds:          new(min(in.TimeoutSeconds, causeTimeoutSeconds)),
			AdmissionReviewVersions: []string{"v1"},
			// Whatever else changes the object does so in the name of the same user.
			ReinvocationPolicy: ptr.To(admissionregistrationv1.NeverReinvocationPolicy),
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "not-exempt", Expression: notExempt},
				{Name: "not-the-operator", Expression: "!" + byOperator(in)},
				{Name: conditionCounts, Expression: anyOf(slices.Concat([]string{
					`request.operation != "UPDATE"`, noObject, noOldObject,
				}, contentDiffers, []string{metadataDiffers(sets.New("labels", "annotations"))})...)},
			},
		}},
	}
}

// causeRules returns the rules of what GeneratingPolicies depend on, and of themselves.
func causeRules(of []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	rules := append([]admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{create, update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version},
			Resources: []string{resourceGenerating.Resource}, Scope: ptr.To(admissionregistrationv1.ClusterScope),
		},
	}}, of...)
	slices.SortFunc(rules, func(a, b admissionregistrationv1.RuleWithOperations) int { return cmp.Compare(a.String(), b.String()) })
	return slices.CompactFunc(rules, func(a, b admissionregistrationv1.RuleWithOperations) bool { return a.String() == b.String() })
}

// notExempt leaves out what is never intercepted: a rule may name all resources there are.
var notExempt = fmt.Sprintf(`[request.resource.group + "/" + request.resource.resource].exists(r, r == %q
|| !(r in %s) && !(request.resource.group in %s))`,
	resourceGenerating.Group+"/"+resourceGenerating.Resource, list(exemptNames()...), list(sets.List(exemptGroups)...))

func exemptNames() []string {
	names := make([]string, 0, exempt.Len())
	for gr := range exempt {
		names = append(names, gr.Group+"/"+gr.Resource)
	}
	slices.Sort(names)
	return names
}
