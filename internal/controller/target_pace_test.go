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

package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/holders"
)

func targetNamed(name string) holders.Request {
	return holders.RequestFor(workload("Deployment", name).GroupVersionKind(), types.NamespacedName{Namespace: "shop", Name: name})
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
			p, now := newPace(100), noon
			for i, s := range steps {
				now = now.Add(s.after)
				due, again := p.due(targetNamed("web"), "", s.version, "a", s.settled, now)
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

func TestPaceWritesAtARate(t *testing.T) {
	const objects, perSecond = 100, 20
	p := newPace(perSecond)
	written := map[time.Duration]int{}
	for i := range objects {
		req, now := targetNamed(time.Duration(i).String()), noon
		for range 4 {
			due, again := p.due(req, "", "1", "a", true, now)
			if due {
				written[now.Sub(noon).Truncate(time.Second)]++
				break
			}
			now = now.Add(again)
		}
	}
	total := 0
	for second, n := range written {
		total += n
		if n > perSecond+perSecond/10 {
			t.Errorf("%d objects in second %s, want %d at most", n, second, perSecond+perSecond/10)
		}
	}
	if total != objects {
		t.Errorf("%d of %d objects were written", total, objects)
	}
}

func TestPaceLeavesTimeBetweenSiblings(t *testing.T) {
	p := newPace(100)
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
		req, now := targetNamed(step.name), noon
		p.due(req, step.parent, "1", "a", true, now)
		if due, again := p.due(req, step.parent, "1", "a", true, now.Add(markQuiet)); due != (again == 0) || again != step.want {
			t.Errorf("step %d: waits for %s, want %s", i, again, step.want)
		}
	}
	p.next("first", noon.Add(time.Minute))
	if len(p.siblings) != 1 {
		t.Errorf("%d parents are remembered of whose children none was marked lately", len(p.siblings)-1)
	}
}

func TestPaceFate(t *testing.T) {
	req := targetNamed("web")
	p := newPace(100)
	check := func(version, wanted string, at time.Time, behind, lost bool) {
		t.Helper()
		if b, l := p.fate(req, version, wanted, at); b != behind || l != lost {
			t.Errorf("fate(%s, %s) = %t, %t; want %t, %t", version, wanted, b, l, behind, lost)
		}
	}
	check("5", "a", noon, false, false)
	mark := func(version string, at time.Time) {
		t.Helper()
		p.due(req, "", version, "a", true, at)
		if due, _ := p.due(req, "", version, "a", true, at.Add(markQuiet)); !due {
			t.Fatal("a mark is not due")
		}
	}
	mark("5", noon)
	p.done(req, "6")
	check("5", "a", noon, true, false)
	check("6", "b", noon, false, false)
	check("7", "b", noon, false, false)
	check("7", "a", noon.Add(time.Hour), false, false)
	check("7", "a", noon.Add(time.Minute), false, true)
	check("8", "a", noon.Add(time.Minute), false, false) // told once
	p.failed(req)
	p.forget(req)
	check("9", "a", noon, false, false)
}
