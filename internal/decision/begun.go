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

package decision

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// GroupsAttestation is what the hop attests at which a chain begins, where a system takes
// what its objects name: the groups as whose member the initiator may initiate on that. Who
// is asked later, when it is taken, has only the initiator's name (D5).
const GroupsAttestation = "(groups)"

// groupSeparator separates groups in an attestation. Names of groups may have any other character.
const groupSeparator = "\n"

// attesting returns what a hop of the child attests: what was captured, and, where the chain
// begins with the requester, the requester's groups that count for what is taken by its name.
func (in *Input) attesting(c cause, captured map[string]string) map[string]string {
	if !c.begins || len(in.Groups) == 0 {
		return captured
	}
	out := map[string]string{GroupsAttestation: strings.Join(in.Groups, groupSeparator)}
	maps.Copy(out, captured)
	return out
}

// Beginner returns who began a chain, with the groups that it attests.
func Beginner(initiator string, trace []v1alpha1.TraceHop) policy.Requester {
	r := policy.Requester{Username: initiator}
	for _, hop := range trace {
		if groups := hop.Attestations[GroupsAttestation]; groups != "" {
			r.Groups = append(r.Groups, strings.Split(groups, groupSeparator)...)
		}
	}
	return r
}

// Adopters returns who began what has the parent that the request gives the child take it:
// the creation of that parent, or what else allows it to have such a child created. Where
// its policies bound what is outside alone, that is all that they allow. Nobody did where it
// has none of that, or something of it is withheld.
func (in *Input) Adopters() []policy.Requester {
	adopted := *in
	adopted.ParentState, adopted.Parent = ParentFound, in.Adoption.Parent
	if !adopted.parentAllows() {
		return nil
	}
	kind := in.Child.GVK.GroupKind()
	bounds := adopted.Parent.names(kind)
	var out []policy.Requester
	for _, e := range permits(adopted.Parent.Ledger) {
		takes := e.creation || e.IsExternal() && !bounds || !e.IsExternal() && MatchesKind(e.Entry, kind) && e.covers(Act{Operation: Create})
		if takes && !e.IsWithheld() {
			out = append(out, Beginner(e.Initiator, e.Trace))
		}
	}
	return out
}

// names reports whether a policy in effect for the parent names children of a kind in any phase.
func (p *Parent) names(kind schema.GroupKind) bool {
	return slices.ContainsFunc(p.Policies, func(own *policy.Policy) bool { return own.Bounds(kind) })
}
