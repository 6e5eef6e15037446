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
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

const (
	// reasonRecordLost is the reason of the Event about a record that somebody deleted.
	reasonRecordLost = "RecordLost"
	// actionRestore is what is done about it.
	actionRestore = "Restore"
)

// recover returns the record of a holder, or puts it back where somebody has deleted it
// while this process looked. Where it was lost otherwise, nobody knows which allowances of
// the ledger are used up: the look then gives them up, if it cannot be told from the holder.
// It reports whether that has to wait.
func (r *Reconciler) recover(ctx context.Context, v *view, rec *v1alpha1.AllowanceRecord, next *requeue.Soonest) (_ *v1alpha1.AllowanceRecord, waits bool, err error) {
	ref := record.TargetOf(v.obj)
	if !record.KnowsLedger(rec) && r.Records.IsLost(ctx, ref) {
		if rec, err = r.Records.Restore(ctx, ref); err != nil {
			return nil, true, err
		}
		if rec == nil {
			return nil, false, nil // It goes with its namespace, as the object will.
		}
		logf.FromContext(ctx).Info("Put back an AllowanceRecord that somebody deleted")
		r.Events.Eventf(v.obj, nil, corev1.EventTypeWarning, reasonRecordLost, actionRestore,
			"somebody deleted the AllowanceRecord of this object; it is put back as it was")
	}
	if record.KnowsLedger(rec) || len(v.endingUnseen()) == 0 || r.isNew(v) {
		return rec, false, nil
	}
	_, started := r.SignOfLife.firstLooked()
	if told := started.Add(toldWithin); told.After(v.now) {
		next.At(told) // Another replica may be about to write it.
		return nil, true, nil
	}
	live, err := r.Records.Live(ctx, ref)
	if err != nil {
		return nil, true, err
	}
	if record.KnowsLedger(live) {
		return live, false, nil // The cache is behind.
	}
	v.isLost = true
	return rec, false, nil
}

// endingUnseen returns the allowances of the holder that stay in its ledger when they are used
// up, or end by a time that only the record knows. All other ledgers are emptied by the status
// that ends them, and of what opens a gate by what closes it: what is there is open, if the
// status does not say otherwise.
func (v view) endingUnseen() ledger.Ledger {
	byStatus := !v.progress.Timed && !ledgerRequest(v.obj.GroupVersionKind()).costly
	return v.stored.Without(func(e ledger.Entry) bool {
		return e.IsWithheld() || e.IsGate() || byStatus && !e.IsForReaders()
	})
}

// isNew reports whether a holder has just been created, while this process looked: where it
// has no record, the API server got no answer from the webhook that makes it.
func (r *Reconciler) isNew(v *view) bool {
	started, _ := r.SignOfLife.firstLooked()
	created := v.obj.GetCreationTimestamp().Time
	return created.After(started) && created.Add(record.UnseenLimit).After(v.now)
}

// giveUp has all allowances count as used up of which the object does not tell.
func (v view) giveUp(status *v1alpha1.AllowanceRecordStatus) {
	allowances := v.endingUnseen()
	status.Consumed = record.UsedUp(status.Consumed, allowances)
	for _, e := range record.LedgerHistory(record.TargetOf(v.obj), allowances.Allowances(), v1alpha1.EventConsumed, v1alpha1.EventReleased, metav1.NewTime(v.now)) {
		e.Message = "the AllowanceRecord was lost, and with it what is used up: approve what should go on"
		status.History = record.WithHistory(status.History, e)
	}
}

// mendLabel has the label of a record that has ended say what its status says.
func (r *Reconciler) mendLabel(ctx context.Context, rec *v1alpha1.AllowanceRecord) error {
	if rec.Status.ParentUID == nil {
		return nil
	}
	return r.Records.SetParent(ctx, rec, *rec.Status.ParentUID)
}
