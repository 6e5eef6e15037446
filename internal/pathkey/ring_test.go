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

package pathkey

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAccepts(t *testing.T) {
	ring := Ring{Current: "aa", Next: "bb", Previous: "cc"}
	for name, tc := range map[string]struct {
		ring Ring
		key  string
		want bool
	}{
		"the current one":       {ring, "aa", true},
		"the next one":          {ring, "bb", true},
		"the previous one":      {ring, "cc", true},
		"another one":           {ring, "dd", false},
		"a part of one":         {ring, "a", false},
		"more than one":         {ring, "aabb", false},
		"none":                  {ring, "", false},
		"none, where there are": {Ring{}, "", false},
		"none, of one":          {Ring{Current: "aa"}, "", false},
		"in capitals":           {ring, "AA", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.ring.Accepts(tc.key); got != tc.want {
				t.Errorf("accepted = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestStep(t *testing.T) {
	start := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := Schedule{Every: time.Hour, Ahead: 30 * time.Second, After: 10 * time.Minute}
	for name, tc := range map[string]struct {
		ring Ring
		age  time.Duration
		want Ring
		wait time.Duration
	}{
		"none yet": {
			Ring{}, 0,
			Ring{Current: "new", Changed: start}, time.Hour,
		},
		"fresh": {
			Ring{Current: "a", Changed: start}, time.Minute,
			Ring{Current: "a", Changed: start}, 59 * time.Minute,
		},
		"old": {
			Ring{Current: "a", Changed: start}, time.Hour,
			Ring{Current: "a", Next: "new", Changed: start.Add(time.Hour)}, 30 * time.Second,
		},
		"the next is not known to all yet": {
			Ring{Current: "a", Next: "b", Changed: start}, 29 * time.Second,
			Ring{Current: "a", Next: "b", Changed: start}, time.Second,
		},
		"the next is known": {
			Ring{Current: "a", Next: "b", Changed: start}, 30 * time.Second,
			Ring{Current: "b", Previous: "a", Changed: start.Add(30 * time.Second)}, 10 * time.Minute,
		},
		"the previous may still be shown": {
			Ring{Current: "b", Previous: "a", Changed: start}, 9 * time.Minute,
			Ring{Current: "b", Previous: "a", Changed: start}, time.Minute,
		},
		"the previous goes, and the other stays as old as it is": {
			Ring{Current: "b", Previous: "a", Changed: start}, 10 * time.Minute,
			Ring{Current: "b", Changed: start}, 50 * time.Minute,
		},
		"nobody looked for a day": {
			Ring{Current: "b", Previous: "a", Changed: start}, 24 * time.Hour,
			Ring{Current: "b", Changed: start}, 0,
		},
		"a clock was ahead": {
			Ring{Current: "a", Changed: start.Add(time.Hour)}, 0,
			Ring{Current: "a", Changed: start}, time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, wait, changed := s.Step(tc.ring, start.Add(tc.age), func() string { return "new" })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ring (-want +got):\n%s", diff)
			}
			if wait != tc.wait {
				t.Errorf("it stays so for %s, want %s", wait, tc.wait)
			}
			if changed != (got != tc.ring) {
				t.Errorf("changed = %t", changed)
			}
		})
	}
}

// Whatever is shown is accepted by replicas that are a step behind or ahead.
func TestStepsOverlap(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	s := Every(time.Hour)
	n := 0
	another := func() string { n++; return strings.Repeat("k", n) }
	ring, _, _ := s.Step(Ring{}, now, another)
	for range 100 {
		next, wait, _ := s.Step(ring, now, another)
		if !ring.Accepts(next.Current) || !next.Accepts(ring.Current) {
			t.Fatalf("%+v and %+v do not overlap", ring, next)
		}
		ring, now = next, now.Add(wait)
	}
	if n < 10 {
		t.Errorf("only %d keys", n)
	}
}

func TestRenew(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct{ ring, want Ring }{
		"at rest":              {Ring{Current: "a"}, Ring{Current: "a", Next: "new", Changed: now}},
		"while one follows":    {Ring{Current: "a", Next: "b"}, Ring{Current: "a", Next: "b"}},
		"while one has just":   {Ring{Current: "b", Previous: "a"}, Ring{Current: "b", Previous: "a"}},
		"where there are none": {Ring{}, Ring{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Every(time.Hour).Renew(tc.ring, now, func() string { return "new" })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ring (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFresh(t *testing.T) {
	a, b := fresh(), fresh()
	if a == b || len(a) != 2*size {
		t.Errorf("made %q and %q", a, b)
	}
}
