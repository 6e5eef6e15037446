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
)

var section = regexp.MustCompile(`(?m)^#{2,3} (.+)$`)

// unrun are the sections of install.md whose commands no test runs, and why. The page says so, too.
var unrun = map[string]string{
	"Before you begin":      "there is no registry to push an image to",
	"GeneratingPolicies":    "what the plugin does for it is tested by test/e2e/switch_test.go",
	"What the operator may": "tested by test/e2e/access_test.go, with another policy",
}

// The overview says of each page with commands whether tests run them.
func TestPagesSayWhichCommandsAreRun(t *testing.T) {
	overview, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, said, found := strings.Cut(string(overview), "\n## Which commands tests run\n")
	if !found {
		t.Fatal("the overview does not say which commands tests run")
	}
	paths, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		has, says := strings.Contains(string(text), "```sh\n"), strings.Contains(said, "]("+path+")")
		switch {
		case has && !says:
			t.Errorf("the overview does not say whether tests run the commands of %s", path)
		case !has && says:
			t.Errorf("the overview says who runs the commands of %s, which has none", path)
		}
	}
}

// Each command of install.md is run by test/e2e/install, which reads it from there, or is said not to be.
func TestInstallCommandsAreRun(t *testing.T) {
	page, err := os.ReadFile("install.md")
	if err != nil {
		t.Fatal(err)
	}
	specs, err := filepath.Glob("../test/e2e/install/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var run strings.Builder
	for _, path := range specs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		run.Write(text)
	}
	text, all := string(page), section.FindAllSubmatchIndex(page, -1)
	_, list, _ := strings.Cut(text, "No test runs")
	list, _, _ = strings.Cut(list, "\n\n")
	left := maps.Clone(unrun)
	for i, at := range all {
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		name := text[at[2]:at[3]]
		if !strings.Contains(text[at[1]:end], "```sh\n") {
			continue
		}
		_, excepted := left[name]
		delete(left, name)
		switch isRun := strings.Contains(run.String(), `"`+name+`"`); {
		case isRun && excepted:
			t.Errorf("%q is run, and in the list of those that are not", name)
		case !isRun && !excepted:
			t.Errorf("no test runs the commands of %q, and the list of those has no reason", name)
		case excepted && !strings.Contains(list, "["+name+"]"):
			t.Errorf("the page does not say that no test runs the commands of %q", name)
		}
	}
	if len(left) > 0 {
		t.Errorf("there are no commands in %v", slices.Sorted(maps.Keys(left)))
	}
}
