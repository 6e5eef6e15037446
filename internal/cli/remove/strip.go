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

package remove

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	knowngates "kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/ledger"
)

// What becomes of what is outside where its object's deletion is held back.
const (
	// heldOrphan lets the object go, and what it stands for outside stays.
	heldOrphan = "orphan"
	// heldDelete deletes both.
	heldDelete = "delete"
)

// passPrefix begins the tokens of looks that the operator has asked a system for.
const passPrefix = "kausality-"

// Left is what Kausality has left on one object.
type Left struct {
	// Annotations are the keys of those in its domain, and of others that it has written.
	Annotations []string `json:"annotations,omitempty"`
	// Labels are the keys of those that it has written.
	Labels []string `json:"labels,omitempty"`
	// Conditions are the types of those in its domain.
	Conditions []string `json:"conditions,omitempty"`
	// Gate is true where the switch of a gate is given back to the object's author.
	Gate bool `json:"gate,omitempty"`
	// Pause is true where the system behind the object is paused, since a deletion is held back.
	Pause bool `json:"pause,omitempty"`
	// Undecided is true where that deletion goes on only once somebody says what becomes of
	// what is outside.
	Undecided bool `json:"undecided,omitempty"`
}

// none reports whether there is nothing to take back.
func (l Left) none() bool {
	return len(l.Annotations) == 0 && len(l.Labels) == 0 && len(l.Conditions) == 0 && !l.Gate && !l.Pause && !l.Undecided
}

// strip returns an object without what Kausality has left on it, and what that is. The driver is
// nil where the kind has no gates, and then that of an object's own gate, if it has one. held says what
// becomes of what is outside where a deletion is held back; where that is empty, an object that waits
// for it stays as it is.
func strip(obj *unstructured.Unstructured, driver gate.Driver, held string) (*unstructured.Unstructured, Left) {
	after, left := obj.DeepCopy(), Left{}
	if driver == nil {
		driver, _ = knowngates.Drivers().Behind(obj)
	}
	if driver != nil {
		if left = release(after, driver, held); left.Undecided {
			return obj, left
		}
	}
	annotations := maps.Clone(after.GetAnnotations())
	for key := range obj.GetAnnotations() {
		if ledger.IsOurs(key) || driver != nil && key == driver.PassAnnotation() && strings.HasPrefix(annotations[key], passPrefix) {
			left.Annotations = append(left.Annotations, key)
			delete(annotations, key)
		}
	}
	slices.Sort(left.Annotations)
	if len(annotations) == 0 {
		annotations = nil
	}
	after.SetAnnotations(annotations)
	left.Labels = stripLabels(after)
	left.Conditions = stripConditions(after)
	return after, left
}

// stripLabels takes the labels out of an object, in place, by which an operator finds it, and returns their keys. Others
// in our domain are none that anybody but people has set.
func stripLabels(obj *unstructured.Unstructured) []string {
	labels := maps.Clone(obj.GetLabels())
	if _, has := labels[v1alpha1.LabelGeneratedBy]; !has {
		return nil
	}
	delete(labels, v1alpha1.LabelGeneratedBy)
	if len(labels) == 0 {
		labels = nil
	}
	obj.SetLabels(labels)
	return []string{v1alpha1.LabelGeneratedBy}
}

// release gives an object back to its author, and ends the hold of its deletion. The annotations
// that say so go with all others.
func release(obj *unstructured.Unstructured, driver gate.Driver, held string) Left {
	state := gate.ReadState(obj.GetAnnotations())
	left := Left{Gate: state.Adopted(), Pause: state.Held != nil && !state.Held.Paused}
	going := state.Held != nil && obj.GetDeletionTimestamp() != nil
	switch {
	case going && (state.Held.Allowed || held == heldDelete):
		driver.Set(obj, driver.ComputeDeletion(obj, gate.Kind{}))
	case going && held == heldOrphan:
		driver.Set(obj, driver.ComputeOrphan(obj, gate.Kind{}))
	case going:
		return Left{Undecided: true}
	case state.Adopted():
		driver.Set(obj, driver.ComputeRelease(obj))
	}
	if left.Pause {
		annotations := maps.Clone(obj.GetAnnotations())
		delete(annotations, driver.PauseAnnotation())
		obj.SetAnnotations(annotations)
	}
	return left
}

// stripConditions takes our conditions out of an object, in place, and returns their types.
func stripConditions(obj *unstructured.Unstructured) []string {
	list, found, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil || !found {
		return nil // The kind has something else there.
	}
	var types []string
	list = slices.DeleteFunc(list, func(item any) bool {
		condition, _ := item.(map[string]any)
		kind, _ := condition["type"].(string)
		if !ledger.IsOurs(kind) {
			return false
		}
		types = append(types, kind)
		return true
	})
	if len(types) == 0 {
		return nil
	}
	// It is where it was, so that it can be set.
	_ = unstructured.SetNestedSlice(obj.Object, list, "status", "conditions")
	slices.Sort(types)
	return types
}
