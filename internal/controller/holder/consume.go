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

package holder

import (
	"context"
	"slices"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// consumption finds the entries of a holder that are used up (D8).
type consumption struct {
	view
	when, initializing *policy.Condition
	spent              func(ledger.Entry) bool
	noted              map[string]bool
	firstSeen          map[string]time.Time
	// proven are the fields that the status proves to be carried out, none while a child
	// waits.
	proven []change.Pattern
	// next is when time alone will use up an entry.
	next requeue.Soonest
}

func (v view) consumption(ctx context.Context, status *v1alpha1.AllowanceRecordStatus) *consumption {
	initializing, when := lifecycle.Conditions(v.policies)
	c := &consumption{
		view:         v,
		when:         when,
		initializing: initializing,
		noted:        map[string]bool{},
		firstSeen:    map[string]time.Time{},
	}
	if !record.ChildWaits(status) {
		c.proven = lifecycle.Proven(v.obj, v.policies)
	}
	c.spent = lifecycle.Consumed(ctx, v.obj, v.policies, c.quiet(status))
	for _, consumed := range status.Consumed {
		c.noted[consumed.ID] = true
	}
	for _, seen := range status.FirstSeen {
		c.firstSeen[seen.ID] = seen.Time.Time
	}
	return c
}

// over reports whether an entry is used up. Once it is, it stays so: the record has
// noted it. Withheld changes are not used up, but noted where a ledger from before
// any policy was dropped (D10), and where admission cannot tell that they have reached
// all children.
func (c *consumption) over(e ledger.Entry) bool {
	switch {
	case c.noted[e.ID()]:
		return true
	case e.IsGate():
		return false // what closes the gate takes it out of the ledger (D16)
	case e.IsWithheld():
		return false
	case c.spent(e):
		return true
	default:
		return c.timed(e) && c.timedOut(e)
	}
}

// timed reports whether only time ends the entry: the status of its holder never
// tells, there is no generation yet whose end it could tell of, or it is for readers of the
// holder, of whom the status says nothing.
func (c *consumption) timed(e ledger.Entry) bool {
	if e.Generation > c.obj.GetGeneration() {
		return true
	}
	if e.IsForReaders() {
		return c.when == nil
	}
	return c.progress.Timed && c.when == nil && (c.initializing == nil || !e.IsCreation())
}

func (c *consumption) timedOut(e ledger.Entry) bool {
	seen, ok := c.firstSeen[e.ID()]
	if !ok {
		seen = c.now
	}
	end := seen.Add(policy.TTL(c.policies))
	if !end.After(c.now) {
		return true
	}
	c.next.At(end)
	return false
}

// isCarriedOut reports whether an entry tells of something withheld that is carried out
// all the same, as the status proves.
func (c *consumption) isCarriedOut(e ledger.Entry) bool {
	path, err := change.ParsePath(e.Mutation)
	return err == nil && e.IsWithheld() && change.AnyCovers(c.proven, path)
}

// carriesOut reports whether something that the ledger withholds is carried out, which is
// the webhook's to write down. Since the look began a child may have been refused.
func (c *consumption) carriesOut(status *v1alpha1.AllowanceRecordStatus) bool {
	return !record.ChildWaits(status) && slices.ContainsFunc(c.stored, func(e ledger.Entry) bool {
		return e.Generation <= c.obj.GetGeneration() && c.isCarriedOut(e)
	})
}

// pending goes through the pending grants (D11): what remains of them, and
// whether any of them should be folded into the ledger. One that counts keeps
// the generation at which it first did. A withheld change that a later one ends is not
// folded in.
func (c *consumption) pending(grants []v1alpha1.PendingGrant) (remaining []v1alpha1.PendingGrant, fold bool) {
	used := func(e ledger.Entry) bool { return c.over(e) || c.isCarriedOut(e) }
	for i, p := range grants {
		p.Allowances = c.without(p.Allowances, grants[i+1:])
		switch {
		case !record.IsAfter(p, c.obj):
			if !c.awaits(p) {
				continue
			}
		case record.Counts(p, c.obj):
			folded := record.Fold(c.stored, p, c.obj).Without(used)
			if folded.Encode() == c.stored.Without(used).Encode() {
				if c.uncached { // Whoever reads the holder from the cache does not find it in its ledger yet.
					remaining = append(remaining, p)
				}
				continue
			}
			p.Seen, p.Allowances = true, record.Allowances(p, c.obj)
			fold = true
		case p.Seen || p.After != "":
			// The content has gone, or was never stored: a write that found an older
			// version than this one is too late.
			continue
		case !c.awaits(p):
			continue
		}
		remaining = append(remaining, p)
	}
	return remaining, fold
}

// without filters the allowances of a pending grant: it drops withheld changes that a later grant ends.
func (c *consumption) without(allowances []v1alpha1.Allowance, later []v1alpha1.PendingGrant) []v1alpha1.Allowance {
	return slices.DeleteFunc(slices.Clone(allowances), func(a v1alpha1.Allowance) bool {
		return a.Relation == v1alpha1.RelationWithheld && slices.ContainsFunc(later, func(p v1alpha1.PendingGrant) bool {
			return slices.Contains(p.Cleared, a.Mutation) && record.IsAfter(p, c.obj) && record.Counts(p, c.obj)
		})
	})
}

// awaits reports whether a pending grant may still be seen, and has it looked at again
// when it may not any more.
func (c *consumption) awaits(p v1alpha1.PendingGrant) bool {
	end := p.Time.Add(record.UnseenLimit)
	if !end.After(c.now) {
		return false
	}
	c.next.At(end)
	return true
}

// consumed names the entries of the stored ledger that are used up.
func (c *consumption) consumed() []v1alpha1.ConsumedAllowance {
	var out []v1alpha1.ConsumedAllowance
	for _, e := range c.stored {
		id := e.ID()
		same := func(other v1alpha1.ConsumedAllowance) bool { return other.ID == id }
		if c.over(e) && !slices.ContainsFunc(out, same) {
			out = append(out, v1alpha1.ConsumedAllowance{ID: id, Generation: e.Generation})
		}
	}
	return out
}
