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
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/approved"
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
	// DropLedger makes a ledger from before any policy count for nothing.
	DropLedger(ctx context.Context, target v1alpha1.TargetReference, raw string, entries ledger.Ledger) error
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
	// Writer takes approved content off them that is not theirs any more.
	Writer client.Writer
	// Clock tells the time.
	Clock clock.PassiveClock
}

// newcomer is a holder for which policies first take effect.
type newcomer struct {
	target v1alpha1.TargetReference
	// parent is the uid of its parent, empty where it has none, and nil where nobody knows.
	parent *types.UID
	// midway is true where it is in the middle of something.
	midway bool
	// raw is the ledger that it has already, with its entries: nobody knows who
	// wrote it (D10).
	raw     string
	entries ledger.Ledger
	// outdated is the key of the annotation with approved content where the object has
	// changed since, while no policy was in effect for it; empty where there is none.
	outdated string
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
			return ok && (known.midway || !n.midway) && (known.raw == n.raw || n.raw == "") && n.outdated == ""
		})
		if len(newcomers) == 0 {
			return recorded, nil
		}
		writers, ctx := errgroup.WithContext(ctx)
		writers.SetLimit(adoptionWriters)
		for _, n := range newcomers {
			recorded[n.target.UID] = n
			writers.Go(func() error { return a.record(ctx, n) })
		}
		if err := writers.Wait(); err != nil {
			return nil, err
		}
	}
	return recorded, nil
}

func (a *Adoption) record(ctx context.Context, n newcomer) error {
	if n.outdated != "" {
		if err := a.drop(ctx, n); err != nil {
			return err
		}
	}
	if n.raw != "" {
		if err := a.Records.DropLedger(ctx, n.target, n.raw, n.entries); err != nil {
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

// drop takes approved content off an object that is from before the policy: what has
// become of the object since, while no policy was in effect for it, is approved.
func (a *Adoption) drop(ctx context.Context, n newcomer) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": n.target.UID, "annotations": map[string]any{n.outdated: nil},
	}})
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(n.gvk)
	obj.SetNamespace(n.target.Namespace)
	obj.SetName(n.target.Name)
	err = a.Writer.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("taking the approved content off %s %s that it had before any policy: %w", n.target.Kind, record.Key(n.target), err)
	}
	return nil
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
			if n := arriving(ctx, obj, policies, a.Clock.Now()); n.midway || n.raw != "" || n.outdated != "" {
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
func arriving(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy, now time.Time) newcomer {
	prefix := ledger.AnnotationPrefix(obj)
	raw := obj.GetAnnotations()[prefix+"allowances"]
	// A ledger that cannot be read counts as empty everywhere (D4).
	entries, _ := ledger.Decode(raw)
	n := newcomer{
		target:  record.TargetOf(obj),
		midway:  lifecycle.Midway(ctx, obj, policies, now),
		raw:     raw,
		entries: entries,
		gvk:     obj.GroupVersionKind(),
	}
	// One that cannot be read tells of nothing that was withheld.
	if state, err := approved.Decode(obj.GetAnnotations()[prefix+"approved"]); err != nil || state != nil && !state.Saw(obj.Object) {
		n.outdated = prefix + "approved"
	}
	return n
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
