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
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// auditStray is the audit annotation of an adoption without a cause.
const auditStray = "verdict.kausality.io/stray"

// adoptingStrays returns the ways to have a controller take something for its own that
// nobody asked it to.
func adoptingStrays() []bypass {
	return []bypass{
		{"having a Deployment adopt a ReplicaSet", func(ctx context.Context, s *scene) {
			audit := shared.watch(s.ns)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(s.ns, "adopting").Replicas(2))
			stray := s.rogue.strayReplicaSet(ctx, d, 2)
			shared.hasStray(ctx, audit, d, stray)
			Eventually(ctx, func(g Gomega) { // The controller does away with it, as with any old one.
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(stray), stray)).To(Succeed())
				g.Expect(stray.Spec.Replicas).To(HaveValue(BeZero()))
			}).Should(Succeed())
			shared.alice().change(ctx, d, image("adopting:"+unready))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(d.Status.UpdatedReplicas).To(BeEquivalentTo(1))
			}).Should(Succeed())
			refuse(s.controller.try(ctx, stray, replicas(1)), "spec.replicas", "adopted it without a cause",
				"kubectl annotate -n "+s.ns+" replicaset "+stray.Name+" replicaset.kausality.io/approve='metadata.ownerReferences'")
		}},
		{"having a ReplicaSet adopt Pods", func(ctx context.Context, s *scene) {
			audit := shared.watch(s.ns)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(s.ns, "crowded").Replicas(3))
			rs, good := shared.newestReplicaSet(ctx, d), shared.podsNamed(ctx, Default, s.ns, "crowded")
			stray := s.rogue.strayPod(ctx, rs)
			shared.hasStray(ctx, audit, rs, stray)
			audit.tries(ctx, replicaSetController, "ReplicaSet "+rs.Name)
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.podsNamed(ctx, g, s.ns, "crowded")).To(ConsistOf(toAny(append(good, stray.Name))...), "a Pod made room for another")
			}).WithTimeout(quietMoment).Should(Succeed())
		}},
		{"having a running Job adopt a Pod", func(ctx context.Context, s *scene) {
			policies := "running-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, makesPods(policies, batchv1.GroupName, "Job", "spec"))
			job := builders.MakeJob(ns, "run", 3, 2)
			job.Spec.Template.Spec.Containers[0].Image = "run:" + unready // These would go before what is ready.
			Expect(shared.alice().Create(ctx, job)).To(Succeed())
			var good []string
			Eventually(ctx, func(g Gomega) {
				good = shared.podsNamed(ctx, g, ns, "run")
				g.Expect(good).To(HaveLen(2))
			}).Should(Succeed())
			Eventually(ctx, time.Now).Should(BeTemporally(">", job.CreationTimestamp.Add(2*time.Second)))

			audit := shared.watch(ns)
			template := job.Spec.Template.DeepCopy()
			template.Spec.Containers[0].Image = "run:1"
			stray := s.rogue.readyPod(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "stray"}, Spec: template.Spec}, template.Labels)
			shared.hasStray(ctx, audit, job, stray)
			audit.tries(ctx, jobController, "adopted Pod stray without a cause")
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.podsNamed(ctx, g, ns, "run")).To(ConsistOf(toAny(append(good, stray.Name))...), "a Pod made room for another")
			}).WithTimeout(quietMoment).Should(Succeed())
			shared.alice().change(ctx, stray, `{"metadata":{"annotations":{"pod.kausality.io/approve":"metadata.ownerReferences"}}}`)
			Eventually(ctx, func(g Gomega) { g.Expect(shared.straysOf(ctx, g, job)).To(BeEmpty()) }).Should(Succeed())
		}},
		{"changing what had settled when its policy came", func(ctx context.Context, s *scene) {
			policies := "settled-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			set := builders.MakeStatefulSet(ns, "web", 2)
			Expect(shared.alice().Create(ctx, set)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
				g.Expect(set.Status.AvailableReplicas).To(BeEquivalentTo(2))
				g.Expect(set.Status.UpdatedReplicas).To(BeEquivalentTo(2))
			}).Should(Succeed())
			shared.apply(ctx, forOwn(policies, documented("allowancepolicy.md", "statefulset"))...)
			pod := shared.anyPod(ctx, ns)
			refuse(s.rogue.try(ctx, pod.DeepCopy(), patch(`{"spec":{"activeDeadlineSeconds":1}}`)), "Pod "+pod.Name)
			refuse(s.rogue.Delete(ctx, pod, client.DryRunAll), "Pod "+pod.Name)
		}},
		{"interfering with what was under way when the policy came", func(ctx context.Context, s *scene) {
			policies := "underway-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			d := builders.MakeDeployment(ns, "web").Replicas(2).Obj()
			Expect(shared.alice().Create(ctx, d)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(d.Status.AvailableReplicas).To(BeEquivalentTo(2))
			}).Should(Succeed())
			old := shared.newestReplicaSet(ctx, d)
			shared.alice().change(ctx, d, image("web:"+unready))
			shared.hasPods(ctx, ns, map[string]int{d.Spec.Template.Spec.Containers[0].Image: 1, old.Spec.Template.Spec.Containers[0].Image: 2})
			shared.apply(ctx, forOwn(policies, shared.samplePolicies(ctx))...)
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, d).Status.Adopting).To(BeTrue())
			}).Should(Succeed())

			fresh := shared.newestReplicaSet(ctx, d)
			refuse(s.rogue.try(ctx, old.DeepCopy(), replicas(0)), "ReplicaSet "+old.Name)
			refuse(s.rogue.try(ctx, fresh.DeepCopy(), image("web:theirs")), "ReplicaSet "+fresh.Name)
			refuse(s.rogue.Delete(ctx, old.DeepCopy(), client.DryRunAll), "ReplicaSet "+old.Name)
			Expect(shared.serviceAccount(deploymentController).try(ctx, fresh.DeepCopy(), replicas(2), client.DryRunAll)).To(Succeed())
			Expect(shared.alice().try(ctx, fresh.DeepCopy(), replicas(2), client.DryRunAll)).To(Succeed(), "who may initiate above may finish it")
		}},
		{"changing another field while the policy is away", func(ctx context.Context, _ *scene) {
			owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
			controller, thing := newThing(ctx, owner, map[string]any{"config": "good", "port": int64(80)})
			Expect(controller.reconcile(ctx, thing)).To(Succeed())
			shared.over(ctx, thing)
			stranger.setThing(ctx, thing, `{"config":"evil"}`)
			Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
			shared.withholding(ctx, thing, "spec.config")

			By("changing it with no policy")
			policies := thingPolicies(thing.GroupVersionKind().Group)
			Expect(shared.Delete(ctx, policies[0].DeepCopy())).To(Succeed())
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: controller.namespace, Name: thing.GetName()}}
			Eventually(ctx, func() error {
				return stranger.Patch(ctx, config.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"data":{"by":"mallory"}}`)), client.DryRunAll)
			}).Should(Succeed(), "the policy is still in effect")
			stranger.setThing(ctx, thing, `{"port":81}`)
			shared.apply(ctx, policies...)
			shared.withholding(ctx, thing, "spec.config")
			Consistently(ctx, func(g Gomega) {
				status := shared.record(ctx, g, thing).Status
				g.Expect(status.WithheldCount).To(BeEquivalentTo(1), "its record says otherwise")
				g.Expect(status.Active).To(ContainElement(And(HaveField("Mutation", "spec.config"), HaveField("Initiator", mallory))))
				g.Expect(status.Adopting).To(BeFalse())
			}).WithTimeout(quietMoment).Should(Succeed())

			By("waiting for a change of somebody who may")
			owner.setThing(ctx, thing, `{"port":82}`)
			refuse(controller.reconcile(ctx, thing), "ConfigMap", "the change of spec.config by "+mallory+" is withheld")
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(config), config)).To(Succeed())
			Expect(config.Data).To(HaveKeyWithValue("config", "good"))
			Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(approve("*"))))).To(Succeed())
			Expect(controller.reconcile(ctx, thing)).To(Succeed())
			shared.withholdsNothing(ctx, thing)
		}},
		{"changing again what is withheld while its rule is gone", func(ctx context.Context, _ *scene) {
			changesAgain(ctx, func(p *v1alpha1.AllowancePolicy) {
				p.Spec.Rules = slices.DeleteFunc(p.Spec.Rules, func(r v1alpha1.Rule) bool { return r.Trigger == "spec.config" })
			})
		}},
		{"changing again what is withheld while its policy only warns", func(ctx context.Context, _ *scene) {
			changesAgain(ctx, func(p *v1alpha1.AllowancePolicy) {
				p.Spec.ValidationActions = []v1alpha1.ValidationAction{v1alpha1.ActionWarn}
			})
		}},
		{"changing a paused Deployment again while its policy only warns", func(ctx context.Context, s *scene) {
			policies := "again-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			own := shared.samplePoliciesFor(ctx, policies)
			shared.apply(ctx, own...)
			d := builders.MakeDeployment(ns, "web").Obj()
			Expect(shared.alice().Create(ctx, d)).To(Succeed())
			shared.rolledOut(ctx, d)
			pods := map[string]int{d.Spec.Template.Spec.Containers[0].Image: int(*d.Spec.Replicas)}
			shared.alice().change(ctx, d, paused(true))
			s.rogue.change(ctx, d, image("evil:1"))
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"))
			becomes := func(action v1alpha1.ValidationAction) {
				GinkgoHelper()
				for _, p := range own {
					shared.revised(ctx, p, func(p *v1alpha1.AllowancePolicy) {
						if p.Spec.For.Kind == "Deployment" {
							p.Spec.ValidationActions = []v1alpha1.ValidationAction{action}
						}
					})
				}
			}

			becomes(v1alpha1.ActionWarn)
			Eventually(ctx, func(g Gomega) {
				g.Expect(s.rogue.try(ctx, d.DeepCopy(), image("evil:3"), client.DryRunAll)).To(Succeed())
				g.Expect(s.rogue.warned.take()).NotTo(ContainSubstring("is withheld"))
			}).Should(Succeed(), "the policy still denies")
			s.rogue.change(ctx, d, image("evil:2"))
			becomes(v1alpha1.ActionDeny)
			shared.alice().change(ctx, d, paused(false))
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.pods(ctx, g, ns)).To(Equal(pods))
			}).WithTimeout(quietMoment).Should(Succeed())
			shared.withholding(ctx, d, "spec.template.spec.containers[0].image")
		}},
	}
}

// strayRevision is the revision of a Deployment that its strays say they are.
const strayRevision = "77"

// strayReplicaSet makes a ReplicaSet with ready Pods, which a Deployment then takes for
// its own.
func (a *actor) strayReplicaSet(ctx context.Context, d *appsv1.Deployment, replicas int32, owners ...metav1.OwnerReference) *appsv1.ReplicaSet {
	GinkgoHelper()
	stray := &appsv1.ReplicaSet{}
	stray.Namespace, stray.Name, stray.OwnerReferences = d.Namespace, d.Name+"-stray", owners
	stray.Annotations = map[string]string{revisionKey: strayRevision}
	stray.Spec.Template = *d.Spec.Template.DeepCopy()
	stray.Spec.Template.Labels["stray"] = "yes"
	stray.Spec.Template.Spec.Containers[0].Image = d.Name + ":stray"
	stray.Spec.Selector = &metav1.LabelSelector{MatchLabels: stray.Spec.Template.Labels}
	stray.Spec.Replicas = &replicas
	Expect(a.Create(ctx, stray)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(stray), stray)).To(Succeed())
		g.Expect(stray.Status.ObservedGeneration).To(Equal(stray.Generation))
		g.Expect(stray.Status.AvailableReplicas).To(Equal(replicas))
	}).Should(Succeed())
	base := stray.DeepCopy()
	stray.Labels = d.Spec.Selector.MatchLabels
	Expect(a.Patch(ctx, stray, client.MergeFrom(base))).To(Succeed())
	return stray
}

// strayPod makes a Pod that a ReplicaSet takes for its own, and would rather keep than
// its other Pods.
func (a *actor) strayPod(ctx context.Context, rs *appsv1.ReplicaSet) *corev1.Pod {
	GinkgoHelper()
	stray := &corev1.Pod{Spec: *rs.Spec.Template.Spec.DeepCopy()}
	stray.Namespace, stray.Name = rs.Namespace, rs.Name+"-stray"
	stray.Annotations = map[string]string{corev1.PodDeletionCost: "1000"}
	return a.readyPod(ctx, stray, rs.Spec.Selector.MatchLabels)
}

// readyPod makes a Pod, and gives it the labels by which it is adopted once it is ready.
func (a *actor) readyPod(ctx context.Context, stray *corev1.Pod, labels map[string]string) *corev1.Pod {
	GinkgoHelper()
	Expect(a.Create(ctx, stray)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(stray), stray)).To(Succeed())
		g.Expect(stray.Status.Conditions).To(ContainElement(SatisfyAll(
			HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
	}).Should(Succeed())
	base := stray.DeepCopy()
	stray.Labels = labels
	Expect(a.Patch(ctx, stray, client.MergeFrom(base))).To(Succeed())
	return stray
}

// hasStray returns when the object has adopted a child, which its record and the audit
// log say had no cause.
func (c *cluster) hasStray(ctx context.Context, audit witness, parent, child client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
		g.Expect(metav1.IsControlledBy(child, parent)).To(BeTrue())
		g.Expect(c.straysOf(ctx, g, parent)).To(ContainElement(child.GetUID()))
		g.Expect(audit.writes(controlplane.ByVerb("patch"), controlplane.OnObject(child.GetNamespace(), child.GetName()))).
			To(ContainElement(HaveField("Annotations", SatisfyAll(
				HaveKeyWithValue(auditReason, "Stray"), HaveKey(auditStray)))))
	}).Should(Succeed())
}

// rootCA returns the UID of an object that each namespace has, and that no policy is for.
func (c *cluster) rootCA(ctx context.Context, namespace string) types.UID {
	GinkgoHelper()
	var ca corev1.ConfigMap
	Eventually(ctx, func() error { return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "kube-root-ca.crt"}, &ca) }).Should(Succeed())
	return ca.UID
}

// straysOf returns the strays in the record of an object.
func (c *cluster) straysOf(ctx context.Context, g Gomega, obj client.Object) []types.UID {
	GinkgoHelper()
	var uids []types.UID
	for _, stray := range c.record(ctx, g, obj).Status.Strays {
		uids = append(uids, stray.UID)
	}
	return uids
}

// podsNamed returns the names of the Pods with the label app that are there to stay.
func (c *cluster) podsNamed(ctx context.Context, g Gomega, namespace, app string) []string {
	GinkgoHelper()
	var list corev1.PodList
	g.Expect(c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app": app})).To(Succeed())
	var names []string
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// changesAgain has a stranger change a field, and once more while its policy is such that nothing withholds that.
func changesAgain(ctx context.Context, loosen func(*v1alpha1.AllowancePolicy)) {
	GinkgoHelper()
	owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
	controller, thing := newThing(ctx, owner, map[string]any{"config": "good", "port": int64(80)})
	Expect(controller.reconcile(ctx, thing)).To(Succeed())
	shared.over(ctx, thing)
	stranger.setThing(ctx, thing, `{"config":"evil"}`)
	Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
	shared.withholding(ctx, thing, "spec.config")

	policies := thingPolicies(thing.GroupVersionKind().Group)
	becomes := func(change func(*v1alpha1.AllowancePolicy)) {
		GinkgoHelper()
		shared.revised(ctx, policies[0], change)
	}
	returns := func(p *v1alpha1.AllowancePolicy) { p.Spec = *policies[0].Spec.DeepCopy() }
	isFree := func() {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			g.Expect(stranger.Patch(ctx, thing.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"config":"other"}}`)), client.DryRunAll)).To(Succeed())
			g.Expect(stranger.warned.take()).NotTo(ContainSubstring("is withheld"))
		}).Should(Succeed(), "the rule is still in effect")
	}

	By("changing it again")
	becomes(loosen)
	isFree()
	stranger.setThing(ctx, thing, `{"config":"worse"}`)
	shared.withholding(ctx, thing, "spec.config")
	becomes(returns)
	owner.setThing(ctx, thing, `{"port":81}`)
	refuse(controller.reconcile(ctx, thing), "ConfigMap", "the change of spec.config by "+mallory+" is withheld")
	shared.withholding(ctx, thing, "spec.config")

	By("putting it back")
	becomes(loosen)
	isFree()
	stranger.setThing(ctx, thing, `{"config":"good"}`)
	becomes(returns)
	shared.withholdsNothing(ctx, thing)
	owner.setThing(ctx, thing, `{"port":82}`)
	Expect(controller.reconcile(ctx, thing)).To(Succeed())

	By("leaving it to an initiator")
	stranger.setThing(ctx, thing, `{"config":"evil"}`)
	becomes(loosen)
	isFree()
	owner.setThing(ctx, thing, `{"config":"better"}`)
	becomes(returns)
	shared.withholdsNothing(ctx, thing)
}

// revised changes a policy, and returns when it says that it is enforced as it is then.
func (c *cluster) revised(ctx context.Context, of *v1alpha1.AllowancePolicy, change func(*v1alpha1.AllowancePolicy)) {
	GinkgoHelper()
	p := &v1alpha1.AllowancePolicy{}
	Expect(c.Get(ctx, client.ObjectKeyFromObject(of), p)).To(Succeed())
	base := p.DeepCopy()
	change(p)
	Expect(c.Patch(ctx, p, client.MergeFrom(base))).To(Succeed())
	c.enforced(ctx, p, effectTimeout)
}
