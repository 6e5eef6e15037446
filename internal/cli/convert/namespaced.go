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

package convert

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// unscope names a policy of a namespace as one of the cluster. A namespace has no dot in its name,
// so that no two of them get the same. It returns false where that is not possible.
func (c *converter) unscope(metadata map[string]any) bool {
	held, _ := c.doc.Object["metadata"].(map[string]any)
	namespace, _ := held["namespace"].(string)
	name, _ := held["name"].(string)
	if namespace == "" {
		c.losef("metadata", "a %s without its namespace cannot be converted: say in which it is", namespacedGeneratingKind)
		return false
	}
	long := namespace + "." + name
	if len(long) > validation.DNS1123SubdomainMaxLength {
		c.losef("metadata.name", "with its namespace before it, the name would have %d characters, and may have %d", len(long), validation.DNS1123SubdomainMaxLength)
		return false
	}
	c.namespace, metadata["name"] = namespace, long
	c.notef("metadata.name", "it becomes %s: GeneratingPolicies here are of the cluster, and this one is limited to the namespace %s", long, namespace)
	c.notef("metadata.namespace", "Kyverno keeps a policy of a namespace from generating objects that are in none; here the rights of its service account do")
	return true
}

const (
	namespacesResource = "namespaces"
	everything         = "*"
	scopeNamespaced    = "Namespaced"
	scopeCluster       = "Cluster"
)

// limit limits a policy to triggers in its namespace, and to the Namespace itself. What is in no
// namespace is not left out by a selector, so that the scope has to say it.
func (c *converter) limit(spec map[string]any) {
	match, ok := spec["matchConstraints"].(map[string]any)
	if !ok {
		return
	}
	var rules []any
	c.each(match, "spec.matchConstraints", "resourceRules", func(rule map[string]any, path string) {
		ofNamespaces := namespacesAmong(rule)
		if !slices.Equal(ofNamespaces, list(rule["resources"])) || !slices.Equal(list(rule["apiGroups"]), []any{""}) {
			if rule["scope"] != scopeCluster {
				limited := maps.Clone(rule)
				limited["scope"] = scopeNamespaced
				rules = append(rules, limited)
			} else if len(ofNamespaces) == 0 {
				c.losef(path, "it is about what is in no namespace, and never matches in a policy of one")
			}
		}
		if len(ofNamespaces) > 0 && rule["scope"] != scopeNamespaced {
			itself := maps.Clone(rule)
			itself["apiGroups"], itself["resources"] = []any{""}, ofNamespaces
			rules = append(rules, itself)
		}
	})
	match["resourceRules"] = rules
	selector, _ := match["namespaceSelector"].(map[string]any)
	if selector == nil {
		selector = map[string]any{}
	}
	labels, _ := selector["matchLabels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
	}
	if other, given := labels[corev1.LabelMetadataName]; given && other != c.namespace {
		c.notef("spec.matchConstraints.namespaceSelector", "it selects another namespace than %s, so that the policy never matches", c.namespace)
		selector["matchExpressions"] = append(list(selector["matchExpressions"]),
			map[string]any{"key": corev1.LabelMetadataName, "operator": "In", "values": []any{c.namespace}})
	} else {
		labels[corev1.LabelMetadataName] = c.namespace
	}
	selector["matchLabels"] = labels
	match["namespaceSelector"] = selector
}

// namespacesAmong returns what a rule names that is about Namespaces themselves: their resource, and
// its sub-resources.
func namespacesAmong(rule map[string]any) []any {
	if !slices.ContainsFunc(list(rule["apiGroups"]), func(group any) bool { return group == "" || group == everything }) {
		return nil
	}
	var out []any
	add := func(resource string) {
		if !slices.Contains(out, any(resource)) {
			out = append(out, resource)
		}
	}
	for _, resource := range list(rule["resources"]) {
		text, _ := resource.(string)
		name, sub, hasSub := strings.Cut(text, "/")
		switch {
		case name == namespacesResource:
			add(text)
		case name == everything && !hasSub:
			add(namespacesResource)
		case text == "*/*":
			add(namespacesResource)
			add(namespacesResource + "/*")
		case name == everything:
			add(namespacesResource + "/" + sub)
		}
	}
	return out
}
