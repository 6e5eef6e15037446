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

	"kausality.io/operator/internal/knowledge"
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
	// Which marks children have depends on what their parent is.
	collectMetadata(p)
}

// HasCategory reports whether a kind that the policy names says that it belongs to a
// category.
func (p *Policy) HasCategory(kind schema.GroupKind, category string) bool {
	return slices.Contains(p.Categories[kind], category)
}

// Naming returns how children name the objects that the policy is for by labels, nil where
// they do not. Such children may be in any namespace.
func (p *Policy) Naming() *knowledge.Naming { return namingOf(p.Categories[p.For.GroupKind()]) }

// Naming returns the same for the objects of a kind that some policy names.
func (i *Index) Naming(kind schema.GroupKind) *knowledge.Naming {
	if i == nil {
		return nil
	}
	return namingOf(i.categories[kind])
}

func namingOf(categories []string) *knowledge.Naming {
	for _, category := range categories {
		if naming := knowledge.NamingOf(category); naming != nil {
			return naming
		}
	}
	return nil
}

// HasCategory reports whether a kind that some policy names says that it belongs to a
// category.
func (i *Index) HasCategory(kind schema.GroupKind, category string) bool {
	return i != nil && slices.Contains(i.categories[kind], category)
}
