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

	"kausality.io/operator/internal/change"
)

// Metadata counts only where a policy names it (D7), and whether it does depends
// on the part that an object plays: a trigger makes a parent's metadata count, not
// that of its children. Otherwise the Deployment controller, which copies
// annotations onto ReplicaSets, would be refused what a policy only watches on
// Deployments.

// TriggerMetadata returns the triggers that lie under metadata: what counts on the
// objects that the policy is for.
func (p *Policy) TriggerMetadata() []change.Pattern { return p.triggerMetadata }

// ChildMetadata returns the bounds that lie under metadata of children of the kind:
// what counts on them.
func (p *Policy) ChildMetadata(kind schema.GroupKind) []change.Pattern { return p.childMetadata[kind] }

// MetadataPatterns returns all paths under metadata that the policy names, for
// whichever object: what has to be looked at, not what counts.
func (p *Policy) MetadataPatterns() []change.Pattern {
	var all patternSet
	all.add(p.triggerMetadata...)
	for _, patterns := range p.childMetadata {
		all.add(patterns...)
	}
	if command, ok := p.Command(); ok {
		all.add(change.Pattern(command.Annotation))
	}
	if naming := p.Naming(); naming != nil {
		for _, path := range naming.Identity() {
			all.add(change.Pattern(path)) // Who the parent is counts in any case (D5).
		}
	}
	return all.sorted()
}

// collectMetadata finds the metadata that p names, or bounds by implication.
func collectMetadata(p *Policy) {
	children := map[schema.GroupKind]*patternSet{}
	add := func(kind schema.GroupKind, pattern change.Pattern) {
		if children[kind] == nil {
			children[kind] = &patternSet{}
		}
		children[kind].add(pattern)
	}
	for _, e := range p.Entries() {
		for _, f := range e.Fields {
			if underMetadata(f.Pattern) {
				add(e.Kind, f.Pattern)
			}
		}
		for _, pattern := range Represented(e.Kind.WithVersion(e.Resource.Version)) {
			add(e.Kind, pattern)
		}
	}
	for _, e := range slices.Concat(p.Entries(), p.implied) {
		for _, pattern := range p.marksOf(e.Kind) {
			add(e.Kind, pattern)
		}
	}
	var triggers patternSet
	for _, r := range p.Rules {
		if underMetadata(r.Trigger) {
			triggers.add(r.Trigger)
		}
	}
	p.triggerMetadata = triggers.sorted()
	p.childMetadata = make(map[schema.GroupKind][]change.Pattern, len(children))
	for kind, set := range children {
		p.childMetadata[kind] = set.sorted()
	}
}

func underMetadata(p change.Pattern) bool {
	return change.Path(p).IsMetadata()
}

// patternSet collects patterns, each once.
type patternSet struct{ patterns []change.Pattern }

func (s *patternSet) add(patterns ...change.Pattern) {
	for _, p := range patterns {
		if !slices.ContainsFunc(s.patterns, func(q change.Pattern) bool { return p.String() == q.String() }) {
			s.patterns = append(s.patterns, p)
		}
	}
}

func (s *patternSet) sorted() []change.Pattern {
	slices.SortFunc(s.patterns, func(a, b change.Pattern) int { return strings.Compare(a.String(), b.String()) })
	return s.patterns
}
