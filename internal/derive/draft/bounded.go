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

package draft

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// nothing is a field that never changes: an entry that allows it alone bounds a resource, and allows
// nothing of it.
const nothing = "metadata.uid"

// bounded returns entries that allow nothing, for the resources that neither the entries of the
// maintaining section nor a rule name: as far as there is room beside these.
func (d *Draft) bounded(entries []v1alpha1.PolicyEntry) []v1alpha1.PolicyEntry {
	known := targets(entries)
	for _, r := range d.Rules() {
		known = append(known, targets(r.Policies)...)
	}
	var out []v1alpha1.PolicyEntry
	for _, resource := range slices.Concat(d.children, d.former) {
		if named(known, resource) {
			continue
		}
		known = append(known, resource)
		if len(entries)+len(out) == maxEntries {
			d.Note(Note{Field: "spec.maintaining", Lost: true, Message: fmt.Sprintf(
				"%s are left out, as a section names %d resources: while a parent is steady they are not bounded", resource.Resource, maxEntries)})
			continue
		}
		e := entry(resource, nil, verbUpdate)
		e.Mutations = []v1alpha1.FieldMutation{{JSONPath: nothing}}
		out = append(out, e)
	}
	return out
}

// targets returns the resources that entries are about.
func targets(entries []v1alpha1.PolicyEntry) []schema.GroupVersionResource {
	out := make([]schema.GroupVersionResource, 0, len(entries))
	for _, e := range entries {
		if e.Target.Resource != "" {
			out = append(out, policy.ResourceOf(e.Target))
		}
	}
	return out
}

// allowsNothing reports whether an entry is there only to have its resource bounded.
func allowsNothing(e v1alpha1.PolicyEntry) bool {
	return len(e.Mutations) == 1 && e.Mutations[0].JSONPath == nothing &&
		!slices.ContainsFunc(e.Verbs, func(verb string) bool { return verb != verbUpdate })
}
