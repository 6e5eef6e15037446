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
	"errors"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// deletionOf returns who deleted a parent that is going or gone, with the trace as it goes on to the
// child that is asked about; nil where nobody knows. The collector acts milliseconds after the deletion
// of the parent, which the cache of records may not have yet. Nothing is denied for the want of it.
// What a child behind a gate stands for goes along by the policies of the parent itself: what is
// known of something above it alone is not enough there.
func (g *Gatherer) deletionOf(ctx context.Context, r *request, parent v1alpha1.TargetReference) *v1alpha1.Deletion {
	d, err := g.Records.DeletionOf(ctx, parent.UID)
	if d == nil || err != nil || r.operation == decision.Delete && r.driver != nil && len(d.Policies) == 0 {
		doubtDeletion.read()
		if told, err := g.Records.LiveDeletion(ctx, parent); told != nil && err == nil {
			d = told
		}
		if d == nil {
			return nil
		}
	}
	below := *d
	below.Trace = ledger.Across(d.Trace, parent.Namespace, r.namespace)
	return &below
}

// keepDeletion records who deletes a holder. What the collector deletes follows from
// the record of what was deleted above it (D9), and needs one of its own now only
// where it has none: nobody would see its end. Its policies may not be in effect any
// more, as what they depend on is gone.
func (v *Validator) keepDeletion(ctx context.Context, r *request, f *facts, verdict decision.Verdict) error {
	switch verdict.Reason {
	case decision.ReasonFinishing:
		return nil
	case decision.ReasonPlatform:
		return v.keepPlatformDeletion(ctx, r, f, verdict)
	default:
		if len(f.OwnPolicies) == 0 {
			return nil
		}
		initiator, trace := decision.DeletionTrace(&f.Input, verdict)
		return v.Records.SetDeletion(ctx, r.target(), v1alpha1.Deletion{
			User: r.requester.Username, Initiator: initiator, Trace: trace, Policies: names(f.OwnPolicies),
		})
	}
}

// keepPlatformDeletion records whom a holder goes with that a platform actor deletes.
// With its namespace the records of all above it go as well, and none can be made there
// any more: where what its children stand for outside may go along with it, that is kept
// elsewhere, or they would wait for ever. The record of what is in no namespace stays, and is written
// before the request is answered: the children are deleted milliseconds later.
func (v *Validator) keepPlatformDeletion(ctx context.Context, r *request, f *facts, verdict decision.Verdict) error {
	outside := slices.ContainsFunc(f.OwnPolicies, deletesOutside)
	parts := outside && r.namespace != ""
	follows := f.Deletion != nil && f.record == nil && len(f.index.For(r.gvk.GroupKind())) > 0 || outside && !parts
	// Nothing above it tells of what a platform actor deletes for reasons of its own, as who deletes what has finished.
	follows = follows || !parts && len(f.OwnPolicies) > 0 && f.Deletion == nil && !decision.FollowsDeletion(f.Requester)
	if !parts && !follows {
		return nil
	}
	var d v1alpha1.Deletion
	if f.Deletion != nil {
		d = *f.Deletion.DeepCopy()
		d.Trace = append(d.Trace, record.DeletedHop(r.target()))
	} else {
		d.User = r.requester.Username
		d.Initiator, d.Trace = decision.DeletionTrace(&f.Input, verdict)
	}
	d.Policies = names(f.OwnPolicies)
	var errs []error
	if parts {
		errs = append(errs, v.Records.KeepDeletion(ctx, r.target(), d))
	}
	if follows {
		errs = append(errs, v.Records.SetDeletion(ctx, r.target(), d))
	}
	return errors.Join(errs...)
}

// deletesOutside reports whether the deleting section of a policy lets go along what is
// outside the cluster.
func deletesOutside(p *policy.Policy) bool {
	return p.Deleting != nil && slices.ContainsFunc(p.Deleting.Entries, func(e policy.Entry) bool {
		return e.AllowsOutside(gate.VerbDelete)
	})
}

// causeOf returns who caused a request that a verdict let through, and the way to the
// parent: by the UpgradeAllowance or the allowance that covers it, by giving back what is adopted, or by
// deleting the parent. There is none for what passes otherwise.
func (f *facts) causeOf(v decision.Verdict) (initiator string, trace []v1alpha1.TraceHop) {
	if v.Upgrade != nil {
		return f.CausedByUpgrade(v.Upgrade)
	}
	if v.Exercised != nil {
		return v.Exercised.Initiator, v.Exercised.Trace
	}
	if back := f.returned(v); back != nil {
		return back.Initiator, []v1alpha1.TraceHop{{Kind: f.Child.GVK.Kind, Name: f.Child.Name, Generation: back.Generation, Field: back.Field}}
	}
	if d := f.CausedByDeletion(v); d != nil {
		return d.Initiator, d.Trace
	}
	return "", nil
}
