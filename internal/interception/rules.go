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

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	create = admissionregistrationv1.Create
	update = admissionregistrationv1.Update
	remove = admissionregistrationv1.Delete
)

// judged are the sub-resources through which an object can be changed in a way
// that counts, with the operations that they are requested by. A webhook on a
// resource never sees them unless it names them (D6). Those that take the whole
// object, such as /status of built-in kinds, /finalize of namespaces and /approval of
// certificate signing requests, store the labels and owners that they are given;
// binding is the scheduler's, and log, exec and the like change nothing.
var judged = []struct {
	name      string
	operation admissionregistrationv1.OperationType
	// podsOnly keeps a custom resource's sub-resource of that name apart.
	podsOnly bool
}{
	{name: "scale", operation: update},
	{name: "status", operation: update},
	{name: "finalize", operation: update},
	{name: "approval", operation: update},
	{name: "eviction", operation: create, podsOnly: true},
	{name: "ephemeralcontainers", operation: update, podsOnly: true},
	{name: "resize", operation: update, podsOnly: true},
}

// annotating are the sub-resources other than /status through which annotations
// of an object can be written, with their operation. Where the object sent is of
// another kind, such as a Binding, its annotations are merged into the object.
var annotating = map[string]admissionregistrationv1.OperationType{
	"status":   update,
	"finalize": update,
	"approval": update,
	"binding":  create,
}

// grantRules returns the requests in which a holder's ledger may grow or shrink: its
// creation and updates, and its status, whose reports consume allowances (D8); and
// those in which a gate is set.
func grantRules(resources []*resource) []admissionregistrationv1.RuleWithOperations {
	var rules ruleList
	for _, r := range resources {
		if !r.written() {
			continue
		}
		rules.add(r, "", create, update)
		if !r.holder {
			continue
		}
		if r.subresources.Has("status") {
			rules.add(r, "status", update)
		}
		for _, version := range r.elsewhere["status"] {
			rules.addIn(version, r, r.Resource+"/status", update)
		}
	}
	return rules.sorted()
}

// glassRules returns the requests in which the mutating hook removes an annotation
// that breaks the glass (D13), or approves; those for holders it sees anyway.
func glassRules(resources []*resource) []admissionregistrationv1.RuleWithOperations {
	var rules ruleList
	for _, r := range resources {
		if !r.written() {
			rules.add(r, "", create, update)
		}
	}
	return rules.sorted()
}

// verdictRules returns the requests that can change a bounded object or a holder.
func verdictRules(resources []*resource) []admissionregistrationv1.RuleWithOperations {
	var rules ruleList
	for _, r := range resources {
		rules.add(r, "", create, update, remove)
		for _, s := range judged {
			if r.subresources.Has(s.name) && (r.isPods() || !s.podsOnly) {
				rules.add(r, s.name, s.operation)
			}
		}
		for _, s := range judged {
			if s.podsOnly && !r.isPods() {
				continue
			}
			for _, version := range r.elsewhere[s.name] {
				rules.addIn(version, r, r.Resource+"/"+s.name, s.operation)
			}
		}
	}
	return rules.sorted()
}

// protectionRules returns the requests that can write annotations of a holder, or of an
// object with a gate.
func protectionRules(resources []*resource) []admissionregistrationv1.RuleWithOperations {
	var rules ruleList
	for _, r := range resources {
		if !r.written() {
			continue
		}
		rules.add(r, "", create, update)
		for _, s := range sets.List(r.subresources) {
			if operation, ok := annotating[s]; ok {
				rules.add(r, s, operation)
			}
		}
		if r.isPods() && r.subresources.Has("binding") {
			// The same by its old name.
			rules.addNamed(r, "bindings", create)
		}
	}
	return rules.sorted()
}

// ruleList collects rules, one for all that agree in everything but the resource.
type ruleList []admissionregistrationv1.RuleWithOperations

func (l *ruleList) add(r *resource, subresource string, operations ...admissionregistrationv1.OperationType) {
	name := r.Resource
	if subresource != "" {
		name += "/" + subresource
	}
	l.addNamed(r, name, operations...)
}

// addNamed adds a rule for a name that goes with r.
func (l *ruleList) addNamed(r *resource, name string, operations ...admissionregistrationv1.OperationType) {
	l.addIn(r.version, r, name, operations...)
}

// addIn adds a rule for a name that goes with r in a version.
func (l *ruleList) addIn(version string, r *resource, name string, operations ...admissionregistrationv1.OperationType) {
	scope := admissionregistrationv1.ClusterScope
	if r.namespaced {
		scope = admissionregistrationv1.NamespacedScope
	}
	for i := range *l {
		rule := &(*l)[i]
		if slices.Equal(rule.Operations, operations) && rule.APIGroups[0] == r.Group &&
			rule.APIVersions[0] == version && *rule.Scope == scope {
			rule.Resources = append(rule.Resources, name)
			return
		}
	}
	*l = append(*l, admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups:   []string{r.Group},
			APIVersions: []string{version},
			Resources:   []string{name},
			Scope:       new(scope),
		},
	})
}

// sorted returns the rules; their order is that of the resources, which is fixed.
func (l *ruleList) sorted() []admissionregistrationv1.RuleWithOperations {
	for _, rule := range *l {
		slices.Sort(rule.Resources)
	}
	return *l
}
