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

package interception

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Up to this many initiators are named in an expression, and this many groups of a requester are looked
// up among them, which bounds what it costs; of more, whoever writes may be one.
const (
	mostInitiators = 500
	mostGroups     = 200
)

// leavesWithheld is true where somebody who may initiate by some policy writes an object whose ledger tells of
// something withheld: a write that changes nothing leaves that as it is. Observed: a team applied the value that a
// stranger had set, which only changed who applied it; nothing followed, and nobody was told. Controllers write
// metadata often, and are no initiators: their writes stay inside the API server.
func leavesWithheld(in Input) []string {
	who := mayInitiate(in.Policies)
	if who == "" {
		return nil
	}
	return []string{"(" + saysSuch("oldObject", ledger.NameAllowances, fmt.Sprintf("a[k].contains(%q)", `"`+string(v1alpha1.RelationWithheld)+`"`)) + " && " + who + ")"}
}

// mayInitiate is true where the requester may initiate by one of the policies; empty where nobody may.
func mayInitiate(policies []*policy.Policy) string {
	users, groups := sets.New[string](), sets.New[string]()
	for _, p := range policies {
		for _, s := range p.Subjects() {
			switch {
			case !s.MayInitiate:
			case s.Kind == v1alpha1.SubjectGroup:
				groups.Insert(s.Name)
			default:
				users.Insert(userOf(s.Subject))
			}
		}
	}
	switch n := users.Len() + groups.Len(); {
	case n == 0:
		return ""
	case n > mostInitiators:
		return "true"
	}
	return fmt.Sprintf(`(has(request.userInfo.username) && request.userInfo.username in %s
|| has(request.userInfo.groups) && (size(request.userInfo.groups) > %d || request.userInfo.groups.exists(g, g in %s)))`,
		list(sets.List(users)...), mostGroups, list(sets.List(groups)...))
}
