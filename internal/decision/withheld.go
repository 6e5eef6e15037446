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
	"regexp"
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Withholds reports, of a change of a holder, whether a rule of its policies is about it
// that withholds what nobody with the right to it has made: one of a policy that says
// Deny (D2).
func Withholds(policies []*policy.Policy) func(change.Change) bool {
	return func(c change.Change) bool {
		return slices.ContainsFunc(policies, func(p *policy.Policy) bool {
			return p.Action == v1alpha1.ActionDeny && hasRuleFor(p, c)
		})
	}
}

// Withheld are what is withheld of a holder, as its ledger tells people: which fields,
// since whose change, and the digest that an approval of it names.
func Withheld(st *approved.Standing) ledger.Ledger {
	if st == nil || len(st.Differences) == 0 {
		return nil
	}
	var marks []v1alpha1.Allowance
	for _, s := range st.Summary() {
		marks = append(marks, v1alpha1.Allowance{
			Relation:   v1alpha1.RelationWithheld,
			Mutation:   s.Path,
			Generation: s.Generation,
			Initiator:  s.User,
			Content:    s.Digest,
		})
	}
	return ledger.Ledger{}.Merge(marks...)
}

// Marked are the withheld changes that a ledger tells of and that a rule of the policies
// in effect for its holder is about: for those who show ledgers. What counts is found by
// comparing the holder with its approved content.
func Marked(l ledger.Ledger, policies []*policy.Policy) ledger.Ledger {
	return l.Without(func(e ledger.Entry) bool {
		if !e.IsWithheld() {
			return true
		}
		path, err := change.ParsePath(e.Mutation)
		return err != nil || !slices.ContainsFunc(policies, func(p *policy.Policy) bool {
			return p.Action == v1alpha1.ActionDeny && p.HasRuleFor(path)
		})
	})
}

// Approvals are what approves withheld changes as they are: each field with the digest of
// what it holds, so that nothing is approved that came since.
func Approvals(withheld []v1alpha1.Allowance) []string {
	out := make([]string, 0, len(withheld))
	for _, w := range withheld {
		text := w.Mutation
		if w.Content != "" {
			text += approvalSeparator + w.Content
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// approvalSeparator stands between a field and the digest of what is approved of it.
const approvalSeparator = "@"

// ParseApproval is the field that a part of an approval names, and the digest, empty
// where it has none.
func ParseApproval(text string) (path, digest string) {
	i := strings.LastIndex(text, approvalSeparator)
	if i < 0 || !isDigest.MatchString(text[i+1:]) {
		return text, ""
	}
	return text[:i], text[i+1:]
}

// isDigest is the form of a digest in an approval.
var isDigest = regexp.MustCompile(`^[0-9a-f]{12}$`)

// isWithheld reports whether something of the parent is withheld, so that its allowances
// cover nothing.
func (p *Parent) isWithheld() bool {
	return p.Standing != nil && slices.ContainsFunc(p.Standing.Differences, func(d approved.Difference) bool { return d.Counts })
}

// object is the child after the request, as its approved content is compared with.
func (in *Input) object() approved.Object {
	o := in.Child.Standing.Object
	o.Generation, o.Fields = in.Child.Generation, in.Child.New
	return o
}

// withhold finds out what of the child is withheld after the request: what uncaused
// changes leave different from what is approved, less what the request approves.
func (in *Input) withhold(uncaused []change.Change, taken []change.Path, grant *Grant) {
	if in.Child.Standing == nil {
		return
	}
	st := in.Child.Standing.After(approved.Request{
		New: in.object(), User: in.Requester.Username, Uncaused: uncaused,
		Approves: func(d approved.Difference) bool {
			return slices.ContainsFunc(taken, func(p change.Path) bool { return change.Pattern(p).Covers(d.Path) })
		},
	})
	grant.Standing = st
	differs := func(c change.Change) bool {
		return slices.ContainsFunc(st.Differences, func(d approved.Difference) bool { return d.Counts && c.Path.Overlaps(d.Path) })
	}
	for _, e := range Withheld(st) {
		path, err := change.ParsePath(e.Mutation)
		if err == nil && slices.ContainsFunc(uncaused, func(c change.Change) bool { return c.Path.Overlaps(path) }) {
			grant.Withheld = append(grant.Withheld, e.Allowance)
		}
	}
	grant.Refuse = slices.ContainsFunc(uncaused, func(c change.Change) bool { return differs(c) && in.refuses(c) })
}
