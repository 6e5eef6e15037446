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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

const (
	affectedKey = v1alpha1.ConditionAffected
	// replicaSetAffectedKey is the same on ReplicaSets of Deployments.
	replicaSetAffectedKey = v1alpha1.ReplicaSetAnnotationPrefix + "AllowancePolicyAffected"
	// markedWithin is how soon objects show that a policy affects them: two seconds
	// after the last change of them, or half a minute where they do not settle.
	markedWithin = time.Minute
)

// operatorUser is who the operator is.
var operatorUser = serviceaccount.MakeUsername(controlplane.OperatorNamespace, "kausality-controller-manager")

// affectedOf returns what a Deployment shows of the policies in effect for it.
func affectedOf(d *appsv1.Deployment) string {
	for _, condition := range d.Status.Conditions {
		if condition.Type == v1alpha1.ConditionAffected {
			return condition.Message
		}
	}
	return ""
}

// marked returns when a Deployment and its ReplicaSets show the policies in effect for
// them: the last that the operator writes by itself.
func (c *cluster) marked(ctx context.Context, d *appsv1.Deployment) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		g.Expect(affectedOf(d)).NotTo(BeEmpty())
		g.Expect(c.replicaSets(ctx, g, d)).To(HaveEach(HaveField("Annotations", HaveKey(replicaSetAffectedKey))))
	}).WithTimeout(markedWithin).Should(Succeed())
}

// Real controllers go on as if nothing was shown.
var _ = Describe("An object that a policy affects", func() {
	It("shows it, until the policy is gone", func(ctx SpecContext) {
		const affected = "affected"
		ns := shared.newNamespaceFor(ctx, affected)
		owner := shared.alice()
		// They are there before the policies.
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		set := builders.MakeStatefulSet(ns, "db", 2)
		Expect(owner.Create(ctx, set)).To(Succeed())
		generation := d.Generation

		policies := append(shared.samplePoliciesFor(ctx, affected), kindPoliciesFor(affected, "statefulset")...)
		audit := shared.watch(ns) // before the policies: the first mark may come before they say that they are enforced
		shared.apply(ctx, policies...)
		out, err := shared.kubectl(ctx, "wait", "--for=condition=Enforced", "--timeout=10s", "allowancepolicy/"+policies[0].Name)
		Expect(err).NotTo(HaveOccurred(), out)
		shows := func(g Gomega, want bool) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(set), set)).To(Succeed())
			g.Expect(d.Annotations).NotTo(HaveKey(HaveSuffix("AllowancePolicyAffected")))
			sets := shared.replicaSets(ctx, g, d)
			g.Expect(sets).NotTo(BeEmpty())
			if !want {
				g.Expect(affectedOf(d)).To(BeEmpty())
				g.Expect(set.Annotations).NotTo(HaveKey(affectedKey))
				g.Expect(sets).NotTo(ContainElement(HaveField("Annotations", HaveKey(replicaSetAffectedKey))))
				return
			}
			g.Expect(affectedOf(d)).To(ContainSubstring("AllowancePolicy " + policies[0].Name + " says"))
			g.Expect(set.Annotations).To(HaveKeyWithValue(affectedKey, affected+"-statefulset"))
			g.Expect(sets).To(HaveEach(HaveField("Annotations", HaveKeyWithValue(replicaSetAffectedKey, policies[1].Name))))
		}
		Eventually(ctx, shows).WithArguments(true).WithTimeout(markedWithin).Should(Succeed())
		Expect(d.Generation).To(Equal(generation))
		for object, path := range map[string]string{
			"deployment/web": `{.status.conditions[?(@.type=="kausality.io/AllowancePolicyAffected")].message}`,
			"statefulset/db": `{.metadata.annotations.kausality\.io/AllowancePolicyAffected}`,
		} {
			out, err = owner.kubectl(ctx, "--namespace="+ns, "get", object, "-o", "jsonpath="+path)
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(out).To(ContainSubstring(affected + "-"))
		}
		for _, p := range policies {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
				g.Expect(p.Status.Affected).To(HaveValue(BeNumerically(">", 0)), p.Name)
			}).Should(Succeed())
		}

		By("rolling out, and back")
		owner.change(ctx, d, image("web:3"))
		shared.complete(ctx, d, "3")
		out, err = owner.kubectl(ctx, "--namespace="+ns, "rollout", "undo", "deployment/web")
		Expect(err).NotTo(HaveOccurred(), out)
		shared.complete(ctx, d, "4")
		owner.change(ctx, set, image("db:2"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:2": 2, "db:2": 2}))
		}).Should(Succeed())
		Eventually(ctx, shows).WithArguments(true).WithTimeout(markedWithin).Should(Succeed())
		Expect(audit.refusals()).To(BeEmpty())

		By("being written once each")
		Eventually(ctx, func() map[string]int {
			marks := map[string]int{}
			for _, event := range audit.writes(controlplane.ByUser(operatorUser), marking) {
				marks[event.ObjectRef.Resource+"/"+event.ObjectRef.Name]++
			}
			return marks
		}).Should(And(HaveKey("deployments/web"), HaveKey("statefulsets/db"), HaveEach(1)))

		By("there being no policy any more")
		for _, p := range policies {
			Expect(shared.Delete(ctx, p)).To(Succeed())
		}
		Eventually(ctx, shows).WithArguments(false).WithTimeout(markedWithin).Should(Succeed())
	}, SpecTimeout(specTimeout))
})

// marking wants the writes by which objects show which policies are in effect.
func marking(event *auditv1.Event) bool {
	return event.RequestObject != nil && strings.Contains(string(event.RequestObject.Raw), "AllowancePolicyAffected")
}
