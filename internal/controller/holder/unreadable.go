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
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// reportUnreadable says in the record that the holder's annotation is not a ledger, and
// keeps its text (D4).
func (v view) reportUnreadable(status *v1alpha1.AllowanceRecordStatus) {
	if !v.unreadable {
		apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionLedgerUnreadable)
		return
	}
	status.RawLedger = record.Raw(v.raw)
	object := strings.TrimSpace(v.obj.GetKind() + " " + v.obj.GetName())
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               v1alpha1.ConditionLedgerUnreadable,
		Status:             metav1.ConditionTrue,
		ObservedGeneration: v.obj.GetGeneration(),
		LastTransitionTime: metav1.NewTime(v.now),
		Reason:             v1alpha1.ReasonNoLedger,
		Message: fmt.Sprintf("The annotation %s of %s is not a ledger, and counts as empty: nothing is allowed by it. "+
			"The next change of %s that allows something replaces it; status.rawLedger keeps its text.",
			ledger.AnnotationKey(v.obj, ledger.NameAllowances), object, object),
	})
}

// announced are the conditions of a record that an Event tells of when they come.
var announced = []string{v1alpha1.ConditionOverdue, v1alpha1.ConditionLedgerUnreadable, v1alpha1.ConditionParentIgnored}

// announce makes the Events about conditions that have come.
func (r *Reconciler) announce(v view, before, after *v1alpha1.AllowanceRecordStatus) {
	for _, condition := range announced {
		now := apimeta.FindStatusCondition(after.Conditions, condition)
		if now != nil && !apimeta.IsStatusConditionTrue(before.Conditions, condition) {
			r.Events.Eventf(v.obj, nil, corev1.EventTypeWarning, condition, "Watch", "%s", now.Message)
		}
	}
}
