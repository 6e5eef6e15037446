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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// Withholds reports, of a change of a holder, whether a rule of its policies is about it
// that withholds what nobody with the right to it has made: one of a policy that says
// Deny (D2). declared is the schema of the holder's kind.
func Withholds(policies []*policy.Policy, declared change.Schema) func(change.Change) bool {
	return func(c change.Change) bool {
		return slices.ContainsFunc(policies, func(p *policy.Policy) bool {
			return p.Action == v1alpha1.ActionDeny && hasRuleFor(p, c, declared)
		})
	}
}

// Concerns reports, of a field of a holder, whether such a rule is about it, or about what
// is above or below.
func Concerns(policies []*policy.Policy) func(change.Path) bool {
	return func(path change.Path) bool {
		return slices.ContainsFunc(policies, func(p *policy.Policy) bool {
			return p.Action == v1alpha1.ActionDeny && p.HasRuleFor(path)
		})
	}
}

// Approvable returns a holder as its approved content is compared with, but for what a gate computes.
// declared is the schema of its kind, and key that of digests.
func Approvable(obj *unstructured.Unstructured, policies []*policy.Policy, declared change.Schema, key string) approved.Object {
	o := approved.Object{
		UID:        string(obj.GetUID()) + key,
		Generation: obj.GetGeneration(),
		Version:    obj.GetAPIVersion(),
		Fields:     obj.Object,
		Schema:     declared,
		Triggers:   Withholds(policies, declared),
		Concerns:   Concerns(policies),
	}
	for _, p := range policies {
		o.Metadata = append(o.Metadata, p.TriggerMetadata()...)
	}
	return o
}

// Withheld returns what is withheld of a holder, as its ledger tells people: which fields,
// since whose change, and the digest that an approval of it names.
func Withheld(st *approved.Standing) ledger.Ledger {
	if st == nil || len(st.Differences) == 0 {
		return nil
	}
	return marks(st.Summary())
}

// Waiting returns, as Withheld does, what differs from what is approved and waits for a rule: a ledger
// goes on telling of it, for when the rule is back.
func Waiting(st *approved.Standing) ledger.Ledger {
	if st == nil || len(st.Differences) == 0 {
		return nil
	}
	return marks(st.Waiting())
}

// marks returns the entries that tell of withheld changes.
func marks(of []approved.Shown) ledger.Ledger {
	marks := make([]v1alpha1.Allowance, 0, len(of))
	for _, s := range of {
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

// Marked returns the withheld changes that a ledger tells of and that a rule of the policies
// in effect for its holder is about: for those who show ledgers. What counts is found by
// comparing the holder with its approved content.
func Marked(l ledger.Ledger, policies []*policy.Policy) ledger.Ledger {
	return l.Without(func(e ledger.Entry) bool {
		if !e.IsWithheld() {
			return true
		}
		path, err := change.ParsePath(e.Mutation)
		return err != nil || !Concerns(policies)(path)
	})
}

// Approvals returns what approves withheld changes as they are: each field with the digest of
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

// ParseApproval returns the field that a part of an approval names, and the digest, empty
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

// Withholds reports whether something of the parent is withheld at a path, above it, or
// below: what its system writes there into a child carries that out, also where it keeps
// its books otherwise (D5).
func (p *Parent) Withholds(path change.Path) bool {
	return p.Standing != nil && p.Standing.Withholds(path)
}

// withholds reports whether something of the child is withheld at a path, above it, or below.
func (c *Child) withholds(path change.Path) bool {
	return c.Standing != nil && c.Standing.Withholds(path)
}

// isAdopting reports whether the parent may finish what was under way when its policy first
// took effect: while something of it is withheld, it may not (D20).
func (p *Parent) isAdopting() bool { return p.Adopting && !p.OneSided && !p.isWithheld() }

// object returns the child after the request, as its approved content is compared with.
func (in *Input) object() approved.Object {
	o := in.Child.Standing.Object
	o.Generation, o.Fields = in.Child.Generation, in.Child.New
	return o
}

// withhold finds out what of the child is withheld after the request: what its changes leave different
// from what is approved, less what the request approves.
func (in *Input) withhold(left unapproved, approves func(approved.Difference) bool, grant *Grant) {
	if in.Child.Standing == nil {
		return
	}
	st := in.after(left, approves)
	grant.Standing = st
	made := slices.DeleteFunc(st.Withheld(), func(d approved.Difference) bool {
		return !slices.ContainsFunc(left.uncaused, func(c change.Change) bool { return isPartOf(c, d, in.Child.Schema) })
	})
	grant.Withheld = shown(Withheld(st), made)
	grant.Refuse = slices.ContainsFunc(left.uncaused, func(c change.Change) bool {
		return slices.ContainsFunc(made, func(d approved.Difference) bool { return isPartOf(c, d, in.Child.Schema) && in.refuses(c, d.Change) })
	})
}

// after returns how the child compares with its approved content after the request, nil where nothing
// is known of that.
func (in *Input) after(left unapproved, approves func(approved.Difference) bool) *approved.Standing {
	if in.Child.Standing == nil {
		return nil
	}
	return in.Child.Standing.After(approved.Request{
		New: in.object(), User: in.Requester.Username, Uncaused: left.all(), Following: in.following(), Apart: left.apart, Approves: approves,
	})
}

// following returns what the system of the child fills in that comes of something withheld, and so is
// withheld as well: it needs no cause otherwise, and would be approved. Observed where it was: somebody
// had Crossplane select another composition, and took the selector back.
func (in *Input) following() []change.Change {
	if len(in.Child.Standing.Differences) == 0 {
		return nil
	}
	var out []change.Change
	if in.LateInitialization {
		for _, c := range in.OwnChanges {
			if in.Child.withholds(c.Path) {
				out = append(out, c)
			}
		}
	}
	withheld := func(path change.Path) bool {
		return in.Child.withholds(path) ||
			slices.ContainsFunc(out, func(c change.Change) bool { return c.Path.Overlaps(path) })
	}
	// Which composition it is comes first, as the revision is one of it.
	for range in.Books {
		known := len(out)
		for _, c := range in.Books {
			isKnown := slices.ContainsFunc(out, func(o change.Change) bool { return slices.Equal(o.Path, c.Path) })
			if !isKnown && slices.ContainsFunc(lineage.FilledInFrom(c.Path, in.Child.New), withheld) {
				out = append(out, c)
			}
		}
		if len(out) == known {
			break
		}
	}
	return out
}

// isPartOf reports whether a change is what a difference comes from, or one of several.
// What was taken out of a list has the index of before the request in a change, and that
// of the approved content in a difference: both are the same where the items are.
func isPartOf(c change.Change, d approved.Difference, schema change.Schema) bool {
	n := min(len(c.Path), len(d.Path))
	taken, missing := removesItem(c) && n == len(c.Path), removesItem(d.Change) && n == len(d.Path)
	switch {
	case taken && missing && len(c.Path) == len(d.Path):
		list := c.Path[:n-1]
		_, same := change.Counterpart([]any{c.Old}, []any{d.Old}, 0, schema, list)
		return same && slices.Equal(list, d.Path[:n-1])
	case taken, missing:
		return false // Its index is that of something else now.
	default:
		return c.Path.Overlaps(d.Path)
	}
}

// removesItem reports whether a change takes an item out of a list.
func removesItem(c change.Change) bool { return c.Verb == change.Delete && c.Path.IsItem() }

// shown returns the entries that tell of differences: of each its own, else the next above.
func shown(entries ledger.Ledger, differences []approved.Difference) []v1alpha1.Allowance {
	paths := make([]change.Path, len(entries))
	for i, e := range entries {
		// It was written from a path.
		paths[i], _ = change.ParsePath(e.Mutation)
	}
	told := make([]bool, len(entries))
	for _, d := range differences {
		next := -1
		for i, p := range paths {
			if change.Pattern(p).Covers(d.Path) && (next < 0 || len(p) > len(paths[next])) {
				next = i
			}
		}
		if next >= 0 {
			told[next] = true
		}
	}
	var out []v1alpha1.Allowance
	for i, e := range entries {
		if told[i] {
			out = append(out, e.Allowance)
		}
	}
	return out
}
