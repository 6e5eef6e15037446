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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
	"kausality.io/operator/test/stage"
)

// The provider can be what real ones are: other specs rely on that.
var _ = Describe("A provider", func() {
	const atWork = 4 * time.Second

	DescribeTable("that does not wait for the cloud",
		func(ctx SpecContext, trait instance.Trait, during, after gomegatypes.GomegaMatcher) {
			db, managed := shared.instanceWith(ctx, trait)
			Expect(shared.cloud().Inject(ctx, cloud.Fault{Name: managed.GetName(), Verb: cloud.Update, Times: 1, Delay: cloud.Duration(atWork)})).To(Succeed())
			Expect(shared.Patch(ctx, db, resize(large))).To(Succeed())
			By("saying that all is well while the cloud works")
			Eventually(ctx, func(g Gomega) {
				// Read before the call, it could be as it was before the change, when all was well too.
				g.Expect(shared.calls(ctx, managed).Of(cloud.Update).With(cloud.Pending)).To(HaveLen(1))
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(managed), managed)).To(Succeed())
				g.Expect(stage.Condition(managed, "Synced")).To(SatisfyAll(
					HaveKeyWithValue("status", "True"), HaveKeyWithValue("observedGeneration", managed.GetGeneration())))
			}).WithPolling(50 * time.Millisecond).Should(Succeed())
			Expect(reasons(managed)).To(during)
			By("saying what came of it")
			shared.has(ctx, managed, large)
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(managed), managed)).To(Succeed())
				g.Expect(reasons(managed)).To(after)
				g.Expect(observedSize(managed)).To(Equal(large))
			}).Should(Succeed())
			Expect(shared.calls(ctx, managed).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update}))
		},
		Entry("and announces it", SpecTimeout(specTimeout), instance.Async,
			HaveKeyWithValue("AsyncOperation", "Ongoing"),
			SatisfyAll(HaveKeyWithValue("AsyncOperation", "Finished"), HaveKeyWithValue("LastAsyncOperation", "Success"))),
		Entry("and tells afterwards", SpecTimeout(specTimeout), instance.AsyncLate,
			Not(HaveKeyWithValue("AsyncOperation", "Ongoing")),
			HaveKeyWithValue("LastAsyncOperation", "Success")),
		Entry("and says nothing of it", SpecTimeout(specTimeout), instance.AsyncSilent,
			Not(Or(HaveKey("AsyncOperation"), HaveKey("LastAsyncOperation"))),
			Not(Or(HaveKey("AsyncOperation"), HaveKey("LastAsyncOperation")))),
	)

	It("says too early that it is done", func(ctx SpecContext) {
		db, managed := shared.instanceWith(ctx, instance.SyncedEarly)
		before := managed.GetGeneration()
		Expect(shared.Patch(ctx, db, resize(large))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(managed), managed)).To(Succeed())
			g.Expect(managed.GetGeneration()).To(BeNumerically(">", before))
			g.Expect(stage.Condition(managed, "Synced")).To(HaveKeyWithValue("observedGeneration", managed.GetGeneration()))
		}).WithPolling(20 * time.Millisecond).Should(Succeed())
		Expect(shared.calls(ctx, managed).Of(cloud.Update)).To(BeEmpty())
		shared.has(ctx, managed, large)
	}, SpecTimeout(specTimeout))

	It("leaves out what older ones do not say", func(ctx SpecContext) {
		_, managed := shared.instanceWith(ctx, instance.NoGeneration, instance.NoObservation)
		Expect(stage.Condition(managed, "Synced")).NotTo(HaveKey("observedGeneration"))
		Expect(observedSize(managed)).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("fills in what the cloud has chosen", func(ctx SpecContext) {
		_, managed := shared.instanceWith(ctx, instance.LateInit)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(managed), managed)).To(Succeed())
			window, _, _ := unstructured.NestedString(managed.Object, "spec", "forProvider", "backupWindow")
			g.Expect(window).NotTo(BeEmpty())
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))
})

// instanceWith returns a new database, and its instance, whose provider has the given
// traits.
func (w *world) instanceWith(ctx context.Context, traits ...instance.Trait) (db, managed *unstructured.Unstructured) {
	GinkgoHelper()
	db = database(plainGroup, databaseKind, w.MakeNamespace(ctx, nil), "main", medium)
	db.SetAnnotations(map[string]string{instance.TraitsAnnotation: instance.Annotation(traits...)})
	Expect(w.Create(ctx, db)).To(Succeed())
	w.Becomes(ctx, db, "Synced", "Ready")
	managed = w.instanceOf(ctx, db, "instance")
	w.Becomes(ctx, managed, "Synced", "Ready")
	return db, managed
}

// reasons returns the reasons of an object's conditions.
func reasons(object *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for _, kind := range []string{"AsyncOperation", "LastAsyncOperation"} {
		if c := stage.Condition(object, kind); c != nil {
			out[kind], _ = c["reason"].(string)
		}
	}
	return out
}

// observedSize returns the size that an instance says it has.
func observedSize(managed *unstructured.Unstructured) string {
	size, _, _ := unstructured.NestedString(managed.Object, "status", "atProvider", "instanceClass")
	return size
}
