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
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/policy"
)

// overdue says in the record which of the holder's allowances have been open for
// longer than they should, as those of a rollout that never succeeds are. They stay
// usable (D8).
func (v view) overdue(status *v1alpha1.AllowanceRecordStatus, held ledger.Ledger, next *requeue.Soonest) {
	since := map[string]time.Time{}
	for _, seen := range status.FirstSeen {
		since[seen.ID] = seen.Time.Time
	}
	var late, open []string
	for _, e := range held {
		end := since[e.ID()].Add(v.maxOpen(e))
		if end.After(v.now) {
			next.At(end)
			continue
		}
		text := fmt.Sprintf("%s (generation %d, by %s)", permits(e), e.Generation, e.Initiator)
		if e.IsGate() {
			open = append(open, text)
		} else {
			late = append(late, text)
		}
	}
	if len(late)+len(open) == 0 {
		apimeta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionOverdue)
		return
	}
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               v1alpha1.ConditionOverdue,
		Status:             metav1.ConditionTrue,
		ObservedGeneration: v.obj.GetGeneration(),
		LastTransitionTime: metav1.NewTime(v.now),
		Reason:             v1alpha1.ReasonMaxOpen,
		Message:            v.overdueMessage(late, open),
	})
}

// maxOpen returns the time after which an open entry is reported as overdue. One that opens the
// object's own gate comes from the policies that gate it, which are most often not
// about the object.
func (v view) maxOpen(e ledger.Entry) time.Duration {
	if e.IsGate() {
		return policy.MaxOpen(v.gating)
	}
	return policy.MaxOpen(v.policies)
}

// overdueMessage says what is open for too long: allowances, and those that keep the
// object's own gate open.
func (v view) overdueMessage(late, open []string) string {
	var sentences []string
	if len(late) > 0 {
		sentences = append(sentences, fmt.Sprintf("Open for longer than %s, and still usable: %s. They end when %s settles: see what keeps it.",
			policy.MaxOpen(v.policies), listing.Join(late, ", "), strings.TrimSpace(v.obj.GetKind()+" "+v.obj.GetName())))
	}
	if len(open) > 0 {
		sentences = append(sentences, fmt.Sprintf("Its gate is open for longer than %s: %s. It closes when that has arrived: see the condition %s.",
			policy.MaxOpen(v.gating), listing.Join(open, ", "), v1alpha1.ConditionGate))
	}
	return strings.Join(sentences, " ")
}

// permits says in short what an entry permits.
func permits(e ledger.Entry) string {
	if e.IsExternal() {
		return strings.Join(e.Mutations, " and ") + " outside the cluster"
	}
	return e.Mutation + " of " + e.Kind
}
