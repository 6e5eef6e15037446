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

package objectcache

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestAlarms shows that requests are queued when their time has come, at most a second
// later, and that each has one time, the last that was set.
func TestAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := testQueue(t)
		request := func(name string) Request {
			return RequestFor(schema.GroupVersionKind{Kind: "Web"}, types.NamespacedName{Name: name})
		}
		var alarms Alarms
		early := request("early")
		alarms.Set(early, 10*time.Second)
		alarms.Set(early, 30*time.Second)
		<-time.After(300 * time.Millisecond)
		if err := alarms.Source().Start(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		alarms.Set(request("late"), time.Hour)
		alarms.Set(request("sooner"), time.Hour)
		alarms.Set(request("sooner"), time.Minute)
		alarms.Set(request("dropped"), time.Second)
		alarms.Drop(request("dropped"))
		alarms.Set(request("never"), math.MaxInt64)

		type alarm struct{ name, in string }
		var got []alarm
		for range 4 {
			req, _ := queue.Get()
			got = append(got, alarm{req.Key().Name, time.Since(began).String()})
			queue.Done(req)
		}
		want := []alarm{{"early", "31s"}, {"sooner", "1m1s"}, {"late", "1h0m1s"}, {"never", "24h0m1s"}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(alarm{})); diff != "" {
			t.Errorf("queued (-want +got):\n%s", diff)
		}
		if n := len(alarms.due); n > 0 {
			t.Errorf("%d times are kept", n)
		}
		for range 1000 {
			alarms.Set(early, time.Hour)
			<-time.After(time.Second)
		}
		if n := len(alarms.due); n != 1 {
			t.Errorf("%d times are kept of one request, want 1", n)
		}
	})
}

// TestAlarmsOfMany shows that a queue is not flooded with those of one time.
func TestAlarmsOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := testQueue(t)
		var alarms Alarms
		const all = 2*feedAhead + 1
		for req := range numbered("web-", all, new(atomic.Int32)) {
			alarms.Set(req, time.Minute)
		}
		if err := alarms.Source().Start(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		got := map[Request]bool{}
		for range all {
			req, _ := queue.Get()
			if n := queue.Len(); n > feedAhead {
				t.Fatalf("%d requests wait", n)
			}
			got[req] = true
			queue.Done(req)
		}
		if len(got) != all {
			t.Errorf("%d requests were queued, want %d", len(got), all)
		}
	})
}
