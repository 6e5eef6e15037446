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

package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
)

// knowledgePath is where a policy says what it knows of its kind.
const knowledgePath = "spec.knowledge"

// Known returns what is known of a kind: what the policies in effect for an object of it say,
// the oldest first, each field by the oldest that has it, over what is built in.
func Known(kind schema.GroupKind, policies []*Policy) *knowledge.Kind {
	known := knowledge.BuiltIn(kind, categoriesOf(kind, policies)...)
	for _, p := range slices.Backward(policies) {
		if p.For.GroupKind() == kind {
			known = p.knowledge.Over(known)
		}
	}
	return known
}

// categoriesOf returns the categories of a kind, as far as the policies for it know them.
func categoriesOf(kind schema.GroupKind, policies []*Policy) []string {
	for _, p := range policies {
		if p.For.GroupKind() == kind {
			return p.Categories[kind]
		}
	}
	return nil
}

// Known returns what is known of the policy's kind by the policy alone.
func (p *Policy) Known() *knowledge.Kind { return Known(p.For.GroupKind(), []*Policy{p}) }

// Known returns what is known of a kind by all policies, whatever objects they select.
func (i *Index) Known(kind schema.GroupKind) *knowledge.Kind { return Known(kind, i.For(kind)) }

// KnowledgeField returns the deciding field for a field of what policies know of their kind, such
// as settled.
func KnowledgeField(name string) DecidingField { return DecidingField(knowledgePath + "." + name) }

// isKnowledge reports whether the field is part of what a policy knows of its kind.
func (f DecidingField) isKnowledge() bool { return strings.HasPrefix(string(f), knowledgePath+".") }

// fieldsOfKnowledge returns the deciding fields that a declaration has, with what they say.
func fieldsOfKnowledge(declared *v1alpha1.Knowledge) map[DecidingField]string {
	out := map[DecidingField]string{}
	for name, text := range knowledge.Said(declared) {
		out[KnowledgeField(name)] = text
	}
	return out
}
