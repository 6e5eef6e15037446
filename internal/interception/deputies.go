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
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// deputyPrefix begins the names of the hooks, which end with that of the resource.
const deputyPrefix = "deputy-"

// deputyHooks ask who makes or changes what scales objects of the kinds that policies name
// (policy.Deputy). Those of other kinds cost no call. What a policy names itself is asked
// about by the verdict hooks.
func deputyHooks(in Input, scope *metav1.LabelSelector, resources []*resource) []admissionregistrationv1.ValidatingWebhook {
	kinds, failurePolicy := in.scaled()
	if kinds.Len() == 0 {
		return nil
	}
	var hooks []admissionregistrationv1.ValidatingWebhook
	for _, d := range unnamed(resources) {
		hooks = append(hooks, admissionregistrationv1.ValidatingWebhook{
			Name:         deputyPrefix + d.Resource.Resource + ".kausality.io",
			ClientConfig: clientConfig(in, ValidatePath),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{create, update},
				Rule: admissionregistrationv1.Rule{
					APIGroups:   []string{d.Resource.Group},
					APIVersions: []string{d.Resource.Version},
					Resources:   []string{d.Resource.Resource},
					Scope:       ptr.To(admissionregistrationv1.NamespacedScope),
				},
			}},
			FailurePolicy:     new(failurePolicy),
			MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
			NamespaceSelector: scope,
			ObjectSelector:    &metav1.LabelSelector{},
			// It notes who may, though never on a dry run (D6).
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds:          new(in.TimeoutSeconds),
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         deputyConditions(d, kinds),
		})
	}
	return hooks
}

// unnamed are the kinds of deputies that no policy names.
func unnamed(resources []*resource) []policy.Deputy {
	return slices.DeleteFunc(slices.Clone(policy.Deputies()), func(d policy.Deputy) bool {
		return slices.ContainsFunc(resources, func(r *resource) bool { return r.GroupResource == d.Resource.GroupResource() })
	})
}

// scaled are the kinds that policies name and that can be scaled, and what happens to
// requests about them while the operator cannot be reached.
func (in *Input) scaled() (sets.Set[string], admissionregistrationv1.FailurePolicyType) {
	kinds, failurePolicy := sets.New[string](), admissionregistrationv1.Ignore
	for _, p := range in.Policies {
		named := sets.New[string]()
		if _, _, subresources, ok := in.Holder(p.For); ok && slices.Contains(subresources, "scale") {
			named.Insert(p.For.Kind)
		}
		for _, e := range p.Entries() {
			if e.IsExternal() {
				continue
			}
			if subresources, _, ok := in.Child(e.Resource); ok && slices.Contains(subresources, "scale") {
				named.Insert(e.Kind.Kind)
			}
		}
		kinds.Insert(named.UnsortedList()...)
		if named.Len() > 0 && p.FailurePolicy == v1alpha1.FailurePolicyFail {
			failurePolicy = admissionregistrationv1.Fail
		}
	}
	return kinds, failurePolicy
}

// deputyConditions leave out what scales something else than the kinds, and updates that
// change nothing of it. As the others they are true where there is a doubt.
func deputyConditions(d policy.Deputy, kinds sets.Set[string]) []admissionregistrationv1.MatchCondition {
	reference := "object." + d.Reference.String()
	about := []string{`object == null`, `!has(object.spec)`, `!has(` + reference + `)`}
	if _, otherwise := kinds[d.Otherwise.Kind]; otherwise {
		about = append(about, `!has(`+reference+`.kind)`, reference+`.kind == ""`)
	}
	about = append(about, fmt.Sprintf(`(has(%[1]s.kind) && %[1]s.kind in %[2]s)`, reference, list(sets.List(kinds)...)))
	changed := []string{
		`request.operation != "UPDATE"`,
		`object == null`,
		`oldObject == null`,
		`!has(object.spec)`,
		`!has(oldObject.spec)`,
		`object.spec != oldObject.spec`,
	}
	if len(d.Annotations) > 0 {
		changed = append(changed, annotationDiffers(sets.New(d.Annotations...), false))
	}
	return []admissionregistrationv1.MatchCondition{
		{Name: "scales-what-policies-name", Expression: anyOf(about...)},
		{Name: "something-counts", Expression: anyOf(changed...)},
	}
}
