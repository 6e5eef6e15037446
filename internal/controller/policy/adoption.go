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
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// adoptionWriters is how many records are written at a time. A policy takes
// effect only after the last of them.
const adoptionWriters = 8

// adoptionLooks is the interval between searches for holders to record. While some are being
// recorded, which takes seconds where there are many, others begin something: what they
// began before the webhooks were asked about them has no allowance either.
const adoptionLooks = 5

// Holders reads the cached objects of the kinds that policies are for.
type Holders interface {
	ancestry.Getter
	// List goes through all objects of a kind, which the caller does not modify.
	List(ctx context.Context, kind schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error]
	// Live returns an object as the API server has it, with its managed fields, or a NotFound error.
	Live(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
}

// AdoptionRecords keeps which holders are adopting.
type AdoptionRecords interface {
	// SetAdopting records that a holder finishes what it was doing when a policy first
	// took effect for it. parent is the uid of its parent, empty where it has
	// none, and nil where nobody knows.
	SetAdopting(ctx context.Context, target v1alpha1.TargetReference, parent *types.UID) error
	// Live returns the record of an object as the API server has it, nil for none.
	Live(ctx context.Context, target v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error)
	// DropLedger makes entries of a ledger from before any policy count for nothing, but for what tells
	// of withheld changes that are withheld still.
	DropLedger(ctx context.Context, target v1alpha1.TargetReference, raw string, entries, withheld ledger.Ledger) error
}

// Schemas knows what is declared about kinds.
type Schemas interface {
	// Schema returns the schema of a kind, nil where nothing is known of it.
	Schema(kind schema.GroupVersionKind) change.Schema
}

// Adoption finds and records the holders that are in the middle of something when
// policies first take effect for them; without it, they would be stuck half-way
// (D20).
type Adoption struct {
	// Holders are looked at.
	Holders Holders
	// Namespaces that they live in.
	Namespaces ancestry.Namespaces
	// Records say which of them are adopting.
	Records AdoptionRecords
	// Schemas tell the items of their lists apart; nil where nothing is known of any kind.
	Schemas Schemas
	// DigestKey keys the digests of what is withheld of them.
	DigestKey string
	// Writer brings up to date what they say is withheld.
	Writer client.Writer
	// Clock tells the time.
	Clock clock.PassiveClock
}

// newcomer is a holder for which policies first take effect.
type newcomer struct {
	target v1alpha1.TargetReference
	// parent is the uid of its parent, empty where it has none, and nil where nobody knows.
	parent *types.UID
	// policies are those in effect for it.
	policies []*policy.Policy
	// midway is true where it is in the middle of something, and nothing of it is withheld.
	midway bool
	// raw is the ledger that it has already, with its entries that count for nothing, as nobody
	// knows who wrote them (D10).
	raw     string
	entries ledger.Ledger
	// withheld are those that tell of changes that are withheld still.
	withheld ledger.Ledger
	// outdated are annotations that do not say what is withheld now, by their keys, with what they
	// are to say, nil for nothing: the object was changed while no policy was in effect for it.
	outdated map[string]any
	version  string
	gvk      schema.GroupVersionKind
}

// adopt records what is new to policies: which holders are midway, and the ledgers
// that they already have and that count for nothing. It looks again after it has recorded
// some, until there is nothing more. It returns what it has recorded, by UID.
func (a *Adoption) adopt(ctx context.Context, before, after *policy.Index, changed *policy.Policy) (map[types.UID]newcomer, error) {
	recorded := map[types.UID]newcomer{}
	for range adoptionLooks {
		newcomers, err := a.newcomers(ctx, before, after, changed)
		if err != nil {
			return nil, err
		}
		newcomers = slices.DeleteFunc(newcomers, func(n newcomer) bool {
			known, ok := recorded[n.target.UID]
			return ok && (known.midway || !n.midway) && (known.raw == n.raw || n.raw == "") && n.outdated == nil
		})
		if len(newcomers) == 0 {
			return recorded, nil
		}
		writers, ctx := errgroup.WithContext(ctx)
		writers.SetLimit(adoptionWriters)
		for i := range newcomers {
			writers.Go(func() error { return a.record(ctx, &newcomers[i]) })
		}
		if err := writers.Wait(); err != nil {
			return nil, err
		}
		for _, n := range newcomers {
			recorded[n.target.UID] = n
		}
	}
	return recorded, nil
}

func (a *Adoption) record(ctx context.Context, n *newcomer) error {
	if n.outdated != nil {
		if err := a.mend(ctx, n); err != nil {
			return err
		}
	}
	if n.raw != "" {
		if err := a.Records.DropLedger(ctx, n.target, n.raw, n.entries, n.withheld); err != nil {
			return fmt.Errorf("dropping the ledger that %s %s had before any policy: %w", n.target.Kind, record.Key(n.target), err)
		}
	}
	if n.midway {
		if err := a.Records.SetAdopting(ctx, n.target, n.parent); err != nil {
			return fmt.Errorf("recording that %s %s is adopting: %w", n.target.Kind, record.Key(n.target), err)
		}
	}
	return nil
}

// mend has an object say what is withheld of it. Whatever else became of it since, while no policy
// was in effect for it, is approved. Where the object is newer than the cache, n becomes what
// the policies find now.
func (a *Adoption) mend(ctx context.Context, n *newcomer) error {
	if err := a.awaitLull(ctx, n); err != nil {
		return err
	}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		err := a.write(ctx, n)
		if !apierrors.IsConflict(err) {
			return err
		}
		live, getErr := a.Holders.Live(ctx, n.gvk, types.NamespacedName{Namespace: n.target.Namespace, Name: n.target.Name})
		if getErr != nil {
			return getErr
		}
		if live.GetUID() != n.target.UID {
			return nil
		}
		parent := n.parent
		*n = a.arriving(ctx, live, n.policies)
		n.parent = parent
		if n.outdated == nil {
			return nil
		}
		return err
	})
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		// Others do not let it be written. More of it is withheld than has to be, until somebody approves it.
		logf.FromContext(ctx).Error(err, "Cannot have an object say what of it is withheld since before its policy", "kind", n.target.Kind, "object", record.Key(n.target))
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("having %s %s say what of it is withheld since before the policy: %w", n.target.Kind, record.Key(n.target), err)
	}
	return nil
}

// awaitLull waits until the object may be written. That is so of few: something was withheld of them
// when their last policy went.
func (a *Adoption) awaitLull(ctx context.Context, n *newcomer) error {
	wait := policy.Known(n.gvk.GroupKind(), n.policies).Lull(a.Clock.Now())
	if wait == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// write writes the outdated annotations of an object, if it is as it was looked at.
func (a *Adoption) write(ctx context.Context, n *newcomer) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": n.target.UID, "resourceVersion": n.version, "annotations": n.outdated,
	}})
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(n.gvk)
	obj.SetNamespace(n.target.Namespace)
	obj.SetName(n.target.Name)
	return a.Writer.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
}

// newcomers returns the holders for which a policy of after is in effect, and none of
// before, and about which there is something to record. changed is the policy in
// which the two differ.
func (a *Adoption) newcomers(ctx context.Context, before, after *policy.Index, changed *policy.Policy) ([]newcomer, error) {
	var newcomers []newcomer
	for _, kind := range related(after, changed.For.GroupKind()) {
		for obj, err := range a.Holders.List(ctx, after.For(kind)[0].For) {
			if err != nil {
				return nil, fmt.Errorf("listing the objects of kind %s: %w", kind, err)
			}
			policies := a.inEffect(ctx, after, obj)
			if len(policies) == 0 || len(a.inEffect(ctx, before, obj)) > 0 {
				continue
			}
			if n := a.arriving(ctx, obj, policies); n.midway || n.raw != "" || n.outdated != nil {
				if parent, known := ancestry.ParentUID(ctx, a.Holders, after, obj); known {
					n.parent = &parent
				}
				newcomers = append(newcomers, n)
			}
		}
	}
	return newcomers, nil
}

// inEffect returns the policies of index that are in effect for an object.
func (a *Adoption) inEffect(ctx context.Context, index *policy.Index, obj *unstructured.Unstructured) []*policy.Policy {
	return index.InEffect(ancestry.Chain(ctx, a.Holders, a.Namespaces, index, obj))
}

// arriving returns an object as the policies find it that first take effect for it.
func (a *Adoption) arriving(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy) newcomer {
	prefix := ledger.AnnotationPrefix(obj)
	raw := obj.GetAnnotations()[prefix+ledger.NameAllowances]
	// A ledger that cannot be read counts as empty everywhere (D4).
	entries, _ := ledger.Decode(raw)
	st, text := a.resumed(obj, policies)
	withheld := decision.Withheld(st)
	n := newcomer{
		target:   record.TargetOf(obj),
		policies: policies,
		midway:   len(withheld) == 0 && lifecycle.Midway(ctx, obj, policies, a.Clock.Now()),
		raw:      raw,
		entries:  entries.Without(func(e ledger.Entry) bool { return isIn(withheld, e) }),
		withheld: withheld,
		gvk:      obj.GroupVersionKind(),
		version:  obj.GetResourceVersion(),
	}
	said := entries.Without(func(e ledger.Entry) bool { return !e.IsWithheld() })
	if text != obj.GetAnnotations()[prefix+ledger.NameApproved] || !slices.EqualFunc(said, withheld, isSame) {
		told := entries.Without(ledger.Entry.IsWithheld).Merge(withheld.Allowances()...)
		n.outdated = map[string]any{prefix + ledger.NameApproved: orNothing(text), prefix + ledger.NameAllowances: orNothing(told.Encode())}
	}
	return n
}

// resumed compares an object with its approved content from before the policies, and returns the
// text that this is to be kept as. Content that cannot be read tells of nothing that was withheld.
func (a *Adoption) resumed(obj *unstructured.Unstructured, policies []*policy.Policy) (*approved.Standing, string) {
	text := ledger.Annotation(obj, ledger.NameApproved)
	state, err := approved.Decode(text)
	if state == nil || err != nil {
		return nil, ""
	}
	var declared change.Schema
	if a.Schemas != nil {
		declared = a.Schemas.Schema(obj.GroupVersionKind())
	}
	st := approved.Resumed(state, decision.Approvable(obj, policies, declared, a.DigestKey))
	if state.Saw(obj.Object) {
		return st, text
	}
	return st, st.State().Encode(st.Object.UID)
}

func isIn(l ledger.Ledger, e ledger.Entry) bool {
	return slices.ContainsFunc(l, func(other ledger.Entry) bool { return isSame(e, other) })
}

func isSame(a, b ledger.Entry) bool { return a.ID() == b.ID() }

// orNothing returns a text for a merge patch, in which no text is null.
func orNothing(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// related returns the kinds that policies are for and that a policy for kind can
// matter to: those that are connected with it by policies of one that bound the
// other, itself included.
func related(index *policy.Index, kind schema.GroupKind) []schema.GroupKind {
	if len(index.For(kind)) == 0 {
		return nil
	}
	kinds := []schema.GroupKind{kind}
	seen := map[schema.GroupKind]bool{kind: true}
	for i := 0; i < len(kinds); i++ {
		for _, p := range index.Policies() {
			other := p.For.GroupKind()
			if !seen[other] && (p.Bounds(kinds[i]) || bounds(index.For(kinds[i]), other)) {
				seen[other] = true
				kinds = append(kinds, other)
			}
		}
	}
	return kinds
}

// bounds reports whether one of the policies bounds a kind.
func bounds(policies []*policy.Policy, child schema.GroupKind) bool {
	for _, p := range policies {
		if p.Bounds(child) {
			return true
		}
	}
	return false
}
