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

package policy

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/metrics"
)

// Labels of conditionStates.
const labelCondition, labelStatus = "condition", "status"

// The replica that reconciles says these.
var (
	// overdueObjects counts the objects of a policy with allowances that have been open
	// for longer than maxOpen (D8).
	overdueObjects = metrics.Factory.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: metrics.Namespace,
		Name:      "overdue_objects",
		Help:      "Number of objects of a policy whose allowances have been open for longer than its maxOpen.",
	}, []string{metrics.LabelPolicy})

	adoptingObjects = metrics.Factory.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: metrics.Namespace,
		Name:      "adopting_objects",
		Help:      "Number of objects that finish, unrestricted, what they were doing when a policy first took effect.",
	}, []string{metrics.LabelPolicy})

	conditionStates = metrics.Factory.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: metrics.Namespace,
		Name:      "policy_condition",
		Help:      "The conditions of a policy: 1 for the status that a condition has, 0 for the others.",
	}, []string{metrics.LabelPolicy, labelCondition, labelStatus})
)

// measurePolicy shows what the status of a policy says.
func measurePolicy(obj *v1alpha1.AllowancePolicy) {
	adoptingObjects.WithLabelValues(obj.Name).Set(float64(obj.Status.Adopting))
	// Conditions that do not apply any more are not in the status.
	conditionStates.DeletePartialMatch(prometheus.Labels{metrics.LabelPolicy: obj.Name})
	for _, condition := range obj.Status.Conditions {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			value := 0.0
			if condition.Status == status {
				value = 1
			}
			conditionStates.WithLabelValues(obj.Name, condition.Type, string(status)).Set(value)
		}
	}
}

// forgetPolicy shows a policy no more that is gone.
func forgetPolicy(name string) {
	gone := prometheus.Labels{metrics.LabelPolicy: name}
	for _, gauge := range []*prometheus.GaugeVec{overdueObjects, adoptingObjects, conditionStates} {
		gauge.DeletePartialMatch(gone)
	}
}
