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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// reviewedWithin is how soon a right that comes or goes shows.
const reviewedWithin = 30 * time.Second

// reasonOf returns what tells the reason of whether a policy is enforced.
func reasonOf(ctx context.Context, c *cluster, name string) func(Gomega) string {
	return func(g Gomega) string {
		p := &v1alpha1.AllowancePolicy{}
		g.Expect(c.Get(ctx, client.ObjectKey{Name: name}, p)).To(Succeed())
		condition := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionEnforced)
		g.Expect(condition).NotTo(BeNil())
		return condition.Reason
	}
}

// The operator may read what its admin says, and nothing else.
var _ = Describe("Least privilege", Ordered, func() {
	var c *cluster
	BeforeAll(func(ctx SpecContext) {
		cp, _ := startCluster(ctx, controlplane.Options{})
		c = connect(cp)
		// What tests and developers have beside the roles that are shipped.
		for _, wide := range []client.Object{
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kausality-access-all"}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "kausality-access-all-rolebinding"}},
		} {
			Expect(c.Delete(ctx, wide)).To(Succeed())
		}
		Eventually(ctx, func(g Gomega) {
			added := &rbacv1.ClusterRole{}
			g.Expect(c.Get(ctx, client.ObjectKey{Name: "kausality-access"}, added)).To(Succeed())
			g.Expect(added.Rules).NotTo(Or(BeEmpty(), ContainElement(HaveField("APIGroups", ContainElement("*")))))
		}).Should(Succeed())
		c.applySamplePolicies(ctx)
	}, NodeTimeout(startTimeout))

	// refused are what the operator was not allowed to do.
	refused := func() []string {
		var out []string
		for _, event := range stage.WholeLog(c.AuditLog, controlplane.ByUser(controlplane.OperatorUser)).Having(controlplane.OperatorUser).Requests(controlplane.Refused(http.StatusForbidden)) {
			out = append(out, describeEvent(&event))
		}
		return out
	}
	reason := func(ctx context.Context, name string) func(Gomega) string { return reasonOf(ctx, c, name) }

	It("is enough for workloads, with the roles that are shipped", func(ctx SpecContext) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.newNamespace(ctx), Name: "theirs"}}
		Expect(c.Create(ctx, secret)).To(Succeed())
		Expect(c.as(controlplane.OperatorUser).Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{})).
			To(MatchError(ContainSubstring("forbidden")))
		audit := len(refused())

		ns := c.newNamespace(ctx)
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		c.marked(ctx, d)
		c.alice().change(ctx, d, image("web:2"))
		c.complete(ctx, d, "2")
		c.mallory().change(ctx, d, replicas(5))
		c.withholding(ctx, d, "spec.replicas")
		c.alice().hasEvicted(ctx, c.anyPod(ctx, ns))
		c.hasPods(ctx, ns, map[string]int{"web:2": 2})
		Expect(refused()).To(HaveLen(audit), "%v", refused())
	}, SpecTimeout(specTimeout))

	It("is said of the operator's own, too, where it is taken away, and that it is back", func(ctx SpecContext) {
		role := &rbacv1.ClusterRole{}
		Expect(c.Get(ctx, client.ObjectKey{Name: "kausality-manager-role"}, role)).To(Succeed())
		rules := role.DeepCopy().Rules
		for i := range role.Rules {
			if slices.ContainsFunc(role.Rules[i].Resources, func(r string) bool { return strings.HasPrefix(r, "allowancerecords") }) {
				role.Rules[i].Verbs = []string{"get", "list", "watch"}
			}
		}
		Expect(c.Update(ctx, role)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(c.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
			role.Rules = rules
			Expect(c.Update(ctx, role)).To(Succeed())
		})
		tells := func(reason, kind string) {
			GinkgoHelper()
			for _, p := range c.samplePolicies(ctx) {
				Eventually(ctx, reasonOf(ctx, c, p.Name)).WithTimeout(reviewedWithin).Should(Equal(reason))
			}
			Eventually(ctx, func(g Gomega) {
				list := &eventsv1.EventList{}
				g.Expect(c.List(ctx, list)).To(Succeed())
				g.Expect(list.Items).To(ContainElement(And(
					HaveField("Regarding.Kind", "AllowancePolicy"), HaveField("Reason", reason), HaveField("Type", kind),
				)))
			}).WithTimeout(effectTimeout).Should(Succeed())
		}
		tells(v1alpha1.ReasonImpaired, corev1.EventTypeWarning)
		for name, conditions := range c.saidOfPolicies(ctx) {
			enforced := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionEnforced)
			Expect(enforced.Message).To(And(
				ContainSubstring("create allowancerecords.kausality.io"), ContainSubstring("update allowancerecords.kausality.io/status"),
				ContainSubstring("make deploy"), ContainSubstring("are refused"),
			), name)
		}
		ns := c.newNamespace(ctx)
		Expect(c.alice().Create(ctx, builders.MakeDeployment(ns, "web").Replicas(2).Obj())).To(MatchError(ContainSubstring("cannot be written down")))
		out, err := c.as("admin", "system:masters").kausality(ctx, ns, "why")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(HavePrefix("Not enforced (Impaired): "))

		By("giving it back")
		role.Rules = rules
		Expect(c.Update(ctx, role)).To(Succeed())
		tells(v1alpha1.ReasonEnforced, corev1.EventTypeNormal)
		d := c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		c.hasPods(ctx, ns, map[string]int{"web:1": 2})
		c.marked(ctx, d)
	}, SpecTimeout(2*specTimeout))

	It("is said where it is not, given with a role, and noticed when it is taken away", func(ctx SpecContext) {
		const group, name = "access.example.org", "access"
		Expect(c.Create(ctx, builders.ThingDefinition(group))).To(Succeed())
		ns, admin := c.newNamespace(ctx), c.as("admin", "system:masters")
		Eventually(ctx, func() error { return c.Create(ctx, builders.MakeThing(group, ns, "probe"), client.DryRunAll) }).Should(Succeed())
		p := thingPolicy(group, name)
		p.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
		Expect(c.Create(ctx, p)).To(Succeed())
		Eventually(ctx, reason(ctx, name)).WithTimeout(effectTimeout).Should(Equal(v1alpha1.ReasonForbidden))
		Expect(c.webhooks(ctx, Default).resources(group)).To(BeEmpty(), "it is not enforced by half")
		thing := builders.MakeThing(group, ns, "thing")
		Expect(admin.Create(ctx, thing)).To(Succeed())

		out, err := admin.kausality(ctx, ns, "access", name)
		Expect(err).NotTo(HaveOccurred(), out)
		file := filepath.Join(GinkgoT().TempDir(), "role.yaml")
		Expect(os.WriteFile(file, []byte(out), 0o600)).To(Succeed())
		_, err = c.kubectl(ctx, "apply", "-f", file)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, reason(ctx, name)).WithTimeout(reviewedWithin).Should(Equal(v1alpha1.ReasonEnforced))
		Expect(c.webhooks(ctx, Default).resources(group)).NotTo(BeEmpty())

		By("taking it away")
		Expect(c.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kausality-access-" + name}})).To(Succeed())
		size := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2}}`))
		Consistently(ctx, func() error { return admin.Patch(ctx, thing.DeepCopy(), size, client.DryRunAll) }).
			WithTimeout(quietMoment).Should(Succeed())
		Eventually(ctx, reason(ctx, name)).WithTimeout(reviewedWithin).Should(Equal(v1alpha1.ReasonForbidden))
		Expect(admin.Patch(ctx, thing, size)).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(c.webhooks(ctx, g).resources(group)).To(BeEmpty()) }).Should(Succeed())
	}, SpecTimeout(2*specTimeout))
})
