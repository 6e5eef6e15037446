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
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

func TestMeasurePolicy(t *testing.T) {
	obj := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "measured"}}
	obj.Status.Adopting = 3
	shows := func(collector prometheus.Collector, want string) {
		t.Helper()
		if err := testutil.CollectAndCompare(collector, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	}
	const about = `
# HELP kausality_policy_condition The conditions of a policy: 1 for the status that a condition has, 0 for the others.
# TYPE kausality_policy_condition gauge
`
	obj.Status.Conditions = []metav1.Condition{
		{Type: "Accepted", Status: metav1.ConditionTrue}, {Type: "Overridden", Status: metav1.ConditionTrue},
	}
	measurePolicy(obj)
	obj.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionFalse}}
	measurePolicy(obj)
	shows(conditionStates, about+`
kausality_policy_condition{condition="Accepted",policy="measured",status="False"} 1
kausality_policy_condition{condition="Accepted",policy="measured",status="True"} 0
kausality_policy_condition{condition="Accepted",policy="measured",status="Unknown"} 0
`)
	shows(adoptingObjects, `
# HELP kausality_adopting_objects Number of objects that finish, unrestricted, what they were doing when a policy first took effect.
# TYPE kausality_adopting_objects gauge
kausality_adopting_objects{policy="measured"} 3
`)
	forgetPolicy(obj.Name)
	shows(conditionStates, "")
	shows(adoptingObjects, "")
}
