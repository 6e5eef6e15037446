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
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// What was refused because of a withheld change that was carried out since waits for nothing.
func TestCarriedOut(t *testing.T) {
	found := v1alpha1.HistoryEntry{
		Time: metav1.NewTime(now.Add(-time.Minute)), Event: v1alpha1.EventReleased, Reason: v1alpha1.ReasonCarriedOut,
		User: "mallory", Paths: []string{"spec.template"},
	}
	plain := found
	plain.Reason = ""
	for name, tc := range map[string]struct {
		entry   v1alpha1.HistoryEntry
		refused time.Duration
		want    bool
	}{
		"refused before":        {entry: found, refused: 2 * time.Minute, want: true},
		"refused after":         {entry: found, refused: time.Second},
		"approved, or put back": {entry: plain, refused: 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{tc.entry}}}
			got := carriedOutSince(rec, v1alpha1.HistoryEntry{Time: metav1.NewTime(now.Add(-tc.refused))})
			if (got != nil) != tc.want {
				t.Fatalf("carried out since = %+v, want one: %t", got, tc.want)
			}
			if got != nil && !strings.HasPrefix(got.text(now), "mallory changed spec.template, which was withheld and is carried out all the same") {
				t.Error(got.text(now))
			}
		})
	}
}
