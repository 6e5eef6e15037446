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

package gate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What keeps an object that is being deleted until its system has seen that is a finalizer. Without one the hold of a
// deletion holds nothing: the object is gone, and nobody knows any more of what it stands for.

// IsKept reports whether an object with these finalizers, once it is deleted, stays until its system has
// seen that. Whose a finalizer is nobody can tell, so that any may be the system's, but for those by which
// the garbage collector waits.
func IsKept(finalizers []string) bool {
	return slices.ContainsFunc(finalizers, func(f string) bool {
		return f != metav1.FinalizerDeleteDependents && f != metav1.FinalizerOrphanDependents
	})
}

// LetsGo returns the finalizers that a write takes away, where by that the deletion of an object ends that waits
// for its system: one that is known to be the system's, or all there are. Nothing is returned of other writes.
func LetsGo(system string, before, after []string) []string {
	gone := slices.DeleteFunc(slices.Clone(before), func(f string) bool { return slices.Contains(after, f) })
	if slices.Contains(gone, system) || len(gone) > 0 && IsKept(before) && !IsKept(after) {
		return gone
	}
	return nil
}
