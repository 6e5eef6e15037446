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

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// noteOthers says which other parents bound the object as well: the report is about the one by which its
// chain goes on, and what is allowed there covers a change only as far as each of them does, too.
func (s *sight) noteOthers(ctx context.Context, c *cluster.Cluster) {
	child := s.obj.obj.GroupVersionKind().GroupKind()
	for _, ref := range c.Parents(ctx, s.policies, s.obj.obj) {
		if ref == s.ref {
			continue
		}
		command := phrase.Command("explain", targetOf(ref, nil))
		obj, err := c.Object(ctx, ref.GVK, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
		switch {
		case err != nil:
			s.notes = append(s.notes, fmt.Sprintf("Whether %s bounds it as well cannot be told: %v", name(ref), err))
			continue
		case !ref.Names(obj):
			continue
		}
		var chain []policy.Holder
		chain, s.notes = c.Ancestry(ctx, s.policies, obj, s.notes)
		if slices.ContainsFunc(s.policies.InEffect(chain), func(p *policy.Policy) bool { return p.Bounds(child) }) {
			s.notes = append(s.notes, fmt.Sprintf("%s bounds it as well: what is allowed there has to cover a change, too: %s", name(ref), command))
		}
	}
}

func name(ref lineage.Ref) string { return phrase.Object(ref.GVK.Kind, ref.Name) }
