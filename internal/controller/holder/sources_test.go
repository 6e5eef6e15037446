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

package holder

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

func TestMatters(t *testing.T) {
	enforced := metav1.Condition{Type: v1alpha1.ConditionEnforced, Status: metav1.ConditionTrue, Reason: "Enforced", ObservedGeneration: 1}
	for name, tc := range map[string]struct {
		change func(p *v1alpha1.AllowancePolicy)
		want   bool
	}{
		"nothing":             {change: func(*v1alpha1.AllowancePolicy) {}},
		"what it says":        {change: func(p *v1alpha1.AllowancePolicy) { p.Generation++ }, want: true},
		"that it goes":        {change: func(p *v1alpha1.AllowancePolicy) { p.DeletionTimestamp = new(metav1.Now()) }, want: true},
		"how many it affects": {change: func(p *v1alpha1.AllowancePolicy) { p.Status.Affected = new(int64(7)) }},
		"a label":             {change: func(p *v1alpha1.AllowancePolicy) { p.Labels = map[string]string{"a": "b"} }},
		"a message": {change: func(p *v1alpha1.AllowancePolicy) {
			enforced := enforced
			enforced.Message = "It is."
			apimeta.SetStatusCondition(&p.Status.Conditions, enforced)
		}},
		"that it is in effect no more": {change: func(p *v1alpha1.AllowancePolicy) {
			enforced := enforced
			enforced.Status = metav1.ConditionFalse
			apimeta.SetStatusCondition(&p.Status.Conditions, enforced)
		}, want: true},
		"that what it says now is in effect": {change: func(p *v1alpha1.AllowancePolicy) {
			enforced := enforced
			enforced.ObservedGeneration = 2
			apimeta.SetStatusCondition(&p.Status.Conditions, enforced)
		}, want: true},
		"a condition that is new": {change: func(p *v1alpha1.AllowancePolicy) {
			apimeta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: "Other", Status: metav1.ConditionFalse, Reason: "New"})
		}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &v1alpha1.AllowancePolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1},
				Status:     v1alpha1.AllowancePolicyStatus{Conditions: []metav1.Condition{enforced}},
			}
			after := before.DeepCopy()
			tc.change(after)
			if got := matters(before, after); got != tc.want {
				t.Errorf("matters() = %t", got)
			}
		})
	}
}
