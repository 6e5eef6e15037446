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

package crossplane

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// added is an instance more in the Composition of databases.
const added = `[{"op":"add","path":"RESOURCES/-","value":{"name":"added","base":{"apiVersion":"rds.aws.m.crossplane.io/v1alpha1","kind":"RDSInstance","spec":{"forProvider":{"instanceClass":"db.t3.micro"}}}}}]`

// addTo adds an instance to the Composition of a database that is gated, and returns what the command
// suggests for what Crossplane is refused by that.
func addTo(ctx context.Context, group string, db *unstructured.Unstructured) *v1alpha1.UpgradeAllowance {
	GinkgoHelper()
	shared.offer(ctx, group, limitedBy(""))
	shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(gatedDatabases, "GROUP", group))...)
	db.SetLabels(map[string]string{groupLabel: group})
	Expect(shared.initiator().Create(ctx, db)).To(Succeed())
	instance := shared.instanceOf(ctx, db, "instance")
	shared.Becomes(ctx, db, "Synced", "Ready")
	shared.steady(ctx, &governed{database: db, composite: db, instance: instance})
	revision := shared.recompose(ctx, databaseKind, group, added)
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
		g.Expect(db.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.ConditionBlocked, HavePrefix("Create of RDSInstance ")))
	}).Should(Succeed())
	out := suggestion(ctx)
	suggested := &v1alpha1.UpgradeAllowance{}
	Expect(yaml.Unmarshal([]byte(out), suggested)).To(Succeed(), out)
	// Other specs are refused something, too.
	suggested.Spec.Versions = []string{revision}
	return suggested
}

// suggestion returns the UpgradeAllowance that the plugin suggests for what Crossplane was refused.
func suggestion(ctx context.Context) string {
	GinkgoHelper()
	out, err := exec.CommandContext(ctx, *pluginBin, "--kubeconfig="+shared.Kubeconfig,
		"--cache-dir="+filepath.Join(filepath.Dir(shared.Kubeconfig), "kubectl"), "upgrade", "suggest", "crossplane-system/crossplane").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

var _ = Describe("A resource that a Composition gets", func() {
	It("is created in the cloud by what is suggested for the upgrade", func(ctx SpecContext) {
		const group = "adding.example.org"
		db := database(group, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
		suggested := addTo(ctx, group, db)
		shared.agree(ctx, group, func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Versions, u.Spec.Policies = suggested.Spec.Versions, suggested.Spec.Policies
		})
		instance := shared.instanceOf(ctx, db, "added")
		shared.has(ctx, instance, "db.t3.micro")
		shared.Becomes(ctx, db, "Synced", "Ready")
	}, SpecTimeout(specTimeout))

	DescribeTable("and that nothing lets be created in the cloud says so, and is once something does", func(ctx SpecContext, group string, allow func(ctx context.Context, db *unstructured.Unstructured, u *v1alpha1.UpgradeAllowance), initiator string) {
		db := database(group, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
		suggested := addTo(ctx, group, db)
		u := shared.agree(ctx, group, func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Versions, u.Spec.Policies = suggested.Spec.Versions, nil
			for _, e := range suggested.Spec.Policies {
				if e.Relation != v1alpha1.RelationExternal {
					u.Spec.Policies = append(u.Spec.Policies, e)
				}
			}
		})
		i := &gatedInstance{by: shared.initiator(), database: db, composite: db, instance: shared.instanceOf(ctx, db, "added")}
		calls := func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }

		By("saying what it lacks")
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
			g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(And(
				HaveKeyWithValue("reason", "Closed"), HaveKeyWithValue("message", ContainSubstring("nothing has allowed to create it"))))
		}).Should(Succeed())
		Expect(i.explain(ctx)).To(ContainSubstring("nothing has allowed to create"))
		Consistently(ctx, calls).WithTimeout(twoLooks).Should(BeEmpty())

		By("being allowed")
		allow(ctx, db, u)
		shared.has(ctx, i.instance, "db.t3.micro")
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
		shared.Becomes(ctx, db, "Synced", "Ready")
		shared.quiet(ctx, db, i.instance)
		Expect(calls()).To(Equal([]cloud.Verb{cloud.Create}))
		Expect(shared.Record(ctx, Default, i.instance).Status.History).To(ContainElement(HaveField("Initiator", initiator)))

		By("not being created once more where it is lost")
		Expect(shared.cloud().Lose(ctx, i.instance.GetName())).To(Succeed())
		Consistently(ctx, calls).WithTimeout(quietMoment + twoLooks).Should(Equal([]cloud.Verb{cloud.Create}))
	},
		Entry("by the UpgradeAllowance", SpecTimeout(specTimeout), "widened.example.org", func(ctx context.Context, _ *unstructured.Unstructured, u *v1alpha1.UpgradeAllowance) {
			GinkgoHelper()
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(u), u)).To(Succeed())
			was := u.DeepCopy()
			u.Spec.Policies = append(u.Spec.Policies, v1alpha1.PolicyEntry{
				Target: v1alpha1.Target{External: map[string]string{"provider": "provider-aws"}}, Relation: v1alpha1.RelationExternal, Verbs: []string{"Create"},
			})
			// The operator writes the status at any time.
			Expect(shared.As("greta", user.SystemPrivilegedGroup).Patch(ctx, u, client.MergeFrom(was))).To(Succeed())
		}, "greta"),
		Entry("by an approval", SpecTimeout(specTimeout), "approving.example.org", func(ctx context.Context, db *unstructured.Unstructured, _ *v1alpha1.UpgradeAllowance) {
			GinkgoHelper()
			const group = "approving.example.org"
			p := &v1alpha1.AllowancePolicy{}
			Expect(shared.Get(ctx, client.ObjectKey{Name: group}, p)).To(Succeed())
			was := p.DeepCopy()
			p.Spec.Rules[0].Policies[1].Verbs = []string{"Create", "Update"}
			Expect(shared.Patch(ctx, p, client.MergeFrom(was))).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
				g.Expect(p.Status.Conditions).To(ContainElement(SatisfyAll(HaveField("Type", v1alpha1.ConditionEnforced),
					HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", p.Generation))))
			}).Should(Succeed())
			Expect(shared.initiator().Patch(ctx, db.DeepCopy(), merge(`{"metadata":{"annotations":{"kausality.io/approve":"spec.size"}}}`))).To(Succeed())
		}, "alice"),
	)
})
