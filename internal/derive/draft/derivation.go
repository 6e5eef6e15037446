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

package draft

import "kausality.io/operator/api/v1alpha1"

// Derivation is a policy that was derived, and why it is as it is.
type Derivation struct {
	// Policy for the parents.
	Policy *v1alpha1.AllowancePolicy
	// Rows are what reaches what.
	Rows []Row
	// Notes say what could not be derived, and what is allowed more than needed.
	Notes []Note
}

// Row is one way in which a field of a parent, or something that changes by itself,
// reaches a child.
type Row struct {
	// Field of the parent, empty where Observed is set.
	Field string `json:"field,omitempty"`
	// Observed is what changes without a change of the parent.
	Observed string `json:"observed,omitempty"`
	// Resource is what the object is called in what it was derived from.
	Resource string `json:"resource"`
	// Kind of the objects.
	Kind string `json:"kind"`
	// Reaches is the field that it reaches; empty, it is whether there is such an object.
	Reaches string `json:"reaches,omitempty"`
	// Why says what makes it so.
	Why string `json:"why"`
}

// Note is something to know about what was derived.
type Note struct {
	// Resource is what the object is called that it is about, empty for all.
	Resource string `json:"resource,omitempty"`
	// Field of the policy or of the resource.
	Field string `json:"field,omitempty"`
	// Lost is true where something was not derived.
	Lost bool `json:"lost,omitempty"`
	// Message says what, and what follows from it.
	Message string `json:"message"`
}
