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

package admission

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

// decideAsAsked decides about a request. Where the object has what only a mutating webhook of ours
// writes, the request was asked about before, and another replica has answered: what it has taken away
// is found by what it wrote, as far as the requester could ask for it now. Then it is decided anew, as
// what was asked.
func (g *Gatherer) decideAsAsked(ctx context.Context, r *request) (*outcome, error) {
	first, err := g.decide(ctx, r)
	if err != nil || r.again != nil || !r.isAnswered(first.facts) {
		return first, err
	}
	o := first
	// What nothing allows leaves no approval to be found: the glass comes first.
	for _, find := range []func(context.Context, *outcome, *round){r.findBrokenGlass, r.findApproval} {
		found := round{elsewhere: true}
		if r.again != nil {
			found = *r.again
		}
		before := found
		find(ctx, o, &found)
		if r.again != nil && found == before {
			continue
		}
		r.again = &found
		if o, err = g.decide(ctx, r); err != nil {
			r.again = nil
			return nil, err
		}
	}
	if !o.isOfAnswer(r) {
		r.again = nil
		return first, nil
	}
	return o, nil
}

// isAnswered reports whether another replica may have answered the request: something that is the
// object's own is otherwise than before, and it was not the request that wrote it. So an old manifest, or
// one of another object, is of no such answer. What the API server has noted of a gate is taken away by one.
func (r *request) isAnswered(f *facts) bool {
	if r.validating || r.new == nil || r.subresource != "" || f.Operator || f.copied() {
		return false
	}
	changed := r.changedOwn()
	return len(changed) > 0 && !slices.ContainsFunc(changed, func(key string) bool {
		return key == v1alpha1.AnnotationGateRequested || r.mayWrite(key)
	})
}

// changedOwn returns the keys of what is the object's own and has another value than before.
func (r *request) changedOwn() []string {
	var before map[string]string
	if r.old != nil {
		before = r.old.GetAnnotations()
	}
	has, prefix := r.new.GetAnnotations(), ledger.AnnotationPrefix(r.new)
	keys := append([]string{prefix + ledger.NameAllowances, prefix + ledger.NameApproved}, gate.StateKeys()...)
	return slices.DeleteFunc(keys, func(key string) bool { return has[key] == "" || has[key] == before[key] })
}

// mayWrite reports whether it may be the request itself that writes an annotation. The API server counts
// in the managed fields what a request writes, before it asks webhooks, and not what these do.
func (r *request) mayWrite(key string) bool {
	before := managersOf(r.rawOld, key)
	return len(managedFields(r.rawNew)) == 0 || slices.ContainsFunc(managersOf(r.rawNew, key), func(m string) bool { return !slices.Contains(before, m) })
}

func managedFields(object []byte) []gjson.Result {
	return gjson.GetBytes(object, fieldMetadata+".managedFields").Array()
}

// managersOf returns the field managers of an annotation, each with the operation by which it is one.
func managersOf(object []byte, key string) []string {
	var out []string
	for _, m := range managedFields(object) {
		if _, ok := m.Get("fieldsV1.f:metadata.f:annotations").Map()["f:"+key]; ok {
			out = append(out, m.Get("manager").String()+"\x00"+m.Get("operation").String()+"\x00"+m.Get("subresource").String())
		}
	}
	return out
}

// findBrokenGlass finds the reason that the requester has given for breaking the glass, in what that
// has earned. Whether they may is asked as of the annotation.
func (r *request) findBrokenGlass(_ context.Context, o *outcome, found *round) {
	has, _ := r.ledgerAsked() // What cannot be read tells of nothing.
	for _, e := range has {
		if e.Initiator != r.user.Username || len(e.Trace) == 0 || hasID(o.stored, e) || r.old != nil && e.Generation < r.old.GetGeneration() {
			continue
		}
		if reason := e.Trace[0].Attestations[decision.BreakGlassAttestation]; reason != "" {
			found.breakGlass, found.noted = reason, !r.dryRun
			return
		}
	}
}

// findApproval finds what the requester has approved, in what that leaves, and asks for it: the gate of
// what was approved as it is tells so.
func (r *request) findApproval(ctx context.Context, o *outcome, found *round) {
	if r.old == nil || !o.mayApprove() {
		return
	}
	has, _ := r.ledgerAsked() // What cannot be read tells of nothing.
	var withheld *approved.Standing
	before := r.unapproved(o.facts)
	if before != nil {
		withheld = compared(r.new, nil, has, before.Object)
	}
	isWithheld := func(c change.Change) bool { return withheld != nil && withheld.Withholds(c.Path) }
	var paths []string
	for _, c := range o.inOrder(ctx, slices.DeleteFunc(o.approvedIn(ctx, r, o.verdict, has), isWithheld), has) {
		paths = append(paths, c.Path.String())
	}
	paths = append(paths, r.takenUpWaiting(o.facts, before, withheld, hasNew(has, o.facts))...)
	if now := gate.ReadState(r.new.GetAnnotations()); o.Gate != nil && now.Name != o.gate.state.Name && len(o.Renames) == 0 {
		for _, field := range o.gate.Identity() {
			paths = append(paths, field.String())
		}
	}
	found.approve = strings.Join(paths, ",")
}

// takenUpWaiting returns what waited for a rule before the request, and does not in the object that is about to be
// stored: it may be approved as well, and allows nothing by which that shows.
func (r *request) takenUpWaiting(f *facts, before, after *approved.Standing, hasNew bool) []string {
	if before == nil {
		return nil
	}
	var out []string
	was := compared(r.old, nil, f.stored, before.Object)
	for _, d := range before.Differences {
		if !d.Counts && (hasNew || was.Differs(d.Path)) && !after.Differs(d.Path) {
			out = append(out, d.Path.String())
		}
	}
	return out
}

// isOfAnswer reports whether what the object has is of an answer to the very request: an approval or
// broken glass, all that it earns, or the gate as it sets it.
func (o *outcome) isOfAnswer(r *request) bool {
	if o.approve.allowed && len(o.approve.changes) > 0 || o.BreakGlass != "" || o.isGateOf(r) {
		return true
	}
	has, _ := r.ledgerAsked() // What cannot be read is of none.
	lacks := func(e ledger.Entry) bool { return !holds(has, e) }
	return len(o.grant.Allowances) > 0 && !slices.ContainsFunc(ledger.Ledger{}.Merge(o.grant.Allowances...), lacks)
}

// isGateOf reports whether the object has been put under its gate, or found there, with the content
// that it has.
func (o *outcome) isGateOf(r *request) bool {
	return o.Gate != nil && gate.ReadState(r.new.GetAnnotations()).Content == o.setting.State.Content
}

// isSetAgain reports whether the gate of the object was set for the very request before. What another
// replica has noted of the ceiling counts only of those who have a say in that: they could say it themselves.
func (o *outcome) isSetAgain(r *request) bool {
	switch {
	case r.again == nil:
		return false
	case r.again.elsewhere:
		return (r.old == nil || o.byAuthor(r)) && gate.ReadState(r.new.GetAnnotations()).Adopted()
	default:
		return true
	}
}

// inOrder returns approved fields in an order in which they leave what a ledger has: of several that
// allow the same, the entry is of the first.
func (o *outcome) inOrder(ctx context.Context, fields []change.Change, has ledger.Ledger) []change.Change {
	if len(fields) < 2 {
		return fields
	}
	written := fieldsOf(has)
	left := make([]map[string]string, 0, len(fields))
	for _, c := range fields {
		approving := *o.facts
		approving.Approved, approving.OwnChanges = []change.Change{c}, nil
		grant := decision.Grants(ctx, &approving.Input, o.verdict)
		left = append(left, fieldsOf(ledger.Ledger{}.Merge(grant.Allowances...)))
	}
	fields, out := slices.Clone(fields), make([]change.Change, 0, len(fields))
	for len(fields) > 0 {
		// The first that allows nothing that is there as allowed by another one.
		i := max(0, slices.IndexFunc(left, func(allows map[string]string) bool {
			for key, field := range allows {
				isOf := func(other map[string]string) bool { return other[key] != "" && other[key] == written[key] }
				if field != written[key] && slices.ContainsFunc(left, isOf) {
					return false
				}
			}
			return true
		}))
		out = append(out, fields[i])
		fields, left = slices.Delete(fields, i, i+1), slices.Delete(left, i, i+1)
	}
	return out
}

// fieldsOf returns by the change of which field each entry of a ledger is there.
func fieldsOf(l ledger.Ledger) map[string]string {
	out := map[string]string{}
	for _, e := range l {
		if hop, ok := e.LastHop(); ok {
			out[e.Key()] = hop.Field
		}
	}
	return out
}
