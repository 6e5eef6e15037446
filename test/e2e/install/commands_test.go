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
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/stage"
)

// The image that the documentation leaves to the reader.
const (
	registry = "registry.example.org"
	tag      = "v0.1.0"
)

// documented returns the blocks of commands that a section of docs/install.md has, without those
// of sections below it.
func documented(section string) []string {
	GinkgoHelper()
	blocks := stage.Commands(filepath.Join(root, "docs", "install.md"), section)
	for i := range blocks {
		blocks[i] = strings.NewReplacer("<registry>", registry, "<tag>", tag).Replace(blocks[i])
	}
	return blocks
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

// env returns the environment of commands.
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
