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

	"sigs.k8s.io/yaml"
)

var (
	target = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
	makes  = regexp.MustCompile("(?m)(?:^|`|run: |&& |\\$ )make ((?:[a-z][a-z0-9-]*)(?: [a-z][a-z0-9-]*)*)")
)

// What pages and workflows have make do is there to be done.
func TestMakeTargetsExist(t *testing.T) {
	there := map[string]bool{}
	for _, path := range []string{"../Makefile", "../test/controlplane/controlplane.mk", "../test/peers/peers.mk", "../test/clockshift/clockshift.mk"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range target.FindAllStringSubmatch(string(text), -1) {
			there[match[1]] = true
		}
	}
	texts := pages(t)
	workflows, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(workflows) == 0 {
		t.Fatalf("no workflow found: %v", err)
	}
	for _, path := range workflows {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, new(any)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		texts[path] = string(text)
	}
	found := 0
	for path, text := range texts {
		for _, match := range makes.FindAllStringSubmatch(text, -1) {
			for name := range strings.FieldsSeq(match[1]) {
				found++
				if !there[name] {
					t.Errorf("%s has \"make %s\", and the Makefile has no %s", path, match[1], name)
				}
			}
		}
	}
	if found == 0 {
		t.Error("nobody has make do anything: the test looks for it in the wrong form")
	}
}
