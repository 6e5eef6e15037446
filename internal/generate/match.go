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
	"errors"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
)

// Trigger is an object for which a policy may want others, and what is known of how it came
// to be as it is.
type Trigger struct {
	// Resource is what the object is served as, in the version that Object has.
	Resource schema.GroupVersionResource
	// Equivalent are the other resources, or versions, by which it is served.
	Equivalent []schema.GroupVersionResource
	// Subresource of the request, if any.
	Subresource string
	// Operation is what was done to it. Empty is what is known of an object that is there:
	// it was created, or updated since.
	Operation admissionregistrationv1.OperationType
	// Object is the trigger as it is, nil where it was deleted.
	Object map[string]any
	// OldObject is the trigger as it was, nil where that is not known.
	OldObject map[string]any
	// Namespace is the Namespace that it is in, nil where it is in none.
	Namespace map[string]any
	// Request is the admission request, without its objects; nil where the trigger was
	// watched and not admitted.
	Request map[string]any
	// Above are the policies by which the trigger was made: by the first itself, by the
	// others what led to it.
	Above []string
}

// id returns which object the trigger is.
func (t *Trigger) id() ID {
	if t.Object != nil {
		return IDOf(t.Object)
	}
	return IDOf(t.OldObject)
}

// namespacesResource is what Namespaces are served as.
var namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Matches reports whether a trigger matches what the policy says of its triggers, conditions apart,
// and is none of the policy's own offspring. It reads nothing.
func (p *Policy) Matches(trigger *Trigger) (bool, error) {
	if slices.Contains(trigger.Above, p.Name) {
		// A policy does not act on its own offspring: that ends every loop.
		return false, nil
	}
	matches, err := p.matcher.matches(trigger)
	if err != nil {
		return false, &Error{Field: matchPath, Reason: ReasonRead, Detail: "whether the trigger matches cannot be told", Err: err}
	}
	return matches, nil
}

// ResourcesOf returns the resources that a rule names, without those that it leaves open.
func ResourcesOf(rule *admissionregistrationv1.NamedRuleWithOperations) map[schema.GroupVersionResource]bool {
	out := map[schema.GroupVersionResource]bool{}
	for _, group := range rule.APIGroups {
		for _, version := range rule.APIVersions {
			for _, name := range rule.Resources {
				name, _, _ = strings.Cut(name, "/")
				if group != "*" && version != "*" && name != "*" {
					out[schema.GroupVersionResource{Group: group, Version: version, Resource: name}] = true
				}
			}
		}
	}
	return out
}

// matcher is compiled matchConstraints.
type matcher struct {
	// rules name the triggers of the policy, exclude what is none of them all the same.
	rules, exclude []admissionregistrationv1.NamedRuleWithOperations
	// watched has the part of rules that is about objects, kept the part about requests that are triggers.
	watched, kept      []admissionregistrationv1.NamedRuleWithOperations
	namespaces, labels labels.Selector
	exact              bool
}

// matches reports whether a trigger matches. What is excluded does not. It is an error where the
// labels of the trigger's Namespace matter, and it is not known.
func (m *matcher) matches(t *Trigger) (bool, error) {
	rules := m.rules
	if t.isRequest() {
		rules = m.kept
	}
	if !m.matchesLabels(t) || m.matchesRules(m.exclude, t) || !m.matchesRules(rules, t) {
		return false, nil
	}
	return m.matchesNamespace(t)
}

// matchesLabels reports whether the trigger is selected, as it is or as it was.
func (m *matcher) matchesLabels(t *Trigger) bool {
	return m.labels.Empty() ||
		t.Object != nil && m.labels.Matches(labelsOf(t.Object)) ||
		t.OldObject != nil && m.labels.Matches(labelsOf(t.OldObject))
}

// matchesNamespace reports whether the Namespace of the trigger is selected. A Namespace is
// its own, and what is in none is never left out.
func (m *matcher) matchesNamespace(t *Trigger) (bool, error) {
	if m.namespaces.Empty() {
		return true, nil
	}
	of := t.Namespace
	if t.Resource.GroupResource() == namespacesResource.GroupResource() {
		if of = t.Object; of == nil {
			of = t.OldObject
		}
	} else if t.id().Namespace == "" {
		return true, nil
	}
	if of == nil {
		return false, errors.New("the namespace of the trigger is not known, and spec.matchConstraints.namespaceSelector selects by its labels")
	}
	return m.namespaces.Matches(labelsOf(of)), nil
}

// matchesRules reports whether one of the rules matches: by the resource that the trigger was read
// as, or by another one by which it is served where the policy takes these for the same.
func (m *matcher) matchesRules(of []admissionregistrationv1.NamedRuleWithOperations, t *Trigger) bool {
	as := []schema.GroupVersionResource{t.Resource}
	if !m.exact {
		as = append(as, t.Equivalent...)
	}
	id := t.id()
	for _, resource := range as {
		for _, rule := range of {
			if len(rule.ResourceNames) > 0 && !slices.Contains(rule.ResourceNames, id.Name) {
				continue
			}
			if slices.ContainsFunc(operationsOf(t), func(operation admission.Operation) bool {
				matcher := rules.Matcher{Rule: rule.RuleWithOperations, Attr: admission.NewAttributesRecord(nil, nil,
					schema.GroupVersionKind{}, namespaceOf(resource, id), id.Name, resource, t.Subresource, operation, nil, false, nil)}
				return matcher.Matches()
			}) {
				return true
			}
		}
	}
	return false
}

// operationsOf returns what may have been done to the trigger.
func operationsOf(t *Trigger) []admission.Operation {
	if t.Operation != "" {
		return []admission.Operation{admission.Operation(t.Operation)}
	}
	return []admission.Operation{admission.Create, admission.Update}
}

// namespaceOf returns the namespace of a request: that of a Namespace is itself.
func namespaceOf(resource schema.GroupVersionResource, id ID) string {
	if resource == namespacesResource {
		return id.Name
	}
	return id.Namespace
}

// PartialNamespace returns as much of a Namespace as is known without reading it.
func PartialNamespace(name string, labels map[string]string) map[string]any {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	out.SetName(name)
	out.SetLabels(labels)
	return out.Object
}

// labelsOf returns the labels of an object, without what is no string.
func labelsOf(object map[string]any) labels.Set {
	metadata, _ := object["metadata"].(map[string]any)
	held, _ := metadata["labels"].(map[string]any)
	out := make(labels.Set, len(held))
	for key, value := range held {
		if value, ok := value.(string); ok {
			out[key] = value
		}
	}
	return out
}

// selectorOf compiles a selector; none selects everything.
func selectorOf(declared *metav1.LabelSelector) (labels.Selector, error) {
	if declared == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(declared)
}
