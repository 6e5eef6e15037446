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

package policy

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// arrivalSettles is how long the cache may take to show what was begun before everybody was asked.
const arrivalSettles = 5 * time.Second

// untilHeard is how long an API server may take to follow a webhook configuration that was written.
// If an object was changed in that time, its annotations show whether the webhooks were asked: a
// creation leaves a ledger, and a change that a rule is about leaves a ledger or a mark. If the ledger
// was used up since, the record of the object knows it.
const untilHeard = 2 * time.Second

// arrival is a generation of a policy between the adoption of its objects and the moment in which
// each request for them is judged by it.
type arrival struct {
	policy *policy.Policy
	// before and after are the policies without it, or with the generation before, and with it.
	before, after *policy.Index
	// recorded are the objects that are adopting, or whose ledgers were dropped, by UID.
	recorded map[types.UID]newcomer
	// wantedAt is the write of the policy, and judgedAt the one by which each replica came to
	// know that its objects are adopted.
	wantedAt, judgedAt record.Moment
	// looked is when its objects were looked at once everybody was asked; zero before.
	looked time.Time
}

// arrive looks for what was begun after adopt had looked and before everybody was asked, at once
// and when the cache must have shown it. It returns after how long it has to look again, 0 for never.
func (r *Reconciler) arrive(ctx context.Context, entry catalog.Entry) (time.Duration, error) {
	p := entry.Policy
	to, ok := r.arrivals[p.Name]
	if !ok || !isSameGeneration(to.policy, p) || entry.Adopted != p || !r.Rendering.Rendered(p) {
		return 0, nil
	}
	now := r.Clock.Now()
	last := !to.looked.IsZero()
	if left := to.looked.Add(arrivalSettles).Sub(now); last && left > 0 {
		return left, nil
	}
	if err := r.adoptLate(ctx, to, to.judgedAt.Later(r.Rendering.ToldAt(p))); err != nil {
		return 0, fmt.Errorf("adopting what was begun while policy %s came into effect: %w", p.Name, err)
	}
	if last {
		delete(r.arrivals, p.Name)
		return 0, nil
	}
	to.looked = now
	r.arrivals[p.Name] = to
	return arrivalSettles, nil
}

// isSameGeneration reports whether two compiled policies are of the same generation of one policy. All
// policies are compiled anew whenever a policy or a kind comes.
func isSameGeneration(a, b *policy.Policy) bool {
	return a.UID == b.UID && a.Generation == b.Generation
}

// adoptLate records as adopting the objects that were changed after the policy was written and
// before the API server had heard of asked, the write from which on changes get allowances. Their
// controllers would be denied for ever otherwise (D20). *Observed* of three Deployments of twenty,
// which were made within 30 ms around that write. Objects that were changed since have a mark or a
// ledger, or are newer.
func (a *Adoption) adoptLate(ctx context.Context, to arrival, asked record.Moment) error {
	newcomers, err := a.newcomers(ctx, to.before, to.after, to.policy)
	if err != nil {
		return err
	}
	for _, n := range newcomers {
		known := to.recorded[n.target.UID]
		if known.midway || !n.midway {
			continue
		}
		live, err := a.Holders.Live(ctx, n.gvk, types.NamespacedName{Namespace: n.target.Namespace, Name: n.target.Name})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading %s %s: %w", n.target.Kind, record.Key(n.target), err)
		}
		changed := record.ChangeOf(live)
		if live.GetUID() != n.target.UID || changed.Before(to.wantedAt) || !changed.Within(untilHeard, asked) {
			continue
		}
		now := a.arriving(ctx, live, a.inEffect(ctx, to.after, live))
		if !now.midway || now.raw != known.raw || now.outdated != nil {
			continue
		}
		switch judged, err := a.isJudged(ctx, n.target, changed, asked); {
		case err != nil:
			return err
		case judged:
			continue
		}
		now.parent, now.raw = n.parent, "" // A ledger that it has was dropped when adopt looked.
		if err := a.record(ctx, &now); err != nil {
			return err
		}
		to.recorded[n.target.UID] = now
	}
	return nil
}

// isJudged reports whether the webhooks were asked about an object that was changed after the write
// from which on they should have been.
func (a *Adoption) isJudged(ctx context.Context, target v1alpha1.TargetReference, changed, asked record.Moment) (bool, error) {
	if changed.Before(asked) {
		return false, nil
	}
	rec, err := a.Records.Live(ctx, target)
	if err != nil {
		return false, fmt.Errorf("reading the record of %s %s: %w", target.Kind, record.Key(target), err)
	}
	return rec != nil && rec.Spec.LedgerKnown, nil
}
