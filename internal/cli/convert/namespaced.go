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
		ofNamespaces := includes(rule["apiGroups"], "") && includes(rule["resources"], namespacesResource)
		if !onlyNamespaces(rule) {
			if rule["scope"] != scopeCluster {
				limited := maps.Clone(rule)
				limited["scope"] = scopeNamespaced
				rules = append(rules, limited)
			} else if !ofNamespaces {
				c.losef(path, "it is about what is in no namespace, and never matches in a policy of one")
			}
		}
		if ofNamespaces && rule["scope"] != scopeNamespaced {
			itself := maps.Clone(rule)
			itself["apiGroups"], itself["resources"] = []any{""}, []any{namespacesResource}
			rules = append(rules, itself)
		}
	})
	match["resourceRules"] = rules
	selector, _ := match["namespaceSelector"].(map[string]any)
	if selector == nil {
		selector = map[string]any{}
	}
	labels, _ := selector["matchLabels"].(map[string]any)
	if other, given := labels[corev1.LabelMetadataName]; given && other != c.namespace {
		c.losef("spec.matchConstraints.namespaceSelector", "it selects another namespace than %s, and never matches in a policy of that", c.namespace)
	}
	if labels == nil {
		labels = map[string]any{}
	}
	labels[corev1.LabelMetadataName] = c.namespace
	selector["matchLabels"] = labels
	match["namespaceSelector"] = selector
}

// includes reports whether a list of names has one, or all.
func includes(names any, name string) bool {
	return slices.ContainsFunc(list(names), func(held any) bool { return held == name || held == everything || held == "*/*" })
}

// onlyNamespaces reports whether a rule is about Namespaces and nothing else.
func onlyNamespaces(rule map[string]any) bool {
	return !slices.ContainsFunc(list(rule["apiGroups"]), func(group any) bool { return group != "" }) &&
		!slices.ContainsFunc(list(rule["resources"]), func(resource any) bool { return resource != namespacesResource })
}
