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
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"kausality.io/operator/test/pages"
)

// Commands returns the blocks of commands that a section of a page of docs has.
func Commands(page, section string) []string {
	GinkgoHelper()
	blocks, err := pages.Section(page, section, "sh")
	Expect(err).NotTo(HaveOccurred())
	return blocks
}

// RunShell runs commands as a reader of docs would, in a namespace: with kubectl and its plugin in
// the path, and the cluster, with all rights, in the environment. It returns what they print.
func (c *Cluster) RunShell(ctx context.Context, namespace, commands string) string {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(c.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	config.Contexts[config.CurrentContext].Namespace = namespace
	home := GinkgoT().TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	binaries, err := filepath.Abs(filepath.Dir(c.Kubectl))
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Env = []string{
		"HOME=" + home, "KUBECONFIG=" + kubeconfig, "KUBECTL_KUBERC=false",
		"PATH=" + strings.Join([]string{binaries, filepath.Dir(binaries), os.Getenv("PATH")}, string(os.PathListSeparator)),
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	GinkgoWriter.Printf("$ %s\n%s\n", strings.ReplaceAll(commands, "\n", "\n$ "), out.String())
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, out.String())
	return out.String()
}
