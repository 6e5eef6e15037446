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
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

var span = regexp.MustCompile("`([^`]+)`")

// rights are verbs by role and resource.
type rights map[string][]string

func (r rights) add(role, resource string, verbs ...string) {
	key := role + " " + resource
	r[key] = append(r[key], verbs...)
	slices.Sort(r[key])
	r[key] = slices.Compact(r[key])
}

// Each right that the operator is given has a row that says what for.
func TestRightsAreExplained(t *testing.T) {
	installed := rights{}
	for _, pattern := range []string{"../config/rbac/*role.yaml", "../config/access/workloads/*role.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var role rbacv1.ClusterRole
			if err := yaml.UnmarshalStrict(text, &role); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if isForPeople(role.Name) {
				continue
			}
			for _, rule := range role.Rules {
				for _, url := range rule.NonResourceURLs {
					installed.add(role.Name, url, rule.Verbs...)
				}
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						installed.add(role.Name, strings.TrimSuffix(resource+"."+group, "."), rule.Verbs...)
					}
				}
			}
		}
	}
	text, err := os.ReadFile("install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n### What the operator may\n")
	table, _, _ = strings.Cut(table, "\n## ")
	explained, role := rights{}, ""
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[0], "-") || strings.TrimSpace(cells[0]) == "role" {
			continue
		}
		if name := span.FindStringSubmatch(cells[0]); name != nil {
			role = name[1]
		}
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("the row of %s does not say what for: %s", role, line)
		}
		for _, resource := range span.FindAllStringSubmatch(cells[1], -1) {
			for verb := range strings.SplitSeq(cells[2], ",") {
				explained.add(role, resource[1], strings.TrimSpace(verb))
			}
		}
	}
	if diff := gocmp.Diff(installed, explained); diff != "" {
		t.Errorf("install.md does not explain the rights that are installed (-installed +explained):\n%s", diff)
	}
}

// isForPeople reports whether a role is for others than the operator.
func isForPeople(name string) bool {
	return cmp.Or(strings.HasPrefix(name, "allowance"), strings.HasPrefix(name, "upgradeallowance"), strings.HasPrefix(name, "generatingpolicy"), name == "metrics-reader")
}
