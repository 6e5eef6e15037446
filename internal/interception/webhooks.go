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
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// scopeOf selects the namespaces whose requests concern us: not the operator's
// own, nor kube-system unless a policy asks for it by name (D15). Objects outside
// of namespaces always match.
func scopeOf(in Input) cell {
	excluded := sets.New(in.OperatorNamespace)
	if !in.KubeSystem {
		excluded.Insert(metav1.NamespaceSystem)
	}
	return cell{corev1.LabelMetadataName: values{missing: true, but: true, listed: excluded}}
}

// SelectsKubeSystem says whether a policy's namespaceSelector asks for kube-system
// by its name. None and an empty one do not: "all namespaces" is not meant to reach
// what runs the cluster. One that is not valid selects nothing.
func SelectsKubeSystem(namespaceSelector *metav1.LabelSelector) bool {
	selector, err := metav1.LabelSelectorAsSelector(namespaceSelector)
	return err == nil && !selector.Empty() &&
		selector.Matches(labels.Set{corev1.LabelMetadataName: metav1.NamespaceSystem})
}

func mutating(in Input, scope cell, resources []*resource) *admissionregistrationv1.MutatingWebhookConfiguration {
	var webhooks []admissionregistrationv1.MutatingWebhook
	add := func(name string, p placement,
		rules []admissionregistrationv1.RuleWithOperations, conditions []admissionregistrationv1.MatchCondition,
	) {
		if len(rules) == 0 {
			return
		}
		webhooks = append(webhooks, admissionregistrationv1.MutatingWebhook{
			Name:              name + p.suffix + ".kausality.io",
			ClientConfig:      clientConfig(in, MutatePath),
			Rules:             rules,
			FailurePolicy:     new(p.policy),
			MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
			NamespaceSelector: p.scope,
			ObjectSelector:    &metav1.LabelSelector{},
			// It notes that glass is broken, though never on a dry run (D6).
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds:          new(in.TimeoutSeconds),
			AdmissionReviewVersions: []string{"v1"},
			// Another webhook may change what triggers a rule after ours has run.
			ReinvocationPolicy: ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
			MatchConditions:    slices.Concat(p.conditions, conditions),
		})
	}
	for _, p := range placements(scope, resources) {
		add("grant", p, grantRules(p.resources), grantConditions(in))
	}
	// Where it is not called, the annotation stays, and the validating hook sees it.
	everywhere := placement{policy: admissionregistrationv1.Ignore, scope: scope.selector()}
	add("break-glass", everywhere, glassRules(resources), glassConditions())
	if len(webhooks) == 0 {
		return nil
	}
	return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: objectMeta(in), Webhooks: webhooks}
}

func validating(in Input, scope cell, resources []*resource) *admissionregistrationv1.ValidatingWebhookConfiguration {
	var webhooks []admissionregistrationv1.ValidatingWebhook
	for _, p := range placements(scope, resources) {
		rules := verdictRules(p.resources)
		if len(rules) == 0 {
			continue
		}
		webhooks = append(webhooks, admissionregistrationv1.ValidatingWebhook{
			Name:              "verdict" + p.suffix + ".kausality.io",
			ClientConfig:      clientConfig(in, ValidatePath),
			Rules:             rules,
			FailurePolicy:     new(p.policy),
			MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
			NamespaceSelector: p.scope,
			ObjectSelector:    &metav1.LabelSelector{},
			// It writes AllowanceRecords, though never on a dry run (D6).
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds:          new(in.TimeoutSeconds),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         slices.Concat(p.conditions, verdictConditions(in)),
		})
	}
	webhooks = append(webhooks, deputyHooks(in, scope, resources)...)
	if len(webhooks) == 0 {
		return nil
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: objectMeta(in), Webhooks: webhooks}
}

// clientConfig returns how a hook is reached: with its path and the key to it, and with
// the port that the API server would default.
func clientConfig(in Input, path string) admissionregistrationv1.WebhookClientConfig {
	config := *in.ClientConfig.DeepCopy()
	if in.PathKey != "" {
		path += "/" + in.PathKey
	}
	if config.URL != nil {
		config.URL = new(strings.TrimSuffix(*config.URL, "/") + path)
	}
	if s := config.Service; s != nil {
		s.Path = new(path)
		s.Port = new(ptr.Deref(s.Port, 443))
	}
	return config
}
