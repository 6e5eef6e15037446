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
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/scope"
)

// adoptionWriters is how many records are written at a time. A policy takes
// effect only after the last of them.
const adoptionWriters = 8

// Holders reads the cached objects of the kinds that policies are for.
type Holders interface {
	scope.Getter
	// List returns all objects of a kind, which the caller does not modify.
	List(ctx context.Context, kind schema.GroupVersionKind) ([]*unstructured.Unstructured, error)
}

// AdoptionRecords keeps which holders are adopting.
type AdoptionRecords interface {
	// SetAdopting records whether a holder finishes what it was doing when a
	// policy first took effect for it.
	SetAdopting(ctx context.Context, target v1alpha1.TargetReference, adopting bool) error
}

// Adoption finds and records the holders that are in the middle of something when
// policies first take effect for them; without it, they would be stuck half-way
// (D20).
type Adoption struct {
	// Holders are looked at.
	Holders Holders
	// Namespaces that they live in.
	Namespaces scope.Namespaces
	// Records say which of them are adopting.
	Records AdoptionRecords
}

// adopt records every holder that is new to policies and midway; see newcomers.
func (a *Adoption) adopt(ctx context.Context, before, after *policy.Index, changed *policy.Policy) error {
	targets, err := a.newcomers(ctx, before, after, changed)
	if err != nil {
		return err
	}
	writers, ctx := errgroup.WithContext(ctx)
	writers.SetLimit(adoptionWriters)
	for _, target := range targets {
		writers.Go(func() error {
			if err := a.Records.SetAdopting(ctx, target, true); err != nil {
				return fmt.Errorf("recording that %s %s is adopting: %w", target.Kind, record.Key(target), err)
			}
			return nil
		})
	}
	return writers.Wait()
}

// newcomers are the holders that are midway and for which a policy of after is in
// effect, and none of before. changed is the policy in which the two differ.
func (a *Adoption) newcomers(ctx context.Context, before, after *policy.Index, changed *policy.Policy) ([]v1alpha1.TargetReference, error) {
	var targets []v1alpha1.TargetReference
	for _, kind := range related(after, changed.For.GroupKind()) {
		objects, err := a.Holders.List(ctx, after.For(kind)[0].For)
		if err != nil {
			return nil, fmt.Errorf("listing the objects of kind %s: %w", kind, err)
		}
		for _, obj := range objects {
			if midway(obj) && len(a.inEffect(ctx, after, obj)) > 0 && len(a.inEffect(ctx, before, obj)) == 0 {
				targets = append(targets, record.TargetOf(obj))
			}
		}
	}
	return targets, nil
}

// inEffect are the policies of index that are in effect for an object.
func (a *Adoption) inEffect(ctx context.Context, index *policy.Index, obj *unstructured.Unstructured) []*policy.Policy {
	return index.InEffect(scope.Chain(ctx, a.Holders, a.Namespaces, index, obj))
}

// midway tells whether an object is in the middle of something that no ledger
// speaks of.
func midway(obj *unstructured.Unstructured) bool {
	if obj.GetDeletionTimestamp() != nil || lifecycle.Of(obj).Settled {
		return false
	}
	key := ledger.AnnotationKey(obj.GroupVersionKind().GroupKind(), obj.GetOwnerReferences())
	// A ledger that cannot be read counts as empty everywhere (D4).
	entries, _ := ledger.Decode(obj.GetAnnotations()[key])
	for _, entry := range entries {
		if entry.IsWithheld() || entry.IsCreation() {
			return false
		}
	}
	return true
}

// related are the kinds that policies are for and that a policy for kind can
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

// bounds tells whether one of the policies bounds a kind.
func bounds(policies []*policy.Policy, child schema.GroupKind) bool {
	for _, p := range policies {
		if p.Bounds(child) {
			return true
		}
	}
	return false
}
