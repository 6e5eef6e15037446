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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// collectorTimeout is longer than the garbage collector needs to take note of a kind:
// it waits for 30 seconds between two looks, and for as long at each for its caches.
const collectorTimeout = 100 * time.Second

// Kinds come, change and go while the operator runs, and it follows.
var _ = Describe("A definition", func() {
	var (
		group      string
		definition *apiextensionsv1.CustomResourceDefinition
		policies   []*v1alpha1.AllowancePolicy
		ns         string
	)
	BeforeEach(func(ctx SpecContext) {
		group = defineThings(ctx)
		definition = builders.ThingDefinition(group)
		policies = thingPolicies(group)
		shared.apply(ctx, policies...)
		ns = shared.newNamespace(ctx)
	})
	// bounds waits until a new Thing holds what its children may become, and checks
	// that it is carried out, and that what nobody has caused is denied.
	bounds := func(ctx context.Context) (name string) {
		GinkgoHelper()
		owner, controller := shared.as(alice, platformTeam, "system:masters"), &thingController{
			shared.as(thingControllerUser, "system:masters"), ns, reportObserved,
		}
		var thing *unstructured.Unstructured
		Eventually(ctx, func(g Gomega) {
			thing = builders.MakeThing(group, ns, "")
			thing.SetGenerateName("thing-")
			thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
			g.Expect(owner.Create(ctx, thing)).To(Succeed())
			g.Expect(thing.GetAnnotations()).To(HaveKey(ledgerKey))
		}).WithTimeout(effectTimeout).Should(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		shared.over(ctx, thing)

		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: thing.GetName()}}
		forged := client.RawPatch(types.MergePatchType, []byte(`{"data":{"config":"z"}}`))
		Expect(controller.Patch(ctx, config, forged)).To(MatchError(denied, "denied"))
		owner.setThing(ctx, thing, `{"config":"b"}`)
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		shared.over(ctx, thing)
		return thing.GetName()
	}
	// redefine deletes the definition and makes it anew as it is now.
	redefine := func(ctx context.Context) {
		GinkgoHelper()
		Expect(shared.Delete(ctx, definition)).To(Succeed())
		definition.ResourceVersion, definition.UID = "", ""
		Eventually(ctx, func() error { return shared.Create(ctx, definition.DeepCopy()) }).Should(Succeed())
	}
	says := func(ctx context.Context, status metav1.ConditionStatus) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(policies[0]), policies[0])).To(Succeed())
			accepted := apimeta.FindStatusCondition(policies[0].Status.Conditions, v1alpha1.ConditionAccepted)
			g.Expect(accepted).NotTo(BeNil())
			g.Expect(accepted.Status).To(Equal(status), accepted.Message)
		}).Should(Succeed())
	}

	It("may be deleted and made again, at once or later", func(ctx SpecContext) {
		bounds(ctx)
		redefine(ctx)
		bounds(ctx)

		Expect(shared.Delete(ctx, definition)).To(Succeed())
		says(ctx, metav1.ConditionFalse)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.webhooks(ctx, g).resources(group)).To(BeEmpty())
		}).Should(Succeed())
		definition.ResourceVersion, definition.UID = "", ""
		Eventually(ctx, func() error { return shared.Create(ctx, definition.DeepCopy()) }).Should(Succeed())
		says(ctx, metav1.ConditionTrue)
		bounds(ctx)
	}, SpecTimeout(specTimeout))

	It("may be made again with another scope", func(ctx SpecContext) {
		group = shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
			definition.Spec.Scope = apiextensionsv1.ClusterScoped
		})
		shared.apply(ctx, thingPolicies(group)...)
		Eventually(ctx, func(g Gomega) {
			thing := builders.MakeThing(group, "", "")
			thing.SetGenerateName("thing-")
			g.Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, thing)).To(Succeed())
			g.Expect(thing.GetAnnotations()).To(HaveKey(ledgerKey))
		}).Should(Succeed(), "the operator does not know of the kind")

		definition = builders.ThingDefinition(group)
		redefine(ctx)
		forgetful(func() {
			Eventually(ctx, func() error {
				return shared.Create(ctx, builders.MakeThing(group, ns, "probe"), client.DryRunAll)
			}).Should(Succeed(), "the kind is not served in its new scope")
			collectorFollows(ctx, ns)
			bounds(ctx)
		})
	}, SpecTimeout(2*specTimeout))

	It("may serve another version, and store it", func(ctx SpecContext) {
		bounds(ctx)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(definition), definition)).To(Succeed())
		second := definition.Spec.Versions[0].DeepCopy()
		second.Name, definition.Spec.Versions[0].Storage = "v2", false
		definition.Spec.Versions = append(definition.Spec.Versions, *second)
		Expect(shared.Update(ctx, definition)).To(Succeed())
		name := bounds(ctx)

		By("writing in the version that no policy names")
		stranger := shared.as(mallory, "system:masters")
		other := builders.MakeThing(group, ns, name)
		other.SetAPIVersion(group + "/v2")
		Eventually(ctx, func() error {
			return shared.Get(ctx, client.ObjectKeyFromObject(other), other)
		}).Should(Succeed())
		stranger.warned.take()
		Eventually(ctx, func() error {
			return stranger.Patch(ctx, other, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"config":"theirs"}}`)))
		}).Should(Succeed())
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
	}, SpecTimeout(specTimeout))
})

// collectorFollows waits until the garbage collector has asked anew which kinds there
// are. It asks at most twice a minute and only where kinds came or went, so that it
// does not see one that came back with another scope: it would look for its objects in
// the wrong place, and delete what they own. A further kind makes it ask; that it did,
// the end of an object of that kind shows, whose owner does not exist.
func collectorFollows(ctx context.Context, ns string) {
	GinkgoHelper()
	orphan := builders.MakeThing(defineThings(ctx), ns, "orphan")
	orphan.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "absent", UID: "absent"}})
	Expect(shared.Create(ctx, orphan)).To(Succeed())
	Eventually(ctx, func() error {
		return shared.Get(ctx, client.ObjectKeyFromObject(orphan), orphan)
	}).WithTimeout(collectorTimeout).Should(MatchError(apierrors.IsNotFound, "not found"))
}

// forgetful does something with clients that have yet to learn of any kind: they
// never forget its scope.
func forgetful(do func()) {
	GinkgoHelper()
	before := shared
	defer func() { shared = before }()
	fresh, view := *shared, *shared.Cluster
	view.Dial()
	fresh.Cluster = &view
	shared = &fresh
	do()
}
