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
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// endingObjects returns the ways by which something ends that is nobody's child, or that
// Kubernetes itself ends: that is let through, and nothing more comes of it.
func endingObjects() []bypass {
	return []bypass{
		{"deleting the object at the top, and making it again as it was", func(ctx context.Context, s *scene) {
			d := builders.MakeDeployment(s.ns, "again").Image("again:" + unready).Obj()
			Expect(shared.alice().Create(ctx, d)).To(Succeed())
			Expect(ledgerOf(Default, d, ledgerKey)).To(ContainElement(HaveField("Initiator", alice)))
			again := builders.MakeDeployment(s.ns, d.Name).Obj()
			again.Annotations, again.Labels, again.Spec = d.Annotations, d.Labels, *d.Spec.DeepCopy()
			Expect(s.rogue.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(d), d))).To(BeTrue())
			}).Should(Succeed())

			By("having nothing of what the former one was allowed")
			audit := shared.watch(s.ns)
			Expect(s.rogue.Create(ctx, again)).To(Succeed())
			Expect(ledgerOf(Default, again, ledgerKey)).To(And(Not(BeEmpty()), HaveEach(HaveField("Initiator", mallory))))
			made := func() controlplane.AuditEvents {
				return audit.writes(controlplane.OfResource("apps", "replicasets"), controlplane.ByVerb("create"), controlplane.Succeeded)
			}
			Eventually(ctx, made).ShouldNot(BeEmpty())
			expectCaused(made(), "Initializing", mallory, "Deployment/"+again.Name+" (created)")
		}},
		{"keeping the object at the top from its end, after its deletion", func(ctx context.Context, s *scene) {
			d, old := s.rollingOut(ctx, "kept")
			Expect(s.controller.try(ctx, old.DeepCopy(), replicas(1), client.DryRunAll)).To(Succeed(), "it is covered")
			s.rogue.change(ctx, d, `{"metadata":{"finalizers":["example.org/mine"]}}`)
			DeferCleanup(func(ctx SpecContext) {
				Expect(s.rogue.try(ctx, d, `{"metadata":{"finalizers":null}}`)).To(Succeed())
			})
			Expect(s.rogue.Delete(ctx, d)).To(Succeed())
			for _, who := range []*actor{s.controller, s.rogue} {
				refuse(who.try(ctx, old.DeepCopy(), replicas(1)), "spec.replicas")
			}
		}},
		{"draining Pods while something is withheld", func(ctx context.Context, _ *scene) {
			s := guard(ctx, "drained", func(*appsv1.StatefulSet) {})
			s.stranger.change(ctx, s.set, image("web:evil"))
			Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))
			s.losesOne(ctx, "web:evil")
			s.stranger.change(ctx, s.set, image("web:1"))
			s.isOver(ctx, "main=web:1")
		}},
		{"having the scheduler preempt a Pod while something is withheld", func(ctx context.Context, _ *scene) {
			const port, name = 8080, "preempted"
			_, place := dedicatedNode(ctx, name)
			s := guard(ctx, name, func(set *appsv1.StatefulSet) {
				set.Spec.Replicas = new(int32(1))
				set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
				place(&set.Spec.Template.Spec)
				set.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
			})
			s.stranger.change(ctx, s.set, image("web:evil"))
			Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))

			By("making a Pod that takes the port, and comes first")
			class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}, Value: 1_000_000}
			Expect(shared.Create(ctx, class)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(shared.Delete(ctx, class)).To(Succeed()) })
			first := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "first"}, Spec: *s.set.Spec.Template.Spec.DeepCopy()}
			first.Spec.Containers[0].Image, first.Spec.PriorityClassName = "first:1", class.Name
			Expect(shared.as(mallory, "system:masters").Create(ctx, first)).To(Succeed())
			s.staysFree(ctx, "web:evil")
			Expect(shared.pods(ctx, Default, s.ns)).NotTo(HaveKey("web:evil"))
		}},
	}
}

// dedicated is the label and the taint of nodes that a spec has for itself.
const dedicated = "e2e.example.org/dedicated"

// dedicatedNode makes a node for one spec, and returns it with what makes Pods run there.
func dedicatedNode(ctx context.Context, name string) (*corev1.Node, func(*corev1.PodSpec)) {
	GinkgoHelper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "node-" + name + "-", Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}, Labels: map[string]string{dedicated: name},
		},
	}
	// As long as the node is there it keeps the Pods of other specs away: they would be lost
	// with it.
	node.Spec.Taints = []corev1.Taint{{Key: dedicated, Value: name, Effect: corev1.TaintEffectNoSchedule}}
	Expect(shared.Create(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, node) })
	return node, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{dedicated: name}
		spec.Tolerations = []corev1.Toleration{{Key: dedicated, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	}
}
