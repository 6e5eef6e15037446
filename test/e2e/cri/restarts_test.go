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
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/test/node"
)

var _ = Describe("Restarts", Serial, func() {
	It("is there again after it was killed, or ended", func(ctx SpecContext) {
		before := podA.witness(ctx)
		for _, end := range []func() error{proxy.Kill, proxy.Stop} {
			Expect(end()).To(Succeed())
			_, err := podA.crictl(ctx, ownSocket, "ps")
			Expect(err).To(HaveOccurred())
			Expect(proxy.Start()).To(Succeed())
			Eventually(ctx, func() error { _, err := podA.crictl(ctx, ownSocket, "ps"); return err }).Should(Succeed())
			Expect(podA.list(ctx, ownSocket)).To(ConsistOf(podA.main, podA.sidecar))
		}
		Expect(podA.witness(ctx)).To(Equal(before))
	}, NodeTimeout(specTimeout))

	It("goes on when the runtime was restarted, for connections that there were", func(ctx SpecContext) {
		conn, err := node.Dial(allSocket)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(conn.Close)
		client := runtimeapi.NewRuntimeServiceClient(conn)
		version := func() codes.Code {
			_, err := client.Version(ctx, &runtimeapi.VersionRequest{})
			return status.Code(err)
		}
		Expect(version()).To(Equal(codes.OK))
		Expect(containerd.Kill()).To(Succeed())
		Expect(version()).To(Equal(codes.Unavailable))
		Expect(containerd.Start()).To(Succeed())
		Expect(containerd.Wait(ctx)).To(Succeed())
		Eventually(ctx, version).Should(Equal(codes.OK))
		Expect(podA.list(ctx, ownSocket)).To(ConsistOf(podA.main, podA.sidecar))
		_, err = podA.crictl(ctx, ownSocket, "stop", podB.main)
		Expect(err).To(MatchError(ContainSubstring("PermissionDenied")))
	}, NodeTimeout(specTimeout))

	It("takes sockets over that systemd has made, which stay when it ends", func(ctx SpecContext) {
		// As systemd does, whose program for that is not on each machine.
		const socket = folder + "/activated.sock"
		activated, err := node.BeginActivated("activated", socket, *proxyBin, "serve", "--runtime-endpoint=unix://"+node.Socket,
			"--endpoint="+socket+"="+filepath.Join(root, "config", "cri", "own-containers.yaml"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(activated.Stop)
		made, err := os.Lstat(socket)
		Expect(err).NotTo(HaveOccurred())
		Expect(podA.list(ctx, socket)).To(ConsistOf(podA.main, podA.sidecar))

		Expect(activated.Stop()).To(Succeed())
		// Who connects in the meantime waits.
		listed := make(chan error, 1)
		go func() {
			defer GinkgoRecover()
			_, err := podA.crictl(context.WithoutCancel(ctx), socket, "ps")
			listed <- err
		}()
		Consistently(listed, "500ms").ShouldNot(Receive())
		Expect(activated.Start()).To(Succeed())
		Eventually(listed).Should(Receive(BeNil()))
		again, err := os.Lstat(socket)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.SameFile(made, again)).To(BeTrue())
	}, NodeTimeout(specTimeout))
})
