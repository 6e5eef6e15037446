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

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// A Pod can be changed by more than its main resource, and none of the others is a
// way around its bounds.
var _ = Describe("A bounded Pod", func() {
	var (
		ns    string
		audit witness
		// pod is a Pod that runs, and waiting one of the same ReplicaSet that does not:
		// the nodes do not support resizing what runs on them.
		pod, waiting *corev1.Pod
	)
	deployed := func(ctx context.Context) {
		GinkgoHelper()
		b := builders.MakeDeployment(ns, "web").Replicas(2)
		b.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
		b.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: b.Spec.Selector, TopologyKey: corev1.LabelHostname,
			}},
		}}
		d := shared.alice().deploy(ctx, b)
		pod = shared.anyPod(ctx, ns)
		shared.alice().change(ctx, d, replicas(3)) // of which two have a node
		Eventually(ctx, func(g Gomega) {
			var list corev1.PodList
			g.Expect(shared.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			i := slices.IndexFunc(list.Items, func(p corev1.Pod) bool { return p.Spec.NodeName == "" })
			g.Expect(i).NotTo(Equal(-1))
			waiting = &list.Items[i]
		}).Should(Succeed())
		audit = shared.watch(ns)
	}
	// RBAC lets everybody use all sub-resources of Pods here.
	unrestricted := func(ctx context.Context) {
		GinkgoHelper()
		Expect(shared.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "everything"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}},
		})).To(Succeed())
	}
	debug := func(ctx context.Context, who *actor) error {
		p := pod.DeepCopy()
		p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, corev1.EphemeralContainer{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "debug:1", TerminationMessagePolicy: corev1.TerminationMessageReadFile},
		})
		return who.SubResource("ephemeralcontainers").Update(ctx, p)
	}
	resize := func(ctx context.Context, who *actor) error {
		p := waiting.DeepCopy()
		p.ResourceVersion = ""
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2m")}
		return who.SubResource("resize").Update(ctx, p)
	}

	It("is not changed through its sub-resources by who may not", func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		unrestricted(ctx)
		deployed(ctx)
		for _, who := range []*actor{
			shared.mallory(), shared.alice(), shared.serviceAccount(serviceaccount.MakeUsername("kube-system", "replicaset-controller")),
		} {
			By("being " + who.user.UserName)
			expectForbidden(debug(ctx, who), "spec.ephemeralContainers", "ReplicaSet", "AllowancePolicy replicaset")
			expectForbidden(resize(ctx, who), "spec.containers[0].resources", "ReplicaSet")
		}

		By("writing its status, which bounds nothing, and forging a ledger there")
		rogue := shared.mallory()
		forged := waiting.DeepCopy()
		forged.ResourceVersion = ""
		metav1.SetMetaDataAnnotation(&forged.ObjectMeta, ledgerKey, `[{"kind":"*","mutation":"*","generation":1,"initiator":"alice"}]`)
		forged.Status.Message = "seen"
		Expect(rogue.Status().Update(ctx, forged)).To(Succeed())
		Expect(audit.writes(controlplane.OfResource("", "pods"), controlplane.Succeeded, controlplane.OfSubresource("resize"))).To(BeEmpty())

		By("evicting it, which is open to everybody here")
		Expect(rogue.evict(ctx, pod)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3})

		By("deleting another one, which is for who may initiate on the Deployment")
		Expect(shared.alice().Delete(ctx, waiting)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
		Expect(audit.writes(byControllers, stage.Failed)).To(HaveLen(2), "only what was tried in the controller's name is refused")
	}, SpecTimeout(specTimeout))

	It("can be debugged by initiators as the comment in the sample says", func(ctx SpecContext) {
		const debuggable = "debuggable"
		ns = shared.newNamespaceFor(ctx, debuggable)
		unrestricted(ctx)
		policies := shared.samplePoliciesFor(ctx, debuggable)
		text, err := os.ReadFile(filepath.Join(samples, "kausality_v1alpha1_allowancepolicy_replicaset.yaml"))
		Expect(err).NotTo(HaveOccurred())
		commented := parsePolicies(regexp.MustCompile(`(?m)^    # `).ReplaceAllString(string(text), "    "))[0]
		for _, p := range policies {
			if p.Spec.For == commented.Spec.For {
				Expect(len(commented.Spec.Maintaining.Policies)).To(BeNumerically(">", len(p.Spec.Maintaining.Policies)), "the sample has no such comment")
				p.Spec.Maintaining = commented.Spec.Maintaining
			}
		}
		shared.apply(ctx, policies...)
		deployed(ctx)
		expectForbidden(debug(ctx, shared.mallory()), "spec.ephemeralContainers")
		Expect(debug(ctx, shared.alice())).To(Succeed())
		expectForbidden(resize(ctx, shared.alice()), "spec.containers[0].resources")
	}, SpecTimeout(specTimeout))

	It("can be changed by initiators of a policy for Pods, and is not evicted where nothing maintains", func(ctx SpecContext) {
		const debugging = "debugging"
		ns = shared.newNamespaceFor(ctx, debugging)
		unrestricted(ctx)
		policies := shared.samplePoliciesFor(ctx, debugging)
		for _, p := range policies {
			if p.Spec.For.Kind == "ReplicaSet" {
				p.Spec.Maintaining = nil
			}
		}
		onCall := parsePolicies(`
metadata: {name: debugging-pods}
spec:
  for: {apiGroup: "", apiVersion: v1, kind: Pod}
  subjects: [{kind: User, name: oncall, mayInitiate: true}]
`)[0]
		onCall.Spec.NamespaceSelector = policies[0].Spec.NamespaceSelector
		shared.apply(ctx, append(policies, onCall)...)
		deployed(ctx)
		rogue := shared.mallory()
		expectForbidden(debug(ctx, rogue), "spec.ephemeralContainers")
		expectForbidden(rogue.evict(ctx, pod), "deletion of Pod "+pod.Name, "ReplicaSet")
		oncall := shared.as("oncall", developers)
		Expect(debug(ctx, oncall)).To(Succeed())
		Expect(resize(ctx, oncall)).To(Succeed())
		Expect(audit.writes(controlplane.ByUser("oncall"))).To(HaveEach(
			HaveField("Annotations", HaveKeyWithValue(auditReason, "Origin"))))

		By("having the node lose it, which nobody on the way has to allow")
		expectForbidden(shared.serviceAccount(serviceaccount.MakeUsername("kube-system", "job-controller")).Delete(ctx, pod), "deletion")
		Expect(shared.serviceAccount(serviceaccount.MakeUsername("kube-system", "pod-garbage-collector")).Delete(ctx, pod)).To(Succeed())
	}, SpecTimeout(specTimeout))
})
