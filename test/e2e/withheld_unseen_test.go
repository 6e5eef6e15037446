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
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	holdercontroller "kausality.io/operator/internal/controller/holder"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// foundTimeout bounds how long the operator takes, once it is back, to find what was
// changed while nobody looked: for five seconds another one may still tell of it.
const foundTimeout = 30 * time.Second

// killed ends the operator without warning, and returns how to have it back.
func killed() (back func(context.Context)) {
	GinkgoHelper()
	Expect(operator.Kill()).To(Succeed())
	away := true
	back = func(ctx context.Context) {
		GinkgoHelper()
		if away {
			Expect(operator.Restart(ctx)).To(Succeed())
			away = false
		}
	}
	DeferCleanup(func(ctx SpecContext) { back(ctx) })
	return back
}

// knows returns when the record of an object says that what the object has is approved.
func (c *cluster) knows(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		status := c.record(ctx, g, obj).Status
		g.Expect(status.WithheldCount).To(BeZero(), "of %s: %+v", obj.GetName(), status)
		g.Expect(status.PendingGrants).To(BeEmpty())
		g.Expect(status.Approved).To(HaveValue(HaveField("Generation", obj.GetGeneration())))
		g.Expect(obj.GetAnnotations()).NotTo(HaveKey(approvedKey))
	}).WithTimeout(foundTimeout).Should(Succeed())
}

// remembers returns when the operator has written down what an object without a record is
// like.
func (c *cluster) remembers(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		maps := &corev1.ConfigMapList{}
		g.Expect(c.List(ctx, maps, client.InNamespace(controlplane.OperatorNamespace))).To(Succeed())
		var texts []string
		for _, cm := range maps.Items {
			for _, packed := range cm.BinaryData {
				text, err := gzip.NewReader(bytes.NewReader(packed))
				g.Expect(err).NotTo(HaveOccurred())
				plain, err := io.ReadAll(text)
				g.Expect(err).NotTo(HaveOccurred())
				texts = append(texts, string(plain))
			}
		}
		g.Expect(texts).To(ContainElement(ContainSubstring(string(obj.GetUID()))))
	}).WithTimeout(foundTimeout).Should(Succeed())
}

// givesSignAfter returns when the operator has given a sign of life since an object was
// made.
func (c *cluster) givesSignAfter(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		lease := &coordinationv1.Lease{}
		g.Expect(c.Get(ctx, client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: holdercontroller.SignOfLifeName}, lease)).To(Succeed())
		g.Expect(lease.Spec.RenewTime).To(HaveValue(HaveField("Time", BeTemporally(">", obj.GetCreationTimestamp().Add(time.Second)))))
	}).WithTimeout(foundTimeout).Should(Succeed())
}

// hasHeldNothing checks that the history of an object knows of nothing that was withheld.
func (c *cluster) hasHeldNothing(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(c.record(ctx, Default, obj).Status.History).NotTo(ContainElement(HaveField("Event", v1alpha1.EventWithheld)))
}

// findsUnseen returns when the template of an object is withheld, changed by nobody who was
// seen, and the object, its ledger and its record all say so.
func (c *cluster) findsUnseen(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(obj.GetAnnotations()).To(HaveKey(approvedKey))
		g.Expect(ledgerOf(g, obj, ledgerKey)).To(ContainElement(SatisfyAll(
			HaveField("Relation", v1alpha1.RelationWithheld), HaveField("Mutation", "spec.template"), HaveField("Initiator", ""), HaveField("Content", Not(BeEmpty())),
		)))
		status := c.record(ctx, g, obj).Status
		g.Expect(status.WithheldCount).To(BeEquivalentTo(1))
		g.Expect(status.PendingGrants).To(BeEmpty(), "what is withheld is in the ledger")
		g.Expect(status.Active).To(Equal(ledgerOf(g, obj, ledgerKey)), "the record and the ledger say the same")
	}).WithTimeout(foundTimeout).Should(Succeed())
}

// What is changed while no operator looks is found when it is back, by what it makes
// different from what was approved (D2).
var _ = Describe("What a stranger changes while the operator is away", alone, func() {
	onDelete := func(ctx context.Context, policies string) *guarded {
		GinkgoHelper()
		s := guard(ctx, policies, func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		})
		shared.knows(ctx, s.set)
		return s
	}

	It("is withheld, until somebody approves it", func(ctx SpecContext) {
		s := onDelete(ctx, "unseen")
		back := killed()
		s.stranger.change(ctx, s.set, image("web:evil"))
		back(ctx)
		shared.findsUnseen(ctx, s.set)
		s.losesOne(ctx, "web:evil")

		By("being approved")
		s.owner.change(ctx, s.set, approve("spec.template"))
		Expect(s.owner.warned.take()).To(BeEmpty())
		shared.withholdsNothing(ctx, s.set)
		shared.hasPods(ctx, s.ns, map[string]int{"web:1": 3, "web:evil": 1})
	}, SpecTimeout(specTimeout))

	It("is written into its ledger once", func(ctx SpecContext) {
		s := onDelete(ctx, "unseen-once")
		back := killed()
		s.stranger.change(ctx, s.set, image("web:evil"))
		back(ctx)
		shared.findsUnseen(ctx, s.set)
		audit := shared.watch(s.ns)
		// The first retry would come after a second, and the next after two more.
		Consistently(ctx, func() controlplane.AuditEvents {
			return audit.writes(controlplane.ByUser(operatorUser), controlplane.OnObject(s.ns, s.set.Name))
		}).WithTimeout(2 * quietMoment).Should(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("is withheld where it only takes something away, which leaves no time", func(ctx SpecContext) {
		s := guard(ctx, "unseen-removal", func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
			set.Spec.Template.Annotations = map[string]string{"look": "out"}
		})
		shared.knows(ctx, s.set)
		shared.givesSignAfter(ctx, s.set)
		back := killed()
		s.stranger.change(ctx, s.set, `{"spec":{"template":{"metadata":{"annotations":{"look":null}}}}}`)
		back(ctx)
		shared.findsUnseen(ctx, s.set)
		s.stranger.change(ctx, s.set, `{"spec":{"template":{"metadata":{"annotations":{"look":"out"}}}}}`)
		shared.withholdsNothing(ctx, s.set)
	}, SpecTimeout(specTimeout))

	It("is withheld where it takes a label away, which counts up no generation either", func(ctx SpecContext) {
		const policies = "unseen-tier"
		ns := shared.newNamespaceFor(ctx, policies)
		shared.apply(ctx, ownPolicy(policies, "apps", "Deployment", `
  rules:
  - {trigger: "metadata.labels[tier]", policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]}
`))
		of := func(name string) *appsv1.Deployment {
			d := builders.MakeDeployment(ns, name).Replicas(0).Obj()
			d.Labels = map[string]string{"tier": "db", "team": "ours"}
			Expect(shared.alice().Create(ctx, d)).To(Succeed())
			shared.knows(ctx, d)
			return d
		}
		taken, other := of("taken"), of("other")
		shared.givesSignAfter(ctx, other)
		back := killed()
		shared.mallory().change(ctx, taken, `{"metadata":{"labels":{"tier":null}}}`)
		shared.mallory().change(ctx, other, `{"metadata":{"labels":{"team":null}}}`)
		back(ctx)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(taken), taken)).To(Succeed())
			g.Expect(withheldOf(taken)).To(ConsistOf("metadata.labels[tier]"))
		}).WithTimeout(foundTimeout).Should(Succeed())
		shared.knows(ctx, other)
		shared.hasHeldNothing(ctx, other)
		shared.mallory().change(ctx, taken, label("tier", "db"))
		shared.withholdsNothing(ctx, taken)
	}, SpecTimeout(specTimeout))

	It("is withheld of what was there before its policy, and has no record", func(ctx SpecContext) {
		const old = "unseen-old"
		s := &guarded{ns: shared.newNamespaceFor(ctx, old), owner: shared.alice(), stranger: shared.mallory()}
		s.set = builders.MakeStatefulSet(s.ns, "web", 4)
		s.set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		Expect(s.stranger.Create(ctx, s.set)).To(Succeed())
		rest := builders.MakeStatefulSet(s.ns, "rest", 1)
		Expect(s.stranger.Create(ctx, rest)).To(Succeed())
		for _, set := range []*appsv1.StatefulSet{s.set, rest} {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
				g.Expect(set.Status.AvailableReplicas).To(Equal(*set.Spec.Replicas))
			}).Should(Succeed())
		}
		s.audit = shared.watch(s.ns)
		shared.apply(ctx, kindPoliciesFor(old, "statefulset")...)
		shared.remembers(ctx, s.set)
		shared.remembers(ctx, rest)
		back := killed()
		s.stranger.change(ctx, s.set, image("web:evil"))
		s.stranger.change(ctx, rest, annotation("team", "theirs"))
		back(ctx)
		shared.findsUnseen(ctx, s.set)
		s.losesOne(ctx, "web:evil")
		s.owner.change(ctx, s.set, approve("spec.template"))
		shared.withholdsNothing(ctx, s.set)
		shared.hasPods(ctx, s.ns, map[string]int{"web:1": 3, "web:evil": 1, "rest:1": 1})

		By("having kept no record of what nobody changed")
		records := &v1alpha1.AllowanceRecordList{}
		Expect(shared.List(ctx, records, client.InNamespace(s.ns))).To(Succeed())
		Expect(records.Items).NotTo(ContainElement(HaveField("Spec.TargetRef.Name", "rest")))
	}, SpecTimeout(specTimeout))

	It("is over when it is put back", func(ctx SpecContext) {
		s := onDelete(ctx, "unseen-back")
		back := killed()
		s.stranger.change(ctx, s.set, image("web:evil"))
		back(ctx)
		shared.findsUnseen(ctx, s.set)
		s.losesOne(ctx, "web:evil")
		s.stranger.change(ctx, s.set, image("web:1"))
		shared.withholdsNothing(ctx, s.set)
		s.settles(ctx)
		shared.hasPods(ctx, s.ns, map[string]int{"web:1": 4})
	}, SpecTimeout(specTimeout))

	DescribeTable("is withheld whatever is done as soon as it is back:", func(ctx SpecContext, policies string, touch func(context.Context, *guarded)) {
		s := onDelete(ctx, policies)
		back := killed()
		s.stranger.change(ctx, s.set, image("web:evil"))
		back(ctx)
		touch(ctx, s)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.set), s.set)).To(Succeed())
			g.Expect(withheldOf(s.set)).To(ContainElement(HavePrefix("spec.template")),
				"at generation %d of %s, of which the record says: %+v", s.set.Generation, s.set.Annotations, shared.record(ctx, g, s.set).Status)
		}).WithTimeout(foundTimeout).Should(Succeed())
		s.losesOne(ctx, "web:evil")
	},
		Entry("a label", SpecTimeout(specTimeout), "unseen-label", func(ctx context.Context, s *guarded) {
			looks := 0
			Consistently(ctx, func() error {
				looks++
				return s.stranger.try(ctx, s.set, label("look", strconv.Itoa(looks)))
			}).WithTimeout(quietMoment).WithPolling(quietMoment / 4).Should(Succeed())
		}),
		Entry("another change, which is taken back", SpecTimeout(specTimeout), "unseen-other", func(ctx context.Context, s *guarded) {
			s.stranger.change(ctx, s.set, replicas(5))
			Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))
			s.stranger.change(ctx, s.set, replicas(4))
		}),
		Entry("another change of the same field, which is taken back", SpecTimeout(specTimeout), "unseen-same", func(ctx context.Context, s *guarded) {
			s.stranger.change(ctx, s.set,
				`{"spec":{"template":{"metadata":{"annotations":{"look":"again"}}}}}`, `{"spec":{"template":{"metadata":{"annotations":{"look":null}}}}}`)
		}),
		Entry("a change by who may", SpecTimeout(specTimeout), "unseen-owned", func(ctx context.Context, s *guarded) {
			s.owner.change(ctx, s.set, `{"spec":{"template":{"metadata":{"annotations":{"look":"again"}}}}}`)
		}),
	)

	It("is not scaled up by who may, in the middle of another rollout", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4).RollingUpdate("0", "2"))
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2, "web:" + unready: 2})
		shared.knows(ctx, d)
		back := killed()
		evil := "web:evil-" + unready
		stranger.change(ctx, d, image(evil))
		half := map[string]int{"web:1": 2, evil: 2}
		shared.hasPods(ctx, ns, half)
		back(ctx)
		shared.findsUnseen(ctx, d)

		By("scaling it")
		audit := shared.watch(ns)
		owner.change(ctx, d, replicas(8))
		Expect(owner.warned.take()).To(ContainSubstring("the change of spec.template by somebody"))
		audit.tries(ctx, deploymentController, "Deployment web")
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)[evil]).To(BeNumerically("<=", 2))
		}).WithTimeout(quietMoment).Should(Succeed())

		By("approving it")
		owner.change(ctx, d, approve("spec.template"))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)[evil]).To(BeNumerically(">", 2)) }).Should(Succeed())
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "4")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 8}))
	}, SpecTimeout(specTimeout))
})

// What nobody needs a right for is not withheld because nobody looked.
var _ = Describe("What goes on while the operator is away", alone, func() {
	It("is not withheld: annotations, scaling, status and other controllers", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.alice(), shared.mallory()
		all := map[string]*appsv1.Deployment{}
		for _, name := range []string{"annotated", "scaled", "autoscaled", "told", "alone"} {
			all[name] = owner.deploy(ctx, builders.MakeDeployment(ns, name).Replicas(2))
			shared.knows(ctx, all[name])
		}
		s := guard(ctx, "goes-on", func(*appsv1.StatefulSet) {})
		shared.knows(ctx, s.set)

		back := killed()
		stranger.change(ctx, all["annotated"], annotation("team", "theirs"), label("team", "theirs"))
		Expect(stranger.scale(ctx, all["scaled"], 3)).To(Succeed())
		Expect(shared.serviceAccount(autoscaler).scale(ctx, all["autoscaled"], 3)).To(Succeed())
		Expect(stranger.scale(ctx, s.set, 3)).To(Succeed())
		Expect(shared.Status().Patch(ctx, all["told"], client.RawPatch(types.MergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Told","status":"True"}]}}`)))).To(Succeed())
		Expect(members.Restart(ctx, string(controlplane.ControllerManager))).To(Succeed())
		for _, d := range all {
			shared.rolledOut(ctx, d)
		}
		back(ctx)

		for name, d := range all {
			By("having looked at what is " + name)
			shared.knows(ctx, d)
			shared.hasHeldNothing(ctx, d)
			owner.change(ctx, d, image(name+":2"))
		}
		for _, d := range all {
			shared.complete(ctx, d, "2")
		}
		shared.knows(ctx, s.set)
		shared.hasHeldNothing(ctx, s.set)
		s.owner.change(ctx, s.set, image("web:2"))
		s.settles(ctx)
	}, SpecTimeout(2*specTimeout))

	It("is not withheld where it has ended as the operator did", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		for i := range 3 {
			version := fmt.Sprintf("web:%d", i+2)
			owner.change(ctx, d, image(version))
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
			}).WithPolling(time.Millisecond).Should(Succeed())
			killed()(ctx)
			shared.complete(ctx, d, strconv.Itoa(i+2))
			shared.knows(ctx, d)
			shared.hasHeldNothing(ctx, d)
			Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{version: 2}))
		}
	}, SpecTimeout(2*specTimeout))

	It("is not withheld of a rollout that who may has just begun", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 22))
		var all []*appsv1.Deployment
		for i := range 4 {
			all = append(all, owner.deploy(ctx, builders.MakeDeployment(ns, fmt.Sprintf("web-%d", i)).Replicas(3)))
		}
		sets := guard(ctx, "just-begun", func(*appsv1.StatefulSet) {})
		for round := range 3 {
			audit := shared.watch(ns)
			for _, d := range all {
				owner.change(ctx, d, image(fmt.Sprintf("%s:%d", d.Name, round+2)))
			}
			sets.owner.change(ctx, sets.set, image(fmt.Sprintf("web:%d", round+2)))
			some := random.IntN(20)
			By(fmt.Sprintf("killing it after %d writes", some))
			Eventually(ctx, func() int { return len(audit.writes(byControllers)) }).WithPolling(time.Millisecond).Should(BeNumerically(">=", some))
			back := killed()
			back(ctx)
			for _, d := range all {
				shared.complete(ctx, d, strconv.Itoa(round+2))
			}
			sets.settles(ctx)
			for _, obj := range append(objectsOf(all), sets.set) {
				shared.knows(ctx, obj)
				shared.hasHeldNothing(ctx, obj)
			}
		}
	}, SpecTimeout(2*specTimeout))
})

// objectsOf returns Deployments as objects.
func objectsOf(all []*appsv1.Deployment) []client.Object {
	out := make([]client.Object, 0, len(all)+1)
	for _, d := range all {
		out = append(out, d)
	}
	return out
}
