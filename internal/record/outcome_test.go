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
