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
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

var (
	conditionsField = change.MustParsePattern("status.conditions")
	statusField     = change.MustParsePattern("status")
)

// Silent says why no status of the kind that a policy is for can tell that an object has
// settled, by what is declared of the kind, with the line that would help; nothing where one
// may, or where the policy says it.
func Silent(spec *v1alpha1.AllowancePolicySpec, declared Declared) []string {
	if c := spec.Consumption; c != nil && (c.When != "" || c.TTL != nil) {
		return nil
	}
	parent := schema.GroupVersionKind{Group: spec.For.APIGroup, Version: spec.For.APIVersion, Kind: spec.For.Kind}
	known := knowledge.BuiltIn(parent.GroupKind()).Source()
	if spec.Knowledge != nil && spec.Knowledge.Settled != nil || known != nil && known.Settled != nil {
		return nil
	}
	// Of what is not declared nothing is known; what has no status has nothing to say.
	if declared.TypeOf(parent, statusField) != change.ValueMap || declared.Undeclared(parent, conditionsField) == "" {
		return nil
	}
	return []string{fmt.Sprintf("spec.knowledge: a %s has no conditions, by which Kausality could tell when one has settled: each is initializing for %s "+
		"after its creation; say in spec.knowledge.settled.fields, or in spec.consumption.when, which field of the status has to be how",
		parent.Kind, DefaultTTL)}
}

// Contradicted says which parts of what the policy knows of its kind do not count for
// objects that an older policy, of all policies for that kind, selects as well.
func (p *Policy) Contradicted(all []*Policy) []string {
	var out []string
	for _, s := range p.Superseded(all) {
		if s.Field.isKnowledge() {
			out = append(out, fmt.Sprintf("%s, of which policy %s says something else", s.Field, s.By.Name))
		}
	}
	return out
}
