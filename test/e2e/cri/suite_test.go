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

// Package cri tests kausality-cri together with what it stands between: a real containerd
// with real containers, crictl, critest and a kubelet. What became of calls is asked of
// containerd itself.
//
// It needs root and control groups, and so is for "make e2e-cri". All runs in namespaces
// of its own (see test/node), and nothing is left behind.
package cri

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/test/failures"
	"kausality.io/operator/test/node"
)

const (
	startTimeout = 3 * time.Minute
	specTimeout  = 2 * time.Minute
	// soon bounds what takes a moment.
	soon = 30 * time.Second
)

// folder has the sockets of kausality-cri.
const folder = "/run/kausality-cri"

// The sockets, each with its rules.
const (
	ownSocket  = folder + "/own.sock"
	execSocket = folder + "/exec.sock"
	allSocket  = folder + "/all.sock"
)

// root is where the suite finds what it starts.
var root = filepath.Join("..", "..", "..")

// proxyBin is what is under test.
var proxyBin = flag.String("kausality-cri", filepath.Join(root, "bin", "kausality-cri"), "the kausality-cri to test")

var (
	containerd *node.Containerd
	proxy      *node.Process
	// podA and podB are neighbors. Both have the sockets mounted.
	podA, podB *pod
)

func TestMain(m *testing.M) { os.Exit(node.Main(m.Run)) }

func TestCRI(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end with a container runtime")
}

var _ = ReportAfterSuite("What failed", failures.Print)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	containerd, err = node.StartContainerd(ctx, filepath.Join(root, "bin", "cri"))
	Expect(err).NotTo(HaveOccurred())
	_, err = containerd.ImageService().PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: node.Image}})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	proxy, err = node.Begin("kausality-cri", *proxyBin, "serve", "--runtime-endpoint=unix://"+node.Socket,
		"--endpoint="+ownSocket+"="+filepath.Join(root, "config", "cri", "own-containers.yaml"),
		"--endpoint="+allSocket+"="+filepath.Join(root, "config", "cri", "allow-all.yaml"),
		"--endpoint="+execSocket+"="+filepath.Join("testdata", "own-exec.yaml"),
	)
	Expect(err).NotTo(HaveOccurred())
	Eventually(allSocket).WithTimeout(soon).Should(BeAnExistingFile())
	podA, podB = runPod(ctx, "a"), runPod(ctx, "b")
}, NodeTimeout(startTimeout))

var _ = BeforeEach(func() {
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
})

var _ = AfterEach(func() {
	if CurrentSpecReport().Failed() {
		for _, name := range []string{"containerd", "kausality-cri", "kubelet"} {
			log, _ := os.ReadFile(node.Log(name))
			AddReportEntry(name, string(log[max(0, len(log)-4000):]), ReportEntryVisibilityFailureOrVerbose)
		}
	}
})

// pod is one of containerd's.
type pod struct {
	name string
	// sandbox is its id.
	sandbox string
	// main and sidecar are the ids of its containers.
	main, sidecar string
}

// runPod runs a Pod with two containers, which have the sockets of kausality-cri.
func runPod(ctx context.Context, name string) *pod {
	GinkgoHelper()
	p := &pod{name: name}
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "shop", Uid: "uid-" + name},
		Linux:    &runtimeapi.LinuxPodSandboxConfig{},
		// What a kubelet removes of a container that it does not know is its log.
		LogDirectory: "/var/log/pods/" + name,
	}
	sandbox, err := containerd.Runtime().RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	Expect(err).NotTo(HaveOccurred())
	p.sandbox = sandbox.GetPodSandboxId()
	p.main = p.run(ctx, config, "main", "answer")
	p.sidecar = p.run(ctx, config, "sidecar")
	return p
}

// run runs a container.
func (p *pod) run(ctx context.Context, config *runtimeapi.PodSandboxConfig, name string, args ...string) string {
	GinkgoHelper()
	created, err := containerd.Runtime().CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: p.sandbox, SandboxConfig: config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: name},
			Image:    &runtimeapi.ImageSpec{Image: node.Image},
			Args:     args,
			LogPath:  name + ".log",
			Mounts:   []*runtimeapi.Mount{{HostPath: folder, ContainerPath: folder, Readonly: true}},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	_, err = containerd.Runtime().StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: created.GetContainerId()})
	Expect(err).NotTo(HaveOccurred())
	return created.GetContainerId()
}

// in runs a command in a container of the Pod, and returns what it printed.
func in(ctx context.Context, container string, command ...string) (string, error) {
	answer, err := containerd.Runtime().ExecSync(ctx, &runtimeapi.ExecSyncRequest{
		ContainerId: container, Cmd: command, Timeout: int64(soon.Seconds()),
	})
	if err != nil {
		return "", err
	}
	if answer.GetExitCode() != 0 {
		return string(answer.GetStdout()), fmt.Errorf("%v exited with %d: %s", command, answer.GetExitCode(), answer.GetStderr())
	}
	return string(answer.GetStdout()), nil
}

// crictl runs crictl in the main container of the Pod, by way of a socket.
func (p *pod) crictl(ctx context.Context, socket string, args ...string) (string, error) {
	return in(ctx, p.main, append([]string{"crictl", "--runtime-endpoint=unix://" + socket}, args...)...)
}

// state returns what containerd says of a container.
func state(ctx context.Context, container string) *runtimeapi.ContainerStatus {
	GinkgoHelper()
	answer, err := containerd.Runtime().ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: container})
	Expect(err).NotTo(HaveOccurred())
	return answer.GetStatus()
}
