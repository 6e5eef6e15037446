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
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/pages"
	"kausality.io/operator/test/stage"
)

// argoName is the service account of Argo CD's application controller, and argoNamespace where it lives.
const (
	argoNamespace = "argocd"
	argoName      = "argocd-application-controller"
)

// argo is Argo CD's engine, and folders that are what is in Git.
type argo struct {
	*world
	folder, kubeconfig string
	flags              []string
}

// argoCD lets it in, as its installation does.
func (w *world) argoCD(ctx context.Context, flags []string) *argo {
	GinkgoHelper()
	w.sh(ctx, fmt.Sprintf("kubectl create namespace %[1]s\nkubectl -n %[1]s create serviceaccount %[2]s\n"+
		"kubectl create clusterrolebinding %[2]s --clusterrole=cluster-admin --serviceaccount=%[1]s:%[2]s", argoNamespace, argoName))
	a := &argo{world: w, folder: GinkgoT().TempDir(), kubeconfig: filepath.Join(w.cp.Dir(), argoName+".kubeconfig"), flags: flags}
	Expect(w.cp.WriteKubeconfigFor(ctx, argoNamespace, argoName, a.kubeconfig)).To(Succeed())
	return a
}

// push makes manifests all that there is of an Application.
func (a *argo) push(application, manifests string) {
	GinkgoHelper()
	dir := filepath.Join(a.folder, application)
	Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(manifests), 0o600)).To(Succeed())
}

// command returns what does something with an Application.
func (a *argo) command(verb, application string, more ...string) string {
	flags := append([]string{"-application=" + application}, append(a.flags, more...)...)
	return fmt.Sprintf("KUBECONFIG=%s bin/peers/argo-cd %s %s %s", a.kubeconfig, strings.Join(flags, " "), verb, filepath.Join(a.folder, application))
}

// sync applies and prunes.
func (a *argo) sync(ctx context.Context, application string) {
	GinkgoHelper()
	a.sh(ctx, a.command("sync", application))
}

// outOfSync returns what differs from Git.
func (a *argo) outOfSync(ctx context.Context, application string) string {
	GinkgoHelper()
	out := a.sh(ctx, a.command("compare", application))
	if len(a.flags) > 0 {
		out += a.sh(ctx, a.command("compare", application, "-include-webhooks"))
	}
	return out
}

// build returns what is in a kustomization.
func (w *world) build(ctx context.Context, overlay string) string {
	GinkgoHelper()
	return w.sh(ctx, "bin/kustomize build "+overlay+" | sed 's|image: controller:latest|image: "+registry+"/kausality:"+tag+"|'")
}

// inGit returns a Deployment as it is in Git: of an image, with the commit that it is of. Without replicas
// these are somebody else's.
func inGit(name, image string, replicas int) string {
	owns := ""
	if replicas > 0 {
		owns = fmt.Sprintf("replicas: %d\n  ", replicas)
	}
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: shop
  name: %[1]s
  labels: {app: %[1]s}
  annotations: {example.org/commit: commit-of-%[3]s}
spec:
  %[2]sselector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: %[4]s, image: "%[1]s:%[3]s"}]}
`, name, owns, image, builders.Container)
}

// team is a namespace of a team, for which objects are generated.
const team = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: shop}}
`

// registrySecret is what a GeneratingPolicy clones.
const registrySecret = `
---
apiVersion: v1
kind: Secret
metadata: {namespace: default, name: registry}
data: {token: ZXhhbXBsZQ==}
`

// versions returns the versions of what was pushed, by which each write shows.
func (a *argo) versions(ctx context.Context, g Gomega) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &v1alpha1.AllowancePolicyList{}, &v1alpha1.UpgradeAllowanceList{}, &v1alpha1.GeneratingPolicyList{},
		&admissionregistrationv1.MutatingWebhookConfigurationList{}, &admissionregistrationv1.ValidatingWebhookConfigurationList{},
		&networkingv1.NetworkPolicyList{},
	} {
		g.Expect(a.List(ctx, list)).To(Succeed())
		raw, err := json.Marshal(list)
		g.Expect(err).NotTo(HaveOccurred())
		var all metav1.PartialObjectMetadataList
		g.Expect(json.Unmarshal(raw, &all)).To(Succeed())
		for i := range all.Items {
			out[fmt.Sprintf("%T %s/%s", list, all.Items[i].Namespace, all.Items[i].Name)] = all.Items[i].ResourceVersion
		}
	}
	return out
}

var _ = Describe("Argo CD", Label("argo-cd"), func() {
	DescribeTable("installs Kausality, sees no difference that stays, heals, prunes and takes it out again",
		func(ctx SpecContext, flags ...string) {
			w := newWorld(ctx)
			a := w.argoCD(ctx, flags)
			w.sh(ctx, "kubectl create clusterrolebinding strangers --clusterrole=edit --user="+stage.MalloryName)
			applications := []string{"kausality", "policies", "shop"}

			By("installing")
			a.push("kausality", w.build(ctx, "config/default"))
			a.sync(ctx, "kausality")
			operators := w.runAll(ctx)
			DeferCleanup(func() { forget(operators) })
			documented, err := pages.Section(filepath.Join(root, "docs", "gitops.md"), "Who appears in the trace", "yaml")
			Expect(err).NotTo(HaveOccurred())
			Expect(documented).To(HaveLen(1))
			a.push("policies", strings.Join([]string{
				documented[0], w.build(ctx, "config/samples/upgrades"), w.build(ctx, "config/samples/generating"),
			}, "\n---\n")+registrySecret)
			Eventually(ctx, func(g Gomega) {
				out, err := w.try(ctx, a.command("sync", "policies"))
				g.Expect(err).NotTo(HaveOccurred(), out)
			}).WithTimeout(settled).Should(Succeed())
			policy := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "from-git"}}
			w.Enforced(ctx, policy, settled)

			By("rolling out, one of two to its end")
			a.push("shop", team+inGit("web", "1", 2)+inGit("stuck", "1", 0))
			a.sync(ctx, "shop")
			web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			stuck := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "stuck"}}
			w.rolledOut(ctx, web)
			w.rolledOut(ctx, stuck)
			a.push("shop", team+inGit("web", "2", 2)+inGit("stuck", neverReady, 0))
			a.sync(ctx, "shop")
			w.rolledOut(ctx, web)
			Expect(w.Get(ctx, client.ObjectKeyFromObject(stuck), stuck)).To(Succeed())
			w.newest(ctx, stuck)
			Eventually(ctx, func(g Gomega) {
				traced, err := json.Marshal(w.Record(ctx, g, web))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(traced)).To(And(
					ContainSubstring(serviceaccount.MakeUsername(argoNamespace, argoName)), ContainSubstring("commit-of-2")))
			}).Should(Succeed())

			By("comparing while a change waits of which Git says nothing")
			w.change(ctx, w.Mallory(), stuck, `{"spec":{"replicas":5}}`)
			Expect(stage.WithheldOf(stuck)).NotTo(BeEmpty())
			Eventually(ctx, func(g Gomega) {
				g.Expect(w.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "default-deny"}, &networkingv1.NetworkPolicy{})).To(Succeed())
				resting := a.versions(ctx, g)
				for _, application := range applications {
					g.Expect(a.outOfSync(ctx, application)).To(BeEmpty(), application)
					a.sync(ctx, application)
				}
				g.Expect(a.versions(ctx, g)).To(Equal(resting), "written to at rest")
			}).WithTimeout(settled).Should(Succeed())
			Expect(w.Get(ctx, client.ObjectKeyFromObject(stuck), stuck)).To(Succeed())
			Expect(stage.WithheldOf(stuck)).NotTo(BeEmpty(), "it is still withheld")

			By("healing what a stranger has changed")
			w.change(ctx, w.Mallory(), web, imageOf("web:theirs"))
			Expect(stage.WithheldOf(web)).NotTo(BeEmpty())
			Expect(a.outOfSync(ctx, "shop")).To(ContainSubstring("web:"))
			a.sync(ctx, "shop")
			Expect(w.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
			Expect(stage.WithheldOf(web)).To(BeEmpty())
			Expect(a.outOfSync(ctx, "shop")).To(BeEmpty())
			sets := &appsv1.ReplicaSetList{}
			Expect(w.List(ctx, sets, client.InNamespace("shop"))).To(Succeed())
			for i := range sets.Items {
				Expect(sets.Items[i].Spec.Template.Spec.Containers[0].Image).NotTo(Equal("web:theirs"))
			}

			By("pruning what is no longer in Git, and nothing else")
			rendered := client.ObjectKey{Name: "kausality-admission"}
			a.push("shop", team+inGit("stuck", neverReady, 0))
			a.sync(ctx, "shop")
			Eventually(ctx, func() error { return w.Get(ctx, client.ObjectKeyFromObject(web), web) }).Should(Satisfy(apierrors.IsNotFound))
			Expect(a.outOfSync(ctx, "shop")).To(BeEmpty())
			w.newest(ctx, stuck)
			Expect(w.Get(ctx, rendered, &admissionregistrationv1.ValidatingWebhookConfiguration{})).To(Succeed())

			By("taking Kausality out: policies first")
			for _, application := range []string{"policies", "kausality"} {
				a.push(application, "")
				a.sync(ctx, application)
			}
			w.withoutPods(ctx, operators)
			for _, object := range []client.Object{
				&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
				&admissionregistrationv1.MutatingAdmissionPolicy{},
			} {
				Eventually(ctx, func() error { return w.Get(ctx, rendered, object) }).WithTimeout(settled).Should(Satisfy(apierrors.IsNotFound))
			}
			Eventually(ctx, func() error {
				return w.Get(ctx, client.ObjectKey{Name: controlplane.OperatorNamespace}, &corev1.Namespace{})
			}).WithTimeout(settled).Should(Satisfy(apierrors.IsNotFound))
		},
		Entry("by client-side apply, as is its default", SpecTimeout(2*specTimeout)),
		Entry("with ServerSideApply=true and ServerSideDiff=true", SpecTimeout(2*specTimeout), "-server-side"),
	)
})
