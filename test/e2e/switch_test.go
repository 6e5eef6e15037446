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
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// switchedWithin is how soon nothing is intercepted any more once the switch is gone.
const switchedWithin = 5 * time.Second

// switchedOff deletes the installed configuration, and returns how to install it as before. What stamps
// UpgradeAllowances goes with it, and comes back with it.
func (c *cluster) switchedOff(ctx context.Context) (back func(context.Context)) {
	GinkgoHelper()
	own, stamping := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	Expect(c.Get(ctx, client.ObjectKey{Name: ownConfiguration}, own)).To(Succeed())
	Expect(c.Get(ctx, client.ObjectKey{Name: stampConfiguration}, stamping)).To(Succeed())
	Expect(c.Delete(ctx, own)).To(Succeed())
	return func(ctx context.Context) {
		GinkgoHelper()
		own.ResourceVersion, own.UID = "", ""
		Expect(c.Create(ctx, own)).To(Succeed())
		stamping.ResourceVersion, stamping.UID, stamping.OwnerReferences = "", "", nil
		Eventually(ctx, func() error { return c.Create(ctx, stamping.DeepCopy()) }).WithTimeout(switchedWithin).Should(Succeed())
	}
}

// The installed configuration is the master switch: without it nothing is intercepted, whether
// somebody is there to answer or not (D10).
var _ = Describe("The master switch", Ordered, func() {
	var (
		c  *cluster
		cp *controlplane.ControlPlane
		op *controlplane.Operator
	)
	BeforeAll(func(ctx SpecContext) {
		cp, op = startCluster(ctx, controlplane.Options{})
		c = connect(cp)
		c.applySamplePolicies(ctx)
	}, NodeTimeout(startTimeout))

	// switchOff deletes the installed configuration, and switchOn installs it as before.
	var back func(context.Context)
	switchOff := func(ctx context.Context) { back = c.switchedOff(ctx) }
	switchOn := func(ctx context.Context) { back(ctx) }
	// rendered is what the operator has rendered.
	rendered := func() []client.Object {
		return []client.Object{
			&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
			&admissionregistrationv1.MutatingAdmissionPolicy{}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{},
		}
	}
	isOff := func(ctx context.Context) func(Gomega) {
		return func(g Gomega) {
			for _, name := range []string{stampConfiguration, interception.CausesName("")} {
				g.Expect(c.Get(ctx, client.ObjectKey{Name: name}, &admissionregistrationv1.MutatingWebhookConfiguration{})).To(Satisfy(apierrors.IsNotFound))
			}
			for _, object := range rendered() {
				g.Expect(c.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, object)).To(Satisfy(apierrors.IsNotFound))
			}
		}
	}
	enforced := func(ctx context.Context, reason string) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			for _, conditions := range c.saidOfPolicies(ctx) {
				g.Expect(conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionEnforced), HaveField("Reason", reason))))
			}
		}).WithTimeout(effectTimeout).Should(Succeed())
	}

	It("ends all interception within seconds, under load, and stays off until it is installed again", func(ctx SpecContext) {
		ns := c.newNamespace(ctx)
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		rs := c.newestReplicaSet(ctx, d)
		load := c.pester(ctx, rs)
		Eventually(load.count).Should(BeNumerically(">", 2*burst))

		switchOff(ctx)
		gone := time.Now()
		Eventually(ctx, func() error {
			return c.mallory().try(ctx, rs.DeepCopy(), replicas(9), client.DryRunAll)
		}).WithTimeout(switchedWithin).Should(Succeed())
		Eventually(ctx, isOff(ctx)).WithTimeout(switchedWithin).Should(Succeed())
		GinkgoWriter.Println("nothing is intercepted after", time.Since(gone))
		enforced(ctx, v1alpha1.ReasonSwitchedOff)
		Consistently(ctx, isOff(ctx)).WithTimeout(quietMoment).Should(Succeed())
		Expect(load.end()).To(BeEmpty(), "neither refused by a decision nor let through")

		By("rolling out what a stranger changes, and writing policies, as if there was no operator")
		c.mallory().change(ctx, d, image("web:2"))
		c.complete(ctx, d, "2")
		Expect(c.Create(ctx, thingPolicy("load.example.org", "any"), client.DryRunAll)).To(Succeed())

		By("installing it again")
		switchOn(ctx)
		enforced(ctx, v1alpha1.ReasonEnforced)
		Eventually(ctx, func() error {
			return c.mallory().try(ctx, rs.DeepCopy(), replicas(9), client.DryRunAll)
		}).WithTimeout(effectTimeout).Should(Satisfy(apierrors.IsForbidden))
		c.alice().change(ctx, d, image("web:3"))
		c.complete(ctx, d, "3")
	}, SpecTimeout(specTimeout))

	It("has what was changed meanwhile, and is carried out by half, withheld once it is on again", func(ctx SpecContext) {
		ns := c.newNamespace(ctx)
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		c.knows(ctx, d)
		switchOff(ctx)
		Eventually(ctx, isOff(ctx)).WithTimeout(switchedWithin).Should(Succeed())
		c.mallory().change(ctx, d, image("web:"+unready))
		Eventually(ctx, func(g Gomega) { g.Expect(c.pods(ctx, g, ns)).To(HaveKey("web:" + unready)) }).Should(Succeed())

		By("installing it again")
		switchOn(ctx)
		enforced(ctx, v1alpha1.ReasonEnforced)
		c.findsUnseen(ctx, d)
		c.alice().change(ctx, d, replicas(6))
		Consistently(ctx, func(g Gomega) {
			g.Expect(c.pods(ctx, g, ns)).To(HaveKeyWithValue("web:"+unready, 1))
		}).WithTimeout(quietMoment).Should(Succeed())

		By("being taken back")
		c.alice().change(ctx, d, image("web:1"))
		c.withholdsNothing(ctx, d)
	}, SpecTimeout(specTimeout))

	It("is said to be off in effect where what was rendered cannot be put back", func(ctx SpecContext) {
		role := &rbacv1.ClusterRole{}
		Expect(c.Get(ctx, client.ObjectKey{Name: "kausality-manager-role"}, role)).To(Succeed())
		rules := role.DeepCopy().Rules
		for i := range role.Rules {
			if slices.Contains(role.Rules[i].Resources, "mutatingwebhookconfigurations") {
				role.Rules[i].Verbs = []string{"get", "list", "watch"}
			}
		}
		Expect(c.Update(ctx, role)).To(Succeed())
		hooks := &admissionregistrationv1.MutatingWebhookConfiguration{}
		hooks.Name = interception.DefaultName
		Expect(c.Delete(ctx, hooks)).To(Succeed())
		enforced(ctx, v1alpha1.ReasonNotIntercepted)
		Eventually(ctx, func(g Gomega) {
			list := &eventsv1.EventList{}
			g.Expect(c.List(ctx, list)).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(
				HaveField("Regarding.Kind", "AllowancePolicy"), HaveField("Reason", v1alpha1.ReasonNotIntercepted), HaveField("Type", "Warning"),
			)))
		}).WithTimeout(effectTimeout).Should(Succeed())

		By("giving the right back")
		role.Rules = rules
		Expect(c.Update(ctx, role)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			for _, conditions := range c.saidOfPolicies(ctx) {
				g.Expect(conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionEnforced), HaveField("Status", metav1.ConditionTrue))))
			}
		}).WithTimeout(foundTimeout + effectTimeout).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("takes webhooks along that nobody answers", func(ctx SpecContext) {
		ns := c.newNamespace(ctx)
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		for _, p := range c.samplePolicies(ctx) {
			Expect(c.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"failurePolicy":"Fail"}}`)))).To(Succeed())
			c.enforced(ctx, p, effectTimeout)
		}
		Expect(op.Kill()).To(Succeed())
		Expect(c.alice().try(ctx, d.DeepCopy(), image("web:2"))).To(MatchError(ContainSubstring("failed calling webhook")))

		switchOff(ctx)
		gone := time.Now()
		Eventually(ctx, func() error { return c.mallory().try(ctx, d.DeepCopy(), image("web:2")) }).WithTimeout(switchedWithin).Should(Succeed())
		Eventually(ctx, isOff(ctx)).WithTimeout(switchedWithin).Should(Succeed())
		GinkgoWriter.Println("nothing is intercepted after", time.Since(gone))
		c.complete(ctx, d, "2")

		By("an operator that is started again leaving it off")
		Expect(op.Restart(ctx)).To(Succeed())
		enforced(ctx, v1alpha1.ReasonSwitchedOff)
		Consistently(ctx, isOff(ctx)).WithTimeout(quietMoment).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("has gone, and what is left on objects can be taken back", func(ctx SpecContext) {
		switchOn(ctx)
		enforced(ctx, v1alpha1.ReasonEnforced)
		ns := c.newNamespace(ctx)
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		c.marked(ctx, d)
		c.alice().change(ctx, d, image("web:"+unready))
		c.mallory().change(ctx, d, replicas(7))
		Eventually(ctx, func(g Gomega) {
			g.Expect(c.Remains(ctx, g)).To(ContainElement(ContainSubstring("kausality.io/approved")))
		}).Should(Succeed())
		admin := c.as("admin", "system:masters")

		By("keeping what policies want")
		out, err := admin.kausality(ctx, ns, "remove", "--yes")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("--delete-policies"))
		out, err = admin.kausality(ctx, ns, "remove")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("not confirmed"))

		By("having a policy that deletes with it what it made")
		made := c.newGenerated(ctx, madeFromTrigger, "")
		Expect(made.owner.Create(ctx, configMap(made.ns, "trigger", "one"))).To(Succeed())
		Eventually(made.made).WithContext(ctx).Should(Equal("one"))
		ended := c.newGenerated(ctx, madeFromTrigger, "")

		By("with an operator that has died")
		Expect(op.Kill()).To(Succeed())
		Expect(ended.owner.Delete(ctx, ended.policy)).To(Succeed())
		Expect(c.Get(ctx, client.ObjectKeyFromObject(ended.policy), ended.policy)).To(Succeed(), "nobody lets it go")
		out, err = admin.kausality(ctx, ns, "remove", "--yes", "--delete-policies", "--timeout=1s")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("kubectl delete validatingwebhookconfigurations " + ownConfiguration))
		switchOff(ctx)
		Eventually(ctx, isOff(ctx)).WithTimeout(switchedWithin).Should(Succeed())

		By("looking, and taking it back")
		// The namespaces of other specs may be going meanwhile.
		here := func(g Gomega) []string {
			return slices.DeleteFunc(c.Remains(ctx, g), func(what string) bool { return !strings.Contains(what, " "+ns+"/") })
		}
		var before []string
		Eventually(ctx, func(g Gomega) { before = here(g) }).Should(Succeed())
		Expect(before).NotTo(BeEmpty())
		out, err = admin.kausality(ctx, ns, "remove", "--dry-run")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(And(ContainSubstring("Deployment.apps/web"), ContainSubstring(v1alpha1.ConditionAffected), ContainSubstring("ReplicaSet.apps/")))
		Expect(here(Default)).To(ConsistOf(before))
		began := time.Now()
		out, err = admin.kausality(ctx, ns, "remove", "--yes")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("2 GeneratingPolicies are there"))
		out, err = admin.kausality(ctx, ns, "remove", "--yes", "--delete-policies")
		Expect(err).NotTo(HaveOccurred(), out)
		var policies v1alpha1.GeneratingPolicyList
		Expect(c.List(ctx, &policies)).To(Succeed())
		Expect(policies.Items).To(BeEmpty())
		left := configMap(made.in, "made", "")
		Expect(c.Get(ctx, client.ObjectKeyFromObject(left), left)).To(Succeed())
		Expect(left.Data).To(HaveKeyWithValue("key", "one"))
		Expect(left.Labels).NotTo(HaveKey(v1alpha1.LabelGeneratedBy))
		// What the spec has given the account has a label that people set.
		Expect(c.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "generate-for-tests"}})).To(Succeed())
		GinkgoWriter.Println("taken back in", time.Since(began), out)
		Consistently(ctx, func(g Gomega) { g.Expect(c.Remains(ctx, g)).To(BeEmpty()) }).WithTimeout(quietMoment).Should(Succeed())
		Expect(admin.kausality(ctx, ns, "remove", "--dry-run")).To(ContainSubstring("Nothing is left"))

		By("going on as without it")
		c.mallory().change(ctx, d, image("web:2"))
		c.rolledOut(ctx, d)
	}, SpecTimeout(specTimeout))
})

// pestering is many requests at a time that a policy refuses.
type pestering struct {
	stop chan struct{}
	all  sync.WaitGroup

	mu     sync.Mutex
	asked  int
	failed []error
}

// pester has a stranger scale a ReplicaSet all the time, in dry runs, until the end of the spec.
func (c *cluster) pester(ctx context.Context, rs *appsv1.ReplicaSet) *pestering {
	GinkgoHelper()
	p, stranger := &pestering{stop: make(chan struct{})}, c.mallory()
	for range burst {
		p.all.Go(func() {
			ticker := time.NewTicker(burstInterval)
			defer ticker.Stop()
			for {
				select {
				case <-p.stop:
					return
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				err := stranger.try(ctx, rs.DeepCopy(), replicas(9), client.DryRunAll)
				p.mu.Lock()
				p.asked++
				if err != nil && !apierrors.IsForbidden(err) {
					p.failed = append(p.failed, err)
				}
				p.mu.Unlock()
			}
		})
	}
	return p
}

func (p *pestering) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// end ends the requests, and returns the errors of those that failed without a decision.
func (p *pestering) end() []error {
	close(p.stop)
	p.all.Wait()
	return p.failed
}
