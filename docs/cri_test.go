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

package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/runtimerules"
)

var (
	wayRow  = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \|$`)
	wayTest = regexp.MustCompile(`(?m)^\t\t"([^"]+)": +(?:func\(|compressed)`)
)

// Each way around runtime rules that is documented is tested, and the reverse.
func TestWaysAroundRuntimeRules(t *testing.T) {
	documented := map[string]bool{}
	for _, row := range wayRow.FindAllStringSubmatch(pages(t)["cri-bypasses.md"], -1) {
		if row[1] != "way" && !strings.HasPrefix(row[1], "--") {
			documented[row[1]] = true
		}
	}
	files, err := filepath.Glob("../internal/cri/*/bypass*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range wayTest.FindAllStringSubmatch(string(text), -1) {
			tested[row[1]] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(tested)), slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("-tested +documented:\n%s", diff)
	}
	if len(tested) < 40 {
		t.Errorf("%d ways", len(tested))
	}
}

// Runtime rules in the documentation are what readers copy.
func TestRuntimeRulesCompile(t *testing.T) {
	compiled := 0
	for path, text := range pages(t) {
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] != "yaml" || !strings.Contains(block[2], "method: /runtime.v1.") {
				continue
			}
			if _, err := runtimerules.Parse(path, []byte(block[2])); err != nil {
				t.Error(err)
			}
			compiled++
		}
	}
	if compiled == 0 {
		t.Error("there are none")
	}
}
