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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
)

// asking has the API server ask or not.
type asking struct {
	count  int64
	lapsed bool
}

func (a *asking) Wait(context.Context) error    { return nil }
func (a *asking) Lapses() (count int64, _ bool) { return a.count, a.lapsed }

// TestLapse shows what is known of a time in which the operator ran and nobody was asked.
func TestLapse(t *testing.T) {
	clock := clocktesting.NewFakeClock(controllertest.Noon)
	api := &asking{}
	s := NewSignOfLife(SignOfLifeConfig{Client: fake.NewClientBuilder().Build(), Namespace: "kausality-system", Asking: api, Clock: clock})
	forgotten, again := 0, 0
	s.forget, s.again = func() { forgotten++ }, func() { again++ }
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kausality-system", Name: SignOfLifeName}}
	if s.beginLapsed() || !s.tryGive(t.Context(), lease) {
		t.Fatal("it begins lapsed")
	}
	s.looked = clock.Now()
	close(s.ready)
	if _, ok := s.away(); ok || s.isLapsed() {
		t.Error("there was nothing before it")
	}
	ceases := func() {
		api.count++
		api.lapsed = true
		s.Lapse(true)
	}
	goesOn := func() {
		api.lapsed = false
		s.Lapse(false)
		if !s.isLapsed() {
			t.Error("it is over before it is known until when it was")
		}
		<-s.ended
		s.endLapse(t.Context(), lease)
	}

	signed := lastSign(lease)
	since := s.sinceLapse()
	clock.Step(2 * lapseMerges)
	ceases()
	if !s.isLapsed() || !since() {
		t.Error("it has not ceased")
	}
	s.endLapse(t.Context(), lease)
	clock.Step(time.Second)
	goesOn()
	a, ok := s.away()
	if !ok || s.isLapsed() || !since() || !a.since.Equal(signed) || !a.over.Equal(clock.Now()) || a.signed != lease.ResourceVersion || forgotten != 1 || again != 1 {
		t.Errorf("after it: %+v, %t, forgotten %d times, looked again %d times", a, s.isLapsed(), forgotten, again)
	}

	clock.Step(time.Second)
	ceases()
	goesOn()
	if b, _ := s.away(); !b.since.Equal(a.since) || again != 2 {
		t.Errorf("what was not looked at since the first is forgotten: %+v", b)
	}
	clock.Step(2 * lapseMerges)
	ceases()
	goesOn()
	if b, _ := s.away(); b.since.Equal(a.since) {
		t.Errorf("it is taken for a part of one that is long over: %+v", b)
	}
}

// TestApprovedInALapse shows that nothing is approved by what an object becomes while nobody is asked.
func TestApprovedInALapse(t *testing.T) {
	approved, now := contentAt(4, "spec.template", "a"), contentAt(5, "spec.template", "b")
	for _, lapsed := range []bool{true, false} {
		v := look(makeHolder().Unstructured, nil, controllertest.Noon)
		v.content, v.lapsed = now, func() bool { return lapsed }
		status := &v1alpha1.AllowanceRecordStatus{Approved: approved}
		var next requeue.Soonest
		v.approve(status, &next)
		want := now
		if lapsed {
			want = approved
		}
		if diff := cmp.Diff(want, status.Approved); diff != "" {
			t.Errorf("approved where nobody is asked: %t (-want +got):\n%s", lapsed, diff)
		}
	}
}
