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

package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// hearing is how long API servers may take to hear whom to ask, once they are told.
const hearing = time.Second

// lateLook is a second look at the holders that policies are new to. Between the first
// look and the moment in which the API server asks, objects go on to change, and nobody
// grants anything for it: they would be stuck (D20).
type lateLook struct {
	before, after *policy.Index
	changed       *policy.Policy
	// seen are the generations that the first look found.
	seen map[types.UID]int64
	// due is when to look; zero until the API server is told whom to ask.
	due time.Time
}

// lookLater remembers what the first look found.
func (a *Adoption) lookLater(ctx context.Context, before, after *policy.Index, changed *policy.Policy) (*lateLook, error) {
	look := &lateLook{before: before, after: after, changed: changed, seen: map[types.UID]int64{}}
	err := a.eachNew(ctx, before, after, changed, func(obj *unstructured.Unstructured, _ []*policy.Policy) {
		look.seen[obj.GetUID()] = obj.GetGeneration()
	})
	return look, err
}

// adoptLate records the holders that are midway with a change that was made since the
// first look and that nobody was asked about: otherwise the ledger would have an entry for
// it, granted or withheld.
func (a *Adoption) adoptLate(ctx context.Context, look *lateLook) error {
	var newcomers []newcomer
	err := a.eachNew(ctx, look.before, look.after, look.changed, func(obj *unstructured.Unstructured, policies []*policy.Policy) {
		n := arriving(ctx, obj, policies, a.Clock.Now())
		seen := look.seen[obj.GetUID()]
		asked := slices.ContainsFunc(n.entries, func(e ledger.Entry) bool { return e.Generation > seen })
		if n.midway && obj.GetGeneration() > seen && !asked {
			// What it has in its ledger since is its own.
			n.raw, n.entries = "", nil
			newcomers = append(newcomers, n)
		}
	})
	if err != nil {
		return err
	}
	return a.recordAll(ctx, newcomers)
}

// adoptNow takes the first look for a policy, and remembers what it found. What changes
// between the two is found by the second one: it was seen as it was before.
func (r *AllowancePolicy) adoptNow(ctx context.Context, before, after *policy.Index, changed *policy.Policy) error {
	look, err := r.lookLater(ctx, before, after, changed)
	if err != nil {
		return err
	}
	if err := r.adopt(ctx, before, after, changed); err != nil {
		return err
	}
	if r.late == nil {
		r.late = map[string]*lateLook{}
	}
	r.late[changed.Name] = look
	return nil
}

// ensureAdoptedLate takes the second look for a policy once the API server asks about
// what it names, and says after what time to come again.
func (r *AllowancePolicy) ensureAdoptedLate(ctx context.Context, p *policy.Policy) (time.Duration, error) {
	look, ok := r.late[p.Name]
	if !ok || !r.Rendering.Rendered(p.Name, p.Generation) {
		return 0, nil // The catalog has the policy reconciled again.
	}
	now := r.Clock.Now()
	if look.due.IsZero() {
		look.due = now.Add(hearing)
	}
	if wait := look.due.Sub(now); wait > 0 {
		return wait, nil
	}
	if err := r.adoptLate(ctx, look); err != nil {
		return 0, err
	}
	delete(r.late, p.Name)
	return 0, nil
}
