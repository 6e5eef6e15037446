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

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Categorize has the policy know which categories the kinds say they belong to that
// it names. It is part of making a Policy.
func (p *Policy) Categorize(of func(schema.GroupKind) []string) {
	p.Categories = map[schema.GroupKind][]string{}
	note := func(kind schema.GroupKind) {
		if categories := of(kind); len(categories) > 0 {
			p.Categories[kind] = categories
		}
	}
	note(p.For.GroupKind())
	for _, e := range p.Entries() {
		if !e.Kind.Empty() {
			note(e.Kind)
		}
	}
}

// HasCategory tells whether a kind that the policy names says that it belongs to a
// category.
func (p *Policy) HasCategory(kind schema.GroupKind, category string) bool {
	return slices.Contains(p.Categories[kind], category)
}

// HasCategory tells whether a kind that some policy names says that it belongs to a
// category.
func (i *Index) HasCategory(kind schema.GroupKind, category string) bool {
	return i != nil && slices.Contains(i.categories[kind], category)
}
