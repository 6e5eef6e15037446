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

package controllers

import (
	"context"
	"fmt"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// What people do with a Rollout by "kubectl argo rollouts".
const (
	promote     = `{"status":{"pauseConditions":null}}`
	promoteFull = `{"status":{"promoteFull":true}}`
	abort       = `{"status":{"abort":true}}`
)

// rollout returns a Rollout that stops at a quarter until somebody promotes it.
func (s *scene) rollout() *unstructured.Unstructured {
	GinkgoHelper()
	return s.object(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 4
  revisionHistoryLimit: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
  strategy:
    canary:
      steps:
      - setWeight: 25
      - pause: {}
      - setWeight: 50
      - pause: {duration: 2s}
`)
}

// blueGreen returns a Rollout that keeps what is new apart until somebody promotes it, and what was
// there for a moment longer. Its Services are there.
func (s *scene) blueGreen(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	for _, name := range []string{"web-active", "web-preview"} {
		Expect(s.alice.Create(ctx, s.object(`
apiVersion: v1
kind: Service
metadata: {name: `+name+`}
spec: {clusterIP: None, selector: {app: web}}
`))).To(Succeed())
	}
	return s.object(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
  strategy:
    blueGreen: {activeService: web-active, previewService: web-preview, autoPromotionEnabled: false, scaleDownDelaySeconds: 6}
`)
}

// rolls changes the image of a Rollout.
func rolls(ctx context.Context, who *stage.Actor, rollout *unstructured.Unstructured, image string) {
	GinkgoHelper()
	merge(ctx, who, rollout, fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, image))
}

// is waits until a Rollout is in a phase at its generation, with Pods by image.
func (s *scene) is(ctx context.Context, rollout *unstructured.Unstructured, phase string, pods map[string]int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, rollout)
		status, _, _ := unstructured.NestedMap(rollout.Object, "status")
		g.Expect(status).To(And(HaveKeyWithValue("phase", phase),
			HaveKeyWithValue("observedGeneration", strconv.FormatInt(rollout.GetGeneration(), 10))), "%v", status["message"])
		g.Expect(s.pods(ctx, g)).To(Equal(pods))
	}).WithTimeout(within).Should(Succeed())
}

// promote goes on with a canary that is paused. Argo Rollouts writes its status without
// regard to what others write meanwhile, so that it has to be at rest.
func (s *scene) promote(ctx context.Context, who *stage.Actor, rollout *unstructured.Unstructured) {
	GinkgoHelper()
	s.quiet(ctx)
	mergeStatus(ctx, who, rollout, promote)
}

// canary is what people do with a Rollout in the course of its life.
func canary(ctx context.Context, s *scene) {
	GinkgoHelper()
	web := s.rollout()
	Expect(s.alice.Create(ctx, web)).To(Succeed())
	s.is(ctx, web, "Healthy", map[string]int{"web:1": 4})
	By("changing it, and promoting the canary")
	rolls(ctx, s.alice, web, "web:2")
	s.is(ctx, web, "Paused", map[string]int{"web:1": 3, "web:2": 1})
	s.promote(ctx, s.alice, web)
	s.is(ctx, web, "Healthy", map[string]int{"web:2": 4})
	By("scaling it")
	merge(ctx, s.alice, web, `{"spec":{"replicas":6}}`)
	s.is(ctx, web, "Healthy", map[string]int{"web:2": 6})
	By("aborting a canary, and going back")
	rolls(ctx, s.alice, web, "web:3")
	Eventually(ctx, func(g Gomega) { g.Expect(s.pods(ctx, g)).To(HaveKey("web:3")) }).WithTimeout(within).Should(Succeed())
	mergeStatus(ctx, s.alice, web, abort)
	s.is(ctx, web, "Degraded", map[string]int{"web:2": 6})
	rolls(ctx, s.alice, web, "web:2")
	s.is(ctx, web, "Healthy", map[string]int{"web:2": 6})
	By("losing a Pod")
	evict(ctx, s.mallory, s.anyPod(ctx))
	s.is(ctx, web, "Healthy", map[string]int{"web:2": 6})
	By("deleting it")
	s.quiet(ctx)
	Expect(s.alice.Delete(ctx, web)).To(Succeed())
	Eventually(ctx, func(g Gomega) { g.Expect(s.pods(ctx, g)).To(BeEmpty()) }).WithTimeout(within).Should(Succeed())
}

var _ = Describe("Argo Rollouts", Label(controllers.ArgoRollouts.Name), func() {
	It("does its work, with not many more writes", Label("smoke"), func(ctx SpecContext) {
		compare(ctx, controllers.ArgoRollouts.Name, canary)
	}, SpecTimeout(2*specTimeout))

	It("carries out what somebody caused who may, and nothing of a stranger's", func(ctx SpecContext) {
		s := setScene(ctx, true)
		web := s.rollout()
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.is(ctx, web, "Healthy", map[string]int{"web:1": 4})
		s.caused("pods", stage.AliceName, "create")
		s.quiet(ctx)

		By("changing it as an initiator")
		s.look()
		rolls(ctx, s.bob, web, "web:2")
		s.is(ctx, web, "Paused", map[string]int{"web:1": 3, "web:2": 1})
		s.promote(ctx, s.bob, web)
		s.is(ctx, web, "Healthy", map[string]int{"web:2": 4})
		s.caused("pods", "bob", "create", "delete")
		s.caused("replicasets", "bob", "create")
		s.quiet(ctx)
		Expect(s.refusals()).To(BeEmpty())

		By("changing it as a stranger")
		s.look()
		rolls(ctx, s.mallory, web, "web:theirs")
		Expect(s.mallory.Warned.Take()).To(ContainSubstring("withheld"))
		s.quiet(ctx)
		Expect(s.pods(ctx, Default)).To(Equal(map[string]int{"web:2": 4}))
		live(ctx, Default, web)
		Expect(stage.WithheldOf(web)).NotTo(BeEmpty())

		By("losing a Pod meanwhile")
		evict(ctx, s.mallory, s.anyPod(ctx))
		Eventually(ctx, func(g Gomega) { g.Expect(s.pods(ctx, g)).To(Equal(map[string]int{"web:2": 4})) }).Should(Succeed())

		By("approving it")
		s.look()
		approve(ctx, s.alice, web)
		s.is(ctx, web, "Paused", map[string]int{"web:2": 3, "web:theirs": 1})
		mergeStatus(ctx, s.alice, web, promoteFull)
		s.is(ctx, web, "Healthy", map[string]int{"web:theirs": 4})
		s.caused("pods", stage.AliceName, "create", "delete")
		s.quiet(ctx)

		By("being at rest")
		s.look()
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Consistently(ctx, func() []string { return describe(s.counted()) }).WithTimeout(2 * quietMoment).Should(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("is promoted and aborted by those who may", func(ctx SpecContext) {
		s := setScene(ctx, true)
		web := s.rollout()
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.is(ctx, web, "Healthy", map[string]int{"web:1": 4})
		rolls(ctx, s.bob, web, "web:2")
		s.is(ctx, web, "Paused", map[string]int{"web:1": 3, "web:2": 1})
		s.quiet(ctx)
		s.look()
		for _, action := range []string{promote, promoteFull, abort, `{"status":{"stableRS":"theirs"}}`} {
			refused(s.mallory.Status().Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(action))))
		}
		s.quiet(ctx)
		Expect(s.pods(ctx, Default)).To(Equal(map[string]int{"web:1": 3, "web:2": 1}))

		By("promoting it as an initiator who did not begin it")
		s.look()
		mergeStatus(ctx, s.alice, web, promoteFull)
		s.is(ctx, web, "Healthy", map[string]int{"web:2": 4})
		s.caused("pods", stage.AliceName, "create", "delete")
		s.quiet(ctx)
		Expect(s.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("switches from blue to green when somebody says so who may", func(ctx SpecContext) {
		s := setScene(ctx, true)
		web := s.blueGreen(ctx)
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.is(ctx, web, "Healthy", map[string]int{"web:1": 2})
		s.quiet(ctx)
		s.look()
		rolls(ctx, s.bob, web, "web:2")
		s.is(ctx, web, "Paused", map[string]int{"web:1": 2, "web:2": 2})
		s.caused("pods", "bob", "create")
		s.quiet(ctx)
		refused(s.mallory.Status().Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(promote))))

		By("promoting it; blue goes when its time has come, after the switch is over")
		s.look()
		s.promote(ctx, s.alice, web)
		s.is(ctx, web, "Healthy", map[string]int{"web:2": 2})
		s.quiet(ctx)
		Expect(s.refusals()).To(BeEmpty())

		By("changing it as a stranger: there is no preview of that")
		rolls(ctx, s.mallory, web, "web:theirs")
		s.quiet(ctx)
		Expect(s.pods(ctx, Default)).To(Equal(map[string]int{"web:2": 2}))

		By("approving it")
		approve(ctx, s.alice, web)
		s.is(ctx, web, "Paused", map[string]int{"web:2": 2, "web:theirs": 2})
	}, SpecTimeout(specTimeout))

	It("lets people delete a Pod where they may have it evicted, if they may initiate", func(ctx SpecContext) {
		s := setScene(ctx, true)
		web := s.rollout()
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.is(ctx, web, "Healthy", map[string]int{"web:1": 4})
		s.quiet(ctx)
		s.look()
		pod := s.anyPod(ctx)
		Expect(s.alice.Delete(ctx, pod)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(s.Writes(controlplane.ByVerb("create"), controlplane.OfResource("", "pods"), controlplane.OfSubresource(""))).NotTo(BeEmpty())
		}).Should(Succeed())
		s.is(ctx, web, "Healthy", map[string]int{"web:1": 4})
		Expect(s.mallory.Delete(ctx, s.anyPod(ctx))).To(MatchError(stage.Denied, "denied"))
	}, SpecTimeout(specTimeout))
})
