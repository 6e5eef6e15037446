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

// Package docs_test keeps the documentation true where a program can tell.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/check"
	clitext "kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
)

var (
	fence    = regexp.MustCompile("(?s)```([a-z]*)\n(.*?)\n *```")
	code     = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// pages returns the documents that users read, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, path := range append(paths, "../README.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}

// Policies in the documentation are what readers copy: each has to compile.
func TestPoliciesCompile(t *testing.T) {
	// Which kind a resource has does not matter to whether a policy compiles.
	unserved := func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	}
	compiled := 0
	for path, text := range pages(t) {
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] != "yaml" || !strings.Contains(block[2], "kind: AllowancePolicy") {
				continue
			}
			var p v1alpha1.AllowancePolicy
			if err := yaml.UnmarshalStrict([]byte(block[2]), &p); err != nil {
				t.Errorf("%s: policy that cannot be read: %v\n%s", path, err, block[2])
				continue
			}
			if _, errs := policy.Compile(&p, unserved); len(errs) > 0 {
				t.Errorf("%s: policy %s: %v", path, p.Name, errs.ToAggregate())
			}
			compiled++
		}
	}
	if compiled == 0 {
		t.Error("no policy found: the test looks for them in the wrong place")
	}
}

// Links within the repository lead to a file, and to a heading that it has.
func TestLinksLead(t *testing.T) {
	for path, text := range pages(t) {
		text = code.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(match[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", path, match[1], err)
				continue
			}
			if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", path, match[1], target)
			}
		}
	}
}

// anchors returns the names by which the headings of a page can be linked to.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
		name := noAnchor.ReplaceAllString(strings.ToLower(match[1]), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

// Tests of policies in the documentation are run, from the top of the repository.
func TestPolicyTestsPass(t *testing.T) {
	ran := 0
	for path, text := range pages(t) {
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] != "yaml" || !strings.Contains(block[2], "kind: PolicyTest") {
				continue
			}
			t.Run(path, func(t *testing.T) {
				t.Chdir("..")
				report, err := check.Run(t.Context(), check.Options{Files: []string{"-"}, Stdin: strings.NewReader(block[2])})
				if err != nil {
					t.Fatal(err)
				}
				if !report.Sound(false) {
					t.Error(report.Text(clitext.Terminal{Width: clitext.DefaultWidth}, true))
				}
				ran += len(report.Cases)
			})
		}
	}
	if ran == 0 {
		t.Error("no case was run")
	}
}

// TestBypassesAreNumbered checks that the ways around are numbered through, as people refer to them.
func TestBypassesAreNumbered(t *testing.T) {
	for i, row := range bypassRow.FindAllStringSubmatch(pages(t)["bypasses.md"], -1) {
		if want := strconv.Itoa(i + 1); row[1] != want {
			t.Fatalf("bypasses.md: the row %q has the number %s, and should have %s", row[2], row[1], want)
		}
	}
}

var bypassRow = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \|`)
