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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Callers", func() {
	It("tells processes apart that come and go in both Pods at once", func(ctx SpecContext) {
		const each, rounds = 4, 8
		var all sync.WaitGroup
		for _, p := range []*pod{podA, podB} {
			for range each {
				all.Go(func() {
					defer GinkgoRecover()
					for range rounds {
						Expect(p.list(ctx, ownSocket)).To(ConsistOf(p.main, p.sidecar))
					}
				})
			}
		}
		all.Wait()
	}, NodeTimeout(specTimeout))

	It("goes by the outermost control group, whatever a container has named its own", func(ctx SpecContext) {
		run := func(within string) (string, error) {
			// The process is in a group of that name within the group of Pod A's container.
			cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "cri", "pod"), append([]string{"within"}, append(groups(podA.main, within),
				"--", filepath.Join(root, "bin", "cri", "crictl"), "--runtime-endpoint=unix://"+ownSocket, "ps", "--quiet")...)...)
			out, err := cmd.Output()
			return string(out), err
		}
		for _, name := range []string{podB.main, "cri-containerd-" + podB.main + ".scope", "mine"} {
			printed, err := run(name)
			Expect(err).NotTo(HaveOccurred(), name)
			Expect(strings.Fields(printed)).To(ConsistOf(podA.main, podA.sidecar), name)
		}
	}, NodeTimeout(specTimeout))

	It("tells processes in a PID namespace of their own within a container", func(ctx SpecContext) {
		// Whose number is 1 there, and another for the node.
		cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "cri", "pod"), append([]string{"within"}, append(groups(podB.main, "nested"),
			"--", filepath.Join(root, "bin", "cri", "crictl"), "--runtime-endpoint=unix://"+ownSocket, "ps", "--quiet")...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		out, err := cmd.Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(out))).To(ConsistOf(podB.main, podB.sidecar))
	}, NodeTimeout(specTimeout))

	It("has no Pod for a process of the node", func(ctx SpecContext) {
		cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "cri", "crictl"), "--runtime-endpoint=unix://"+ownSocket, "ps")
		out, err := cmd.CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(out)).To(ContainSubstring("the caller is in none"))
	}, NodeTimeout(specTimeout))
})

// groups makes control groups of a name within those of a container.
func groups(container, name string) []string {
	GinkgoHelper()
	var out []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
			return err
		case entry.Name() == container:
			out = append(out, filepath.Join(path, name))
			return filepath.SkipDir
		case len(entry.Name()) == len(container):
			return filepath.SkipDir // Another container may have groups of this one's name.
		default:
			return nil
		}
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(out).NotTo(BeEmpty())
	for _, path := range out {
		Expect(os.MkdirAll(path, 0o755)).To(Succeed())
		// Version 1 leaves these empty, and takes no process then.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
			if err == nil {
				Expect(os.WriteFile(filepath.Join(path, file), value, 0o600)).To(Succeed())
			}
		}
	}
	return out
}
