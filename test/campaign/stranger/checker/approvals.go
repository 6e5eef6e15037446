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

package checker

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// Clung says that nothing is withheld any more of what was approved.
const Clung Promise = "what stays withheld although it was approved"

// Unseen says that nothing is approved that nobody looked at.
const Unseen Promise = "an approval of what nobody looked at"

// checkApprovals looks for ledgers that withhold what somebody who may do so with all of an object has just approved of, and for
// what they withhold no more although it was approved as it had been before: the operator writes down both in the same request.
func (c *checker) checkApprovals() {
	if !c.Whole {
		return
	}
	for _, l := range c.all {
		if controllers[l.First().Kind] == "" {
			continue
		}
		looks := looked{}
		for _, v := range l.Versions {
			if v.Before != nil {
				looks.at(v.Before)
			}
			from, to := v.By.Received.Add(-lag), v.By.Answered
			if v.Before == nil || v.Deleting || v.By.Unasked || slices.Contains(v.By.Reasons, couldNotTell) || !c.mayApprove(l, v) ||
				c.disturbed(l, from.Add(-policylog.Moment), to) || len(c.rulesOf(l).During(v.Kind, v.Controller() != nil, from, to)) == 0 {
				continue
			}
			c.report.Entries++
			c.checkApproval(l, v, looks)
		}
	}
}

// mayApprove reports whether a version was made by nobody but who approves something of it, and may do so with all of it.
func (c *checker) mayApprove(l *audit.Life, v *audit.Version) bool {
	return !c.rightsTo(l, v).less && !slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return !v.Approves(w) || !c.initiates(l, v, w) })
}

func (c *checker) checkApproval(l *audit.Life, v *audit.Version, looks looked) {
	left := entriesOf(v)
	approved := v.By.Approved()
	for i := range left {
		e := &left[i]
		if e.Relation == withheldRelation && slices.ContainsFunc(approved, func(text string) bool { return looks.approves(text, e, v) }) {
			c.findf(Clung, v.By.Received, l, nil, "its ledger withholds %s by %q, of which %s approved by %s", e.Mutation, e.Initiator, v.By, approved)
		}
	}
	for _, text := range approved {
		field, content, said := strings.Cut(strings.TrimSpace(text), "@")
		if !said || field == everyField || slices.ContainsFunc(approved, func(other string) bool {
			path, _, _ := strings.Cut(strings.TrimSpace(other), "@")
			return other != text && (path == everyField || alike(fieldPath(path), fieldPath(field)))
		}) {
			continue
		}
		// What the request itself changes there has its cause.
		if changesField(v, fieldPath(field)) || !looks.elsewise(field, content, v) || !wasHeld(v, field) {
			continue
		}
		if !slices.ContainsFunc(left, func(e entry) bool {
			return e.Relation == withheldRelation && alike(fieldPath(e.Mutation), fieldPath(field))
		}) {
			c.findf(Unseen, v.By.Received, l, nil, "its ledger withholds nothing of %s any more, which %s approved as it had been before somebody changed it again", field, v.By)
		}
	}
}

// everyField is what an approval of everything names.
const everyField = "*"

// wasHeld reports whether the ledger that a version found withholds a field.
func wasHeld(v *audit.Version, field string) bool {
	return slices.ContainsFunc(entriesOf(v.Before), func(e entry) bool { return e.Relation == withheldRelation && e.Mutation == field })
}

// looked has what the digests stand for that ledgers had, by field and digest: whoever approves of something as it was looked at
// has them from there.
type looked map[string][]any

// at notes what a ledger says of the version that has it. Where the entry is not of this generation, a digest is of
// something that may have been changed again.
func (all looked) at(v *audit.Version) {
	for _, e := range entriesOf(v) {
		if e.Relation != withheldRelation || e.Content == "" {
			continue
		}
		key, value := e.Mutation+"@"+e.Content, valueOf(v.Object, e.Mutation)
		if !slices.ContainsFunc(all[key], func(known any) bool { return equality.Semantic.DeepEqual(known, value) }) {
			all[key] = append(all[key], value)
		}
	}
}

// elsewise reports whether what was looked at of a field, as a digest tells, is certainly something else than a version has there.
func (all looked) elsewise(field, content string, v *audit.Version) bool {
	known, value := all[field+"@"+content], valueOf(v.Object, field)
	return len(known) > 0 && !slices.ContainsFunc(known, func(before any) bool { return equality.Semantic.DeepEqual(before, value) })
}

// approves reports whether a part of an approval is of what an entry withholds in a version, for certain: it names everything, or
// the field or what it is in, and has the digest of the entry where it has any.
func (all looked) approves(text string, e *entry, v *audit.Version) bool {
	field, content, said := strings.Cut(strings.TrimSpace(text), "@")
	path, held := fieldPath(field), fieldPath(e.Mutation)
	switch {
	case said:
		return field == e.Mutation && content == e.Content
	case field == everyField:
		return true
	default:
		// One that names no field of the object approves of nothing.
		return len(path) > 0 && len(held) >= len(path) && slices.Equal(held[:len(path)], path) && valueOf(v.Object, field) != nil
	}
}

// valueOf returns what an object has in a field as the operator names it, and in a list by its place.
func valueOf(o *audit.Object, field string) any {
	path := fieldPath(field)
	if len(path) > 1 && path[0] == "metadata" {
		return whole(o, path)
	}
	return audit.Absent(o.At(path...))
}
