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
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"kausality.io/operator/internal/policy"
)

// deputyPrefix begins the names of the hooks, which end with that of the resource.
const deputyPrefix = "deputy-"

// deputyHooks ask who makes or changes what scales objects of the kinds that policies name
// (policy.Deputy). Those of other kinds cost no call. What a policy names itself is asked
// about by the verdict hooks.
func deputyHooks(in Input, scope cell, resources []*resource) []admissionregistrationv1.ValidatingWebhook {
	kinds, failing := in.scaled()
	if kinds.Len() == 0 {
		return nil
	}
	var hooks []admissionregistrationv1.ValidatingWebhook
	for _, d := range unnamed(resources) {
		fails, others := divide(scope, failing)
		for i, c := range others {
			hooks = append(hooks, deputyHook(in, d, kinds, numbered("", i), admissionregistrationv1.Ignore, c))
		}
		for i, c := range fails {
			hooks = append(hooks, deputyHook(in, d, kinds, numbered("-fail", i), admissionregistrationv1.Fail, c))
		}
	}
	return hooks
}

// numbered returns the suffix of the i-th hook of several.
func numbered(suffix string, i int) string {
	if i == 0 {
		return suffix
	}
	return fmt.Sprintf("%s-%d", suffix, i+1)
}

func deputyHook(in Input, d policy.Deputy, kinds sets.Set[string], suffix string, failurePolicy admissionregistrationv1.FailurePolicyType, scope cell) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:         deputyPrefix + d.Resource.Resource + suffix + ".kausality.io",
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
		NamespaceSelector: scope.selector(),
		ObjectSelector:    &metav1.LabelSelector{},
		// It notes who may, though never on a dry run (D6).
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
		TimeoutSeconds:          new(in.TimeoutSeconds),
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions:         deputyConditions(d, kinds),
	}
}

// unnamed returns the kinds of deputies that no policy names.
func unnamed(resources []*resource) []policy.Deputy {
	return slices.DeleteFunc(slices.Clone(policy.Deputies()), func(d policy.Deputy) bool {
		return slices.ContainsFunc(resources, func(r *resource) bool { return r.GroupResource == d.Resource.GroupResource() })
	})
}

// scaled returns the kinds that policies name and that can be scaled, and the namespaces in which
// requests about them wait while the operator cannot be reached.
func (in *Input) scaled() (kinds sets.Set[string], failing []labels.Selector) {
	kinds = sets.New[string]()
	for _, p := range in.Policies {
		named := sets.New[string]()
		holder, ok := in.Holder(p.For)
		if ok && holder.isScaled() {
			named.Insert(p.For.Kind)
		}
		for _, e := range p.Entries() {
			if e.IsExternal() {
				continue
			}
			if child, ok := in.Child(e.Resource); ok && child.isScaled() {
				named.Insert(e.Kind.Kind)
			}
		}
		kinds.Insert(named.UnsortedList()...)
		if parents, _, _ := in.demands(p, holder.Namespaced); named.Len() > 0 && len(parents) > 0 {
			failing = append(failing, parents[0].namespaces)
		}
	}
	return kinds, failing
}

// deputyConditions leave out what scales something else than the kinds, and updates that
// change nothing of it. As the others they are true where there is a doubt.
func deputyConditions(d policy.Deputy, kinds sets.Set[string]) []admissionregistrationv1.MatchCondition {
	reference := "object." + d.Reference.String()
	about := []string{noObject, `!has(object.spec)`, `!has(` + reference + `)`}
	// Controllers find a kind whose name is in lower case as well.
	lower := sets.New[string]()
	for kind := range kinds {
		lower.Insert(strings.ToLower(kind))
	}
	if kinds.Has(d.Otherwise.Kind) {
		about = append(about, `!has(`+reference+`.kind)`, reference+`.kind == ""`)
	}
	about = append(about, fmt.Sprintf(`(has(%[1]s.kind) && %[1]s.kind.lowerAscii() in %[2]s)`, reference, list(sets.List(lower)...)))
	changed := []string{
		`request.operation != "UPDATE"`,
		noObject,
		noOldObject,
		`!has(object.spec)`,
		`!has(oldObject.spec)`,
		`object.spec != oldObject.spec`,
	}
	if len(d.Annotations) > 0 {
		changed = append(changed, annotationDiffers(sets.New(d.Annotations...), false))
	}
	return []admissionregistrationv1.MatchCondition{
		{Name: "scales-what-policies-name", Expression: anyOf(about...)},
		{Name: conditionCounts, Expression: anyOf(changed...)},
	}
}
