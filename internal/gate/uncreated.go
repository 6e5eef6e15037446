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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// VerbCreate is the verb by which something comes to be outside, in all systems.
const VerbCreate = "Create"

// Creates reports whether verbs of a system let something come to be outside.
func Creates(verbs []string) bool {
	return slices.Contains(verbs, VerbCreate) || slices.Contains(verbs, v1alpha1.Any)
}

// IsUncreated reports whether an object is under its gate, what it stands for was never there, and no
// entry in its ledger lets that be created. One that waits for a change to be approved, or taken
// back, is not: what was allowed comes first.
func IsUncreated(driver Driver, obj *unstructured.Unstructured, l ledger.Ledger) bool {
	state := ReadState(obj.GetAnnotations())
	if !state.Adopted() || state.Held != nil || obj.GetDeletionTimestamp() != nil || !driver.IsNamed(obj, state.Name) {
		return false
	}
	entries := l.Without(func(e ledger.Entry) bool { return !e.IsGate() })
	if slices.ContainsFunc(entries, func(e ledger.Entry) bool { return Creates(e.Mutations) }) {
		return false
	}
	return (len(entries) == 0 || state.Content == driver.Content(obj)) && driver.NeverOutside(obj)
}
