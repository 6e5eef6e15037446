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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// leading is which of the replicas of a service lead, as their metrics say.
type leading map[string]*metrics.Scraper

// leading makes a leading.
func (c *cluster) leading(ctx context.Context, svc *service) leading {
	GinkgoHelper()
	out := leading{}
	for _, name := range svc.names {
		scraper, err := metrics.NewScraper(ctx, c.Client, svc.cp.MetricsURL(name), c.newNamespace(ctx))
		Expect(err).NotTo(HaveOccurred())
		out[name] = scraper
	}
	return out
}

// is reports whether a replica leads.
func (l leading) is(ctx context.Context, g Gomega, name string) bool {
	GinkgoHelper()
	all, err := l[name].Scrape(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return families(all).sum("leader_election_master_status") > 0
}

// one returns the replica that leads, and the other one.
func (l leading) one(ctx context.Context, svc *service) (leader, other string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		for i, name := range svc.names {
			if l.is(ctx, g, name) {
				leader, other = name, svc.names[1-i]
			}
		}
		g.Expect(leader).NotTo(BeEmpty(), "nobody leads")
	}).WithTimeout(foundTimeout).Should(Succeed())
	return leader, other
}

// kills ends replicas without warning. They are back when the spec ends.
func (s *service) kills(names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Expect(s.cp.Kill(name)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if !s.runs(name) {
				Expect(s.cp.Restart(ctx, name)).To(Succeed())
			}
		})
	}
}

// asksTheOther returns when the API server asks the replica that is left: what it was just asking the one that was
// killed passes, as policies ignore failures.
func (c *cluster) asksTheOther(ctx context.Context, ns string) {
	GinkgoHelper()
	const inARow = 10
	Eventually(ctx, func(g Gomega) {
		for range inARow {
			probe := builders.MakeDeployment(ns, "probe").Obj()
			g.Expect(c.alice().Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(probe.Annotations).To(HaveKey(v1alpha1.AnnotationAllowances))
		}
	}).Should(Succeed())
}

// runs reports whether a process of the control plane is there.
func (s *service) runs(name string) bool {
	for _, m := range s.cp.Status() {
		if m.Name == name {
			return m.Running
		}
	}
	return false
}

// tellLooked tells at which objects a leader has looked already: where the machine is slow, some of
// them show nothing.
func (c *cluster) tellLooked(ctx context.Context, objs ...*appsv1.Deployment) {
	GinkgoHelper()
	for _, obj := range objs {
		if phase := c.record(ctx, Default, obj).Status.Phase; phase != "" {
			GinkgoWriter.Println("a leader has looked at", obj.Name, "already:", phase)
		}
	}
}

// looked returns when a leader has looked at objects.
func (c *cluster) looked(ctx context.Context, objs ...*appsv1.Deployment) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		for _, obj := range objs {
			g.Expect(c.record(ctx, g, obj).Status.Phase).NotTo(BeEmpty(), obj.Name)
		}
	}).WithTimeout(2 * foundTimeout).Should(Succeed())
}

// adopting returns the names of what is recorded as adopting in a namespace.
func (c *cluster) adopting(ctx context.Context, g Gomega, ns string) []string {
	GinkgoHelper()
	list := &v1alpha1.AllowanceRecordList{}
	g.Expect(c.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	var names []string
	for i := range list.Items {
		if list.Items[i].Status.Adopting {
			names = append(names, list.Items[i].Spec.TargetRef.Name)
		}
	}
	return names
}

// succeeds has one replica judge what is made and changed after the other one, which led, was
// killed, and lead then. All of that was judged: nothing of it was made while nobody looked.
func (c *cluster) succeeds(ctx context.Context, svc *service) {
	GinkgoHelper()
	owner, stranger, ns := c.alice(), c.mallory(), c.newNamespace(ctx)
	led, _ := c.leading(ctx, svc).one(ctx, svc)
	svc.kills(led)
	c.asksTheOther(ctx, ns)

	By("making and changing objects while none leads")
	again := owner.deploy(ctx, builders.MakeDeployment(ns, "again").Replicas(2))
	scaled := owner.deploy(ctx, builders.MakeDeployment(ns, "scaled").Image("scaled:1").Replicas(1))
	owner.change(ctx, again, image("again:"+unready))
	Eventually(ctx, func(g Gomega) { g.Expect(c.scales(ctx, g, again)).To(HaveLen(2)) }).Should(Succeed())
	owner.change(ctx, scaled, image("scaled:"+unready))
	Expect(owner.scale(ctx, scaled, 3)).To(Succeed())
	young := builders.MakeDeployment(ns, "young").Image("young:" + unready).Obj()
	Expect(owner.Create(ctx, young)).To(Succeed())
	Eventually(ctx, func(g Gomega) { g.Expect(c.scales(ctx, g, young)).To(HaveLen(1)) }).Should(Succeed())
	c.tellLooked(ctx, again, scaled, young)

	By("the other one leading")
	c.looked(ctx, again, scaled, young)
	Expect(c.adopting(ctx, Default, ns)).To(BeEmpty())
	for _, d := range []*appsv1.Deployment{again, scaled} {
		for _, rs := range c.replicaSets(ctx, Default, d) {
			refuse(stranger.try(ctx, &rs, replicas(5)))
		}
	}

	By("going on with what was under way")
	for _, d := range []*appsv1.Deployment{again, scaled, young} {
		owner.change(ctx, d, image(d.Name+":2"))
	}
	c.complete(ctx, again, "3")
	c.complete(ctx, scaled, "3")
	c.complete(ctx, young, "2")
}

// comeBack has objects made and changed while no replica answers. One of them comes back twice, and is
// killed the first time; the second time it answers for a while before it leads. That it refuses and
// grants something then does not make an object one whose creation it was asked about.
func (c *cluster) comeBack(ctx context.Context, svc *service) {
	GinkgoHelper()
	owner, stranger, ns := c.alice(), c.mallory(), c.newNamespace(ctx)
	led, other := c.leading(ctx, svc).one(ctx, svc)
	svc.kills(led)
	c.asksTheOther(ctx, ns)
	web := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
	Eventually(ctx, func(g Gomega) { // With its digests, which come within two seconds.
		g.Expect(c.record(ctx, g, web).Status.Approved).To(HaveValue(HaveField("Generation", web.Generation)))
	}).Should(Succeed())
	c.tellLooked(ctx, web)
	svc.kills(other, string(controlplane.ControllerManager))

	By("making and changing objects while neither answers")
	made := map[string]*appsv1.Deployment{}
	for _, name := range []string{"bare", "refused", "patched", "scaled"} {
		made[name] = builders.MakeDeployment(ns, name).Replicas(2).Obj()
		Expect(stranger.Create(ctx, made[name])).To(Succeed())
	}
	stranger.change(ctx, web, image("web:stranger-"+unready))

	By("one of them being back, for a moment")
	Expect(svc.cp.Restart(ctx, other)).To(Succeed())
	Expect(svc.cp.Kill(other)).To(Succeed())
	Expect(svc.cp.Restart(ctx, other)).To(Succeed())

	By("it answering")
	owner.change(ctx, made["patched"], replicas(3))
	Expect(owner.scale(ctx, made["scaled"], 3)).To(Succeed())
	Expect(svc.cp.Restart(ctx, string(controlplane.ControllerManager))).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		// Where the machine is slow it leads already.
		status := c.record(ctx, g, made["refused"]).Status
		g.Expect(status.Denials > 0 || status.Adopting).To(BeTrue())
	}).WithTimeout(2 * foundTimeout).Should(Succeed())
	owner.change(ctx, made["refused"], replicas(3))

	By("it leading")
	c.findsUnseen(ctx, web)
	Expect(c.adopting(ctx, Default, ns)).NotTo(ContainElement("web"))
	Consistently(ctx, func(g Gomega) {
		g.Expect(c.pods(ctx, g, ns)).NotTo(HaveKey("web:stranger-" + unready))
	}).WithTimeout(quietMoment).Should(Succeed())
	for _, d := range made {
		c.rolledOut(ctx, d)
	}
	Eventually(ctx, func(g Gomega) { g.Expect(c.adopting(ctx, g, ns)).To(BeEmpty()) }).Should(Succeed())
	owner.change(ctx, web, image("web:2"), approve("*"))
	c.rolledOut(ctx, web)
}
