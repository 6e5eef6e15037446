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

package graphrevision

import (
	"testing"
	"time"

	krorevisions "github.com/kubernetes-sigs/kro/api/internal.kro.run/v1alpha1"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var issued = time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)

// revision returns a revision that kro issued as many minutes later as its number says.
func revision(of string, number int64, status metav1.ConditionStatus) krorevisions.GraphRevision {
	out := krorevisions.GraphRevision{}
	out.Spec.Revision, out.Spec.Snapshot.Name = number, of
	out.CreationTimestamp = metav1.NewTime(issued.Add(time.Duration(number) * time.Minute))
	if status != "" {
		out.Status.Conditions = krov1alpha1.Conditions{{Type: krorevisions.GraphRevisionConditionTypeGraphVerified, Status: status}}
	}
	return out
}

func TestServed(t *testing.T) {
	going := revision("webapp", 4, "True")
	going.DeletionTimestamp = new(metav1.NewTime(issued))
	tests := map[string]struct {
		revisions []krorevisions.GraphRevision
		at        time.Time
		want      int64
		pending   bool
	}{
		"none":                         {},
		"the newest":                   {revisions: []krorevisions.GraphRevision{revision("webapp", 2, "True"), revision("webapp", 3, "True"), revision("webapp", 1, "True")}, want: 3},
		"not an invalid one":           {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "True"), revision("webapp", 2, "False")}, want: 1},
		"one that is not decided yet":  {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "True"), revision("webapp", 2, "")}, want: 1, pending: true},
		"one that never was decided":   {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "Unknown"), revision("webapp", 2, "True")}, want: 2},
		"the first is not decided yet": {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "")}, pending: true},
		"not that of another graph":    {revisions: []krorevisions.GraphRevision{revision("other", 1, "True")}},
		"not one that goes":            {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "True"), going}, want: 1},
		"the newest at a time":         {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "True"), revision("webapp", 2, "True")}, at: issued.Add(90 * time.Second), want: 1},
		"the one of that second":       {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "True"), revision("webapp", 2, "True")}, at: issued.Add(2 * time.Minute), want: 2},
		"none at that time":            {revisions: []krorevisions.GraphRevision{revision("webapp", 1, "True")}, at: issued},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, pending := Served("webapp", tc.revisions, tc.at)
			var number int64
			if got != nil {
				number = got.Spec.Revision
			}
			if number != tc.want || pending != tc.pending {
				t.Errorf("revision %d, pending %t; want %d, %t", number, pending, tc.want, tc.pending)
			}
		})
	}
}
