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

package retention

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/record"
)

// TestRetentionWaits shows that nothing is swept before it is known which kinds are watched:
// before that, each record looks as if nobody watched its target.
func TestRetentionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sweeps := 0
		looked := make(chan struct{})
		retention := &Reconciler{
			Clock: clock.RealClock{}, Looked: looked,
			Records: record.NewStore(record.Config{All: func(context.Context) iter.Seq2[*v1alpha1.AllowanceRecord, error] {
				sweeps++
				return func(func(*v1alpha1.AllowanceRecord, error) bool) {}
			}}),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- retention.Start(ctx) }()
		<-time.After(10 * sweepInterval)
		if sweeps != 0 {
			t.Errorf("%d sweeps before it is known what is watched", sweeps)
		}
		close(looked)
		synctest.Wait()
		if sweeps != 1 {
			t.Errorf("%d sweeps once it is known, want one", sweeps)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestOver(t *testing.T) {
	const hour = time.Hour
	rec := func(namespace, name string, since time.Duration) *v1alpha1.AllowanceRecord {
		at := controllertest.Before(since)
		return &v1alpha1.AllowanceRecord{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Status:     v1alpha1.AllowanceRecordStatus{EndedAt: &at},
		}
	}
	going := rec("a", "going", 9*hour)
	now := metav1.NewTime(controllertest.Noon)
	going.DeletionTimestamp = &now
	records := []*v1alpha1.AllowanceRecord{
		rec("a", "2h", 2*hour), rec("a", "1m", time.Minute), going, rec("b", "3h", 3*hour), rec("a", "1h", hour), rec("a", "2m", 2*time.Minute),
	}
	tests := map[string]struct {
		age   time.Duration
		count int
		want  []string
	}{
		"no limits":                            {},
		"by age, the oldest first":             {age: 2 * hour, want: []string{"b/3h", "a/2h"}},
		"by count, of each namespace":          {count: 3, want: []string{"a/2h"}},
		"by both":                              {age: 3 * hour, count: 3, want: []string{"b/3h", "a/2h"}},
		"what age takes counts no more":        {age: 2 * hour, count: 3, want: []string{"b/3h", "a/2h"}},
		"not what has only just ended":         {count: 1, want: []string{"a/2h", "a/1h"}},
		"not what has only just ended, by age": {age: time.Second, want: []string{"b/3h", "a/2h", "a/1h"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range over(records, tc.age, tc.count, controllertest.Noon) {
				got = append(got, r.Namespace+"/"+r.Name)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("to delete (-want +got):\n%s", diff)
			}
		})
	}
}
