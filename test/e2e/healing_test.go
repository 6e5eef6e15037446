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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// While a change of a number of Pods is withheld, those that were there before are
// replaced, and no more are made (D2).
var _ = Describe("Healing while a count is withheld", func() {
	healed := func(ctx context.Context, policies, kind string, workload client.Object) {
		GinkgoHelper()
		ns := workload.GetNamespace()
		shared.apply(ctx, ownPolicy(policies, "apps", kind, `
  maintaining:
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
  rules:
  - trigger: spec.replicas
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
`))
		Expect(shared.alice().Create(ctx, workload)).To(Succeed())
		running := func(n int) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(workload), workload)).To(Succeed())
				g.Expect(readyReplicas(workload)).To(BeEquivalentTo(n))
				g.Expect(shared.pods(ctx, g, ns)).To(HaveLen(1))
				g.Expect(alive(ctx, g, ns)).To(Equal(n))
			}).Should(Succeed())
		}
		running(4)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(workload), workload)).To(Succeed())
			g.Expect(ledgerOf(g, workload, ledgerKey)).To(BeEmpty())
		}).Should(Succeed(), "the creation is not over")

		By("a stranger scaling it up")
		shared.mallory().change(ctx, workload, replicas(7))
		By("losing two Pods at once")
		for _, pod := range somePods(ctx, ns, 2) {
			Expect(shared.serviceAccount("system:serviceaccount:kube-system:pod-garbage-collector").Delete(ctx, &pod)).To(Succeed())
		}
		running(4)
		Consistently(ctx, func(g Gomega) int { return alive(ctx, g, ns) }).WithTimeout(quietMoment).Should(Equal(4))

		By("an initiator approving it")
		shared.alice().change(ctx, workload, approve("spec.replicas"))
		running(7)
	}

	It("replaces the Pods of a ReplicaSet", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, "healing-replicaset")
		d := builders.MakeDeployment(ns, "web").Obj()
		healed(ctx, "healing-replicaset", "ReplicaSet", &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(4)), Selector: d.Spec.Selector, Template: d.Spec.Template},
		})
	}, SpecTimeout(specTimeout))

	It("replaces the Pods of a StatefulSet", func(ctx SpecContext) {
		ns := shared.newNamespaceFor(ctx, "healing-statefulset")
		d := builders.MakeDeployment(ns, "web").Obj()
		healed(ctx, "healing-statefulset", "StatefulSet", &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec: appsv1.StatefulSetSpec{
				Replicas: new(int32(4)), Selector: d.Spec.Selector, Template: d.Spec.Template, ServiceName: "web",
				PodManagementPolicy: appsv1.ParallelPodManagement,
			},
		})
	}, SpecTimeout(specTimeout))
})

func readyReplicas(workload client.Object) int32 {
	switch w := workload.(type) {
	case *appsv1.ReplicaSet:
		return w.Status.ReadyReplicas
	case *appsv1.StatefulSet:
		return w.Status.ReadyReplicas
	default:
		return -1
	}
}

// somePods returns n Pods of a namespace.
func somePods(ctx context.Context, namespace string, n int) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(shared.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	Expect(len(pods.Items)).To(BeNumerically(">=", n))
	return pods.Items[:n]
}

// alive returns how many Pods of a namespace are not being deleted.
func alive(ctx context.Context, g Gomega, namespace string) int {
	var pods corev1.PodList
	g.Expect(shared.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	n := 0
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			n++
		}
	}
	return n
}
