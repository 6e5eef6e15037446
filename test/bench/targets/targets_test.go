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

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
)

func TestTimeline(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		times     timeline
		busiest   int
		perSecond []string
	}{
		"nothing": {},
		"one":     {timeline{5 * time.Second}, 1, []string{"1"}},
		"the busiest second begins anywhere": {
			timeline{0, 600 * ms, 700 * ms, 1300 * ms, 1599 * ms, 1600 * ms}, 4, []string{"3", "3"},
		},
		"a second without any": {timeline{100 * ms, 2200 * ms, 2200 * ms}, 2, []string{"1", "0", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.times.busiest(time.Second); got != tc.busiest {
				t.Errorf("busiest() = %d, want %d", got, tc.busiest)
			}
			if diff := cmp.Diff(tc.perSecond, tc.times.perSecond()); diff != "" {
				t.Errorf("perSecond() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWitness(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	event := func(user, verb, resource, in, name string, at time.Duration) auditv1.Event {
		e := auditv1.Event{Verb: verb, ObjectRef: &auditv1.ObjectReference{Resource: resource, Namespace: in, Name: name}}
		e.User.Username = user
		e.RequestReceivedTimestamp = metav1.NewMicroTime(began.Add(at))
		return e
	}
	w := newWitness(began)
	w.see(controlplane.AuditEvents{
		event(controlplane.OperatorUser, "patch", "configmaps", namespace, "a", 3*time.Second),
		event(controlplane.OperatorUser, "patch", "configmaps", namespace, "b", 2*time.Second),
		event(controlplane.OperatorUser, "get", "configmaps", namespace, "c", time.Second),
		event(controlplane.OperatorUser, "patch", "configmaps", "other", "d", time.Second),
		event("alice", "patch", "configmaps", namespace, "e", time.Second),
	})
	w.see(controlplane.AuditEvents{
		event(controlplane.OperatorUser, "create", "allowancerecords", namespace, "", time.Second),
		event(controlplane.OperatorUser, "patch", "configmaps", namespace, "a", 4*time.Second),
	})
	if diff := cmp.Diff(timeline{2 * time.Second, 3 * time.Second, 4 * time.Second}, w.marks.sorted()); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if len(w.marked) != 2 {
		t.Errorf("%d objects are marked, want 2", len(w.marked))
	}
	want := []call{
		{What: "patch configmaps", Count: 4, First: time.Second, Last: 4 * time.Second},
		{What: "create allowancerecords", Count: 1, First: time.Second, Last: time.Second},
	}
	if diff := cmp.Diff(want, w.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
