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

package target

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/objectcache"
)

func named(name string) objectcache.Request {
	return objectcache.RequestFor(controllertest.Workload("Deployment", name).GroupVersionKind(), types.NamespacedName{Namespace: "shop", Name: name})
}

func TestPaceWaits(t *testing.T) {
	const none = time.Duration(-1)
	type step struct {
		after   time.Duration
		version string
		settled bool
		// want is how long to wait, 0 for now, none for until something happens.
		want time.Duration
	}
	for name, steps := range map[string][]step{
		"until the object is quiet":         {{0, "1", true, markQuiet}, {markQuiet, "1", true, 0}},
		"again after each change":           {{0, "1", true, markQuiet}, {time.Second, "2", true, markQuiet}, {markQuiet, "2", true, 0}},
		"until it has settled":              {{0, "1", false, markPatience}, {time.Second, "2", true, markQuiet}},
		"and not for ever":                  {{0, "1", false, markPatience}, {markPatience, "7", false, 0}},
		"not for a change after all others": {{0, "1", true, markQuiet}, {markPatience - time.Second, "2", true, time.Second}, {time.Second, "3", true, 0}},
		"when the mark was taken away, a few times": {
			{0, "1", true, markQuiet}, {markQuiet, "1", true, 0},
			{time.Second, "2", true, markQuiet}, {markQuiet, "2", true, 0},
			{time.Second, "3", true, markQuiet}, {markQuiet, "3", true, 0},
			{time.Second, "4", true, none}, {time.Minute, "5", true, none},
			{markMemory, "6", true, markQuiet}, {markQuiet, "6", true, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, now := newPace(100), controllertest.Noon
			for i, s := range steps {
				now = now.Add(s.after)
				due, again := p.due(named("web"), "", s.version, "a", s.settled, now)
				got := again
				if !due && again == 0 {
					got = none
				}
				if got != s.want {
					t.Errorf("step %d: waits for %s, want %s", i, got, s.want)
				}
			}
		})
	}
}

// In any second not more objects are written than the rate says, whether or not they
// are looked at in time, and in the end all are.
func TestPaceWritesAtARate(t *testing.T) {
	const objects = 400
	for name, tc := range map[string]struct {
		rate float64
		// Nothing is looked at from one time to the other.
		stalls map[time.Duration]time.Duration
		// late is how late everything is looked at, at most.
		late   time.Duration
		within time.Duration
	}{
		"in time":            {rate: 100, within: 7 * time.Second},
		"a little late":      {rate: 100, late: 20 * time.Millisecond, within: 7 * time.Second},
		"after a stall":      {rate: 100, late: time.Millisecond, stalls: map[time.Duration]time.Duration{3 * time.Second: 5 * time.Second}, within: 10 * time.Second},
		"after several":      {rate: 100, stalls: map[time.Duration]time.Duration{time.Second: 4 * time.Second, 5 * time.Second: 8 * time.Second}, within: 15 * time.Second},
		"few at a time":      {rate: 10, late: 20 * time.Millisecond, within: time.Minute},
		"one in two secs":    {rate: 0.5, within: 30 * time.Minute},
		"more than there is": {rate: 10_000, within: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			p := newPace(tc.rate)
			next := make([]time.Duration, objects)
			var written []time.Duration
			for len(written) < objects {
				i := slices.Index(next, slices.Min(next))
				now := next[i]
				for from, to := range tc.stalls {
					if now >= from && now < to {
						now = to
					}
				}
				if tc.late > 0 {
					now += time.Duration(random.Int64N(int64(tc.late)))
				}
				due, again := p.due(named(strconv.Itoa(i)), "", "1", "a", true, controllertest.Noon.Add(now))
				next[i] = now + again
				if due {
					written, next[i] = append(written, now), math.MaxInt64
				}
			}
			slices.Sort(written)
			begin, most := 0, max(1, int(tc.rate))
			for end := range written {
				for written[end]-written[begin] >= time.Second {
					begin++
				}
				if n := end - begin + 1; n > most {
					t.Fatalf("%d objects in the second from %s on, want %d at most", n, written[begin], most)
				}
			}
			if last := written[objects-1]; last > tc.within {
				t.Errorf("the last one was written after %s, want %s at most", last, tc.within)
			}
		})
	}
}

func TestPaceLeavesTimeBetweenSiblings(t *testing.T) {
	p := newPace(1e12)
	for i, step := range []struct {
		name   string
		parent types.UID
		want   time.Duration
	}{
		{"a", "first", 0},
		{"b", "first", siblingGap},
		{"c", "second", 0},
		{"d", "first", 2 * siblingGap},
		{"e", "", 0},
		{"f", "", 0},
	} {
		req, now := named(step.name), controllertest.Noon
		p.due(req, step.parent, "1", "a", true, now)
		if due, again := p.due(req, step.parent, "1", "a", true, now.Add(markQuiet)); due != (again == 0) || again != step.want {
			t.Errorf("step %d: waits for %s, want %s", i, again, step.want)
		}
	}
	p.next("first", controllertest.Noon.Add(time.Minute))
	if len(p.siblings) != 1 {
		t.Errorf("%d parents are remembered of whose children none was marked lately", len(p.siblings)-1)
	}
}

func TestPaceFate(t *testing.T) {
	req := named("web")
	p := newPace(100)
	check := func(version, wanted string, at time.Time, behind, lost bool) {
		t.Helper()
		if b, l := p.fate(req, version, wanted, at); b != behind || l != lost {
			t.Errorf("fate(%s, %s) = %t, %t; want %t, %t", version, wanted, b, l, behind, lost)
		}
	}
	check("5", "a", controllertest.Noon, false, false)
	mark := func(version string, at time.Time) {
		t.Helper()
		p.due(req, "", version, "a", true, at)
		if due, _ := p.due(req, "", version, "a", true, at.Add(markQuiet)); !due {
			t.Fatal("a mark is not due")
		}
	}
	mark("5", controllertest.Noon)
	p.done(req, "6")
	check("5", "a", controllertest.Noon, true, false)
	check("6", "b", controllertest.Noon, false, false)
	check("7", "b", controllertest.Noon, false, false)
	check("7", "a", controllertest.Noon.Add(time.Hour), false, false)
	check("7", "a", controllertest.Noon.Add(time.Minute), false, true)
	check("8", "a", controllertest.Noon.Add(time.Minute), false, false) // told once
	p.failed(req)
	p.forget(req)
	check("9", "a", controllertest.Noon, false, false)
}
