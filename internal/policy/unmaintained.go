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
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var podKind = schema.GroupKind{Group: corev1.GroupName, Kind: "Pod"}

// Unmaintained says of each kind of children that rules name, and the maintaining section
// does not, what stops when a parent has settled. A section that is there and empty says
// that this is meant, but for Pods, which are lost whatever is meant.
func (p *Policy) Unmaintained() []string {
	var out []string
	var told []schema.GroupKind
	for _, r := range p.Rules {
		for _, e := range r.Entries {
			if e.IsExternal() || e.Kind.Empty() || e.Kind == podKind || slices.Contains(told, e.Kind) {
				continue
			}
			told = append(told, e.Kind)
			if why := p.unmaintained(e.Kind); why != "" {
				out = append(out, why)
			}
		}
	}
	if p.bounds[podKind]&inSteady != 0 && !p.maintains(podKind, func(m MaintainingEntry) bool { return m.Create }) {
		out = append(out, "Pods are bounded and spec.maintaining does not allow to create them: replacing one that was evicted or lost will be denied")
	}
	return out
}

func (p *Policy) unmaintained(child schema.GroupKind) string {
	if p.maintainsNothing || p.maintains(child, func(MaintainingEntry) bool { return true }) {
		return ""
	}
	known, _ := p.Known().Child(child)
	what := known.Upkeep
	switch {
	case known.AtRest:
		return ""
	case what == "":
		what = "what was deleted does not come back, and what changes by time or by other objects stays as it is"
	}
	return fmt.Sprintf("spec.maintaining: it does not name %s, which rules do: what its controller does to one without a change of the %s will be denied: %s",
		child.Kind, p.For.Kind, what)
}

// maintains reports whether an entry of the maintaining section for a kind is such a one.
func (p *Policy) maintains(child schema.GroupKind, is func(MaintainingEntry) bool) bool {
	return slices.ContainsFunc(p.Maintaining, func(m MaintainingEntry) bool { return m.Kind == child && is(m) })
}
