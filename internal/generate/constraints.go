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

package generate

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// everything is the wildcard of rules.
const everything = "*"

// operations are the ones that a rule may name.
var operations = []admissionregistrationv1.OperationType{
	admissionregistrationv1.OperationAll, admissionregistrationv1.Create, admissionregistrationv1.Update,
	admissionregistrationv1.Delete, admissionregistrationv1.Connect,
}

// matchConstraints compiles what a policy says of its triggers, as an admission policy does.
func (c *compiler) matchConstraints(of *admissionregistrationv1.MatchResources) {
	if of == nil || len(of.ResourceRules) == 0 {
		c.errs = append(c.errs, field.Required(matchPath.Child("resourceRules"), "they are the triggers"))
		return
	}
	m := &c.out.matcher
	m.rules, m.exclude = of.ResourceRules, of.ExcludeResourceRules
	m.namespaces = c.selector(matchPath.Child("namespaceSelector"), of.NamespaceSelector)
	m.labels = c.selector(matchPath.Child("objectSelector"), of.ObjectSelector)
	if policy := of.MatchPolicy; policy != nil {
		m.exact = *policy == admissionregistrationv1.Exact
		if !m.exact && *policy != admissionregistrationv1.Equivalent {
			c.errs = append(c.errs, field.NotSupported(matchPath.Child("matchPolicy"), *policy,
				[]admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Exact, admissionregistrationv1.Equivalent}))
		}
	}
	for i, rule := range of.ResourceRules {
		at := matchPath.Child("resourceRules").Index(i)
		c.rule(at, rule)
		c.warnOfUnmatched(at, &rule)
		if watched, ok := watchedRule(&rule); ok {
			m.watched = append(m.watched, watched)
		}
		m.kept = append(m.kept, keptRules(&rule)...)
	}
	for i, rule := range of.ExcludeResourceRules {
		c.rule(matchPath.Child("excludeResourceRules").Index(i), rule)
	}
}

func (c *compiler) selector(at *field.Path, declared *metav1.LabelSelector) labels.Selector {
	if errs := metav1validation.ValidateLabelSelector(declared, metav1validation.LabelSelectorValidationOptions{}, at); len(errs) > 0 {
		c.errs = append(c.errs, errs...)
		return labels.Nothing()
	}
	selector, err := selectorOf(declared)
	if err != nil {
		c.invalid(at, "", err.Error())
		return labels.Nothing()
	}
	return selector
}

// rule checks one rule.
func (c *compiler) rule(at *field.Path, rule admissionregistrationv1.NamedRuleWithOperations) {
	c.names(at.Child("apiGroups"), rule.APIGroups, true)
	c.names(at.Child("apiVersions"), rule.APIVersions, false)
	c.resources(at.Child("resources"), rule.Resources)
	if len(rule.Operations) == 0 {
		c.errs = append(c.errs, field.Required(at.Child("operations"), ""))
	}
	for i, operation := range rule.Operations {
		switch {
		case !slices.Contains(operations, operation):
			c.errs = append(c.errs, field.NotSupported(at.Child("operations").Index(i), operation, operations))
		case operation == admissionregistrationv1.OperationAll && len(rule.Operations) > 1:
			c.invalid(at.Child("operations"), rule.Operations, "if '*' is present, must not specify other operations")
		}
	}
	if scope := rule.Scope; scope != nil {
		scopes := []admissionregistrationv1.ScopeType{admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope}
		if !slices.Contains(scopes, *scope) {
			c.errs = append(c.errs, field.NotSupported(at.Child("scope"), *scope, scopes))
		}
	}
	seen := sets.New[string]()
	for i, name := range rule.ResourceNames {
		switch {
		case name == "":
			c.errs = append(c.errs, field.Required(at.Child("resourceNames").Index(i), ""))
		case seen.Has(name):
			c.errs = append(c.errs, field.Duplicate(at.Child("resourceNames").Index(i), name))
		}
		seen.Insert(name)
	}
}

// names checks groups or versions.
func (c *compiler) names(at *field.Path, of []string, emptyToo bool) {
	if len(of) == 0 {
		c.errs = append(c.errs, field.Required(at, ""))
	}
	if len(of) > 1 && slices.Contains(of, everything) {
		c.invalid(at, of, "if '*' is present, must not specify others")
	}
	for i, name := range of {
		if name == "" && !emptyToo {
			c.errs = append(c.errs, field.Required(at.Index(i), ""))
		}
	}
}

// resources checks resources and sub-resources, such as pods, pods/log, pods/*, */scale.
func (c *compiler) resources(at *field.Path, of []string) {
	if len(of) == 0 {
		c.errs = append(c.errs, field.Required(at, ""))
	}
	for i, resource := range of {
		name, _, hasSub := strings.Cut(resource, "/")
		switch {
		case name == "":
			c.errs = append(c.errs, field.Required(at.Index(i), "a resource such as configmaps"))
		case !hasSub && len(of) > 1 && resource == everything:
			if extra := slices.IndexFunc(of, func(r string) bool { return !strings.Contains(r, "/") && r != everything }); extra >= 0 {
				c.invalid(at, of, "if '*' is present, must not specify "+of[extra])
			}
		}
	}
}
