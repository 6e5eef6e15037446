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
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/policy"
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
			Rules:             causeRules(in),
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
				// One expression, since all conditions are evaluated where one is false.
				{Name: conditionCounts, Expression: anyOf(notesDiffer, whole(in)+" && ("+concerned(in)+") && ("+anyOf(slices.Concat([]string{
					`request.operation != "UPDATE"`, noObject, noOldObject,
				}, contentDiffers, []string{metadataDiffers(sets.New("labels", "annotations"))})...)+")")},
			},
		}},
	}
}

// causeRules returns the rules of what GeneratingPolicies depend on, and of themselves.
func causeRules(in Input) []admissionregistrationv1.RuleWithOperations {
	writing := []admissionregistrationv1.OperationType{create, update}
	rules := append([]admissionregistrationv1.RuleWithOperations{{
		Operations: writing,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version},
			Resources: []string{policy.Generating.Resource}, Scope: ptr.To(admissionregistrationv1.ClusterScope),
		},
	}}, in.Triggers...)
	for _, s := range in.Sources {
		rules = append(rules, admissionregistrationv1.RuleWithOperations{
			Operations: writing,
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{s.Resource.Group}, APIVersions: []string{s.Resource.Version}, Resources: []string{s.Resource.Resource},
				Scope: ptr.To(admissionregistrationv1.AllScopes),
			},
		})
	}
	rules = append(rules, underneath(rules)...)
	slices.SortFunc(rules, func(a, b admissionregistrationv1.RuleWithOperations) int { return cmp.Compare(a.String(), b.String()) })
	return slices.CompactFunc(rules, func(a, b admissionregistrationv1.RuleWithOperations) bool { return a.String() == b.String() })
}

// underneath returns rules for all sub-resources of what rules name: whatever they are called, some store
// the annotations that they are sent. A Pod has its binding by another name, too.
func underneath(rules []admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	var out []admissionregistrationv1.RuleWithOperations
	add := func(like *admissionregistrationv1.RuleWithOperations, name string) {
		rule := *like.DeepCopy()
		rule.Operations, rule.Resources = []admissionregistrationv1.OperationType{create, update}, []string{name}
		out = append(out, rule)
	}
	for i := range rules {
		for _, name := range rules[i].Resources {
			name, _, _ = strings.Cut(name, "/")
			switch {
			case slices.Equal(rules[i].APIGroups, []string{v1alpha1.GroupVersion.Group}):
				continue // A custom resource: its status has no annotations.
			case name == "pods":
				add(&rules[i], "bindings")
			}
			add(&rules[i], name+"/*")
		}
	}
	return out
}

// notesDiffer is true where a request brings notes, or changes them: by a sub-resource as well, which
// may store the annotations that come with it.
var notesDiffer = fmt.Sprintf(`(request.operation in ["CREATE", "UPDATE"] && object != null
&& [%s].exists(new, [oldObject == null ? {} : %s].exists(old,
  %s.exists(k, (k in new) != (k in old) || (k in new && new[k] != old[k])))))`,
	annotations("object"), annotations("oldObject"), list(generate.NoteKeys()...))

// whole returns true where a request is about an object itself, or about a sub-resource by which requests
// are triggers. Of other sub-resources only the notes matter that they may write.
func whole(in Input) string {
	named := sets.New("")
	for _, rule := range in.Triggers {
		for _, name := range rule.Resources {
			_, subresource, _ := strings.Cut(name, "/")
			named.Insert(subresource)
		}
	}
	return fmt.Sprintf(`(!has(request.subResource) || request.subResource in %s)`, list(sets.List(named)...))
}

// concerned returns true for triggers, for the objects that policies read, and for objects with a note. Where
// one Secret is cloned, it leaves out all others, the clones among them.
func concerned(in Input) string {
	only, read := sets.New[string](), sets.New[string]()
	for _, s := range in.Sources {
		if slices.ContainsFunc(in.Triggers, func(rule admissionregistrationv1.RuleWithOperations) bool {
			return covers(rule, s.Resource.GroupResource())
		}) {
			continue
		}
		resource := s.Resource.Group + "/" + s.Resource.Resource
		only.Insert(resource)
		read.Insert(resource + " " + ptr.Deref(s.Namespace, "") + "/" + ptr.Deref(s.Name, ""))
	}
	if only.Len() == 0 {
		return "true"
	}
	noted := fmt.Sprintf(`(object != null && [%s].exists(a, %s.exists(k, k in a)))`, annotations("object"), list(generate.NoteKeys()...))
	// Policies read a cluster-scoped object in namespace "". In a request, a Namespace is in itself.
	return anyOf(fmt.Sprintf(`[%s].exists(r, !(r in %s)
|| [has(request.namespace) ? request.namespace : ""].exists(ns, [has(request.name) ? request.name : ""].exists(name,
[ns + "/" + name, ns + "/", "/" + name, "/"].exists(n, r + " " + n in %s))))`, requested, list(sets.List(only)...), list(sets.List(read)...)),
		noted)
}

// covers reports whether a rule names a resource, or one of its sub-resources.
func covers(rule admissionregistrationv1.RuleWithOperations, resource schema.GroupResource) bool {
	names := func(name string) bool {
		name, _, _ = strings.Cut(name, "/")
		return name == "*" || name == resource.Resource
	}
	return (slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.APIGroups, resource.Group)) && slices.ContainsFunc(rule.Resources, names)
}

// requested is the resource of the request, with its group.
const requested = `request.resource.group + "/" + request.resource.resource`

// notExempt leaves out what is never intercepted: a rule may name all resources there are.
var notExempt = fmt.Sprintf(`[%s].exists(r, r == %q
|| !(r in %s) && !(request.resource.group in %s))`,
	requested, policy.Generating.Group+"/"+policy.Generating.Resource, list(exemptNames()...), list(policy.ExemptGroups()...))

func exemptNames() []string {
	resources := policy.ExemptResources()
	names := make([]string, 0, len(resources))
	for _, gr := range resources {
		names = append(names, gr.Group+"/"+gr.Resource)
	}
	return names
}
