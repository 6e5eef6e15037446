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

package record

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/upgrade"
)

// Fields by which a cache indexes records.
const (
	indexTarget    = "target"
	indexTargetUID = "target-uid"
	indexGated     = "gated"
	indexMoving    = "moving"
	indexVersion   = "version"
)

// Index makes a manager's cache keep the indices that a Store reads by. Call it
// once, before the manager starts.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	indices := map[string]func(rec *v1alpha1.AllowanceRecord) []string{
		indexTarget: func(rec *v1alpha1.AllowanceRecord) []string {
			ref := rec.Spec.TargetRef
			return []string{targetValue(GVK(ref).GroupKind(), Key(ref))}
		},
		indexTargetUID: func(rec *v1alpha1.AllowanceRecord) []string { return []string{string(rec.Spec.TargetRef.UID)} },
		indexGated: func(rec *v1alpha1.AllowanceRecord) []string {
			return indexedIf(rec.Status.Gated)
		},
		indexMoving:  func(rec *v1alpha1.AllowanceRecord) []string { return indexedIf(isMoving(rec)) },
		indexVersion: usersOf,
	}
	for field, values := range indices {
		err := indexer.IndexField(ctx, &v1alpha1.AllowanceRecord{}, field, func(obj client.Object) []string {
			if rec, ok := obj.(*v1alpha1.AllowanceRecord); ok {
				return values(rec)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("cannot index AllowanceRecords by %s: %w", field, err)
		}
	}
	return nil
}

func targetValue(kind schema.GroupKind, key types.NamespacedName) string {
	return kind.String() + "/" + key.String()
}

// indexedIf returns the index of what is so, and none of what is not.
func indexedIf(is bool) []string {
	if !is {
		return nil
	}
	return []string{strconv.FormatBool(true)}
}

// isMoving reports whether the target of a record is being upgraded to a version.
func isMoving(rec *v1alpha1.AllowanceRecord) bool {
	return rec.Status.EndedAt == nil &&
		slices.ContainsFunc(rec.Status.Versions, func(v v1alpha1.ControllerVersion) bool { return upgrade.IsMoving(&v) })
}

// usersOf returns the users of whom a version is remembered, and the one who was last denied something.
func usersOf(rec *v1alpha1.AllowanceRecord) []string {
	var users []string
	for _, v := range rec.Status.Versions {
		users = append(users, v.User)
	}
	if d := rec.Status.LastDenial; d != nil {
		users = append(users, d.User)
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// Moving returns the cached records of the objects that are being upgraded.
func (s *Store) Moving(ctx context.Context) ([]v1alpha1.AllowanceRecord, error) {
	list := &v1alpha1.AllowanceRecordList{}
	if err := s.client.List(ctx, list, client.MatchingFields{indexMoving: strconv.FormatBool(true)}); err != nil {
		return nil, fmt.Errorf("cannot list the AllowanceRecords of what is being upgraded: %w", err)
	}
	return list.Items, nil
}

// OfVersions returns the cached records that remember a version of a user's, or whose last
// denial was a request of that user's.
func (s *Store) OfVersions(ctx context.Context, user string) ([]v1alpha1.AllowanceRecord, error) {
	list := &v1alpha1.AllowanceRecordList{}
	if err := s.client.List(ctx, list, client.MatchingFields{indexVersion: user}); err != nil {
		return nil, fmt.Errorf("cannot list the AllowanceRecords of what %s upgrades: %w", user, err)
	}
	return list.Items, nil
}

// Gated returns the cached records of the objects under a gate.
func (s *Store) Gated(ctx context.Context) ([]v1alpha1.AllowanceRecord, error) {
	list := &v1alpha1.AllowanceRecordList{}
	if err := s.client.List(ctx, list, client.MatchingFields{indexGated: strconv.FormatBool(true)}); err != nil {
		return nil, fmt.Errorf("cannot list the AllowanceRecords of what is under a gate: %w", err)
	}
	return list.Items, nil
}

// Of returns the cached records of all objects that have, or had, a kind,
// namespace and name.
func (s *Store) Of(ctx context.Context, kind schema.GroupKind, key types.NamespacedName) ([]v1alpha1.AllowanceRecord, error) {
	list := &v1alpha1.AllowanceRecordList{}
	if err := s.client.List(ctx, list, client.MatchingFields{indexTarget: targetValue(kind, key)}); err != nil {
		return nil, fmt.Errorf("cannot list the AllowanceRecords of %s %s: %w", kind, key, err)
	}
	return list.Items, nil
}

// OfUID returns the cached record of the object with a uid; nil where there is
// none. Of two it is the one that says who deleted the object.
func (s *Store) OfUID(ctx context.Context, uid types.UID) (*v1alpha1.AllowanceRecord, error) {
	all, err := s.allOfUID(ctx, uid)
	if len(all) == 0 {
		return nil, err
	}
	told := slices.IndexFunc(all, func(rec v1alpha1.AllowanceRecord) bool { return rec.Status.Deletion != nil })
	return &all[max(told, 0)], nil
}

// allOfUID returns the cached records of the object with a uid: its own, and the one that KeepDeletion has made.
func (s *Store) allOfUID(ctx context.Context, uid types.UID) ([]v1alpha1.AllowanceRecord, error) {
	if uid == "" {
		return nil, nil
	}
	list := &v1alpha1.AllowanceRecordList{}
	if err := s.client.List(ctx, list, client.MatchingFields{indexTargetUID: string(uid)}); err != nil {
		return nil, fmt.Errorf("cannot list the AllowanceRecord of uid %s: %w", uid, err)
	}
	return list.Items, nil
}

// maxDepth bounds how many records are gone through from an object to the one
// whose deletion took it along.
const maxDepth = 16

// DeletionOf returns who deleted the object with a uid: what its cached record
// says, or, where that says nothing, the deletion of its nearest ancestor that has
// one, with the way down to the object (D9). It is nil where nothing is known.
func (s *Store) DeletionOf(ctx context.Context, uid types.UID) (*v1alpha1.Deletion, error) {
	return s.deletion(ctx, uid)
}

// deletion returns DeletionOf, with the way further down to the last of the objects below, which are
// in the order from the bottom up.
func (s *Store) deletion(ctx context.Context, uid types.UID, below ...v1alpha1.TargetReference) (*v1alpha1.Deletion, error) {
	for range maxDepth {
		rec, err := s.OfUID(ctx, uid)
		if rec == nil || err != nil {
			return nil, err
		}
		if d := rec.Status.Deletion; d != nil {
			return inherit(d, rec.Spec.TargetRef, below), nil
		}
		below = append(below, rec.Spec.TargetRef)
		uid = ParentOf(rec)
	}
	return nil, nil
}

// InheritedDeletion returns who deleted the target of a record by deleting
// something above it; nil where nothing is known.
func (s *Store) InheritedDeletion(ctx context.Context, rec *v1alpha1.AllowanceRecord) (*v1alpha1.Deletion, error) {
	return s.deletion(ctx, ParentOf(rec), rec.Spec.TargetRef)
}

// inherit returns what the deletion of an object means for the first of the objects below it, which
// are in the order from the bottom up: the same deletion, with the way down.
func inherit(d *v1alpha1.Deletion, above v1alpha1.TargetReference, below []v1alpha1.TargetReference) *v1alpha1.Deletion {
	d = d.DeepCopy()
	if len(below) > 0 {
		d.Policies = nil // those of the ancestor
	}
	for _, ref := range slices.Backward(below) {
		d.Trace = append(ledger.Across(d.Trace, above.Namespace, ref.Namespace), DeletedHop(ref))
		above = ref
	}
	return d
}

// DeletedHop returns the hop of an object that was deleted.
func DeletedHop(ref v1alpha1.TargetReference) v1alpha1.TraceHop {
	return v1alpha1.TraceHop{Kind: ref.Kind, Name: ref.Name, Field: v1alpha1.FieldDeleted}
}
