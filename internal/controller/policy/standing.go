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
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/policy"
)

// standing is what has become of a policy beside the others for its kind. It is
// found by looking at the objects that exist: policies whose selectors do not meet
// in any of them are in no conflict (D19).
type standing struct {
	// affected counts the objects for which the policy is in effect, and void those
	// of them for which it could as well not be there.
	affected, void int64
	// overridden are the fields that do not count for some object, with the names of
	// the policies whose fields count there.
	overridden map[policy.DecidingField][]string
	// overrides are the fields in which it counts for some object, with the names of
	// the policies that say something else in them.
	overrides map[policy.DecidingField][]string
	// whens are what became of its expressions that say when an object has settled, asked
	// of some of the objects for which they decide.
	whens answers
	// silence says whether the status of its objects tells when they have settled.
	silence silence
	// uncovered are the kinds of owners of objects that it selects, for which there is no
	// policy; none where no chain begins with it.
	uncovered []schema.GroupKind
}

// standingOf looks at the objects of the kind of p.
func (a *Adoption) standingOf(ctx context.Context, index *policy.Index, p *policy.Policy) (standing, error) {
	overridden, overrides := nameSets{}, nameSets{}
	s := standing{whens: answers{}}
	for obj, err := range a.Holders.List(ctx, p.For) {
		if err != nil {
			return standing{}, fmt.Errorf("listing the objects that policy %s is for: %w", p.Name, err)
		}
		s.uncovered = a.withUncoveredOwner(ctx, s.uncovered, index, p, obj)
		policies := a.inEffect(ctx, index, obj)
		if !slices.Contains(policies, p) {
			continue
		}
		s.affected++
		s.whens.ask(ctx, p, policies, obj)
		s.silence.look(policies, obj, a.Clock.Now())
		if p.Void(policies) {
			s.void++
		}
		for _, other := range policies {
			for _, lost := range other.Superseded(policies) {
				switch p {
				case other:
					overridden.add(lost.Field, lost.By.Name)
				case lost.By:
					overrides.add(lost.Field, other.Name)
				}
			}
		}
	}
	slices.SortFunc(s.uncovered, func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
	s.overridden, s.overrides = overridden.sorted(), overrides.sorted()
	return s, nil
}

// isVoid reports whether the policy could as well not be there.
func (s standing) isVoid() bool { return s.affected > 0 && s.void == s.affected }

// nameSets collect names of policies by field.
type nameSets map[policy.DecidingField]map[string]struct{}

func (s nameSets) add(f policy.DecidingField, name string) {
	if s[f] == nil {
		s[f] = map[string]struct{}{}
	}
	s[f][name] = struct{}{}
}

func (s nameSets) sorted() map[policy.DecidingField][]string {
	if len(s) == 0 {
		return nil
	}
	out := make(map[policy.DecidingField][]string, len(s))
	for f, names := range s {
		out[f] = slices.Sorted(maps.Keys(names))
	}
	return out
}

// byField says of fields which policies are concerned: "spec.consumption.when by a, b".
func byField(fields map[policy.DecidingField][]string, preposition string) string {
	parts := make([]string, 0, len(fields))
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%s %s %s", f, preposition, listing.Join(fields[f], ", ")))
	}
	return strings.Join(parts, "; ")
}
