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
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Sections of docs/install.md.
const (
	withKubectl   = "With kubectl"
	withHelm      = "With Helm"
	uninstall     = "Uninstall"
	uninstallHelm = "Uninstall with Helm"
)

// way is one way in and out.
type way struct {
	// in and out are the commands, as the documentation has them.
	in, out func() []string
	// dead has the operator be dead before the first command out, with policies that refuse what
	// nobody answers.
	dead bool
}

var _ = Describe("Kausality, installed and removed as it is documented", func() {
	render := "bin/kustomize build config/default | kubectl delete --ignore-not-found -f -"
	remove := "kubectl kausality remove --yes"
	DescribeTable("leaves the cluster as it was",
		func(ctx SpecContext, w way) {
			var before inventory
			Eventually(ctx, func(g Gomega) { before = shared.everything(ctx, g) }).Should(Succeed())
			for _, command := range w.in() {
				shared.sh(ctx, command)
			}
			operators := shared.runAll(ctx)
			DeferCleanup(func() { forget(operators) })
			failurePolicy := v1alpha1.FailurePolicyIgnore
			if w.dead {
				failurePolicy = v1alpha1.FailurePolicyFail
			}
			web, stuck := shared.live(ctx, failurePolicy)
			if !w.dead {
				shared.showsNoDifference(ctx, stuck)
			}
			if w.dead {
				kill(operators)
				Expect(scale(ctx, shared.Mallory(), shared.newest(ctx, web))).To(MatchError(ContainSubstring("failed calling webhook")))
			}
			for _, command := range w.out() {
				shared.sh(ctx, command)
			}
			shared.withoutPods(ctx, operators)
			shared.asBefore(ctx, before)
			shared.afterwards(ctx, web, stuck)
		},
		Entry("by kubectl", way{
			in:  func() []string { return documented(withKubectl) },
			out: func() []string { return documented(uninstall) },
		}, SpecTimeout(specTimeout)),
		Entry("by kubectl, with the operator dead", way{
			in:   func() []string { return documented(withKubectl) },
			out:  func() []string { return documented(uninstall) },
			dead: true,
		}, SpecTimeout(specTimeout)),
		Entry("by kubectl, everything at once, with the operator dead", way{
			in:   func() []string { return documented(withKubectl) },
			out:  func() []string { return []string{render, remove} },
			dead: true,
		}, SpecTimeout(specTimeout)),
		Entry("by kubectl, the namespace and the definitions first, with the operator dead", way{
			in: func() []string { return documented(withKubectl) },
			out: func() []string {
				return []string{
					"kubectl delete namespace kausality-system",
					"kubectl delete crd allowancepolicies.kausality.io allowancerecords.kausality.io upgradeallowances.kausality.io generatingpolicies.kausality.io",
					render, remove,
				}
			},
			dead: true,
		}, SpecTimeout(specTimeout)),
		Entry("by Helm", Label("helm"), way{
			in:  func() []string { return append([]string{"make helm"}, documented(withHelm)...) },
			out: func() []string { return documented(uninstallHelm) },
		}, SpecTimeout(specTimeout)),
		Entry("by Helm, the release first, with the operator dead", Label("helm"), way{
			in: func() []string { return append([]string{"make helm"}, documented(withHelm)...) },
			out: func() []string {
				steps := strings.Split(documented(uninstallHelm)[0], "\n")
				Expect(steps).To(HaveLen(5))
				return []string{steps[2], steps[3], steps[4], steps[1]}
			},
			dead: true,
		}, SpecTimeout(specTimeout)),
	)
})

// showsNoDifference compares, as tools for GitOps do, what is in Git with what is in the cluster: by a
// dry run of server-side apply, as Flux does, and by what was applied last, as Argo CD does.
func (w *world) showsNoDifference(ctx context.Context, stuck *appsv1.Deployment) {
	GinkgoHelper()
	installed := filepath.Join(GinkgoT().TempDir(), "installed.yaml")
	w.sh(ctx, "bin/kustomize build config/default | sed 's|image: controller:latest|image: "+registry+"/kausality:"+tag+"|' > "+installed)
	if w.by(ctx, "kustomize") {
		w.sh(ctx, "kubectl diff --server-side --force-conflicts -f "+installed)
		w.sh(ctx, "kubectl diff -f "+installed)
	}
	// What Alice has in Git: the image that she has rolled out, and what Mallory has changed.
	git := builders.MakeDeployment(w.namespace, stuck.Name).Replicas(5).Image("stuck:" + neverReady).Obj()
	git.APIVersion, git.Kind = appsv1.SchemeGroupVersion.String(), "Deployment"
	raw, err := json.Marshal(git)
	Expect(err).NotTo(HaveOccurred())
	manifest := filepath.Join(GinkgoT().TempDir(), "git.json")
	Expect(os.WriteFile(manifest, raw, 0o600)).To(Succeed())
	w.sh(ctx, "kubectl diff --server-side --force-conflicts -f "+manifest)
	w.sh(ctx, "kubectl diff -f "+manifest)
}

// by reports whether the operator was installed by a tool.
func (w *world) by(ctx context.Context, tool string) bool {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(w.Get(ctx, operatorKey, d)).To(Succeed())
	return d.Labels["app.kubernetes.io/managed-by"] == tool
}

// withoutPods ends the processes of Pods that are to go: with their Deployment.
func (w *world) withoutPods(ctx context.Context, operators []*controlplane.Operator) {
	GinkgoHelper()
	Eventually(ctx, func() error { return w.Get(ctx, operatorKey, &appsv1.Deployment{}) }).Should(Satisfy(apierrors.IsNotFound))
	forget(operators)
}
