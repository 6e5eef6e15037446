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

package upgrade

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/policy"
)

// outside returns how an External entry names what the refused objects stand for outside the
// cluster, nil where no policy has a gate for them.
type outside func(*asked) map[string]string

// outsideOf returns that by the policies for the objects and for their parents, and by the categories
// of kinds.
func outsideOf(policies cluster.Policies, categories func(schema.GroupKind) []string) outside {
	return func(a *asked) map[string]string {
		driver, ok := registry.Drivers().For(categories(a.kind))
		if !ok {
			return nil
		}
		known := driver.Target(&unstructured.Unstructured{}, gate.Kind{GVK: a.kind.WithVersion(a.resource.Version), Resource: a.resource.Resource})
		for _, holder := range append([]schema.GroupKind{a.kind}, a.parentKinds...) {
			if slices.ContainsFunc(policies.For(holder), func(p *policy.Policy) bool {
				return p.Action == v1alpha1.ActionDeny && names(p, driver, known)
			}) {
				return known
			}
		}
		return nil
	}
}

// names reports whether an External entry of a policy may be about objects of which that much is known.
// Who provides the kind is not: who asks may not be allowed to read it. An entry too many opens nothing.
func names(p *policy.Policy, driver gate.Driver, known gate.Target) bool {
	return slices.ContainsFunc(p.Entries(), func(e policy.Entry) bool {
		if !e.IsExternal() {
			return false
		}
		for key, want := range e.External {
			if have, ok := known[key]; ok && have != want || !slices.Contains(driver.Keys(), key) {
				return false
			}
		}
		return true
	})
}

// outside returns the entry by which what is let through goes on outside the cluster, as far as any
// UpgradeAllowance lets it.
func (s *suggested) outside(a *asked, target map[string]string) []v1alpha1.PolicyEntry {
	e := v1alpha1.PolicyEntry{Target: v1alpha1.Target{External: target}, Relation: v1alpha1.RelationExternal}
	if a.create {
		e.Verbs = append(e.Verbs, gate.VerbCreate)
	}
	if len(a.paths) > 0 {
		e.Verbs = append(e.Verbs, "Update")
	}
	if a.delete {
		s.note(fmt.Sprintf("Delete outside: what a %s that is deleted stands for stays there, and its deletion is held back until an initiator deletes it as well or sets %s, as no UpgradeAllowance deletes outside the cluster",
			a.kind.Kind, v1alpha1.AnnotationOrphan))
	}
	if len(e.Verbs) == 0 {
		return nil
	}
	return []v1alpha1.PolicyEntry{e}
}
