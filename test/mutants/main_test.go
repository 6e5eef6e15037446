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
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var root = filepath.Join("..", "..")

// The code that is mutated has to be there, and be there once.
func TestEditsApply(t *testing.T) {
	for _, m := range mutants {
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
