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

package why

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

// TestAsked shows of which refusal it is told which UpgradeAllowances were asked: one before it may have been
// refused when there was none.
func TestAsked(t *testing.T) {
	refused := func(age time.Duration) v1alpha1.HistoryEntry {
		e := denialOf(age, "Update", "up-1", "spec.minReadySeconds")
		e.Message = "no. UpgradeAllowance v2 does not let it through: spec.policies does not cover it. Details: kubectl get allowancerecord"
		return e
	}
	last, before := refused(time.Minute), refused(time.Hour)
	rec := recordOf("up", v1alpha1.AllowanceRecordStatus{
		History:    []v1alpha1.HistoryEntry{before, last},
		LastDenial: &v1alpha1.Decision{User: "mallory", Kind: "ReplicaSet", Upgrades: []string{"v2/3/uid-of-v2"}},
	})
	if diff := cmp.Diff([]string{"v2/3"}, upgradeOf(&rec, last).Asked); diff != "" {
		t.Errorf("asked of the last one (-want +got):\n%s", diff)
	}
	if asked := upgradeOf(&rec, before).Asked; len(asked) > 0 {
		t.Errorf("asked of the one before: %q", asked)
	}
}
