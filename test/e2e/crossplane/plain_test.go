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
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// How often an instance and a composite resource change because of a change of the
// size: what is asked for, and what providers and Crossplane report of it. The latter
// depends on who is quicker: a reconcile of the generation before may put back what that of
// the newer one has reported, again and again, which is two writes each time. Seen on a
// composite resource were three to ten writes, and Crossplane's circuit breaker opens at 50.
const (
	mostInstanceWrites  = 3
	mostCompositeWrites = 16
)

// What Crossplane does of itself, where no policy is in effect: this is what the
// operator has to let happen, and must not add much to.
var _ = Describe("Without policies", func() {
	DescribeTable("a database goes its way into the cloud, and out of it",
		func(ctx SpecContext, kind string) {
			ns := shared.MakeNamespace(ctx, nil)
			By("creating it")
			db := database(plainGroup, kind, ns, "main", medium)
			Expect(shared.Create(ctx, db)).To(Succeed())
			composite := db
			if kind == claimKind {
				composite = shared.CompositeOf(ctx, db)
			}
			shared.Becomes(ctx, db, "Synced", "Ready")
			instance := shared.instanceOf(ctx, composite, "instance")
			shared.has(ctx, instance, medium)
			Expect(shared.calls(ctx, instance).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create}))

			By("changing it")
			shared.quiet(ctx, composite, instance)
			before, above := shared.current(ctx, instance), shared.current(ctx, composite)
			audit := shared.Watch()
			Expect(shared.Patch(ctx, db, resize(large))).To(Succeed())
			shared.has(ctx, instance, large)
			shared.quiet(ctx, composite, instance)
			Expect(shared.calls(ctx, instance).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update}))
			Expect(len(changes(audit, before))).To(BeNumerically("<=", mostInstanceWrites))
			Expect(len(changes(audit, above))).To(BeNumerically("<=", mostCompositeWrites))

			By("deleting it")
			Expect(shared.Delete(ctx, db)).To(Succeed())
			shared.Gone(ctx, db, composite, instance)
			Expect(shared.calls(ctx, instance).Mutations().With(cloud.Done).Verbs()).To(Equal([]cloud.Verb{cloud.Create, cloud.Update, cloud.Delete}))
		},
		Entry("of a claim", SpecTimeout(specTimeout), claimKind),
		Entry("of a namespaced composite resource", SpecTimeout(specTimeout), databaseKind),
	)
})

// quiet waits until nobody has written some objects for a moment.
func (w *world) quiet(ctx context.Context, objects ...*unstructured.Unstructured) {
	GinkgoHelper()
	w.WatchObjects(objects...).UntilQuiet(ctx, quietMoment)
}

// current returns a copy of an object as it is now.
func (w *world) current(ctx context.Context, object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	object = object.DeepCopy()
	Expect(w.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// changes returns the writes that made another object of one that was as given before,
// rather than finding it as it was to be.
func changes(audit stage.Witness, object *unstructured.Unstructured) controlplane.AuditEvents {
	GinkgoHelper()
	seen := map[string]bool{object.GetResourceVersion(): true}
	return audit.Writes(controlplane.Succeeded, stage.OfAny(object), func(event *auditv1.Event) bool {
		var written metav1.PartialObjectMetadata
		Expect(json.Unmarshal(event.ResponseObject.Raw, &written)).To(Succeed())
		first := !seen[written.ResourceVersion]
		seen[written.ResourceVersion] = true
		return first
	})
}
