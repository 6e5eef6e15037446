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

package stage

import (
	"os"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The headings of the page of bypasses under which the tables are whose rows are specs
// of one suite each.
const (
	// InTheCluster are those of test/e2e.
	InTheCluster = "## In the cluster"
	// InTheCloud are those of test/e2e/crossplane.
	InTheCloud = "## Into the cloud"
)

var bypassRow = regexp.MustCompile(`(?m)^\| \d+ \| ([^|]+) \|`)

// DocumentedBypasses returns the ways that the page of bypasses lists under a heading, up to
// the next one.
func DocumentedBypasses(page, heading string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(page)
	Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(text), heading+"\n")
	Expect(found).To(BeTrue(), "%s has no heading %q", page, heading)
	section, _, _ = strings.Cut(section, "\n## ")
	var ways []string
	for _, row := range bypassRow.FindAllStringSubmatch(section, -1) {
		ways = append(ways, row[1])
	}
	return ways
}
