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
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2/types"
)

var root = filepath.Join("..", "..")

// The code that is mutated has to be there, and be there once.
func TestEditsApply(t *testing.T) {
	for _, m := range slices.Concat(mutants, criMutants) {
		t.Run(m.name, func(t *testing.T) {
			each := trial{root: root, dir: t.TempDir()}
			if _, err := each.overlay(m); err != nil {
				t.Error(err)
			}
			if _, err := each.setup(m); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each way around has a mutant for which its test fails.
func TestEachWayHasAMutant(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "bypasses.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented, mutated []string
	for _, row := range regexp.MustCompile(`(?m)^\| \d+ \| ([^|]+) \|`).FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1])
	}
	for _, m := range mutants {
		mutated = append(mutated, m.ways...)
	}
	slices.Sort(documented)
	slices.Sort(mutated)
	if diff := cmp.Diff(documented, slices.Compact(mutated)); diff != "" {
		t.Errorf("ways in docs/bypasses.md (-) and in mutants (+):\n%s", diff)
	}
}

// Each way around runtime rules has one, or is closed by a library.
func TestEachWayAroundRuntimeRulesHasAMutant(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "cri-bypasses.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(string(page), -1) {
		if row[1] != "way" {
			documented = append(documented, row[1])
		}
	}
	mutated := slices.Clone(ofLibraries)
	for _, m := range criMutants {
		mutated = append(mutated, m.ways...)
	}
	slices.Sort(documented)
	slices.Sort(mutated)
	if diff := cmp.Diff(documented, mutated); diff != "" {
		t.Errorf("ways in docs/cri-bypasses.md (-) and in mutants (+):\n%s", diff)
	}
}

// A crash is not caught: nothing was judged.
func TestPassedKnowsCrashes(t *testing.T) {
	spec := func(state types.SpecState, message string) types.SpecReport {
		return types.SpecReport{LeafNodeText: "updating a child", State: state, Failure: types.Failure{Message: message}}
	}
	tests := map[string]struct {
		spec    types.SpecReport
		passed  []string
		crashed bool
	}{
		"it passes":                {spec: spec(types.SpecStatePassed, ""), passed: []string{"updating a child"}},
		"it fails":                 {spec: spec(types.SpecStateFailed, "Expected success not to have occurred")},
		"it takes too long":        {spec: spec(types.SpecStateTimedout, "Timed out")},
		"the test panics":          {spec: spec(types.SpecStatePanicked, "index out of range"), crashed: true},
		"the operator is gone":     {spec: spec(types.SpecStateFailed, `failed calling webhook "verdict.kausality.io": dial tcp 127.0.0.1:1: connect: connection refused`), crashed: true},
		"the API server is gone":   {spec: spec(types.SpecStateFailed, "dial tcp 127.0.0.1:1: connect: connection refused"), crashed: true},
		"the suite was given up":   {spec: spec(types.SpecStateAborted, ""), crashed: true},
		"crowding made it slow":    {spec: spec(types.SpecStateFailed, `failed calling webhook "verdict.kausality.io": context deadline exceeded`)},
		"it was skipped, or never": {spec: spec(types.SpecStateSkipped, ""), crashed: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal([]types.Report{{SpecReports: types.SpecReports{tc.spec}}})
			if err != nil {
				t.Fatal(err)
			}
			report := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(report, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			passed, err := trial{}.passed(report, []string{"updating a child"})
			if diff := cmp.Diff(tc.passed, passed); diff != "" || (err != nil) != tc.crashed {
				t.Errorf("passed() = %v, want an error: %t (-want +got):\n%s", err, tc.crashed, diff)
			}
		})
	}
}

// What the campaign of strangers says that it has found.
func TestFoundAfter(t *testing.T) {
	const said = "20:07:56 found after 121 acts\n20:07:56 changes of children: 3 covered\n" +
		"20:07:57 FOUND 20:07:41.302 uncovered change of a child: ReplicaSet stranger/web-1: spec.replicas Mutate by mallory\n"
	got := foundAfter.FindStringSubmatch(said)
	if diff := cmp.Diff([]string{"121", "uncovered change of a child"}, append([]string{}, got[1:]...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
