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

package change

import "slices"

// Patterns are many patterns that are asked together which of them touch a path: the
// time that takes grows with those that do, and with the length of the path, not with
// how many there are.
type Patterns struct{ root patternNode }

// patternNode stands for the patterns that begin with the segments on the way to it.
type patternNode struct {
	// ends are the numbers of those that end here.
	ends []int
	// any is what goes on with a wildcard, and named what goes on with a segment.
	any   *patternNode
	named map[Segment]*patternNode
}

// PatternsOf numbers patterns in the order in which they come. An empty one, which
// touches nothing, only takes up a number.
func PatternsOf(patterns []Pattern) Patterns {
	var out Patterns
	for number, p := range patterns {
		node := &out.root
		for _, s := range p {
			node = node.below(s)
		}
		node.ends = append(node.ends, number)
	}
	out.root.ends = nil
	return out
}

// below returns the node that a segment of a pattern leads to.
func (n *patternNode) below(s Segment) *patternNode {
	if s == wildcard {
		if n.any == nil {
			n.any = &patternNode{}
		}
		return n.any
	}
	next, ok := n.named[s]
	if !ok {
		if n.named == nil {
			n.named = map[Segment]*patternNode{}
		}
		next = &patternNode{}
		n.named[s] = next
	}
	return next
}

// Touching returns the numbers, in order, of the patterns that touch a path, as
// Pattern.Touches has it.
func (p *Patterns) Touching(path Path) []int {
	found := p.root.touching(nil, path)
	slices.Sort(found)
	return found
}

func (n *patternNode) touching(found []int, rest Path) []int {
	found = append(found, n.ends...)
	if len(rest) > 0 {
		if next, ok := n.named[rest[0]]; ok {
			found = next.touching(found, rest[1:])
		}
	} else {
		for _, next := range n.named {
			found = next.touching(found, nil)
		}
	}
	if n.any != nil {
		found = n.any.touching(found, rest[min(1, len(rest)):])
	}
	return found
}
