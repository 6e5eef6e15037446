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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/pasted"
)

// newerVersion adds a version that kubectl prefers, and that lacks fields of what is stored in the first.
func newerVersion(definition *apiextensionsv1.CustomResourceDefinition) {
	first := &definition.Spec.Versions[0]
	newer := *first.DeepCopy()
	newer.Name, newer.Storage = "v2", false
	first.Schema, newer.Schema = thingSchema("config", "color", "size"), thingSchema("config", "color")
	definition.Spec.Versions = append(definition.Spec.Versions, newer)
}

// Whoever runs what is printed is to lose nothing by it.
var _ = Describe("A kind of which kubectl prefers a version that lacks fields", func() {
	It("is approved in the version in which it is stored", func(ctx SpecContext) {
		group, ns := shared.defineThings(ctx, newerVersion), shared.newNamespace(ctx)
		shared.apply(ctx, parsePolicies(strings.NewReplacer("NS", ns, "GROUP", group, "MODE", "Hold").Replace(lossyPolicy))[0])
		owner, rogue := shared.as(alice, platformTeam, "system:masters"), shared.as("mallory", "system:masters")
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a", "color": "red", "size": "5"}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		has := func(color string) {
			GinkgoHelper()
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
			spec, _, err := unstructured.NestedStringMap(thing.Object, "spec")
			Expect(err).NotTo(HaveOccurred())
			Expect(spec).To(Equal(map[string]string{"config": "a", "color": color, "size": "5"}))
			Expect(thing.GetAnnotations()).NotTo(HaveKey("kausality.io/approve"))
		}
		held := func(color string) string {
			GinkgoHelper()
			rogue.warned.take()
			Expect(rogue.Patch(ctx, thing.DeepCopy(), merge(`{"spec":{"color":"`+color+`"}}`))).To(Succeed())
			_, command, found := strings.Cut(rogue.warned.take(), " may approve it: kubectl ")
			Expect(found).To(BeTrue(), "the change is withheld")
			return command
		}

		By("the command in the warning")
		command := held("blue")
		Expect(command).To(HavePrefix("annotate -n " + ns + " thing.v1." + group + " app "))
		args, err := pasted.Arguments(ctx, GinkgoT().TempDir(), "kubectl "+command)
		Expect(err).NotTo(HaveOccurred())
		owner.warned.take()
		out, err := owner.kubectl(ctx, args...)
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).NotTo(ContainSubstring("also removes"))
		has("blue")

		By("the plugin, as it is printed, and by the version that loses something")
		for color, named := range map[string]string{"green": "thing." + group + "/app", "gray": "things.v2." + group + "/app"} {
			held(color)
			out, err := owner.kausality(ctx, ns, "approve", named, "--yes")
			Expect(err).NotTo(HaveOccurred(), out)
			Expect(out).To(And(ContainSubstring("Approved spec.color"), Not(ContainSubstring("also removes"))))
			has(color)
		}
	}, SpecTimeout(specTimeout))
})
