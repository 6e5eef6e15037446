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
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/cri/audit"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/node"
)

// clusterTimeout bounds a control plane, a kubelet, and Pods that are started.
const clusterTimeout = 5 * time.Minute

var _ = Describe("A kubelet", Ordered, Serial, func() {
	var cp *controlplane.ControlPlane

	BeforeAll(func(ctx SpecContext) {
		// It ends what it does not know. This is done last, when it is gone.
		DeferCleanup(func(ctx SpecContext) { clearPods(ctx); podA, podB = runPod(ctx, "a"), runPod(ctx, "b") }, NodeTimeout(specTimeout))
		var err error
		cp, err = controlplane.Start(ctx, controlplane.Options{
			BinDir:              filepath.Join(root, "bin", "controlplane"),
			ExtraAPIServerFlags: node.APIServerFlags(),
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			if CurrentSpecReport().Failed() {
				log, _ := os.ReadFile(cp.Log(node.Kubelet))
				AddReportEntry("kubelet", string(log[max(0, len(log)-8000):]))
			}
			Expect(cp.Stop()).To(Succeed())
		})
		// With Kausality itself, which says who is behind the Pods that audit lines name.
		_, err = controlplane.InstallOperator(ctx, cp, controlplane.OperatorOptions{
			Binary: filepath.Join(root, "bin", "manager"), Overlay: filepath.Join(root, "config", "default"),
		})
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, cp, "apply", "-k", filepath.Join(root, "config", "samples"))
		kubectl(ctx, cp, "wait", "--for=condition=Enforced", "allowancepolicy", "--all", "--timeout=30s")
		kubectl(ctx, cp, "create", "rolebinding", "everybody-edits", "--clusterrole=edit", "--group=system:authenticated")
		Expect(node.StartKubelet(ctx, cp, filepath.Join(root, "bin", "cri"), allSocket)).To(Succeed())
		kubectl(ctx, cp, "wait", "node/kubelet", "--for=create", "--timeout=60s")
		kubectl(ctx, cp, "wait", "node/kubelet", "--for=condition=Ready", "--timeout=60s")
	}, NodeTimeout(clusterTimeout))

	It("runs a Deployment's Pods behind us", func(ctx SpecContext) {
		kubectl(ctx, cp, "apply", "-f", filepath.Join("testdata", "web.yaml"))
		// One of its Pods is on a node of kwok.
		kubectl(ctx, cp, "create", "deployment", "played", "--image="+node.Image)
		kubectl(ctx, cp, "rollout", "status", "deployment/web", "--timeout=60s")
		name := strings.TrimSpace(kubectl(ctx, cp, "get", "pods", "-l=app=web", "-o=name"))
		// By the URLs of the runtime, which only the kubelet can open.
		Expect(kubectl(ctx, cp, "logs", name, "-c=main")).To(ContainSubstring("answering"))
		Expect(kubectl(ctx, cp, "exec", name, "-c=main", "--", "pod", "read", "/etc/hostname")).To(ContainSubstring("web-"))

		kubectl(ctx, cp, "set", "env", "deployment/web", "CHANGED=yes", "--as=alice", "--as-group=platform-team", "--as-group=system:authenticated")
		kubectl(ctx, cp, "rollout", "status", "deployment/web", "--timeout=60s")
		Eventually(ctx, func() string { return kubectl(ctx, cp, "get", "pods", "-l=app=web", "-o=name") }).
			WithTimeout(time.Minute).Should(SatisfyAll(HavePrefix("pod/"), Not(ContainSubstring(strings.TrimPrefix(name, "pod/")))))
		kubectl(ctx, cp, "rollout", "status", "deployment/played", "--timeout=60s")
		Expect(kubectl(ctx, cp, "get", "pods", "-l=app=played", "-o=jsonpath={.items[*].spec.nodeName}")).NotTo(ContainSubstring(node.Kubelet))
	}, NodeTimeout(clusterTimeout))

	It("runs the DaemonSet, by which a Pod restarts its own sidecar", func(ctx SpecContext) {
		// The suite's own is at the same path.
		Expect(proxy.Running()).To(BeTrue())
		Expect(os.Rename(ownSocket, ownSocket+".aside")).To(Succeed())
		DeferCleanup(func() { Expect(os.Rename(ownSocket+".aside", ownSocket)).To(Succeed()) })

		objects, err := cp.Render(ctx, filepath.Join(root, "config", "cri"))
		Expect(err).NotTo(HaveOccurred())
		Expect(cp.Apply(ctx, objects)).To(Succeed())
		kubectl(ctx, cp, "rollout", "status", "daemonset/kausality-cri", "-n=kausality-cri", "--timeout=90s")

		name := strings.TrimSpace(kubectl(ctx, cp, "get", "pods", "-l=app=web", "-o=name"))
		crictl := func(args ...string) string {
			return kubectl(ctx, cp, append([]string{"exec", name, "-c=main", "--", "crictl", "--runtime-endpoint=unix://" + ownSocket}, args...)...)
		}
		Expect(strings.Fields(crictl("ps", "--quiet"))).To(HaveLen(2))
		main := strings.TrimSpace(crictl("ps", "--quiet", "--name=main"))
		sidecar := strings.TrimSpace(crictl("ps", "--quiet", "--name=sidecar"))
		crictl("stop", sidecar)
		Eventually(ctx, func() string {
			return kubectl(ctx, cp, "get", name, "-o=jsonpath={.status.containerStatuses[?(@.name=='sidecar')].restartCount}")
		}).WithTimeout(time.Minute).Should(Equal("1"))
		ours := strings.TrimSpace(kubectl(ctx, cp, "get", "pods", "-n=kausality-cri", "-o=name", "--field-selector=spec.nodeName="+node.Kubelet))
		line := lineOf(kubectl(ctx, cp, "logs", "-n=kausality-cri", ours), "/StopContainer")
		Expect(line.Outcome).To(Equal("allowed"))
		Expect(line.Caller.Pod).To(Equal(strings.TrimPrefix(name, "pod/")))
		Expect(line.Target.ContainerID).To(Equal(sidecar))
		Expect(line.Target.UID).To(Equal(kubectl(ctx, cp, "get", name, "-o=jsonpath={.metadata.uid}")))

		By("going on from the audit line")
		// Records are written a moment after what they tell of.
		Eventually(ctx, func(g Gomega) {
			out, err := exec.CommandContext(ctx, filepath.Join(root, "bin", "kubectl-kausality"), "--kubeconfig="+cp.Kubeconfig(),
				"--cache-dir="+filepath.Join(cp.Dir(), "kubectl"), "--namespace="+line.Target.Namespace, "trace", "pod/"+line.Target.Pod).CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(out))
			GinkgoWriter.Print(string(out))
			g.Expect(string(out)).To(SatisfyAll(ContainSubstring("alice"), ContainSubstring("spec.template.spec.containers[0].env")))
		}).Should(Succeed())

		By("changing the rules in the ConfigMap")
		const rules = "configmap/rules"
		good := kubectl(ctx, cp, "get", rules, "-n=kausality-cri", "-o=jsonpath={.data.own-containers\\.yaml}")
		Expect(cp.Kubectl(ctx, "patch", rules, "-n=kausality-cri", "--type=merge", "-p", rulesPatch("rules: []")).Run()).To(Succeed())
		touch := func() {
			// Kubelets look at the volumes of a Pod that has changed, and else once in a while.
			kubectl(ctx, cp, "annotate", ours, "-n=kausality-cri", "--overwrite", "looked-at="+time.Now().Format(time.RFC3339Nano))
		}
		list := func() (string, error) {
			out, err := cp.Kubectl(ctx, "exec", name, "-c=main", "--", "crictl", "--runtime-endpoint=unix://"+ownSocket, "ps", "--quiet").CombinedOutput()
			return string(out), err
		}
		Eventually(ctx, func() (string, error) {
			touch()
			out, err := list()
			if err == nil {
				return out, errors.New("it is still allowed")
			}
			return out, nil
		}).WithTimeout(time.Minute).WithPolling(time.Second).Should(ContainSubstring("no rule allows it"))
		Expect(cp.Kubectl(ctx, "patch", rules, "-n=kausality-cri", "--type=merge", "-p", rulesPatch(good)).Run()).To(Succeed())
		Eventually(ctx, func() error { touch(); _, err := list(); return err }).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed())

		By("restarting it")
		kubectl(ctx, cp, "delete", ours, "-n=kausality-cri", "--timeout=60s")
		Eventually(ctx, list).WithTimeout(time.Minute).WithPolling(time.Second).Should(ContainSubstring(main))
		Expect(strings.TrimSpace(kubectl(ctx, cp, "get", "pods", "-n=kausality-cri", "-o=name", "--field-selector=spec.nodeName="+node.Kubelet))).
			NotTo(Equal(ours))
	}, NodeTimeout(clusterTimeout))
})

// rulesPatch makes a text the rules of the DaemonSet.
func rulesPatch(rules string) string {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"own-containers.yaml": rules}})
	Expect(err).NotTo(HaveOccurred())
	return string(patch)
}

// lineOf returns the first audit line of a method.
func lineOf(log, method string) audit.Line {
	GinkgoHelper()
	for text := range strings.Lines(log) {
		var line audit.Line
		if json.Unmarshal([]byte(text), &line) == nil && strings.HasSuffix(line.Method, method) && line.Target != nil {
			return line
		}
	}
	Fail("no line of " + method + " in:\n" + log)
	return audit.Line{}
}

// kubectl returns what kubectl prints.
func kubectl(ctx context.Context, cp *controlplane.ControlPlane, args ...string) string {
	GinkgoHelper()
	cmd := cp.Kubectl(ctx, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "kubectl %v: %s%s", args, out, &errs)
	return string(out)
}

// clearPods removes all Pods.
func clearPods(ctx context.Context) {
	GinkgoHelper()
	all, err := containerd.Runtime().ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	Expect(err).NotTo(HaveOccurred())
	for _, sandbox := range all.GetItems() {
		_, err := containerd.Runtime().StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: sandbox.GetId()})
		Expect(err).NotTo(HaveOccurred())
		_, err = containerd.Runtime().RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox.GetId()})
		Expect(err).NotTo(HaveOccurred())
	}
}
