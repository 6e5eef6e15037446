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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// AddStray notes in the record of a parent, which it creates where there is none, that
// it adopts a child without a cause (D5). Admission calls it before it answers, and
// never on a dry run. A child that is adopted again only gets a new time. It fails where
// the record has no room for another.
func (s *Store) AddStray(ctx context.Context, parent v1alpha1.TargetReference, child v1alpha1.StrayChild) error {
	child.Time = metav1.NewTime(s.clock.Now())
	var full error
	err := s.Update(ctx, parent, true, func(status *v1alpha1.AllowanceRecordStatus) bool {
		full = nil
		same := func(other v1alpha1.StrayChild) bool { return other.UID == child.UID }
		switch i := slices.IndexFunc(status.Strays, same); {
		case i >= 0:
			status.Strays[i] = child
		case len(status.Strays) >= v1alpha1.MaxStrays:
			full = fmt.Errorf("the AllowanceRecord of %s %s has %d strays, and no room for another", parent.Kind, Key(parent), len(status.Strays))
			return false
		default:
			status.Strays = append(status.Strays, child)
		}
		// It is written even where only the time changes: the cache may be behind, and
		// the child no stray any more.
		return true
	})
	if err != nil {
		return err
	}
	return full
}

// RemoveStray notes that a child is no stray any more, since somebody approved it or had
// it adopted with a cause. Admission calls it before it answers, and never on a dry run.
func (s *Store) RemoveStray(ctx context.Context, parent v1alpha1.TargetReference, child types.UID) error {
	return s.Update(ctx, parent, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
		status.Strays = slices.DeleteFunc(slices.Clone(status.Strays), func(stray v1alpha1.StrayChild) bool { return stray.UID == child })
		return true // The cache may not have it yet; the write finds that out.
	})
}

// ForgetStrays removes the strays that were found gone, unless they have been adopted
// again since they were looked for.
func (s *Store) ForgetStrays(ctx context.Context, parent v1alpha1.TargetReference, gone ...v1alpha1.StrayChild) error {
	return s.Update(ctx, parent, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
		before := len(status.Strays)
		status.Strays = slices.DeleteFunc(slices.Clone(status.Strays), func(stray v1alpha1.StrayChild) bool {
			return slices.ContainsFunc(gone, func(g v1alpha1.StrayChild) bool { return g.UID == stray.UID && g.Time.Equal(&stray.Time) })
		})
		return len(status.Strays) < before
	})
}

// StraysOf returns the strays of an object that may be gone, as its cached records say, each once.
func (s *Store) StraysOf(ctx context.Context, uid types.UID) ([]v1alpha1.StrayChild, error) {
	all, err := s.allOfUID(ctx, uid)
	if err != nil {
		return nil, err
	}
	var out []v1alpha1.StrayChild
	for i := range all {
		for _, stray := range all[i].Status.Strays {
			if !slices.ContainsFunc(out, func(other v1alpha1.StrayChild) bool { return other.UID == stray.UID }) {
				out = append(out, stray)
			}
		}
	}
	return out, nil
}

// operationDelete is the operation of a deletion, as records have it.
const operationDelete = "Delete"

// StraysInTheWay says because of which strays of its parent a change of a child may have been denied, as
// far as a record tells: the child is one itself, which no allowance covers, or it was to be deleted while
// there are others of its kind, for which healing makes no room.
func StraysInTheWay(strays []v1alpha1.StrayChild, operation, kind, name string) (itself bool, others []v1alpha1.StrayChild) {
	for _, stray := range strays {
		switch {
		case stray.Kind != kind:
		case stray.Name == name:
			return true, nil
		case operation == operationDelete:
			others = append(others, stray)
		}
	}
	return false, others
}

// NamesOf returns the names of strays.
func NamesOf(strays []v1alpha1.StrayChild) []string {
	out := make([]string, 0, len(strays))
	for _, stray := range strays {
		out = append(out, stray.Name)
	}
	return out
}
