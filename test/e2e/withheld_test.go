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
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// What somebody writes who may not initiate stands, and nothing follows from it.
var _ = Describe("A change by a stranger", func() {
	const (
		imagePath = "spec.template.spec.containers[0].image"
		theirs    = "web:theirs"
	)
	var (
		ns       string
		audit    witness
		owner    *actor
		stranger *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, stranger = shared.alice(), shared.mallory()
	})

	// withhold makes a change in the stranger's name, and checks what is said
	// about it.
	withhold := func(ctx context.Context, d *appsv1.Deployment, p patch, path string) {
		GinkgoHelper()
		stranger.warned.take()
		stranger.change(ctx, d, p)
		Expect(stranger.warned.take()).To(SatisfyAll(
			ContainSubstring("withheld"),
			ContainSubstring(path),
			ContainSubstring(mallory+" may not initiate"),
			ContainSubstring(platformTeam),
			ContainSubstring("kubectl annotate"),
		))
		Expect(ledgerOf(Default, d, ledgerKey)).To(ContainElement(SatisfyAll(
			HaveField("Relation", v1alpha1.RelationWithheld),
			HaveField("Mutation", path),
			HaveField("Initiator", mallory),
		)))
	}
	// staysAt checks for some time that there are just these Pods, and that the
	// controller has tried to change that since it was last called.
	staysAt := func(ctx context.Context, d *appsv1.Deployment, pods map[string]int) {
		GinkgoHelper()
		Eventually(ctx, func() controlplane.AuditEvents {
			return audit.writes(controlplane.ByUser(deploymentController), controlplane.Refused(http.StatusForbidden))
		}).ShouldNot(BeEmpty(), "the controller did not even try")
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(Equal(pods))
		}).WithTimeout(quietMoment).Should(Succeed())
		for _, event := range audit.writes(controlplane.ByUser(deploymentController), controlplane.Refused(http.StatusForbidden)) {
			Expect(event.ResponseStatus.Message).To(ContainSubstring("by " + mallory + " is withheld"))
		}
		audit = shared.watch(ns)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
	}

	It("waits, and with it what an initiator does afterwards, until it is approved", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		withhold(ctx, d, replicas(7), "spec.replicas")
		staysAt(ctx, d, map[string]int{"web:1": 4})

		owner.change(ctx, d, image("web:2"))
		Expect(owner.warned.take()).To(ContainSubstring("the change of spec.replicas by " + mallory + " is withheld"))
		staysAt(ctx, d, map[string]int{"web:1": 4})

		owner.change(ctx, d, approve("spec.replicas"))
		Expect(d.Annotations).NotTo(HaveKey(v1alpha1.AnnotationApprove))
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 7}))
	}, SpecTimeout(specTimeout))

	It("is approved along with a change that allows the same", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		withhold(ctx, d, replicas(7), "spec.replicas")
		Expect(owner.update(ctx, d, func() {
			d.Spec.Template.Spec.Containers[0].Image = "web:2"
			d.Annotations[v1alpha1.AnnotationApprove] = "spec.replicas"
		})).To(Succeed())
		Expect(owner.warned.take()).To(BeEmpty())
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 7}))
		Expect(ledgerOf(Default, d, ledgerKey)).NotTo(ContainElement(HaveField("Relation", v1alpha1.RelationWithheld)))
	}, SpecTimeout(specTimeout))

	It("is not carried by a rollout that goes on, and goes when it is taken back", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(8))
		owner.change(ctx, d, image("web:"+unready))
		half := map[string]int{"web:1": 6, "web:" + unready: 4}
		Eventually(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(half)) }).Should(Succeed())

		withhold(ctx, d, replicas(10), "spec.replicas")
		staysAt(ctx, d, half)
		owner.change(ctx, d, image("web:2"))
		staysAt(ctx, d, half)

		stranger.change(ctx, d, replicas(8))
		Expect(stranger.warned.take()).To(BeEmpty())
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 8}))
	}, SpecTimeout(specTimeout))

	It("does not go out under the name of whoever rolls out at the time", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(8))
		owner.change(ctx, d, image("web:"+unready))
		half := map[string]int{"web:1": 6, "web:" + unready: 4}
		Eventually(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(half)) }).Should(Succeed())

		withhold(ctx, d, image(theirs), imagePath)
		staysAt(ctx, d, half)
		owner.change(ctx, d, replicas(10))
		staysAt(ctx, d, half)

		By("changing that field")
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": 10}))
	}, SpecTimeout(specTimeout))

	It("does not ride on a rollout that comes after it", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		withhold(ctx, d, image(theirs), imagePath)
		staysAt(ctx, d, map[string]int{"web:2": 4})
		owner.change(ctx, d, replicas(6))
		staysAt(ctx, d, map[string]int{"web:2": 4})

		By("approving all there is")
		owner.change(ctx, d, approve("*"))
		shared.complete(ctx, d, "3")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{theirs: 6}))
	}, SpecTimeout(specTimeout))

	It("keeps the value from before the first of two strangers, and goes when that is back", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		withhold(ctx, d, replicas(7), "spec.replicas")
		other := shared.as("trudy", developers)
		other.change(ctx, d, replicas(9))
		Expect(other.warned.take()).To(ContainSubstring("withheld"))
		Expect(ledgerOf(Default, d, ledgerKey)).To(ConsistOf(SatisfyAll(
			HaveField("Mutation", "spec.replicas"), HaveField("Content", Not(BeEmpty())), HaveField("Initiator", "trudy"),
		)))
		other.change(ctx, d, replicas(7))
		Expect(ledgerOf(Default, d, ledgerKey)).To(HaveLen(1), "it is not back at what it was before anybody")

		other.change(ctx, d, replicas(4))
		shared.complete(ctx, d, "1")
		owner.change(ctx, d, replicas(5))
		shared.complete(ctx, d, "1")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 5}))
	}, SpecTimeout(specTimeout))

	It("waits as long as any other of theirs is not approved", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		withhold(ctx, d, replicas(7), "spec.replicas")
		withhold(ctx, d, image(theirs), imagePath)
		owner.change(ctx, d, approve("spec.replicas"))
		Expect(owner.warned.take()).To(ContainSubstring("the change of " + imagePath + " by " + mallory + " is withheld"))
		staysAt(ctx, d, map[string]int{"web:1": 4})
		owner.change(ctx, d, approve(imagePath))
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{theirs: 7}))
	}, SpecTimeout(specTimeout))

	It("stays with its container when others come and go in front of it", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		withhold(ctx, d, image(theirs), imagePath)

		By("putting one with the replaced image in front")
		containers := d.DeepCopy().Spec.Template.Spec.Containers
		sidecar := containers[0]
		sidecar.Name, sidecar.Image = "sidecar", "web:1"
		set := func(who *actor, containers ...corev1.Container) {
			GinkgoHelper()
			Expect(who.update(ctx, d, func() { d.Spec.Template.Spec.Containers = containers })).To(Succeed())
		}
		withheldNow := func() (paths []string) {
			for _, a := range ledgerOf(Default, d, ledgerKey) {
				if a.Relation == v1alpha1.RelationWithheld {
					paths = append(paths, a.Mutation)
				}
			}
			return paths
		}
		set(stranger, sidecar, containers[0])
		Expect(withheldNow()).To(ConsistOf(
			"spec.template.spec.containers[0]", "spec.template.spec.containers[1].image"))
		staysAt(ctx, d, map[string]int{"web:1": 2})

		By("having an initiator take that one away")
		set(owner, containers[0])
		Expect(withheldNow()).To(ConsistOf(imagePath))
		staysAt(ctx, d, map[string]int{"web:1": 2})

		By("having an initiator put one in front")
		set(owner, sidecar, containers[0])
		Expect(withheldNow()).To(ConsistOf("spec.template.spec.containers[1].image"))
		staysAt(ctx, d, map[string]int{"web:1": 2})
	}, SpecTimeout(specTimeout))

	It("cannot be approved by another stranger", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		withhold(ctx, d, image(theirs), imagePath)
		stranger.change(ctx, d, approve("*"))
		Expect(stranger.warned.take()).To(ContainSubstring(mallory + " may not approve"))
		Expect(d.Annotations).NotTo(HaveKey(v1alpha1.AnnotationApprove))
		staysAt(ctx, d, map[string]int{"web:1": 4})
	}, SpecTimeout(specTimeout))

	It("is approved by an annotation that names one path", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		withhold(ctx, d, image(theirs), imagePath)
		out, err := owner.kubectl(ctx, "annotate", "-n", ns, "deployment", "web", v1alpha1.AnnotationApprove+"="+imagePath)
		Expect(err).NotTo(HaveOccurred(), out)
		shared.complete(ctx, d, "2")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{theirs: 4}))
	}, SpecTimeout(specTimeout))

	It("does not empty a Deployment that recreates, whoever scales it", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(10).Recreate())
		withhold(ctx, d, image(theirs), imagePath)
		staysAt(ctx, d, map[string]int{"web:1": 10})
		owner.change(ctx, d, replicas(12))
		staysAt(ctx, d, map[string]int{"web:1": 10})
		owner.change(ctx, d, image("web:1"))
		shared.complete(ctx, d, "1")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 12}))
	}, SpecTimeout(specTimeout))

	It("does not keep Pods from being replaced", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		withhold(ctx, d, image(theirs), imagePath)
		pod := shared.anyPod(ctx, ns)
		Expect(stranger.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(pod), pod))).To(BeTrue())
			g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 3}))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("is refused through the scale sub-resource, which could not say that it waits", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		out, err := stranger.kubectl(ctx, "scale", "-n", ns, "deployment/web", "--replicas=7")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(SatisfyAll(
			ContainSubstring("spec.replicas"), ContainSubstring(mallory+" may not initiate"), ContainSubstring(platformTeam)))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		Expect(d.Spec.Replicas).To(HaveValue(Equal(int32(4))))

		By("scaling as an autoscaler that may initiate")
		Expect(shared.serviceAccount(autoscaler).scale(ctx, d, 6)).To(Succeed())
		shared.complete(ctx, d, "1")
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 6}))
	}, SpecTimeout(specTimeout))

	It("goes on after its approval although the controller has given up", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		// What its objects show of policies is a change of them, too.
		shared.marked(ctx, d)
		withhold(ctx, d, image(theirs), imagePath)
		By("having the controller try as often as it does")
		for resting := false; !resting; {
			// It waits twice as long before each try, which takes minutes; but it also
			// tries whenever it sees a change.
			now := shared.tries(d)
			for ; now.again < maxRetries; now = shared.tries(d) {
				stranger.change(ctx, d, patch(fmt.Sprintf(`{"metadata":{"labels":{"look":"again-%d"}}}`, now.all)))
				Eventually(ctx, func() int { return shared.tries(d).all }).WithPolling(10 * time.Millisecond).Should(BeNumerically(">", now.all))
			}
			// The last try is one that it waits for by now: one that it still waits for
			// as it gives up has it begin anew.
			Eventually(ctx, func() int { return shared.tries(d).gaveUp }).WithTimeout(longestWait).Should(BeNumerically(">", now.gaveUp), "the controller still tries")
			now = shared.tries(d)
			staysAt(ctx, d, map[string]int{"web:1": 4})
			resting = shared.tries(d) == now
		}
		Expect(d.Status.Conditions).To(ContainElement(SatisfyAll(
			HaveField("Type", appsv1.DeploymentConditionType(v1alpha1.ConditionBlocked)),
			HaveField("Message", ContainSubstring(imagePath)),
		)))
		owner.change(ctx, d, approve(imagePath))
		shared.complete(ctx, d, "2")
		Expect(d.Status.Conditions).NotTo(ContainElement(HaveField("Type", appsv1.DeploymentConditionType(v1alpha1.ConditionBlocked))))
	}, SpecTimeout(5*time.Minute))
})

// maxRetries is how often the Deployment controller tries again what has failed, before
// it gives up.
const maxRetries = 15

// longestWait is enough for the wait before the last of them: 5 ms, doubled 14 times.
const longestWait = 2 * time.Minute

// tries is how often the Deployment controller was not allowed to do what a Deployment
// asks for.
type tries struct {
	// all of them.
	all int
	// again is after how many, since it gave up, it meant to try again.
	again int
	// gaveUp is after how many it did not mean to try again.
	gaveUp int
}

// tries reads in the log of the Deployment controller.
func (c *cluster) tries(d *appsv1.Deployment) (t tries) {
	GinkgoHelper()
	log, err := os.ReadFile(c.ControllerManagerLog)
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(log)) {
		switch {
		case !strings.Contains(line, fmt.Sprintf("deployment=%q", client.ObjectKeyFromObject(d))):
		case t.all == 0 && !strings.Contains(line, "denied the request"):
			// A conflict, of which the next try made an end: the controller starts to
			// count again after each that succeeds, and its log does not tell of those.
		case strings.Contains(line, "Error syncing deployment"):
			t.all++
			t.again++
		case strings.Contains(line, "Dropping deployment out of the queue"):
			t.all++
			t.gaveUp++
			t.again = 0
		}
	}
	return t
}
