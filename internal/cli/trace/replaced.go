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

package trace

import "slices"

// withoutChain returns the links that tell what became of objects below to which no chain leads: what needed no
// allowance, such as the replacement of a Pod that was deleted. Such a link says nothing of what is above its
// object, so it is of use only where nothing else tells of its ends.
func (s *sight) withoutChain(chains, all []link) []link {
	var explained []Child
	for _, c := range grow(chains, nil) {
		c.First.visit(func(n *Node) { explained = append(explained, n.child()) })
	}
	var out []link
	for _, l := range all {
		if l.why == "" {
			continue
		}
		l.names = slices.DeleteFunc(slices.Clone(l.names), func(name string) bool {
			child := Child{Kind: l.kind, Name: name, Namespace: l.in}
			return child.isAmong(explained) || !child.isAmong(s.below)
		})
		if len(l.names) > 0 {
			out = append(out, l)
		}
	}
	return out
}
