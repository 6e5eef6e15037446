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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var _ = Describe("Neighbors", func() {
	It("sees the containers of its own Pod only", func(ctx SpecContext) {
		Expect(podA.list(ctx, ownSocket)).To(ConsistOf(podA.main, podA.sidecar))
		Expect(podB.list(ctx, ownSocket)).To(ConsistOf(podB.main, podB.sidecar))
		Expect(podA.list(ctx, execSocket)).To(ContainElements(podA.main, podB.main))
	}, NodeTimeout(specTimeout))

	It("restarts its own sidecar", func(ctx SpecContext) {
		p := runPod(ctx, "restarting")
		Expect(p.crictl(ctx, ownSocket, "ps")).To(ContainSubstring(p.sidecar[:13]))
		Expect(p.crictl(ctx, ownSocket, "stop", p.sidecar[:13])).Error().NotTo(HaveOccurred())
		Expect(state(ctx, p.sidecar).GetState()).To(Equal(runtimeapi.ContainerState_CONTAINER_EXITED))
		Expect(state(ctx, p.main).GetState()).To(Equal(runtimeapi.ContainerState_CONTAINER_RUNNING))
	}, NodeTimeout(specTimeout))

	It("executes in its own containers, by the URL of the runtime", func(ctx SpecContext) {
		p := runPod(ctx, "executing")
		// The URL is for the loopback of the node, upon which Pods are not: ExecSync needs none.
		Expect(p.crictl(ctx, execSocket, "exec", "--sync", p.sidecar, "pod", "mark")).Error().NotTo(HaveOccurred())
		Expect(in(ctx, p.sidecar, "pod", "read", "/tmp/mark")).To(Equal("here"))
		_, err := p.crictl(ctx, execSocket, "exec", "--sync", podB.main, "pod", "mark")
		Expect(err).To(MatchError(ContainSubstring("PermissionDenied")))
		podB.unmarked(ctx)
	}, NodeTimeout(specTimeout))

	DescribeTable("cannot reach the neighbor", func(ctx SpecContext, args ...string) {
		before := podB.witness(ctx)
		for i, arg := range args {
			args[i] = strings.NewReplacer("MAIN", podB.main, "SHORT", podB.main[:13], "SANDBOX", podB.sandbox, "OWN", podA.sandbox).Replace(arg)
		}
		for _, socket := range []string{ownSocket, execSocket} {
			_, err := podA.crictl(ctx, socket, args...)
			Expect(err).To(MatchError(ContainSubstring("PermissionDenied")), socket)
		}
		Expect(podB.witness(ctx)).To(Equal(before))
		podB.unmarked(ctx)
	},
		Entry("stopping its container", NodeTimeout(specTimeout), "stop", "MAIN"),
		Entry("stopping its container by a short id", NodeTimeout(specTimeout), "stop", "SHORT"),
		Entry("removing its container", NodeTimeout(specTimeout), "rm", "MAIN"),
		Entry("executing in its container", NodeTimeout(specTimeout), "exec", "--sync", "MAIN", "pod", "mark"),
		Entry("executing in its container by a stream", NodeTimeout(specTimeout), "exec", "MAIN", "pod", "mark"),
		Entry("attaching to its container", NodeTimeout(specTimeout), "attach", "MAIN"),
		Entry("updating its container", NodeTimeout(specTimeout), "update", "--cpu-share=2", "MAIN"),
		Entry("checkpointing its container", NodeTimeout(specTimeout), "checkpoint", "--export=/tmp/checkpoint", "MAIN"),
		Entry("starting its container", NodeTimeout(specTimeout), "start", "MAIN"),
		Entry("reading its container", NodeTimeout(specTimeout), "inspect", "MAIN"),
		Entry("stopping it", NodeTimeout(specTimeout), "stopp", "SANDBOX"),
		Entry("removing it", NodeTimeout(specTimeout), "rmp", "-f", "SANDBOX"),
		Entry("reading it", NodeTimeout(specTimeout), "inspectp", "SANDBOX"),
		Entry("forwarding its ports", NodeTimeout(specTimeout), "port-forward", "SANDBOX", "8080"),
		Entry("stopping its own Pod", NodeTimeout(specTimeout), "stopp", "OWN"),
	)
})

// list returns the containers that the Pod sees by a socket.
func (p *pod) list(ctx context.Context, socket string) []string {
	GinkgoHelper()
	printed, err := p.crictl(ctx, socket, "ps", "--quiet")
	Expect(err).NotTo(HaveOccurred())
	return strings.Fields(printed)
}

// witness returns what containerd says of the Pod's containers, and of itself.
func (p *pod) witness(ctx context.Context) []string {
	GinkgoHelper()
	var out []string
	for _, container := range []string{p.main, p.sidecar} {
		found := state(ctx, container)
		Expect(found.GetState()).To(Equal(runtimeapi.ContainerState_CONTAINER_RUNNING))
		out = append(out, found.String())
	}
	answer, err := containerd.Runtime().PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: p.sandbox})
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.GetStatus().GetState()).To(Equal(runtimeapi.PodSandboxState_SANDBOX_READY))
	return out
}

// unmarked fails if somebody has executed in the Pod.
func (p *pod) unmarked(ctx context.Context) {
	GinkgoHelper()
	for _, container := range []string{p.main, p.sidecar} {
		_, err := in(ctx, container, "pod", "read", "/tmp/mark")
		Expect(err).To(MatchError(ContainSubstring("no such file")))
	}
}
