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

package record

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"kausality.io/operator/api/v1alpha1"
)

// An allowance that ended before anybody looked at its holder has had an initiator.
func TestOutcomeNamesTheLatestInitiator(t *testing.T) {
	b := &batch{history: []v1alpha1.HistoryEntry{ // the newest first
		{Event: v1alpha1.EventConsumed, Initiator: "alice"},
		{Event: v1alpha1.EventGranted, Initiator: "bob"},
		{Event: v1alpha1.EventGranted, Initiator: "alice"},
	}}
	status := &v1alpha1.AllowanceRecordStatus{Initiator: "carol"}
	if !b.outcome(status) || status.Initiator != "bob" {
		t.Errorf("initiator %q, want bob", status.Initiator)
	}
}

// The condition says what became of the last change that would have allowed
// something.
func TestOutcomeSaysThatTheLedgerIsFull(t *testing.T) {
	const why = "the ledger would exceed its bounds"
	full := func() *batch { return &batch{full: why, since: time.Unix(1, 0)} }
	granting := func() *batch {
		return &batch{history: []v1alpha1.HistoryEntry{{Event: v1alpha1.EventGranted}}, since: time.Unix(2, 0)}
	}
	denying := func() *batch { return &batch{history: []v1alpha1.HistoryEntry{{Event: v1alpha1.EventDenied}}} }
	for name, tc := range map[string]struct {
		batches []*batch
		want    string
	}{
		"no room":                  {[]*batch{full()}, why},
		"and something else":       {[]*batch{full(), denying()}, why},
		"room again":               {[]*batch{full(), granting()}, ""},
		"no room any more":         {[]*batch{granting(), full()}, why},
		"room again, and no more":  {[]*batch{full(), granting(), full()}, why},
		"there was never any lack": {[]*batch{granting()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			together, status, oneByOne := &batch{}, &v1alpha1.AllowanceRecordStatus{}, &v1alpha1.AllowanceRecordStatus{}
			for _, b := range tc.batches {
				if !b.outcome(oneByOne) {
					t.Error("an outcome changes nothing")
				}
				together.add(b)
			}
			together.outcome(status)
			for how, s := range map[string]*v1alpha1.AllowanceRecordStatus{"one by one": oneByOne, "together": status} {
				var got string
				if c := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionLedgerFull); c != nil {
					got = c.Message
				}
				if got != tc.want {
					t.Errorf("written %s: %q, want %q", how, got, tc.want)
				}
			}
		})
	}
	if !full().deserves() {
		t.Error("a full ledger deserves no record")
	}
}
