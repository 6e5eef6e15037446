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

package main

import (
	"fmt"
	"strings"

	"github.com/xlab/treeprint"

	"kausality.io/operator/api/v1alpha1"
)

// drawn returns the ways from persons to Pods, as a tree for each person. Ways that
// begin the same share their beginning; all is in the order in which it happened.
func drawn(pods []created) string {
	var roots []treeprint.Tree
	nodes := map[string]treeprint.Tree{}
	for _, p := range pods {
		path := p.initiator
		if nodes[path] == nil {
			nodes[path] = treeprint.NewWithRoot(p.initiator)
			roots = append(roots, nodes[path])
		}
		for _, hop := range p.hops {
			from, text := nodes[path], hopText(hop)
			path += "\n" + text
			if nodes[path] == nil {
				nodes[path] = from.AddBranch(text)
			}
		}
		nodes[path].AddNode("Pod/" + p.pod)
	}
	var out strings.Builder
	for _, root := range roots {
		out.WriteString(root.String())
	}
	return out.String()
}

// hopText returns one object of a way, and what happened to it.
func hopText(hop v1alpha1.TraceHop) string {
	return fmt.Sprintf("%s/%s %s, generation %d", hop.Kind, hop.Name, hop.Field, hop.Generation)
}
