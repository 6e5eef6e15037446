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

package discovery

import (
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"

	"kausality.io/operator/internal/change"
)

// maxPath bounds how much of a path a message has.
const maxPath = 100

// Undeclared says why no object has anything that the pattern names, and nothing
// where one may. What is not declared in full, such as a free-form map, may have
// anything; so may every object where there is no schema.
func (s *Schema) Undeclared(pattern change.Pattern) string {
	if s == nil {
		return ""
	}
	at, n := s.root.follow(pattern)
	if at == len(pattern) {
		return ""
	}
	parent, missing := clip(pattern[:at]), clip(pattern[:at+1])
	switch {
	case n.list:
		return fmt.Sprintf("%s is a list: name an item of it, or all of them by %s[*]", parent, parent)
	case n.fields == nil && n.each == nil:
		return parent + " has no fields"
	default:
		return "there is no field " + missing
	}
}

// TypeOf returns what kind of value is at the place that the pattern names, empty where that is
// not declared.
func (s *Schema) TypeOf(pattern change.Pattern) change.ValueType {
	if s == nil {
		return ""
	}
	n := s.root
	for _, segment := range pattern {
		if n == nil || n.open {
			return ""
		}
		next := n.below(segment)
		if len(next) != 1 {
			return ""
		}
		n = next[0]
	}
	if n == nil {
		return ""
	}
	return n.value
}

// follow goes along a pattern as far as anything is declared, or may be. It returns
// how many segments that is, and where it is. Of the ways that a wildcard stands for
// it takes the one that leads furthest.
func (n *node) follow(pattern change.Pattern) (int, *node) {
	if len(pattern) == 0 || n == nil || n.open {
		return len(pattern), n
	}
	furthest, end := 0, n
	for _, next := range n.below(pattern[0]) {
		if at, last := next.follow(pattern[1:]); at+1 > furthest {
			furthest, end = at+1, last
		}
	}
	return furthest, end
}

// below returns what a segment may stand for.
func (n *node) below(s change.Segment) []*node {
	var nodes []*node
	switch s.Type {
	case fieldpath.SegmentField:
		if field, ok := n.fields[s.Field]; ok {
			return []*node{field}
		}
		if n.list {
			return nil
		}
	case fieldpath.SegmentIndex:
		if !n.list {
			return nil
		}
	default: // a wildcard
		for _, field := range n.fields {
			nodes = append(nodes, field)
		}
	}
	if n.each != nil {
		nodes = append(nodes, n.each)
	}
	return nodes
}

// clip returns the text of a pattern, cut where it gets too long for a message.
func clip(pattern change.Pattern) string {
	text := pattern.String()
	if len(text) > maxPath {
		return strings.ToValidUTF8(text[:maxPath], "") + "…"
	}
	return text
}
