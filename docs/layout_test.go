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
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inRepository is a code span with a path within the repository.
var inRepository = regexp.MustCompile("`((?:api|cmd|config|hack|internal|test)/[A-Za-z0-9_./-]*)`")

// Folders and files that pages name are there.
func TestNamedPathsExist(t *testing.T) {
	found := 0
	for page, text := range pages(t) {
		for _, match := range inRepository.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
				t.Errorf("%s names %s: %v", page, match[1], err)
			}
		}
	}
	if found == 0 {
		t.Error("no page names a path: the test looks for them in the wrong form")
	}
}

// inLayout is a folder in the first column of the layout: a path, or one beside the path before
// it.
var inLayout = regexp.MustCompile("`([^`]+)/`")

// The layout in the README names each package once, those below another one aside.
func TestLayoutIsWhole(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, layout, _ := strings.Cut(string(text), "\n## Layout\n")
	layout, _, _ = strings.Cut(layout, "\n## ")
	folders, err := os.ReadDir("../internal")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for line := range strings.Lines(layout) {
		columns := strings.SplitN(line, "|", 3)
		if len(columns) < 3 {
			continue
		}
		within := ""
		for _, match := range inLayout.FindAllStringSubmatch(columns[1], -1) {
			folder := match[1]
			if parent := filepath.Dir(folder); parent != "." {
				within = parent
			} else {
				folder = filepath.Join(within, folder)
			}
			rows[folder]++
		}
	}
	for folder, n := range rows {
		if n > 1 {
			t.Errorf("the layout names %s %d times", folder, n)
		}
	}
	for _, folder := range folders {
		if rows[filepath.Join("internal", folder.Name())] == 0 {
			t.Errorf("the layout has no internal/%s", folder.Name())
		}
	}
}
