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

// Package kro derives an AllowancePolicy from a ResourceGraphDefinition of kro: which
// fields of an instance reach which fields of its children.
//
// It is a pure room. A graph goes in; a policy comes out, and what was derived from what,
// and what could not be. Graphs are read with kro's own parser and CEL environment, and
// without the schemas of children, so that a graph in a file is enough. The same graph
// gives the same bytes.
//
// An expression is not evaluated but followed: a value is what some fields hold, and is
// decided on by others. What another resource has is followed to what that resource's own
// template makes it of. What no template sets, such as a status, changes without a change
// of the instance: the policy has it as maintaining.
package kro
