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

	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// VerbDelete is the verb by which what is outside is deleted, in all systems.
const VerbDelete = "Delete"

// Verbs returns the verbs of a system that the External entries about an object
// itself, in its own ledger, open, sorted. While the ledger has a withheld change it covers nothing
// (D2), and opens nothing.
func Verbs(l ledger.Ledger, known []string) []string {
	open := sets.New[string]()
	for _, e := range l {
		switch {
		case e.IsWithheld():
			return nil
		case !e.IsGate():
		case slices.Contains(e.Mutations, v1alpha1.Any):
			open.Insert(known...)
		default:
			open.Insert(e.Mutations...)
		}
	}
	return sets.List(open.Intersection(sets.New(known...)))
}
