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
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
)

func queueFor(t *testing.T, capacity int) *queue {
	t.Helper()
	q := newQueue(capacity, clock.RealClock{})
	t.Cleanup(q.start().ShutDown)
	return q
}

func batchOf(uid types.UID, d v1alpha1.Decision) *batch {
	b := &batch{target: v1alpha1.TargetReference{UID: uid}}
	b.decide(d, false, false)
	return b
}

func denial(message string) v1alpha1.Decision {
	return v1alpha1.Decision{Result: ResultDenied, Message: message}
}

func TestQueueCoalesces(t *testing.T) {
	q := queueFor(t, 10)
	q.put(batchOf("a", denial("one")))
	q.put(batchOf("b", v1alpha1.Decision{Result: ResultAllowed, Reason: "Covered"}))
	q.put(batchOf("a", denial("two")))
	q.put(batchOf("a", denial("one")))
	q.put(batchOf("a", v1alpha1.Decision{Result: ResultAllowed, Reason: "Origin"}))

	batches := q.takeAll()
	if len(batches) != 2 || len(q.takeAll()) != 0 {
		t.Fatalf("got %d batches, want one for each of two holders, once", len(batches))
	}
	a := batches[0]
	if a.denials != 3 || a.last.Reason != "Origin" {
		t.Errorf("got %d denials and last decision %q, want 3 and Origin", a.denials, a.last.Reason)
	}
	if a.lastDenial.Message != "one" {
		t.Errorf("the last denial is %s", a.lastDenial.Message)
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := queueFor(t, 2)
	dropped := 0
	for _, uid := range []types.UID{"a", "b", "c", "c"} {
		dropped += q.put(batchOf(uid, denial("no")))
	}
	var kept []types.UID
	for _, b := range q.takeAll() {
		kept = append(kept, b.target.UID)
	}
	if diff := cmp.Diff([]types.UID{"b", "c"}, kept); diff != "" || dropped != 1 {
		t.Errorf("dropped %d, want 1; kept (-want +got):\n%s", dropped, diff)
	}
}

func TestQueuePutBack(t *testing.T) {
	q := queueFor(t, 10)
	failed := batchOf("a", denial("first"))
	failed.attempts = 1
	q.put(batchOf("a", v1alpha1.Decision{Result: ResultAllowed, Reason: "later"}))
	q.putBack(failed)
	b := q.takeOne("a")
	if b.last.Reason != "later" || b.denials != 1 || b.attempts != 1 {
		t.Errorf("got last %q, %d denials, %d attempts; want later, 1, 1", b.last.Reason, b.denials, b.attempts)
	}
}

// TestQueueTakesWhatIsDue has holders take turns by the clock of the bubble.
func TestQueueTakesWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueFor(t, 10)
		takes := func(want ...types.UID) {
			t.Helper()
			if diff := cmp.Diff(want, q.due()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		takes()
		q.put(batchOf("a", denial("one")))
		<-time.After(interval / 2)
		q.put(batchOf("b", denial("one")))
		q.put(batchOf("a", denial("two")))
		takes()
		<-time.After(interval / 2)
		takes("a")
		// What comes again waits anew.
		q.put(batchOf("a", denial("three")))
		takes()
		<-time.After(interval / 2)
		takes("b")
		<-time.After(interval / 2)
		takes("a")

		// It does so too where what waited before was taken out of turn.
		q.put(batchOf("a", denial("four")))
		<-time.After(interval / 2)
		q.takeOne("a")
		q.put(batchOf("a", denial("five")))
		<-time.After(interval / 2)
		takes()
		<-time.After(interval / 2)
		takes("a")
	})
}

// TestQueueKeepsWhatCameBeforeItsStart has admission answer before anything is written.
func TestQueueKeepsWhatCameBeforeItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, clock.RealClock{})
		q.put(batchOf("a", denial("one")))
		<-time.After(interval / 2)
		t.Cleanup(q.start().ShutDown)
		if due := q.due(); len(due) > 0 {
			t.Errorf("%v is due at the start", due)
		}
		<-time.After(interval / 2)
		if diff := cmp.Diff([]types.UID{"a"}, q.due()); diff != "" {
			t.Errorf("due (-want +got):\n%s", diff)
		}
	})
}

// due takes the batches that are due, and returns whose they are.
func (q *queue) due() (due []types.UID) {
	synctest.Wait()
	for q.turns.Len() > 0 {
		uid, _ := q.turns.Get()
		if q.take(uid) != nil {
			due = append(due, uid)
		}
		q.turns.Done(uid)
	}
	return due
}

// What fails waits longer each time, and does not keep what comes later from its turn.
func TestQueuePausesAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueFor(t, 10)
		began := time.Now()
		failed := batchOf("a", denial("one"))
		waited := []time.Duration{2 * interval, 4 * interval, 8 * interval, maxPause, maxPause}
		for i, pause := range waited {
			failed.attempts = i + 1
			q.putBack(failed)
			<-time.After(pause - time.Millisecond)
			if due := q.due(); len(due) > 0 {
				t.Errorf("after %d attempts %v is due before %s", failed.attempts, due, pause)
			}
			<-time.After(time.Millisecond)
			synctest.Wait()
			uid, _ := q.turns.Get()
			if failed = q.take(uid); failed == nil || !failed.began.Equal(began) {
				t.Fatalf("after %d attempts and %s: %+v, want that it waits since %s", i+1, pause, failed, began)
			}
			q.turns.Done(uid)
		}
		q.putBack(failed)
		q.put(batchOf("b", denial("one")))
		<-time.After(interval)
		if diff := cmp.Diff([]types.UID{"b"}, q.due()); diff != "" {
			t.Errorf("due after what failed (-want +got):\n%s", diff)
		}
	})
}

func TestDeserves(t *testing.T) {
	tests := map[string]struct {
		decision v1alpha1.Decision
		want     bool
	}{
		"a denial":            {decision: denial("no"), want: true},
		"use of an allowance": {decision: v1alpha1.Decision{Result: ResultAllowed, Trace: []v1alpha1.TraceHop{{Kind: "Deployment"}}}, want: true},
		"a warning":           {decision: v1alpha1.Decision{Result: ResultWarned}, want: true},
		"what nothing bounds": {decision: v1alpha1.Decision{Result: ResultAllowed, Reason: "Maintaining"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := batchOf("a", test.decision).deserves(); got != test.want {
				t.Errorf("deserves() = %t, want %t", got, test.want)
			}
		})
	}
}

func TestRaw(t *testing.T) {
	for name, text := range map[string]string{
		"short":       "not a ledger",
		"long":        strings.Repeat("ä", maxRawLedger),
		"not unicode": "\xff" + strings.Repeat("x", maxRawLedger),
	} {
		t.Run(name, func(t *testing.T) {
			got := Raw(text)
			if !utf8.ValidString(got) || len(got) > maxRawLedger {
				t.Errorf("got %d bytes, valid: %t", len(got), utf8.ValidString(got))
			}
			if len(text) <= maxRawLedger && utf8.ValidString(text) && got != text {
				t.Errorf("got %q, want it as it was", got)
			}
		})
	}
}

func TestQueueKeepsTheLatestLook(t *testing.T) {
	look := func(reason string, create bool) *batch {
		return &batch{target: v1alpha1.TargetReference{UID: "a"}, mirror: &Mirror{
			Create:  create,
			Advance: func(_ context.Context, s *v1alpha1.AllowanceRecordStatus) bool { s.Initiator = reason; return true },
		}}
	}
	q := queueFor(t, 10)
	q.put(look("first", true))
	q.put(batchOf("a", denial("no")))
	q.put(look("second", false))
	if !q.mirrors("a") || q.mirrors("b") {
		t.Error("what waits for a, and only that, is a look")
	}
	b := q.takeOne("a")
	status := &v1alpha1.AllowanceRecordStatus{}
	b.mirror.Advance(t.Context(), status)
	if status.Initiator != "second" || !b.mirror.Create || b.denials != 1 {
		t.Errorf("got the %s look, create %t, %d denials; want the second, a record since the first, and the denial", status.Initiator, b.mirror.Create, b.denials)
	}
	if q.takeOne("a") != nil || len(q.takeAll()) != 0 {
		t.Error("what was taken waits still")
	}
}

// TestAskedAboutAll has a batch of denials say which UpgradeAllowances all of them were asked about.
func TestAskedAboutAll(t *testing.T) {
	of := func(user string, asked ...string) v1alpha1.Decision {
		return v1alpha1.Decision{Result: ResultDenied, User: user, Upgrades: asked}
	}
	tests := map[string]struct {
		denials []v1alpha1.Decision
		want    []string
	}{
		"one":                     {denials: []v1alpha1.Decision{of("a", "one/1")}, want: []string{"one/1"}},
		"two about the same":      {denials: []v1alpha1.Decision{of("a", "one/1"), of("a", "one/1")}, want: []string{"one/1"}},
		"one that comes meantime": {denials: []v1alpha1.Decision{of("a", "one/1"), of("a", "one/1", "two/1")}, want: []string{"one/1"}},
		"those of two":            {denials: []v1alpha1.Decision{of("a", "one/1"), of("b", "two/1")}, want: []string{"two/1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := queueFor(t, 10)
			for _, d := range tt.denials {
				q.put(batchOf("a", d))
			}
			if diff := cmp.Diff(tt.want, q.takeOne("a").lastDenial.Upgrades); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutcomeAnswersWhatWasShown has denials answered whose end of waiting was shown, or will be.
func TestOutcomeAnswersWhatWasShown(t *testing.T) {
	tests := map[string]struct {
		shown   []bool
		blocked bool
		want    int64
	}{
		"before anything is shown":           {shown: []bool{false}},
		"while it is shown":                  {shown: []bool{true}, blocked: true},
		"after the end, of before it":        {shown: []bool{true, true}, want: 2},
		"after the end, of before and after": {shown: []bool{true, false}, want: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := queueFor(t, 10)
			for _, shown := range tt.shown {
				b := &batch{target: v1alpha1.TargetReference{UID: "a"}}
				b.decide(denial("no"), shown, false)
				q.put(b)
			}
			status := v1alpha1.AllowanceRecordStatus{}
			if tt.blocked {
				status.Blocked = &v1alpha1.Blocked{}
			}
			q.takeOne("a").outcome(&status)
			if status.AnsweredDenials != tt.want || status.Denials != int64(len(tt.shown)) {
				t.Errorf("%d of %d denials are answered, want %d", status.AnsweredDenials, status.Denials, tt.want)
			}
		})
	}
}

// TestOutcomeOfPeople has nobody wait for what people are told in their own terminal.
func TestOutcomeOfPeople(t *testing.T) {
	type asked struct {
		message       string
		shown, oneOff bool
	}
	person, controller := asked{message: "person", oneOff: true}, asked{message: "controller"}
	type outcome struct {
		Last              string
		Denials, Answered int64
	}
	tests := map[string]struct {
		status v1alpha1.AllowanceRecordStatus
		asked  []asked
		want   outcome
	}{
		"a person":                       {asked: []asked{person}, want: outcome{"person", 1, 1}},
		"a person, where it is shown":    {asked: []asked{{"person", true, true}}, want: outcome{"person", 1, 1}},
		"people":                         {asked: []asked{person, person}, want: outcome{"person", 2, 2}},
		"a person after a controller":    {asked: []asked{controller, person}, want: outcome{"controller", 2, 1}},
		"a controller after a person":    {asked: []asked{person, controller}, want: outcome{"controller", 2, 1}},
		"a controller between people":    {asked: []asked{person, controller, person}, want: outcome{"controller", 3, 2}},
		"a person, the controller woken": {asked: []asked{{"controller", true, false}, person}, want: outcome{"controller", 2, 2}},
		"a person, before anybody has looked at what a controller was denied": {
			status: v1alpha1.AllowanceRecordStatus{Denials: 1, LastDenial: &v1alpha1.Decision{Message: "before"}},
			asked:  []asked{person}, want: outcome{"before", 2, 1},
		},
		"a person, while a controller waits": {
			status: v1alpha1.AllowanceRecordStatus{Denials: 1, LastDenial: &v1alpha1.Decision{Message: "before"}, Blocked: &v1alpha1.Blocked{}},
			asked:  []asked{person}, want: outcome{"before", 2, 1},
		},
		"a person, after a controller was answered": {
			status: v1alpha1.AllowanceRecordStatus{Denials: 1, AnsweredDenials: 1, LastDenial: &v1alpha1.Decision{Message: "before"}},
			asked:  []asked{person}, want: outcome{"person", 2, 2},
		},
		"a controller, while one waits": {
			status: v1alpha1.AllowanceRecordStatus{Denials: 1, LastDenial: &v1alpha1.Decision{Message: "before"}, Blocked: &v1alpha1.Blocked{}},
			asked:  []asked{controller}, want: outcome{"controller", 2, 0},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := queueFor(t, 10)
			for _, a := range tt.asked {
				b := &batch{target: v1alpha1.TargetReference{UID: "a"}}
				b.decide(denial(a.message), a.shown, a.oneOff)
				q.put(b)
			}
			q.takeOne("a").outcome(&tt.status)
			got := outcome{tt.status.LastDenial.Message, tt.status.Denials, tt.status.AnsweredDenials}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// BenchmarkQueue has admission observe something about a thousand holders, of whom nothing waits, while their
// turns come and go.
func BenchmarkQueue(b *testing.B) {
	const holders = 1000
	uids := make([]types.UID, holders)
	for i := range uids {
		uids[i] = types.UID(fmt.Sprint("uid-", i))
	}
	q := newQueue(maxWaiting, clock.RealClock{})
	b.Cleanup(q.start().ShutDown)
	b.ReportAllocs()
	for b.Loop() {
		for _, uid := range uids {
			q.put(batchOf(uid, v1alpha1.Decision{Result: ResultAllowed, Reason: "Covered"}))
		}
		q.takeAll()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/holders, "ns/outcome")
}
