//go:build linux

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

package cri

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/node"
)

// critestFocus says which specs of critest are run.
var critestFocus = flag.String("critest-focus", "", "a regular expression: which specs of critest to run")

// unpassable are specs that do not pass on any runtime here: they are about published images,
// one of them a web server, and wait a minute for each.
const unpassable = "Image Manager|Multiple Containers|port mapping|portforward|NamespaceOption|NoNewPrivs|primary UID|RunAsUserName|MaskedPaths|execSync with timeout"

// critestTimeout bounds one run of critest.
const critestTimeout = 8 * time.Minute

var _ = Describe("critest", Serial, func() {
	It("passes by way of us exactly what it passes without us", func(ctx SpecContext) {
		direct := critest(ctx, node.Socket)
		proxied := critest(ctx, allSocket)
		passed := 0
		for _, outcome := range direct {
			if outcome == types.SpecStatePassed.String() {
				passed++
			}
		}
		AddReportEntry("passed", passed, ReportEntryVisibilityAlways)
		Expect(cmp.Diff(direct, proxied)).To(BeEmpty(), "without us (-), by way of us (+)")
		// All but some that want rights that a virtual machine may lack.
		Expect(passed).To(BeNumerically(">", 60))
	}, NodeTimeout(2*critestTimeout))
})

// critest runs all specs of critest by a socket, and returns what became of each.
func critest(ctx context.Context, socket string) map[string]string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	images := filepath.Join(dir, "images.yaml")
	Expect(os.WriteFile(images, []byte("defaultTestContainerImage: "+node.Image+"\nwebServerTestImage: "+node.Image+"\n"), 0o600)).To(Succeed())
	binary, err := filepath.Abs(filepath.Join(root, "bin", "cri", "critest"))
	Expect(err).NotTo(HaveOccurred())
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(ctx, binary, "--runtime-endpoint=unix://"+socket, "--image-endpoint=unix://"+socket,
		"--test-images-file="+images, "--ginkgo.json-report="+report, "--ginkgo.seed=1", "--ginkgo.no-color", "--ginkgo.focus="+*critestFocus, "--ginkgo.skip="+unpassable)
	cmd.Dir = dir
	// Where specs fail the report says so.
	printed, _ := cmd.CombinedOutput()
	GinkgoWriter.Println(string(printed))
	raw, err := os.ReadFile(report)
	Expect(err).NotTo(HaveOccurred(), string(printed))
	var suites []types.Report
	Expect(json.Unmarshal(raw, &suites)).To(Succeed())
	out := map[string]string{}
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType == types.NodeTypeIt {
				out[strings.Join(spec.ContainerHierarchyTexts, " ")+" "+spec.LeafNodeText] = spec.State.String()
			}
		}
	}
	return out
}
