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
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The image that the documentation leaves to the reader.
const (
	registry = "registry.example.org"
	tag      = "v0.1.0"
)

var (
	heading = regexp.MustCompile(`(?m)^#{2,3} (.+)$`)
	shell   = regexp.MustCompile("(?s)```sh\n(.*?)\n```")
)

// documented are the blocks of commands that a section of docs/install.md has, without those
// of sections below it.
func documented(section string) []string {
	GinkgoHelper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	Expect(err).NotTo(HaveOccurred())
	text, all := string(page), heading.FindAllSubmatchIndex(page, -1)
	for i, at := range all {
		if text[at[2]:at[3]] != section {
			continue
		}
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1][0]
		}
		var blocks []string
		for _, block := range shell.FindAllStringSubmatch(text[at[1]:end], -1) {
			blocks = append(blocks, strings.NewReplacer("<registry>", registry, "<tag>", tag).Replace(block[1]))
		}
		Expect(blocks).NotTo(BeEmpty(), "%q has no commands", section)
		return blocks
	}
	Fail("docs/install.md has no section " + section)
	return nil
}

// gocaches are where make finds what go has built before.
var gocaches = sync.OnceValues(func() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY").Output()
	return string(out), err
})

// sh runs commands as a reader would: from the top of the repository, with kubectl, its plugin and
// helm in the path, and the cluster in the environment.
func (w *world) sh(ctx context.Context, commands string) string {
	GinkgoHelper()
	out, err := w.try(ctx, commands)
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, out)
	return out
}

// try runs commands that may fail.
func (w *world) try(ctx context.Context, commands string) (string, error) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = root, w.env()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	GinkgoWriter.Printf("$ %s\n%s\n", strings.ReplaceAll(commands, "\n", "\n$ "), out.String())
	return out.String(), err
}

// env is the environment of commands.
func (w *world) env() []string {
	GinkgoHelper()
	found, err := gocaches()
	Expect(err).NotTo(HaveOccurred())
	caches := strings.Split(found, "\n")
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	Expect(err).NotTo(HaveOccurred())
	return []string{
		"HOME=" + w.cp.Dir(), "KUBECONFIG=" + w.cp.Kubeconfig(), "KUBECTL_KUBERC=false",
		"PATH=" + strings.Join([]string{w.cp.BinDir(), bin, os.Getenv("PATH")}, string(os.PathListSeparator)),
		"GOCACHE=" + caches[0], "GOMODCACHE=" + caches[1], "GOFLAGS=" + caches[2], "GOPROXY=" + caches[3],
	}
}
