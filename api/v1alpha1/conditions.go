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

package v1alpha1

// Condition types and reasons of an AllowancePolicy, after GEP-713.
const (
	// ConditionAccepted is True where the policy can work.
	ConditionAccepted = "Accepted"
	// ReasonAccepted is the reason of Accepted=True.
	ReasonAccepted = "Accepted"
	// ReasonInvalid is the reason of Accepted=False where something in the spec
	// does not compile; what does not is left out.
	ReasonInvalid = "Invalid"
	// ReasonTargetNotFound is the reason of Accepted=False where the kind that
	// the policy is for is not served.
	ReasonTargetNotFound = "TargetNotFound"

	// ConditionEnforced is True where the API server asks Kausality about all
	// that the policy names.
	ConditionEnforced = "Enforced"
	// ReasonEnforced is the reason of Enforced=True.
	ReasonEnforced = "Enforced"
	// ReasonPending is the reason of Enforced=False while the policy takes
	// effect.
	ReasonPending = "Pending"
	// ReasonWaiting is the reason of Enforced=False where nobody can start a
	// chain that the policy continues.
	ReasonWaiting = "Waiting"
)

// Condition types and reasons of an AllowanceRecord.
const (
	// ConditionOverdue is True while an allowance of the target is open for longer
	// than maxOpen. It stays usable (D8).
	ConditionOverdue = "Overdue"
	// ReasonMaxOpen is the reason of Overdue=True.
	ReasonMaxOpen = "MaxOpen"
)
