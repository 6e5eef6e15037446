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
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// What nobody caused is denied, whoever tries it and by whatever request.
var _ = Describe("A change of a ReplicaSet that nothing covers", func() {
	var (
		ns    string
		audit witness
		d     *appsv1.Deployment
		rs    *appsv1.ReplicaSet
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		d = shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		rs = shared.newestReplicaSet(ctx, d)
		audit = shared.watch(ns)
	})

	const controller, initiator = "the controller, acting on nothing", "an initiator of another kind"
	attempts := []struct {
		how string
		// path is what the message names.
		path string
		try  func(SpecContext, *actor) error
		// not are who is let: RBAC does not let the controller scale so, and who
		// may use the allowances of a parent may let go of its children (D5).
		not []string
	}{
		{"a patch", "spec.replicas", func(ctx SpecContext, who *actor) error { return who.try(ctx, rs, replicas(9)) }, nil},
		{"an update", "spec.replicas", func(ctx SpecContext, who *actor) error {
			return who.update(ctx, rs, func() { rs.Spec.Replicas = new(int32(9)) })
		}, nil},
		{"its scale", "spec.replicas", func(ctx SpecContext, who *actor) error { return who.scale(ctx, rs, 9) }, []string{controller}},
		{"a deletion", "deletion", func(ctx SpecContext, who *actor) error { return who.Delete(ctx, rs) }, nil},
		{"letting go of it", "metadata.ownerReferences", func(ctx SpecContext, who *actor) error {
			return who.try(ctx, rs, patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, d.UID)))
		}, []string{controller, initiator}},
	}
	people := []struct {
		whom string
		are  func() *actor
	}{
		{"a person", func() *actor { return shared.mallory() }},
		{initiator, func() *actor { return shared.alice() }},
		{"another service account", func() *actor { return shared.serviceAccount(serviceaccount.MakeUsername(ns, "default")) }},
		{"a person with all rights", func() *actor { return shared.as("root", "system:masters") }},
		{controller, func() *actor { return shared.serviceAccount(deploymentController) }},
	}
	for _, people := range people {
		for _, attempt := range attempts {
			if slices.Contains(attempt.not, people.whom) {
				continue
			}
			It(fmt.Sprintf("is denied: %s by %s", attempt.how, people.whom), func(ctx SpecContext) {
				err := attempt.try(ctx, people.are())
				Expect(err).To(MatchError(denied, "denied"))
				helps := ContainSubstring(platformTeam)
				if attempt.path != "spec.replicas" {
					helps = ContainSubstring("no rule allows that, whatever changes. It takes another rule")
				}
				Expect(err).To(MatchError(SatisfyAll(
					ContainSubstring(attempt.path),
					ContainSubstring("ReplicaSet "+rs.Name),
					ContainSubstring("AllowancePolicy deployment"),
					ContainSubstring("Deployment web"),
					helps,
					ContainSubstring("kubectl"),
				)))
				live := &appsv1.ReplicaSet{}
				Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), live)).To(Succeed())
				Expect(live.Generation).To(Equal(rs.Generation))
				Expect(live.OwnerReferences).To(Equal(rs.OwnerReferences))
				Expect(live.DeletionTimestamp).To(BeNil())
			}, SpecTimeout(specTimeout))
		}
	}

	It("leaves what waits for something else as it is, where a person tries it once", func(ctx SpecContext) {
		shared.alice().change(ctx, d, image("web:"+unready))
		Eventually(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(HaveKey("web:" + unready)) }).Should(Succeed())
		Expect(shared.mallory().scale(ctx, rs, 9)).To(MatchError(denied, "denied"))
		Expect(shared.alice().Delete(ctx, rs)).To(MatchError(denied, "denied"))
		shows := func(g Gomega) []string {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			var out []string
			for _, c := range d.Status.Conditions {
				out = append(out, string(c.Type))
			}
			return out
		}
		// The API server asks twice about a deletion that it judges by what it has cached first.
		var denials int64
		Eventually(ctx, func(g Gomega) {
			status := shared.record(ctx, g, d).Status
			g.Expect(status).To(SatisfyAll(HaveField("Blocked", BeNil()), HaveField("LastDenial.User", alice)))
			g.Expect(status.Denials).To(And(BeNumerically(">=", 2), Equal(status.AnsweredDenials)))
			denials = status.Denials
		}).Should(Succeed())
		Consistently(ctx, func(g Gomega) { g.Expect(shows(g)).NotTo(ContainElement(v1alpha1.ConditionBlocked)) }).WithTimeout(quietMoment).Should(Succeed())

		By("being tried by a controller, which tries again")
		controller := shared.serviceAccount(deploymentController)
		Expect(controller.Delete(ctx, rs)).To(MatchError(denied, "denied"))
		Expect(shared.mallory().scale(ctx, rs, 9)).To(MatchError(denied, "denied"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, d).Status).To(SatisfyAll(HaveField("Denials", BeNumerically(">=", denials+2)),
				HaveField("Blocked.User", deploymentController), HaveField("LastDenial.User", deploymentController)))
			g.Expect(shows(g)).To(ContainElement(v1alpha1.ConditionBlocked))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("says how to go on, and the audit log and an event keep it", func(ctx SpecContext) {
		err := shared.serviceAccount(deploymentController).try(ctx, rs, replicas(9))
		Expect(err).To(MatchError(denied, "denied"))

		By("running the command that the message ends with")
		command := regexp.MustCompile(`Details: kubectl (.*)$`).FindStringSubmatch(err.Error())
		Expect(command).To(HaveLen(2), err.Error())
		Eventually(ctx, func(g Gomega) {
			out, err := shared.kubectl(ctx, strings.Fields(command[1])...)
			g.Expect(err).NotTo(HaveOccurred(), out)
			g.Expect(out).To(ContainSubstring("result: Denied"))
		}).Should(Succeed())

		By("reading the audit log")
		denied := audit.writes(controlplane.OfResource("apps", "replicasets"), controlplane.Refused(http.StatusForbidden))
		Expect(denied).To(HaveLen(1))
		Expect(denied[0].Annotations).To(SatisfyAll(
			HaveKeyWithValue(auditReason, "Denied"),
			HaveKeyWithValue(auditParent, "Deployment/web"),
			HaveKeyWithValue(auditPolicies, "deployment"),
		))

		By("looking for the events")
		about := func(kind string, obj client.Object) OmegaMatcher {
			return SatisfyAll(
				HaveField("Type", "Warning"),
				HaveField("Regarding.Kind", kind),
				HaveField("Regarding.Name", obj.GetName()),
				HaveField("Regarding.UID", obj.GetUID()),
				HaveField("Note", ContainSubstring("ReplicaSet "+rs.Name)),
			)
		}
		Eventually(ctx, func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(ns), client.MatchingFields{"reason": "Denied"})).To(Succeed())
			g.Expect(events.Items).To(ConsistOf(about("Deployment", d), about("ReplicaSet", rs)))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("is denied in a dry run too, and leaves no trace then", func(ctx SpecContext) {
		err := shared.mallory().Patch(ctx, rs, client.RawPatch(types.MergePatchType, []byte(replicas(9))), client.DryRunAll)
		Expect(err).To(MatchError(denied, "denied"))
		shared.recorded(ctx, d)
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, d).Status.Denials).To(BeZero())
		}).WithTimeout(quietMoment).Should(Succeed())

		By("writing down what was none, which would have been written down with what another one tries")
		Expect(shared.as("root", "system:masters").try(ctx, rs, replicas(9))).To(MatchError(denied, "denied"))
		history := func(g Gomega) []v1alpha1.HistoryEntry { return shared.record(ctx, g, d).Status.History }
		by := func(user string) OmegaMatcher {
			return ContainElement(And(HaveField("Event", v1alpha1.EventDenied), HaveField("User", user)))
		}
		Eventually(ctx, history).Should(by("root"))
		Expect(history(Default)).NotTo(by(stage.MalloryName))
	}, SpecTimeout(specTimeout))

	It("is the creation of one, too", func(ctx SpecContext) {
		forged := &appsv1.ReplicaSet{Spec: *rs.Spec.DeepCopy()}
		forged.Namespace, forged.Name, forged.OwnerReferences = ns, "web-forged", rs.OwnerReferences
		forged.Labels = rs.Labels
		err := shared.mallory().Create(ctx, forged)
		Expect(err).To(MatchError(denied, "denied"))
		Expect(err).To(MatchError(ContainSubstring("creation of ReplicaSet web-forged")))
	}, SpecTimeout(specTimeout))

	It("is the deletion of a Pod, unless its controller replaces it or somebody evicts it", func(ctx SpecContext) {
		pod := shared.anyPod(ctx, ns)
		err := shared.mallory().Delete(ctx, pod)
		Expect(err).To(MatchError(denied, "denied"))
		Expect(err).To(MatchError(SatisfyAll(
			ContainSubstring("deletion of Pod "+pod.Name),
			ContainSubstring("ReplicaSet "+rs.Name),
			ContainSubstring("AllowancePolicy replicaset"),
			ContainSubstring("whose allowances mallory may not use"),
			MatchRegexp("Group "+platformTeam+"[^.]* may do it\\."),
			Not(ContainSubstring("kubectl annotate")),
		)))
		out, err := shared.as("root", "system:masters").kubectl(ctx, "drain", pod.Spec.NodeName, "--pod-selector=app=web", "--ignore-daemonsets", "--force", "--timeout=30s")
		DeferCleanup(func(ctx SpecContext) {
			out, err := shared.kubectl(ctx, "uncordon", pod.Spec.NodeName)
			Expect(err).NotTo(HaveOccurred(), out)
		})
		Expect(err).NotTo(HaveOccurred(), out)
		shared.complete(ctx, d, "1")
		Expect(audit.refusals()).To(BeEmpty())
	}, alone, SpecTimeout(specTimeout))

	It("is what a debugger adds to a Pod, which no rule would allow, and no reason can go with", func(ctx SpecContext) {
		pod := shared.anyPod(ctx, ns)
		debug := func(who *actor) error {
			return who.SubResource("ephemeralcontainers").Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType,
				[]byte(`{"metadata":{"annotations":{"pod.`+v1alpha1.AnnotationBreakGlass+`":"INC-42"}},`+
					`"spec":{"ephemeralContainers":[{"name":"debugger","image":"busybox"}]}}`)))
		}
		for _, who := range []*actor{shared.as(alice, platformTeam, "system:masters"), shared.as("root", "system:masters")} {
			err := debug(who)
			Expect(err).To(MatchError(denied, "denied"))
			Expect(err).To(MatchError(SatisfyAll(
				ContainSubstring("spec.ephemeralContainers of Pod "+pod.Name),
				ContainSubstring("no rule allows that, whatever changes. It takes another rule. Details"),
			)))
			Expect(who.warned.take()).NotTo(ContainSubstring("glass"))
		}
		Eventually(ctx, func(g Gomega) {
			out, err := shared.as("root", "system:masters").kausality(ctx, ns, "why", "pod/"+pod.Name)
			g.Expect(err).NotTo(HaveOccurred(), out)
			g.Expect(out).To(SatisfyAll(ContainSubstring("whatever changes"), Not(ContainSubstring("glass"))))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("leaves what is nobody's child alone", func(ctx SpecContext) {
		alone := &appsv1.ReplicaSet{Spec: *rs.Spec.DeepCopy()}
		alone.Namespace, alone.Name, alone.Labels = ns, "alone", map[string]string{"app": "alone"}
		alone.Spec.Selector.MatchLabels = alone.Labels
		alone.Spec.Template.Labels = alone.Labels
		who := shared.mallory()
		Expect(who.Create(ctx, alone)).To(Succeed())
		who.change(ctx, alone, replicas(5))
		Expect(who.Delete(ctx, alone)).To(Succeed())
	}, SpecTimeout(specTimeout))
})
