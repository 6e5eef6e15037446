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

// Package updates tells which updates of an object matter to a controller.
package updates

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// OfSpec selects updates after which an object may have another spec. Unlike
// predicate.GenerationChangedPredicate, it compares no generations of two objects: one that was
// deleted and made again while a watch was interrupted comes as an update, often from generation 1
// to generation 1.
func OfSpec() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return IsOfSpec(e.ObjectOld, e.ObjectNew) }}
}

// IsOfSpec reports whether after may have another spec than before, which has its name.
func IsOfSpec(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration()
}
