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

package generate

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Spec is what a GeneratingPolicy says. It is that of the proposal, and serviceAccount.
type Spec struct {
	// Evaluation is when the policy is evaluated, and for how long.
	Evaluation Evaluation `json:"evaluation,omitempty"`
	// MatchConstraints are the triggers, as in a ValidatingAdmissionPolicy.
	MatchConstraints *admissionregistrationv1.MatchResources `json:"matchConstraints"`
	// MatchConditions are what else has to be true of a trigger, all of them.
	MatchConditions []admissionregistrationv1.MatchCondition `json:"matchConditions,omitempty"`
	// Variables are expressions by name. Each may use those before it.
	Variables []admissionregistrationv1.Variable `json:"variables,omitempty"`
	// Generate are the expressions that apply what is wanted.
	Generate []Generation `json:"generate"`
	// ServiceAccount is the user name of the service account that reads and writes, such as
	// system:serviceaccount:kausality-system:kausality-generator.
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// Evaluation is when a policy is evaluated, and for how long.
type Evaluation struct {
	// Synchronize keeps what was made as the policy wants it. Without it, an object is made
	// once for a trigger, and left alone for good.
	Synchronize bool `json:"synchronize,omitempty"`
	// GenerateExisting is about triggers too that were there before the policy.
	GenerateExisting bool `json:"generateExisting,omitempty"`
	// OrphanDownstreamOnPolicyDelete retains what was made when the policy is deleted.
	OrphanDownstreamOnPolicyDelete bool `json:"orphanDownstreamOnPolicyDelete,omitempty"`
}

// Generation is one expression that applies objects.
type Generation struct {
	// Name of the expression, for messages.
	Name string `json:"name,omitempty"`
	// Expression calls generator.ApplyAll, once or in lists.
	Expression string `json:"expression"`
}
