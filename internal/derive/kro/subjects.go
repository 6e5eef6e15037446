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

package kro

import "kausality.io/operator/api/v1alpha1"

// DefaultAccount is the service account that kro's chart makes, as draft.ParseAccount reads it.
const DefaultAccount = "kro-system/kro"

// Subjects returns kro itself, and who may change instances.
func Subjects(account v1alpha1.Subject, initiators []v1alpha1.Subject) []v1alpha1.PolicySubject {
	out := make([]v1alpha1.PolicySubject, 0, 1+len(initiators))
	out = append(out, v1alpha1.PolicySubject{Subject: account})
	for _, initiator := range initiators {
		out = append(out, v1alpha1.PolicySubject{Subject: initiator, MayInitiate: true})
	}
	return out
}
