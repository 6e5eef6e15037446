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

package ownrights

import (
	"context"
	"errors"
	"testing"

	"kausality.io/operator/internal/access"
)

// rights answers which of the rights asked about are missing.
type rights struct {
	missing map[string]bool
	err     error
	asked   int
}

func (r *rights) Missing(_ context.Context, needs []access.Need) ([]access.Need, error) {
	r.asked++
	var out []access.Need
	for _, n := range needs {
		if r.missing[n.Verb] {
			out = append(out, n)
		}
	}
	return out, r.err
}

// What is missing is told once, and so is that it is back; what cannot be found out stays as it was.
func TestReview(t *testing.T) {
	told := 0
	usual, urgent := &rights{missing: map[string]bool{}}, &rights{missing: map[string]bool{}}
	r := &Reviewer{
		Duties: []access.Duty{{Needs: []access.Need{{Verb: "create"}}, Without: "a"}, {Needs: []access.Need{{Verb: "update"}}, Without: "b", Urgent: true}},
		Rights: usual, Urgent: urgent, Changed: func() { told++ },
	}
	if _, known := r.Lacks(); known {
		t.Error("it is known before anybody has asked")
	}
	for _, step := range []struct {
		what        string
		does        func()
		told, lacks int
	}{
		{"at first", func() {}, 1, 0},
		{"nothing changes", func() {}, 1, 0},
		{"one is taken away", func() { usual.missing["create"] = true }, 2, 1},
		{"it is still away", func() {}, 2, 1},
		{"nobody answers", func() { usual.err, usual.missing["create"] = errors.New("away"), false }, 2, 1},
		{"an urgent one is taken away, too", func() { usual.err, usual.missing["create"], urgent.missing["update"] = nil, true, true }, 3, 2},
		{"all are back", func() { clear(usual.missing); clear(urgent.missing) }, 4, 0},
	} {
		step.does()
		r.review(t.Context())
		if lacks, known := r.Lacks(); !known || told != step.told || len(lacks) != step.lacks {
			t.Errorf("%s: told %d times, known %t, %d are missing; want %d and %d", step.what, told, known, len(lacks), step.told, step.lacks)
		}
	}
	if urgent.asked == 0 || r.NeedLeaderElection() {
		t.Error("what is urgent is not asked about, or not by each replica")
	}
}
