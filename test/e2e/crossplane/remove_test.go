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

package crossplane

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// Whoever uninstalls it gets everything back, with nobody there to give it (D16).
var _ = Describe("Uninstalling", func() {
	const group = "removed.example.org"
	It("gives gates back, also of a kind without its category, and asks what becomes of deletions that are held back", func(ctx SpecContext) {
		cp := stage.StartControlPlane(ctx, controlplane.Options{})
		Expect(crossplane.Start(ctx, cp, crossplane.Options{Poll: poll})).To(Succeed())
		op := stage.InstallOperator(ctx, cp, controlplane.OperatorOptions{
			Binary: *operatorBin, Overlay: *operatorSetup,
			ExtraFlags: []string{"--composite-quiet-time=" + quietTime.String(), "--gate-settle-time=" + settleTime.String()},
		})
		w := &world{Cluster: stage.Connect(cp), CloudURL: crossplane.CloudURL(cp)}
		w.offer(ctx, group)
		w.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(gatedDatabases, "GROUP", group))...)
		ns, alice := w.MakeNamespace(ctx, nil), w.initiator()
		db, doomed := database(group, databaseKind, ns, "main", medium), database(group, databaseKind, ns, "doomed", medium)
		var instances []*unstructured.Unstructured
		for _, each := range []*unstructured.Unstructured{db, doomed} {
			Expect(alice.Create(ctx, each)).To(Succeed())
			instance := w.instanceOf(ctx, each, "instance")
			w.has(ctx, instance, medium)
			w.Closed(ctx, instance, stage.Observing)
			instances = append(instances, instance)
		}
		going := instances[1]
		Expect(w.collector().Delete(ctx, going)).To(Succeed())
		w.refreshed(ctx, going)
		Expect(going.GetAnnotations()).To(And(HaveKeyWithValue("crossplane.io/paused", "true"), HaveKey(v1alpha1.AnnotationGateHeld)))

		By("switching it off, with an operator that has died")
		Expect(op.Kill()).To(Succeed())
		Expect(w.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "kausality-validating-webhook-configuration"},
		})).To(Succeed())
		By("a kind whose definition does not say any more that it is one of managed resources")
		kind := going.GroupVersionKind()
		definition := instanceDefinition()
		definition.SetName("rdsinstances." + kind.Group)
		w.leaveDefinition(ctx, definition.GetName())
		Expect(w.Patch(ctx, definition, drop("/spec/names/categories"))).To(Succeed())
		asked, err := discovery.NewDiscoveryClientForConfig(w.Config)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func(g Gomega) {
			served, err := asked.ServerResourcesForGroupVersion(kind.GroupVersion().String())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(served.APIResources).NotTo(ContainElement(HaveField("Categories", ContainElement("managed"))))
		}).Should(Succeed())
		out, err := w.removal(ctx, "--dry-run")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(And(ContainSubstring("gate; annotations"), ContainSubstring("held back")))
		w.refreshed(ctx, instances[0])
		Expect(stage.PoliciesOf(instances[0])).NotTo(Equal("*"))

		By("taking back what needs no decision")
		out, err = w.removal(ctx, "--yes", "--delete-policies")
		Expect(err).To(MatchError(ContainSubstring("exit status")), out)
		Expect(out).To(ContainSubstring("--held=orphan"))
		w.refreshed(ctx, instances[0])
		Expect(stage.PoliciesOf(instances[0])).To(Equal("*"))
		w.refreshed(ctx, going)
		Expect(going.GetAnnotations()).To(HaveKeyWithValue("crossplane.io/paused", "true"))

		By("deciding")
		out, err = w.removal(ctx, "--yes", "--held=orphan")
		Expect(err).NotTo(HaveOccurred(), out)
		Eventually(ctx, func(g Gomega) { // Crossplane composes it again, under the same name.
			now := going.DeepCopy()
			err := w.Get(ctx, client.ObjectKeyFromObject(going), now)
			g.Expect(apierrors.IsNotFound(err) || err == nil && now.GetUID() != going.GetUID()).To(BeTrue(), "it is still there")
		}).Should(Succeed())
		Expect(w.calls(ctx, going).Of(cloud.Delete)).To(BeEmpty())
		Eventually(ctx, func(g Gomega) { g.Expect(w.Remains(ctx, g)).To(BeEmpty()) }).Should(Succeed())

		By("the provider doing again what anybody wants")
		Expect(w.stranger().Patch(ctx, db, resize(large))).To(Succeed())
		w.has(ctx, instances[0], large)
	}, SpecTimeout(startTimeout+specTimeout))
})

// leaveDefinition has Crossplane leave a definition that it makes of one of its own as it is.
// It would put back what is changed there.
func (w *world) leaveDefinition(ctx context.Context, name string) {
	GinkgoHelper()
	own := &unstructured.Unstructured{}
	own.SetAPIVersion("apiextensions.crossplane.io/v1alpha1")
	own.SetKind("ManagedResourceDefinition")
	own.SetName(name)
	Expect(w.Patch(ctx, own, merge(`{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`))).To(Succeed())
	Eventually(ctx, func(g Gomega) { // Crossplane says so once it has seen it.
		var events corev1.EventList
		g.Expect(w.List(ctx, &events)).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("InvolvedObject.UID", own.GetUID()), HaveField("Reason", "ReconciliationPaused"))))
	}).Should(Succeed())
}

// refreshed reads an object anew.
func (w *world) refreshed(ctx context.Context, object *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(w.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// removal runs the command that takes back what is left.
func (w *world) removal(ctx context.Context, flags ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, *pluginBin, append([]string{
		"--kubeconfig=" + w.Kubeconfig,
		"--cache-dir=" + filepath.Join(filepath.Dir(w.Kubeconfig), "kubectl"),
		"remove",
	}, flags...)...).CombinedOutput()
	return string(out), err
}
