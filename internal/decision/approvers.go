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
	"fmt"
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// Approvers names who may approve changes of an object's fields, for messages: those who may approve all of them alone,
// or else who may approve one. policies are those in effect for the object. above are who may initiate above it, who
// may approve whatever its policies are about; they are named where nobody may approve alone otherwise.
func Approvers(policies []*policy.Policy, above []string, paths ...string) []string {
	who, _ := approvers(policies, above, paths)
	return who
}

// ApproversAbove reports whether nobody but those above is named by Approvers.
func ApproversAbove(policies []*policy.Policy, above []string, paths ...string) bool {
	_, own := approvers(policies, above, paths)
	return !own
}

// approvers also returns whether one of them is an initiator of the policies.
func approvers(policies []*policy.Policy, above, paths []string) (who []string, own bool) {
	var all, some []string
	for i, text := range paths {
		alone := approversOf(policies, text)
		if i == 0 {
			all = alone
		} else {
			all = intersect(all, alone)
		}
		switch {
		case len(alone) > 0:
			some, own = append(some, alone...), true
		case len(above) > 0:
			some = append(some, above...)
		default:
			some, own = append(some, approversTogether(policies, text)...), true
		}
	}
	if len(all) > 0 {
		some, own = all, true
	}
	slices.Sort(some)
	return slices.Compact(some), own
}

// approversOf names who may approve a change of a field alone: by the rules of their policies it has a cause, and no
// other rule about it is left without one.
func approversOf(policies []*policy.Policy, text string) []string {
	var out []string
	for _, p := range withRuleFor(policies, text) {
		for _, name := range p.Initiators() {
			if !slices.Contains(out, name) && approvesAlone(policies, text, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func approvesAlone(policies []*policy.Policy, text, name string) bool {
	return approves(policies, text, func(p *policy.Policy) bool { return slices.Contains(p.Initiators(), name) })
}

// StaysWithheld begins what a requester is told who could approve something and writes an object without doing
// so. The plugin leaves it out of what it is told of an approval: it says more of one that had no effect.
const StaysWithheld = "something stays withheld of "

// MayApprove reports whether a requester may approve a change of a field alone.
func MayApprove(policies []*policy.Policy, r policy.Requester, text string) bool {
	return policy.MayInitiate(r, withRuleFor(policies, text)) &&
		approves(policies, text, func(p *policy.Policy) bool { return p.MayInitiate(r) })
}

// approves reports whether a change of a field has a cause by the rules of the policies by which somebody may
// initiate, and no other rule about it is left without one.
func approves(policies []*policy.Policy, text string, initiates func(*policy.Policy) bool) bool {
	path, err := change.ParsePath(text)
	if err != nil {
		return false
	}
	var rules []triggered
	for _, p := range policies {
		caused := initiates(p)
		for r := range p.Triggered(path) {
			rules = append(rules, triggered{Rule: r, policy: p, caused: caused})
		}
	}
	return !hasUnanswered(change.Change{Path: path}, rules)
}

// approversTogether names who may approve a change of a field where nobody may by one policy alone. Of fields that
// are told of as one, each may be for others.
func approversTogether(policies []*policy.Policy, text string) []string {
	path, _ := change.ParsePath(text)
	var each [][]string
	about := withRuleFor(policies, text)
	for _, p := range about {
		if !slices.ContainsFunc(p.Rules, func(r policy.Rule) bool { return r.Trigger.Covers(path) }) {
			return policy.InitiatorsIn(about)
		}
		if p.HasInitiator() {
			each = append(each, p.Initiators())
		}
	}
	return Together(each...)
}

// Together names who is in each of several lists of subjects, for messages: the subjects that all lists have, or
// else whoever is one of each. It names nobody where a list has none.
func Together(each ...[]string) []string {
	var all, parts []string
	for i, subjects := range each {
		if len(subjects) == 0 {
			return nil
		}
		if i == 0 {
			all = subjects
		} else {
			all = intersect(all, subjects)
		}
		if text := strings.Join(subjects, " or "); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if len(all) > 0 || len(parts) == 0 {
		return all
	}
	return []string{"whoever is " + strings.Join(parts, " as well as ")}
}

// withRuleFor filters policies to those by which a change of a field can be withheld.
func withRuleFor(policies []*policy.Policy, text string) []*policy.Policy {
	path, err := change.ParsePath(text)
	var out []*policy.Policy
	for _, p := range policies {
		if p.Action == v1alpha1.ActionDeny && (err != nil || p.HasRuleFor(path)) {
			out = append(out, p)
		}
	}
	return out
}

// intersect returns what two lists have in common.
func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// NothingThere ends what a requester is told who approves a field that the object does not have.
const NothingThere = ", and nothing is withheld there: there is nothing to approve"

// givesParent is in what a requester is told who may not give an object a parent.
const givesParent = "the parent %s is for who may initiate on it"

// GivesParent says that giving an object a parent is for others, both as messages name objects.
func GivesParent(child, parent string) string {
	return fmt.Sprintf("giving %s "+givesParent, child, parent)
}

// WouldGiveParent reports whether a message is of a request that was refused as it would have given an object that parent.
func WouldGiveParent(message, parent string) bool {
	return strings.Contains(message, " "+fmt.Sprintf(givesParent, parent))
}
