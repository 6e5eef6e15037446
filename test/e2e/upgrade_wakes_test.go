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
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// follow has the controller bring the ConfigMap of a Thing in line each time that the Thing is written, as those do
// that watch what they work for, until the returned function is called. It says that it is done where it was let
// through only.
func (c *versioned) follow(ctx context.Context, thing *unstructured.Unstructured) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended, seen, now := make(chan struct{}), "", thing.DeepCopy()
	isWritten := func() bool {
		return c.Get(ctx, client.ObjectKeyFromObject(now), now) == nil && now.GetResourceVersion() != seen
	}
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			if !isWritten() {
				return false, nil
			}
			wanted, _, _ := unstructured.NestedString(now.Object, "spec", "config")
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: now.GetName()}}
			err := c.have(ctx, now, config, func() error {
				config.Data = map[string]string{"config": wanted}
				return nil
			})
			if seen = now.GetResourceVersion(); err == nil && reportObserved(ctx, c.actor, now) != nil {
				seen = "" // Somebody has written it meanwhile.
			}
			return false, nil
		})
	}()
	return func() {
		cancel()
		<-ended
	}
}

// showsBlocked wants requests that show that something is blocked, or that it is not any more.
func showsBlocked(event *auditv1.Event) bool {
	return event.RequestObject != nil && strings.Contains(string(event.RequestObject.Raw), v1alpha1.ConditionBlocked)
}

// A controller that waits is woken by what may help, once. To be woken is to try again, and to be denied it again
// is to wait again: what does not help must not wake anybody for that.
var _ = Describe("A controller that waits for something else than an upgrade", func() {
	It("is not woken by an UpgradeAllowance without end", func(ctx SpecContext) {
		group := defineThings(ctx)
		ns := shared.newNamespace(ctx)
		user := shared.makeController(ctx, ns)
		shared.governController(ctx, group, ns)
		owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
		controller := shared.runVersion(ctx, ns, "controller-1", "example.org/controller:v1")
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a"}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		Eventually(ctx, func() error { return controller.reconcileAs(ctx, thing) }).Should(Succeed())
		shared.over(ctx, thing)
		agreed := upgradeOf(user)
		Expect(owner.Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		shared.expectAccepted(ctx, agreed)
		shared.watch(ns).UntilQuiet(ctx, quietMoment)

		By("a stranger changing what the controller works for")
		audit := shared.watch(ns)
		DeferCleanup(controller.follow(context.WithoutCancel(ctx), thing))
		stranger.setThing(ctx, thing, `{"config":"theirs"}`)
		Eventually(ctx, func(g Gomega) *v1alpha1.Blocked { return shared.record(ctx, g, thing).Status.Blocked }).ShouldNot(BeNil())
		// What else the operator writes of it, such as that a policy is about it, may come now as well.
		shown := func() int {
			return len(audit.writes(controlplane.ByUser(operatorUser), controlplane.Succeeded, controlplane.OfResource(group, "things"), showsBlocked))
		}
		refused := func() int {
			return len(audit.writes(controlplane.ByUser(user), controlplane.Refused(http.StatusForbidden)))
		}
		Eventually(ctx, shown).Should(Equal(1))
		Consistently(ctx, func(g Gomega) {
			g.Expect(shown()).To(Equal(1), "it is shown once that it is blocked")
			// It looks at what the stranger wrote, at what is shown, and at what else is written of it.
			g.Expect(refused()).To(BeNumerically("<=", 4))
			g.Expect(shared.record(ctx, g, thing).Status.Blocked).NotTo(BeNil())
		}).WithTimeout(40 * time.Second).WithPolling(time.Second).Should(Succeed())
		AddReportEntry("quiet", ReportEntryVisibilityAlways, map[string]int{"shown": shown(), "refused": refused()})

		status := shared.recorded(ctx, thing).Status
		Expect(status.WokenBy).To(BeEmpty())
		Expect(status.LastDenial).To(SatisfyAll(HaveField("NoUpgrade", true), HaveField("Upgrades", HaveLen(1))))

		By("the UpgradeAllowance not counting that")
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
		Expect(agreed.Status.Blocked).To(BeZero())

		By("the stranger's change being put back")
		owner.setThing(ctx, thing, `{"config":"a"}`)
		Eventually(ctx, func(g Gomega) *v1alpha1.Blocked { return shared.record(ctx, g, thing).Status.Blocked }).Should(BeNil())
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			g.Expect(agreed.Status.Blocked).To(BeZero())
		}).WithTimeout(15 * time.Second).WithPolling(time.Second).Should(Succeed())

		By("waking the controller once it may go on")
		stranger.setThing(ctx, thing, `{"config":"theirs"}`)
		Eventually(ctx, func(g Gomega) *v1alpha1.Blocked { return shared.record(ctx, g, thing).Status.Blocked }).ShouldNot(BeNil())
		Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(approve("spec.config"))))).To(Succeed())
		Eventually(ctx, func() (string, error) {
			config := &corev1.ConfigMap{}
			err := shared.Get(ctx, client.ObjectKeyFromObject(thing), config)
			return config.Data["config"], err
		}).Should(Equal("theirs"))
	}, SpecTimeout(specTimeout))
})
