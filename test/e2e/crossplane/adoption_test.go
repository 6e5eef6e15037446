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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// Policies come to databases that are there, and go again (D16).
var _ = Describe("A policy that comes to instances", func() {
	DescribeTable("changes nothing outside, refuses nobody, and gives them back when it goes",
		func(ctx SpecContext, group, ceiling, own string) {
			shared.offer(ctx, group, limitedBy(ceiling))
			i := &gatedInstance{by: shared.initiator()}
			i.database = database(group, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
			i.database.SetAnnotations(map[string]string{"jira": "INFRA-1"})
			Expect(i.by.Create(ctx, i.database)).To(Succeed())
			shared.Becomes(ctx, i.database, "Synced", "Ready")
			i.composite, i.instance = i.database, shared.instanceOf(ctx, i.database, "instance")
			Expect(i.gate(ctx, Default)).To(Equal(own))
			shared.quiet(ctx, i.database, i.instance)

			By("coming")
			audit := shared.WatchObjects(i.database, i.instance)
			policies := stage.ParsePolicies(strings.ReplaceAll(closingPolicies, "GROUP", group))
			shared.Apply(ctx, policies...)
			i.closed(ctx)
			shared.quiet(ctx, i.database, i.instance)
			i.mutated(ctx, cloud.Create)
			Expect(audit.Writes(stage.Failed)).To(BeEmpty())
			out, err := shared.RunKubectl(ctx, "get", "events", "-n", i.instance.GetNamespace(), "-o", "jsonpath={.items[*].reason}")
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(out).To(ContainSubstring("GateAdopted"))

			By("being in effect")
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			Expect(shared.cloud().Drift(ctx, i.instance.GetName(), cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
			Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
				WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create, cloud.Update}))

			By("going")
			for _, p := range policies {
				Expect(shared.Delete(ctx, p)).To(Succeed())
			}
			Eventually(ctx, func(g Gomega) {
				g.Expect(i.gate(ctx, g)).To(Equal(own))
				g.Expect(i.instance.GetAnnotations()).NotTo(Or(
					HaveKey(v1alpha1.AnnotationGateContent), HaveKey(v1alpha1.AnnotationGateCeiling), HaveKey(stage.LedgerKey(i.instance))))
			}).Should(Succeed())
			shared.has(ctx, i.instance, large) // as drift is put right again
			shared.quiet(ctx, i.database, i.instance)
			Expect(i.gate(ctx, Default)).To(Equal(own))
			Expect(audit.Writes(stage.Failed)).To(BeEmpty())
		},
		Entry("of a template that says nothing", SpecTimeout(specTimeout), "adopted.example.org", "", "*"),
		Entry("of a template with policies of its own", SpecTimeout(specTimeout), "limited.example.org",
			`["Observe","Create","Update","LateInitialize"]`, "Observe,Create,Update,LateInitialize"),
	)
})

// limitedBy has a composition give its instances management policies of its own, where
// there are any.
func limitedBy(policies string) func(*unstructured.Unstructured) {
	return saying("managementPolicies", policies)
}

// saying has Compositions say something in a field of instances, which is none where it is empty.
func saying(field, value string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		if value == "" || object.GetKind() != "Composition" {
			return
		}
		raw, err := object.MarshalJSON()
		Expect(err).NotTo(HaveOccurred())
		text := strings.ReplaceAll(string(raw), `"forProvider":{}`, `"forProvider":{},"`+field+`":`+value)
		Expect(object.UnmarshalJSON([]byte(text))).To(Succeed())
	}
}
