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

package explain

import (
	"context"
	"fmt"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// noteOthers adds a note for each other parent that bounds the object as well. The report is about one parent,
// and a change that this one allows is denied unless the others allow it, too.
func (s *sight) noteOthers(ctx context.Context, c *cluster.Cluster) {
	child := s.obj.obj.GroupVersionKind().GroupKind()
	for _, ref := range c.Parents(ctx, s.policies, s.obj.obj) {
		if ref == s.ref {
			continue
		}
		obj, err := c.Referred(ctx, ref)
		if err != nil {
			s.notes = append(s.notes, fmt.Sprintf("Whether %s bounds it as well cannot be told: %v", name(ref), err))
		}
		if obj == nil {
			continue
		}
		var chain []policy.Holder
		chain, s.notes = c.Ancestry(ctx, s.policies, obj, s.notes)
		if slices.ContainsFunc(s.policies.InEffect(chain), func(p *policy.Policy) bool { return p.Bounds(child) }) {
			s.notes = append(s.notes, fmt.Sprintf("%s bounds it as well: %s: %s",
				name(ref), s.together(), phrase.Command("explain", targetOf(ref, nil))))
		}
	}
}

func name(ref lineage.Ref) string { return phrase.Object(ref.GVK.Kind, ref.Name) }

// together says what follows where several parents bound the object. Of what a GeneratingPolicy made one is enough.
func (s *sight) together() string {
	if _, generated := s.obj.obj.GetAnnotations()[v1alpha1.AnnotationGeneratedFrom]; generated {
		return "a change passes where either allows it, or both together do"
	}
	return "what is allowed there has to cover a change, too"
}
