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

package pages

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got := parse("# Page\n\n```sh\nbefore\n```\n\n## One\n\n1. First:\n\n   ```sh\n   kubectl a \\\n     --b\n   ```\n\n   ```yaml\n   c: d\n   ```\n\n### Two\n\n```\nout\n```\n")
	want := []Block{
		{Language: "sh", Text: "before"},
		{Section: "One", Language: "sh", Text: "kubectl a \\\n  --b"},
		{Section: "One", Language: "yaml", Text: "c: d"},
		{Section: "Two", Text: "out"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// TestRunbookIsRun has each chapter of docs/upgrading.md with commands run by a spec. Who adds
// commands to another chapter has a spec run them, and names it here.
func TestRunbookIsRun(t *testing.T) {
	specs := map[string]string{
		"A Composition or Function": "test/e2e/crossplane/runbook_test.go",
		"A graph of kro":            "test/e2e/controllers/krorunbook_test.go",
		"A provider":                "test/e2e/crossplane/runbook_test.go",
		"Crossplane":                "test/e2e/upgrade_flaps_test.go",
		"The control plane":         "test/e2e/upgrade_test.go",
		"Your own controller":       "test/e2e/upgrade_test.go",
	}
	all, err := Read(filepath.Join("..", "..", "docs", "upgrading.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, b := range all {
		if b.Language == "sh" {
			got[b.Section] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(specs)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("chapters with commands (-run +there):\n%s", diff)
	}
	for section := range specs {
		if commands, err := Section(filepath.Join("..", "..", "docs", "upgrading.md"), section, "sh"); err != nil || len(commands) == 0 {
			t.Errorf("%s: %v", section, err)
		}
	}
	if _, err := Section(filepath.Join("..", "..", "docs", "upgrading.md"), "Nothing", "sh"); err == nil {
		t.Error("a section that is not there has commands")
	}
}
