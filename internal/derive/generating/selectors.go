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

package generating

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/derive/flow"
	"kausality.io/operator/internal/generate"
)

const rulesField = "spec.matchConstraints.resourceRules"

var namespaces = schema.GroupResource{Resource: "namespaces"}

// triggersOf finds the kinds of the triggers, and what selects them.
func (d *derivation) triggersOf(of *admissionregistrationv1.MatchResources) {
	var found []schema.GroupVersionResource
	for i := range of.ResourceRules {
		rule := &of.ResourceRules[i]
		if !isWatched(rule) {
			continue
		}
		if len(rule.ResourceNames) > 0 {
			d.note(draft.Note{Field: fmt.Sprintf("%s[%d].resourceNames", rulesField, i), Message: "an AllowancePolicy selects by labels, and not by name: that for these triggers is for all objects of their kind that the selectors select. " +
				"Label the triggers, and add an objectSelector"})
		}
		if leavesOpen(rule) {
			d.note(draft.Note{Field: fmt.Sprintf("%s[%d]", rulesField, i), Lost: true, Message: "it leaves open which resources are triggers, so that there is no policy for them: name each group, version and resource"})
		}
		for _, resource := range slices.SortedFunc(maps.Keys(generate.ResourcesOf(rule)), compareResources) {
			if !slices.ContainsFunc(found, func(known schema.GroupVersionResource) bool { return known.GroupResource() == resource.GroupResource() }) {
				found = append(found, resource)
			}
		}
	}
	if len(of.ExcludeResourceRules) > 0 {
		d.note(draft.Note{Field: "spec.matchConstraints.excludeResourceRules", Message: "an AllowancePolicy excludes nothing: those for triggers are for what is excluded here, too"})
	}
	if len(d.conditions) > 0 {
		d.note(draft.Note{Field: "spec.matchConditions", Message: "an AllowancePolicy selects by labels, and not by conditions: those for triggers are for all objects that the selectors select, so that changes of these wait as well. " +
			"Label the triggers, and add an objectSelector"})
	}
	for _, resource := range found {
		kind, known := d.kindFor(resource)
		if !known {
			d.note(draft.Note{Field: rulesField, Lost: true, Message: fmt.Sprintf(
				"the kind of %s is not known, so that there is no policy for these triggers: give its CustomResourceDefinition, or write one", resource.GroupResource())})
			continue
		}
		t := d.parent(draft.Name(Name(d.name)+"-trigger-"+resource.GroupResource().String()), kind, &resource)
		t.namespaces, t.objects = of.NamespaceSelector.DeepCopy(), of.ObjectSelector.DeepCopy()
		if resource.GroupResource() == namespaces {
			// A Namespace is its own, and an AllowancePolicy selects it by its labels as an object.
			t.namespaces, t.objects = nil, both(t.namespaces, t.objects)
		}
		t.namespaces, t.objects = orNil(t.namespaces), orNil(t.objects)
		d.triggers = append(d.triggers, t)
	}
}

func compareResources(a, b schema.GroupVersionResource) int {
	return strings.Compare(a.String(), b.String())
}

// isWatched reports whether a rule matches objects that are there to be watched.
func isWatched(rule *admissionregistrationv1.NamedRuleWithOperations) bool {
	return slices.ContainsFunc(rule.Operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.OperationAll || o == admissionregistrationv1.Create || o == admissionregistrationv1.Update
	}) && slices.ContainsFunc(rule.Resources, func(r string) bool { return !strings.Contains(r, "/") })
}

// leavesOpen reports whether a rule does not name its resources.
func leavesOpen(rule *admissionregistrationv1.NamedRuleWithOperations) bool {
	return slices.Contains(slices.Concat(rule.APIGroups, rule.APIVersions, rule.Resources), "*")
}

// both returns a selector that selects what two select.
func both(a, b *metav1.LabelSelector) *metav1.LabelSelector {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	out := a.DeepCopy()
	for _, key := range slices.Sorted(maps.Keys(b.MatchLabels)) {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{b.MatchLabels[key]},
		})
	}
	out.MatchExpressions = append(out.MatchExpressions, b.MatchExpressions...)
	return out
}

// orNil returns a selector, nil where it selects everything.
func orNil(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		return nil
	}
	return s
}

// selected has the labels by which triggers are selected decide on whether there is something to make.
func (d *derivation) selected(of *admissionregistrationv1.MatchResources) {
	for _, t := range d.triggers {
		if t.objects == nil {
			continue
		}
		keys := map[string]bool{}
		for key := range t.objects.MatchLabels {
			keys[key] = true
		}
		for _, e := range t.objects.MatchExpressions {
			keys[e.Key] = true
		}
		why := "spec.matchConstraints.objectSelector"
		if t.resource.GroupResource() == namespaces && of.ObjectSelector == nil {
			why = "spec.matchConstraints.namespaceSelector"
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if key == corev1.LabelMetadataName && t.resource.GroupResource() == namespaces {
				continue // The API server keeps it.
			}
			for _, resource := range t.children {
				d.rule(t, append(metadata(fieldLabels), flow.FieldSegment(key)), resource, why, nil, true)
			}
		}
	}
}

// selectorsOf returns what selects all that is read of a resource.
func (d *derivation) selectorsOf(resource schema.GroupResource) (inNamespaces, objects *metav1.LabelSelector) {
	var in []string
	var labels map[string]string
	everywhere, all, first := false, false, true
	for _, key := range slices.Sorted(maps.Keys(d.reads)) {
		r := d.reads[key]
		if r.resource.GroupResource() != resource {
			continue
		}
		if r.namespace == nil || *r.namespace == "" {
			everywhere = true
		} else if !slices.Contains(in, *r.namespace) {
			in = append(in, *r.namespace)
		}
		if first {
			labels = r.labels
		}
		all = all || len(r.labels) == 0 || !maps.Equal(labels, r.labels)
		first = false
		if r.name != nil {
			d.note(draft.Note{Resource: resource.Resource, Field: key, Message: "an AllowancePolicy selects by labels, and not by name: that for what is cloned is for all objects of its kind there. " +
				"Label the source, and add an objectSelector"})
		}
	}
	slices.Sort(in)
	if !everywhere {
		inNamespaces = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: in},
		}}
	}
	if !all {
		objects = &metav1.LabelSelector{MatchLabels: labels}
	}
	return inNamespaces, objects
}
