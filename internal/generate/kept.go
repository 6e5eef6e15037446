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
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RequestID identifies a request about an object: an operation, on a sub-resource if that is not empty.
func RequestID(of ID, operation admissionregistrationv1.OperationType, subresource string) ID {
	of.Request = strings.TrimSpace(string(operation) + " " + subresource)
	return of
}

// IsRequest reports whether a trigger is the request itself, and not the object that the request is about: a
// deletion, a connection, or a request about a sub-resource leaves nothing that could be watched.
func IsRequest(operation admissionregistrationv1.OperationType, subresource string) bool {
	return subresource != "" || operation == admissionregistrationv1.Delete || operation == admissionregistrationv1.Connect
}

func (t *Trigger) isRequest() bool { return IsRequest(t.Operation, t.Subresource) }

// watchedRule returns what of a rule is about whole objects that are created or changed, and false where
// nothing is. Whether the object is a trigger once it was created, or only once it was changed, depends on
// the policy, and later on the object alone.
func watchedRule(rule *admissionregistrationv1.NamedRuleWithOperations) (admissionregistrationv1.NamedRuleWithOperations, bool) {
	out := withScope(rule)
	isAbout := slices.ContainsFunc(out.Operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.OperationAll || slices.Contains(writing, o)
	})
	out.Operations = writing
	out.Resources = slices.DeleteFunc(out.Resources, func(name string) bool { return strings.Contains(name, "/") && name != "*/*" })
	for i, name := range out.Resources {
		if name == "*/*" {
			out.Resources[i] = everything
		}
	}
	return out, isAbout && len(out.Resources) > 0
}

// withScope returns a copy of a rule with the scope that the API server would give it.
func withScope(rule *admissionregistrationv1.NamedRuleWithOperations) admissionregistrationv1.NamedRuleWithOperations {
	out := *rule.DeepCopy()
	if out.Scope == nil {
		out.Scope = new(admissionregistrationv1.AllScopes)
	}
	return out
}

// keptRules returns what of a rule is about triggers that are requests. A deletion counts where the rule
// names DELETE: under "*" it is only the end of a trigger. A sub-resource counts where the rule names it.
// The status never does: it says what was seen of an object, and not what is asked of it.
func keptRules(rule *admissionregistrationv1.NamedRuleWithOperations) []admissionregistrationv1.NamedRuleWithOperations {
	var whole, parts []string
	for _, resource := range rule.Resources {
		if _, sub, hasSub := strings.Cut(resource, "/"); !hasSub {
			whole = append(whole, resource)
		} else if sub != everything && sub != statusSubresource {
			parts = append(parts, resource)
		}
	}
	var out []admissionregistrationv1.NamedRuleWithOperations
	add := func(resources []string, operations ...admissionregistrationv1.OperationType) {
		kept := withScope(rule)
		kept.Resources, kept.Operations = resources, operations
		out = append(out, kept)
	}
	if len(whole) > 0 && slices.Contains(rule.Operations, admissionregistrationv1.Delete) {
		add(whole, admissionregistrationv1.Delete)
	}
	if len(parts) > 0 {
		add(parts, rule.Operations...)
	}
	return out
}

// statusSubresource is the sub-resource that controllers write what they see of an object to.
const statusSubresource = "status"

// warnOfUnmatched warns of what a rule names and does not match.
func (c *compiler) warnOfUnmatched(at *field.Path, rule *admissionregistrationv1.NamedRuleWithOperations) {
	named := false
	for i, resource := range rule.Resources {
		_, sub, hasSub := strings.Cut(resource, "/")
		switch {
		case !hasSub:
		case sub == statusSubresource:
			c.warnf(at.Child("resources").Index(i), "a status is no trigger: nothing is generated for %s", resource)
		case sub == everything:
			c.warnf(at.Child("resources").Index(i), "of sub-resources only those that are named are triggers, such as pods/eviction")
		default:
			named = true
		}
	}
	if connects := slices.Index(rule.Operations, admissionregistrationv1.Connect); connects >= 0 && !named {
		c.warnf(at.Child("operations").Index(connects), "CONNECT is asked of sub-resources such as pods/exec, and the rule names none")
	}
}

// KeepsRequests reports whether admission has to keep requests for the policy: there are triggers that are
// requests, or it NeedsOld.
func (p *Policy) KeepsRequests() bool { return p.TakesRequests() || p.NeedsOld() }

// TakesRequests reports whether there are triggers of the policy that are requests.
func (p *Policy) TakesRequests() bool { return len(p.matcher.kept) > 0 }

// NeedsOld reports whether the policy generates from what an object was before the request that made it a
// trigger, of which the object itself says nothing.
func (p *Policy) NeedsOld() bool { return p.usesOld && len(p.matcher.watched) > 0 }

// KeptRules returns the rules for requests that may be triggers of the policy. The caller must not modify
// them.
func (p *Policy) KeptRules() []admissionregistrationv1.NamedRuleWithOperations { return p.matcher.kept }

// WatchedRules returns the rules for objects that may be triggers of the policy, each for creations and
// changes. The caller must not modify them.
func (p *Policy) WatchedRules() []admissionregistrationv1.NamedRuleWithOperations {
	return p.matcher.watched
}
