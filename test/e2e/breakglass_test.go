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
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Who is on call may let one request through, with a reason that is recorded (D13).
var _ = Describe("Breaking the glass", func() {
	const (
		reason = "INC-42, the shop is down"
		also   = `"replicaset.kausality.io/break-glass"`
	)
	var (
		ns    string
		audit witness
		d     *appsv1.Deployment
		bob   *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		d = shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		bob = shared.glassBreaker(ctx, ns)
		audit = shared.watch(ns)
	})

	It("lets through one request, and says so everywhere", func(ctx SpecContext) {
		pod := shared.anyPod(ctx, ns)
		broken := patch(`{"metadata":{"annotations":{"pod.` + v1alpha1.AnnotationBreakGlass + `":"` + reason + `"}},` +
			`"spec":{"containers":[{"name":"` + builders.Container + `","image":"broken.example.org/glass"}]}}`)

		By("trying it without the right")
		mallory := shared.mallory()
		err := mallory.try(ctx, pod, broken)
		Expect(err).To(MatchError(denied, "denied"))
		Expect(mallory.warned.take()).To(ContainSubstring("mallory may not break the glass of Pod " + pod.Name))

		By("trying it as a dry run")
		dry := pod.DeepCopy()
		Expect(bob.Patch(ctx, dry, client.RawPatch(types.StrategicMergePatchType, []byte(broken)), client.DryRunAll)).To(Succeed())

		By("doing it")
		bob.warned.take()
		bob.change(ctx, pod, broken)
		Expect(bob.warned.take()).To(ContainSubstring("the glass is broken"))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Spec.Containers[0].Image).To(Equal("broken.example.org/glass"))
		Expect(pod.Annotations).NotTo(HaveKey("pod." + v1alpha1.AnnotationBreakGlass))

		By("doing something else")
		err = bob.try(ctx, pod, `{"spec":{"activeDeadlineSeconds":86400}}`)
		Expect(err).To(MatchError(denied, "denied"))

		By("reading what was recorded")
		rs := shared.newestReplicaSet(ctx, d)
		done := audit.writes(controlplane.OfResource("", "pods"), controlplane.ByUser("bob"), controlplane.Succeeded)
		Expect(done).To(HaveLen(1))
		Expect(done[0].Annotations).To(SatisfyAll(
			HaveKeyWithValue(auditReason, "BreakGlass"),
			HaveKeyWithValue(auditParent, "ReplicaSet/"+rs.Name),
			HaveKeyWithValue("verdict.kausality.io/break-glass", reason),
		))
		Eventually(ctx, func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(ns))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(SatisfyAll(
				HaveField("Reason", "BreakGlass"),
				HaveField("Regarding.Name", rs.Name),
				HaveField("Note", SatisfyAll(ContainSubstring("bob"), ContainSubstring("Pod "+pod.Name), ContainSubstring(reason))),
			)))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("carries a change of a Deployment through to its Pods", func(ctx SpecContext) {
		bob.change(ctx, d, patch(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationBreakGlass+`":"`+reason+`"}},`+
			`"spec":{"template":{"spec":{"containers":[{"name":"`+builders.Container+`","image":"fixed.example.org/app"}]}}}}`))
		Expect(bob.warned.take()).To(ContainSubstring("what follows from this change of Deployment web is allowed"))
		shared.complete(ctx, d, "2")
		Expect(audit.refusals()).To(BeEmpty())
		Expect(d.Annotations).NotTo(HaveKey(v1alpha1.AnnotationBreakGlass))
		Expect(audit.tracesOf(controlplane.OfResource("", "pods"), byControllers)).To(ContainElement(
			SatisfyAll(HavePrefix("bob "), ContainSubstring("(breakglass)"), ContainSubstring(reason))))

		By("reading what was recorded")
		done := audit.writes(controlplane.OfResource("apps", "deployments"), controlplane.ByUser("bob"), controlplane.Succeeded)
		Expect(done).To(HaveLen(1))
		Expect(done[0].Annotations).To(SatisfyAll(
			HaveKeyWithValue(auditReason, "BreakGlass"), HaveKeyWithValue("verdict.kausality.io/break-glass", reason),
		))
		told := SatisfyAll(ContainSubstring("spec.template"), ContainSubstring("Deployment web"), ContainSubstring(reason))
		Eventually(ctx, func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(shared.List(ctx, &events, client.InNamespace(ns))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(SatisfyAll(
				HaveField("Reason", "BreakGlass"), HaveField("Regarding.Kind", "Deployment"), HaveField("Regarding.Name", "web"),
				HaveField("Note", SatisfyAll(HavePrefix("bob broke the glass"), told)),
			)))
			g.Expect(shared.record(ctx, g, d).Status.History).To(ContainElement(SatisfyAll(
				HaveField("Event", v1alpha1.EventBreakGlass), HaveField("User", "bob"), HaveField("Message", told),
			)))
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("does not release what was made before, and says what does", func(ctx SpecContext) {
		image := func(annotations, image string) patch {
			return patch(`{"metadata":{"annotations":{` + annotations + `}},` +
				`"spec":{"template":{"spec":{"containers":[{"name":"` + builders.Container + `","image":"` + image + `"}]}}}}`)
		}
		before := d.Spec.Template.Spec.Containers[0].Image
		broken := `"` + v1alpha1.AnnotationBreakGlass + `":"` + reason + `"`
		bob.change(ctx, d, image("", "fixed.example.org/app"))
		Expect(bob.warned.take()).To(ContainSubstring("is withheld"))
		bob.change(ctx, d, image(broken, "fixed.example.org/app"))
		Expect(bob.warned.take()).To(SatisfyAll(
			ContainSubstring("no glass had to be broken"),
			ContainSubstring("by bob is withheld: take that back, and make it again with the annotation in the same request"),
		))
		bob.change(ctx, d, image("", before))
		bob.change(ctx, d, image(broken, "fixed.example.org/app"))
		Expect(bob.warned.take()).To(ContainSubstring("what follows from this change of Deployment web is allowed"))
		shared.complete(ctx, d, "2")
	}, SpecTimeout(specTimeout))

	It("does nothing in a request that puts back what is withheld", func(ctx SpecContext) {
		mallory := shared.mallory()
		mallory.change(ctx, d, replicas(9))
		Expect(mallory.warned.take()).To(ContainSubstring("is withheld"))
		bob.warned.take()
		bob.change(ctx, d, patch(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationBreakGlass+`":"`+reason+`"}},"spec":{"replicas":3}}`))
		Expect(bob.warned.take()).To(SatisfyAll(ContainSubstring("no glass had to be broken"), Not(ContainSubstring("is allowed, and recorded"))))
		shared.withholdsNothing(ctx, d)
		Expect(d.Annotations[v1alpha1.AnnotationAllowances]).NotTo(ContainSubstring("(breakglass)"))
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.record(ctx, g, d).Status.History).NotTo(ContainElement(HaveField("Event", v1alpha1.EventBreakGlass)))
		}, "3s").Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("serves a deletion by a reason that stays until then", func(ctx SpecContext) {
		rs := shared.newestReplicaSet(ctx, d)
		Expect(bob.Delete(ctx, rs)).To(MatchError(denied, "denied"))
		prepare := patch(`{"metadata":{"annotations":{` + also + `:"delete: ` + reason + `"}}}`)
		mallory := shared.mallory()
		mallory.change(ctx, rs, prepare)
		Expect(mallory.warned.take()).To(ContainSubstring("may not break the glass"))
		bob.change(ctx, rs, prepare)
		Expect(bob.warned.take()).To(ContainSubstring("serves its deletion only"))

		err := bob.try(ctx, rs, replicas(9))
		Expect(err).To(MatchError(denied, "denied"))
		err = mallory.Delete(ctx, rs)
		Expect(err).To(MatchError(denied, "denied"))
		Expect(bob.Delete(ctx, rs, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		Expect(audit.writes(controlplane.OfResource("apps", "replicasets"), controlplane.Refused(http.StatusForbidden), controlplane.ByUser("bob"))).To(HaveLen(2))
	}, SpecTimeout(specTimeout))

	It("of a ReplicaSet by the key of its Deployment, or approving by it, is answered by the key that works", func(ctx SpecContext) {
		rs := shared.newestReplicaSet(ctx, d)
		for _, name := range []string{"break-glass", "approve"} {
			bob.warned.take()
			bob.change(ctx, rs, annotation("kausality.io/"+name, reason))
			want := "kausality.io/" + name + " has no effect on ReplicaSet " + rs.Name + "; the key is replicaset.kausality.io/" + name + " there"
			Expect(strings.Count(bob.warned.take(), want)).To(Equal(1))
		}
	}, SpecTimeout(specTimeout))
})

// glassBreaker returns somebody who may break the glass in a namespace.
func (c *cluster) glassBreaker(ctx context.Context, ns string) *actor {
	GinkgoHelper()
	group := "on-call-" + ns
	bob := c.as("bob", developers, group)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kausality-allowancepolicy-breakglass-role"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}
	Expect(c.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) error { return c.Delete(ctx, binding) })
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: bob.user.UserName, Groups: bob.user.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: v1alpha1.GroupVersion.Group, Resource: "allowancepolicies", Verb: v1alpha1.VerbBreakGlass,
		},
	}}
	Eventually(ctx, func(g Gomega) bool {
		asked := review.DeepCopy()
		g.Expect(c.Create(ctx, asked)).To(Succeed())
		return asked.Status.Allowed
	}).Should(BeTrue(), "the role does not give the right")
	return bob
}
