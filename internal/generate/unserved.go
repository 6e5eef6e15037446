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

package generate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// anything is what rules write for whatever there is.
const anything = "*"

// UnservedTrigger is a resource that a rule names and that is served in none of the groups and versions of the rule.
type UnservedTrigger struct {
	Resource         string
	Groups, Versions []string
}

// String names it.
func (u UnservedTrigger) String() string {
	in := make([]string, 0, len(u.Groups)*len(u.Versions))
	for _, group := range u.Groups {
		for _, version := range u.Versions {
			in = append(in, schema.GroupVersion{Group: group, Version: version}.String())
		}
	}
	return u.Resource + " in " + strings.Join(in, " or ")
}

// Serves reports whether a resource is served in a group and a version, each of which may be "*", and whether that
// can be told.
type Serves func(group, version, resource string) (served, known bool)

// Unserved returns what the policy names as triggers and nobody serves. A rule may name versions, and groups, of
// which there is one at a time: a resource is served where one of them has it.
func (p *Policy) Unserved(serves Serves) []UnservedTrigger {
	var out []UnservedTrigger
	for i := range p.matcher.rules {
		rule := &p.matcher.rules[i]
		for _, name := range rule.Resources {
			name, _, _ = strings.Cut(name, "/")
			u := UnservedTrigger{Resource: name, Groups: rule.APIGroups, Versions: rule.APIVersions}
			same := func(o UnservedTrigger) bool { return o.String() == u.String() }
			if name != anything && !u.mayBeServed(serves) && !slices.ContainsFunc(out, same) {
				out = append(out, u)
			}
		}
	}
	return out
}

// mayBeServed reports whether it is served, or nobody can tell.
func (u UnservedTrigger) mayBeServed(serves Serves) bool {
	for _, group := range u.Groups {
		for _, version := range u.Versions {
			if served, known := serves(group, version, u.Resource); served || !known {
				return true
			}
		}
	}
	return false
}
