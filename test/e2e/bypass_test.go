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
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/stage"
)

// bypass is a way in which somebody might get through what nothing covers, or come
// by an allowance. docs/bypasses.md has a row for each, by its name, and
// test/mutants takes out the check that stands in its way.
type bypass struct {
	way string
	try func(context.Context, *scene)
}

// scene is what bypasses are tried on: a Deployment that has rolled out under the
// sample policies. They leave it as it is.
type scene struct {
	ns string
	d  *appsv1.Deployment
	rs *appsv1.ReplicaSet
	// rogue has all rights of RBAC, and may initiate nothing.
	rogue *actor
	// controller is the Deployment controller's identity.
	controller *actor
}

func setScene(ctx context.Context) *scene {
	GinkgoHelper()
	s := &scene{ns: shared.newNamespace(ctx)}
	s.d = shared.alice().deploy(ctx, builders.MakeDeployment(s.ns, "web").Replicas(3))
	s.rs = shared.newestReplicaSet(ctx, s.d)
	s.rogue = shared.as(mallory, "system:masters")
	s.controller = shared.serviceAccount(deploymentController)
	return s
}

// deployment returns the Deployment as it is now.
func (s *scene) deployment(ctx context.Context) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.d), d)).To(Succeed())
	return d
}

// pod returns one of the Pods as they are now.
func (s *scene) pod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(shared.List(ctx, &pods, client.InNamespace(s.ns), client.MatchingLabels(s.d.Spec.Selector.MatchLabels))).To(Succeed())
	Expect(pods.Items).NotTo(BeEmpty())
	return &pods.Items[0]
}

// rollingOut makes another Deployment, in the middle of a rollout of alice's that
// does not end, and returns it with its old ReplicaSet.
func (s *scene) rollingOut(ctx context.Context, name string) (*appsv1.Deployment, *appsv1.ReplicaSet) {
	GinkgoHelper()
	d := builders.MakeDeployment(s.ns, name).Replicas(4).RollingUpdate("1", "0").Obj()
	Expect(shared.alice().Create(ctx, d)).To(Succeed())
	shared.rolledOut(ctx, d)
	old := shared.newestReplicaSet(ctx, d)
	shared.alice().change(ctx, d, image(name+":"+unready))
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		g.Expect(d.Status.UpdatedReplicas).To(BeEquivalentTo(1))
	}).Should(Succeed())
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(old), old)).To(Succeed())
	return d, old
}

// refuse checks that a change of a child was refused by a policy.
func refuse(err error, parts ...string) {
	GinkgoHelper()
	refused(err, append(parts, "is not allowed by")...)
}

// refused checks that a request was refused by the webhook.
func refused(err error, parts ...string) {
	GinkgoHelper()
	Expect(err).To(MatchError(denied, "denied"))
	for _, part := range append(parts, "verdict") {
		Expect(err).To(MatchError(ContainSubstring(part)))
	}
}

var _ = Describe("Bypass", Ordered, ContinueOnFailure, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) { s = setScene(ctx) })
	AfterEach(func(ctx SpecContext) {
		By("looking whether the children are as they were")
		rs := &appsv1.ReplicaSet{}
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(s.rs), rs)).To(Succeed())
		Expect(rs.Spec).To(Equal(s.rs.Spec))
		Expect(rs.OwnerReferences).To(Equal(s.rs.OwnerReferences))
		Expect(rs.DeletionTimestamp).To(BeNil())
	})
	for _, b := range bypasses() {
		It(b.way, func(ctx SpecContext) { b.try(ctx, s) }, SpecTimeout(specTimeout))
	}

	It("has a row in the documentation for each way", func() {
		documented := stage.DocumentedBypasses(filepath.Join(root, "docs", "bypasses.md"), stage.InTheCluster)
		var tried []string
		for _, b := range slices.Concat(bypasses(), serially()) {
			tried = append(tried, b.way)
		}
		Expect(documented).To(Equal(tried))
		Expect(slices.Compact(slices.Sorted(slices.Values(tried)))).To(HaveLen(len(tried)), "two ways have the same name")
	})
})

func bypasses() []bypass {
	return slices.Concat(changingChildren(), movingChildren(), letGoBySubresource(), namedByLabels(), usingAllowances(), writingLedgers(), changingParents(), usingDeputies(), readByParents(), steeringRollouts(), reportingFalsely(), misreporting(), unknownKinds(), writingHistory(), mistakingChildren(), relabelingEndpoints(), adoptingStrays(), losingRecords(), askingTheWebhook(), converting(), losing(), scaling(), endingObjects(), changingGenerated())
}
