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
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/stage"
)

// What the gate has written into an object that is exported is nobody's wish (D16).
var _ = Describe("An instance that nobody composes and that is exported", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) {
		shared.Apply(ctx, stage.ParsePolicies(strings.ReplaceAll(ownPolicies, "GROUP", "exporting"))...)
	})

	DescribeTable("has no ceiling by its gate", func(ctx SpecContext, name string, write ...[]string) {
		i := &gatedInstance{instance: managed(cluster.GroupVersion, name), by: shared.initiator()}
		i.kubectl(ctx, i.whole(nil), "apply")
		shared.has(ctx, i.instance, medium)
		i.closed(ctx)

		By("coming back with a change")
		for n, args := range write {
			size := []string{large, "db.t3.xlarge"}[n]
			exported := i.exported(ctx)
			Expect(unstructured.SetNestedField(exported.Object, size, "spec", "forProvider", "instanceClass")).To(Succeed())
			Expect(i.kubectl(ctx, exported, args...)).NotTo(ContainSubstring("kausality"))
			shared.has(ctx, i.instance, size)
			i.closed(ctx)
			i.limited(ctx, "", stage.Observing)
		}

		By("going with what it is in the cloud")
		Expect(i.by.Delete(ctx, i.instance.DeepCopy())).To(Succeed())
		Expect(i.by.Warned.Take()).To(BeEmpty())
		shared.Gone(ctx, i.instance)
		Expect(i.outside(ctx)).To(Equal([]cloud.Verb{cloud.Delete}))
	},
		Entry("and applied", SpecTimeout(specTimeout), "exported-applied", []string{"apply"}, []string{"apply"}),
		Entry("and replaced", SpecTimeout(specTimeout), "exported-replaced", []string{"replace"}, []string{"replace"}),
		Entry("and applied server-side", SpecTimeout(specTimeout), "exported-server-side",
			[]string{"apply", "--server-side", "--force-conflicts"}, []string{"apply", "--server-side", "--force-conflicts"}),
	)

	It("has none when it is restored, but for that which its author has set", func(ctx SpecContext) {
		for name, policies := range map[string][]any{"exported-restored": nil, "exported-limited": {"Observe", "Create", "Update", "LateInitialize"}} {
			i := ownInstance(ctx, name, policies...)
			if policies != nil {
				Expect(i.by.Warned.Take()).To(And(ContainSubstring("nothing of Delete is let through"), ContainSubstring("stays when the object is deleted")))
			}
			ceiling := i.instance.GetAnnotations()[v1alpha1.AnnotationGateCeiling]
			exported := i.exported(ctx)
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), orphan())).To(Succeed())
			Expect(i.by.Delete(ctx, i.instance.DeepCopy())).To(Succeed())
			shared.Gone(ctx, i.instance)
			i.by.Warned.Take()

			By("being created from the export")
			i.instance = exported.DeepCopy()
			Expect(i.by.Create(ctx, i.instance)).To(Succeed())
			shared.has(ctx, i.instance, medium)
			i.closed(ctx)
			i.limited(ctx, ceiling, stage.Observing)
			i.by.Warned.Take()
			Expect(i.by.Patch(ctx, i.instance.DeepCopy(), merge(sizeOf(i.instance, large)))).To(Succeed())
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			Expect(i.by.Warned.Take()).To(BeEmpty())

			By("being deleted")
			Expect(i.by.Delete(ctx, i.instance.DeepCopy())).To(Succeed())
			warned := i.by.Warned.Take()
			shared.Gone(ctx, i.instance)
			if policies == nil {
				Expect(warned).To(BeEmpty())
				Expect(i.outside(ctx)).To(Equal([]cloud.Verb{cloud.Delete}))
				continue
			}
			Expect(warned).To(And(ContainSubstring("what it stands for outside stays"), ContainSubstring(v1alpha1.AnnotationGateCeiling)))
			Expect(i.outside(ctx)).To(BeEmpty())
		}
	}, SpecTimeout(2*specTimeout))
})

// exported returns the instance as it is read, as for a file: without what is of no other one.
func (i *gatedInstance) exported(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
	out := i.instance.DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(out.Object, "status")
	Expect(out.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationGateContent))
	Expect(stage.PoliciesOf(out)).NotTo(BeEmpty())
	return out
}

// kubectl runs kubectl with a file that has an object, and returns what it prints.
func (i *gatedInstance) kubectl(ctx context.Context, obj *unstructured.Unstructured, args ...string) string {
	GinkgoHelper()
	raw, err := obj.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "instance.json")
	Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())
	out, err := i.by.RunKubectl(ctx, append(args, "-f", file)...)
	Expect(err).NotTo(HaveOccurred(), out)
	return out
}
