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

package upgrade

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// Report says how far an upgrade is.
type Report struct {
	// Name of the UpgradeAllowance.
	Name string `json:"name"`
	// ChangedBy is who last changed its spec.
	ChangedBy string `json:"changedBy,omitempty"`
	// ServiceAccount and Triggers are copied from its spec.
	ServiceAccount string   `json:"serviceAccount"`
	Triggers       []string `json:"triggers"`
	// Conditions of its status.
	Conditions []metav1.Condition `json:"conditions"`
	// Parents of which a record tells, the blocked ones first.
	Parents []Parent `json:"parents"`
	// Note says what could not be read.
	Note string `json:"note,omitempty"`
}

// State of a parent.
type State string

// The states, in the order in which they are shown.
const (
	Blocked State = "Blocked"
	Moving  State = "Moving"
	Waits   State = "Waits"
	Moved   State = "Moved"
)

// Parent is an object whose children are upgraded.
type Parent struct {
	// Object is the parent.
	Object v1alpha1.TargetReference `json:"object"`
	// State of it.
	State State `json:"state"`
	// Versions that it remembers and that the upgrade is about.
	Versions []string `json:"versions"`
	// Since is when it came to be in the state.
	Since metav1.Time `json:"since"`
	// On what it waits.
	On string `json:"on,omitempty"`
}
