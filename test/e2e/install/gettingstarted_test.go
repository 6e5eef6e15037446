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

package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// step is a block of commands of a page, and what the page says that they print.
type step struct {
	commands, prints string
}

// blocks are all blocks of a page: commands, and the outputs between them.
var blocks = regexp.MustCompile("(?s)\n```(sh)?\n(.*?)\n```")

// What is another one each time: how old something is, what a name has of a UID, and how much of a
// rollout that has just completed is active still.
var (
	age    = regexp.MustCompile(`\b\d+(m\d+)?s\b`)
	uid    = regexp.MustCompile(`-[0-9a-f]{8}\b`)
	active = regexp.MustCompile(`\bSteady +\d+\b`)
)

var _ = Describe("Getting started", Label("getting-started"), func() {
	It("goes as the page says, command by command and word by word", func(ctx SpecContext) {
		Expect(filepath.Join(root, "bin", "dev", "state.json")).NotTo(BeAnExistingFile(), "run \"make down\" first: the page starts a cluster of its own")
		steps := stepsOf("getting-started.md")
		DeferCleanup(func(ctx context.Context) { shared.sh(ctx, "make down") }, NodeTimeout(startTimeout))
		dir := GinkgoT().TempDir()
		// One shell, as variables are exported; each block says how it ended, and what it printed.
		var script strings.Builder
		for i, s := range steps {
			_, _ = fmt.Fprintf(&script, "{\n%s\n} > %s 2>&1\necho $? > %s\n", s.commands, outOf(dir, i), codeOf(dir, i))
		}
		cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
		cmd.Dir, cmd.Env = root, shared.env()
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		Expect(cmd.Run()).To(Succeed(), said.String())

		var differ []string
		for i, s := range steps {
			out, code := readAll(outOf(dir, i)), strings.TrimSpace(readAll(codeOf(dir, i)))
			GinkgoWriter.Printf("$ %s\n%s(%s)\n", s.commands, out, code)
			if fails := strings.HasPrefix(s.prints, "Error from server"); fails == (code == "0") || !strings.Contains(words(out), words(s.prints)) {
				differ = append(differ, s.commands+"\nended with "+code+" and printed\n"+out+"the page says\n"+s.prints)
			}
		}
		Expect(differ).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})

// stepsOf returns the steps of a page of docs.
func stepsOf(page string) []step {
	GinkgoHelper()
	var steps []step
	for _, block := range blocks.FindAllStringSubmatch(readAll(filepath.Join(root, "docs", page)), -1) {
		if block[1] == "sh" {
			steps = append(steps, step{commands: block[2]})
			continue
		}
		Expect(steps).NotTo(BeEmpty())
		Expect(steps[len(steps)-1].prints).To(BeEmpty())
		steps[len(steps)-1].prints = block[2]
	}
	Expect(steps).NotTo(BeEmpty())
	return steps
}

func outOf(dir string, i int) string  { return filepath.Join(dir, strconv.Itoa(i)+".out") }
func codeOf(dir string, i int) string { return filepath.Join(dir, strconv.Itoa(i)+".code") }

func readAll(path string) string {
	GinkgoHelper()
	raw, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

// words normalizes a text for comparison: lines and columns do not count, nor does what differs in
// each run, such as ages.
func words(text string) string {
	text = age.ReplaceAllString(text, "0s")
	text = uid.ReplaceAllString(text, "-uid")
	return strings.Join(strings.Fields(active.ReplaceAllString(text, "Steady 0")), " ")
}
