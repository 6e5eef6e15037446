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

package clustertest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// SwitchedOff returns a policy for claims as it is since a time at which everything was switched off.
func SwitchedOff(since time.Time) *v1alpha1.AllowancePolicy {
	return NotEnforced(v1alpha1.ReasonSwitchedOff, "Nothing is intercepted.", since)
}

// NotEnforced returns a policy for claims that is not enforced since a time, for a reason.
func NotEnforced(reason, message string, since time.Time) *v1alpha1.AllowancePolicy {
	return &v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "claims", Generation: 2},
		Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: Claims.Group, APIVersion: Claims.Version, Kind: Claims.Kind},
		},
		Status: v1alpha1.AllowancePolicyStatus{Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionFalse, Reason: reason,
			Message: message, ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(since),
		}}},
	}
}
