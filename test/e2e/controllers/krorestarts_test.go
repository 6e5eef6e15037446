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
	"flag"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// adopted is how many instances there are before anybody may initiate on them.
var adopted = flag.Int("adopted", 100, "how many instances of kro are adopted at once")

// kroVersion is the label by which kro says which version of it has last made an object.
const kroVersion = "kro.run/kro-version"

// madeBy waits until all Deployments of the namespace were made by one version of kro, other than
// those named, and returns it.
func (s *scene) madeBy(ctx context.Context, others ...string) string {
	GinkgoHelper()
	var version string
	Eventually(ctx, func(g Gomega) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(deploymentKind)
		g.Expect(shared.List(ctx, list, client.InNamespace(s.namespace))).To(Succeed())
		versions := sets.New[string]()
		for _, deployment := range list.Items {
			versions.Insert(deployment.GetLabels()[kroVersion])
		}
		g.Expect(versions).To(HaveLen(1))
		version, _ = versions.PopAny()
		g.Expect(version).NotTo(BeElementOf(append(others, "")))
	}).WithTimeout(within).Should(Succeed())
	return version
}

// startKro has kro start anew, and returns what was written until all was quiet again, after each
// of so many Deployments was applied.
func (s *scene) startKro(ctx context.Context, deployments int) controlplane.AuditEvents {
	GinkgoHelper()
	s.look()
	Expect(members.Restart(ctx, controllers.Kro.Name)).To(Succeed())
	Eventually(ctx, func() int {
		names := sets.New[string]()
		for _, event := range s.appliedByKro("deployments") {
			names.Insert(event.ObjectRef.Name)
		}
		return names.Len()
	}).WithTimeout(2 * within).Should(Equal(deployments))
	s.quiet(ctx)
	return s.counted()
}

// causedOrMarked expects of all by which kro changed Deployments since the scene was last looked at
// that alice has caused it, or that it is a mark by which kro finds its children: those of another
// version are other ones. kro 0.9.4 marks in which order it deletes, which 0.9.3 does not.
func (s *scene) causedOrMarked() {
	GinkgoHelper()
	for _, event := range s.appliedByKro("deployments") {
		switch reason := event.Annotations[stage.AuditReason]; reason {
		case "", "Unchanged", "Maintaining", "Released":
		default:
			Expect(reason).To(Equal("Covered"), stage.DescribeEvent(&event))
			Expect(event.Annotations[stage.AuditTrace]).To(HavePrefix(stage.AliceName+" "), stage.DescribeEvent(&event))
		}
	}
}

// These end processes, which only the process of the suite can that has started them.
var _ = Describe("kro with many instances, or in another version", Label(controllers.Kro.Name), Serial, func() {
	It("is adopted without a denial, and without more writes than what marks them", func(ctx SpecContext) {
		graph := serve(ctx, "CrowdedApp")
		s := setScene(ctx, false)
		var all []*unstructured.Unstructured
		for i := range *adopted {
			instance := s.object(fmt.Sprintf(`
apiVersion: example.com/v1alpha1
kind: CrowdedApp
metadata: {name: web-%[1]d}
spec: {name: web-%[1]d, image: "web:1", replicas: 0}
`, i))
			Expect(s.alice.Create(ctx, instance)).To(Succeed())
			all = append(all, instance)
		}
		for _, instance := range all {
			s.carriedOut(ctx, instance)
		}
		s.quiet(ctx)
		before := s.startKro(ctx, len(all))

		By("naming initiators")
		s.look()
		governs(ctx, graph, "")
		derived(ctx, graph, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(p.Status.Affected).To(HaveValue(Equal(int64(len(all)))))
		})
		s.quiet(ctx)
		Expect(s.refusals()).To(BeEmpty())
		marking := s.counted()
		marks := len(marking) - len(s.Writes(controlplane.Succeeded, controlplane.ByUser(kroUser)))

		By("kro going over all of them again")
		after := s.startKro(ctx, len(all))
		Expect(s.refusals()).To(BeEmpty())
		report := fmt.Sprintf("%d instances: %d writes after a start of kro before they were adopted, %d after; %d by others than kro while they were adopted, %d in all",
			len(all), len(before), len(after), marks, len(marking))
		AddReportEntry("adopted", ReportEntryVisibilityAlways, report)
		Expect(float64(len(after))).To(BeNumerically("<=", 1.1*float64(len(before))), report)
		Expect(marks).To(BeNumerically("<=", len(all)), report)

		By("being bound from then on")
		merge(ctx, s.mallory, all[0], `{"spec":{"image":"web:theirs"}}`)
		s.refusedFor(ctx, all[0])
		s.has(ctx, "web-0", "web:1", 0)
		merge(ctx, s.alice, all[1], `{"spec":{"image":"web:2"}}`)
		s.carriedOut(ctx, all[1])
		s.has(ctx, "web-1", "web:2", 0)
	}, SpecTimeout(10*time.Minute))

	It("is upgraded itself in the middle of changes, and put back, which changes nothing that nobody caused", func(ctx SpecContext) {
		replace := func(ctx context.Context, binary string) {
			GinkgoHelper()
			Expect(controllers.Kro.Replace(ctx, members, binary)).To(Succeed())
		}
		DeferCleanup(replace, controllers.Kro.Name)
		replace(ctx, controllers.KroBefore)
		governs(ctx, serve(ctx, "MovedApp"), "")
		s := setScene(ctx, false)
		one, two, three := s.instance(ctx, "MovedApp", "one"), s.instance(ctx, "MovedApp", "two"), s.instance(ctx, "MovedApp", "three")
		older := s.madeBy(ctx)

		By("being upgraded")
		s.look()
		for _, instance := range []*unstructured.Unstructured{one, three} {
			merge(ctx, s.alice, instance, `{"spec":{"image":"web:2"}}`)
		}
		merge(ctx, s.mallory, two, `{"spec":{"replicas":5}}`)
		replace(ctx, controllers.Kro.Name)
		s.carriedOut(ctx, one)
		s.has(ctx, "one", "web:2", 1)
		s.carriedOut(ctx, three)
		s.has(ctx, "three", "web:2", 1)
		s.refusedFor(ctx, two)
		s.has(ctx, "two", "web:1", 1)
		s.causedOrMarked()
		merge(ctx, s.mallory, two, `{"spec":{"replicas":1}}`)
		s.carriedOut(ctx, two)
		newer := s.madeBy(ctx, older)
		AddReportEntry("versions", ReportEntryVisibilityAlways, older+" and "+newer)

		By("being put back")
		s.look()
		replace(ctx, controllers.KroBefore)
		Expect(s.madeBy(ctx, newer)).To(Equal(older))
		for _, instance := range []*unstructured.Unstructured{one, two, three} {
			s.carriedOut(ctx, instance)
		}
		Expect(s.refusals()).To(BeEmpty())
		s.causedOrMarked()
		s.has(ctx, "one", "web:2", 1)
		s.has(ctx, "two", "web:1", 1)
		By("a stranger changing nothing by it either")
		merge(ctx, s.mallory, one, `{"spec":{"image":"web:theirs"}}`)
		s.refusedFor(ctx, one)
		s.has(ctx, "one", "web:2", 1)
		deployment := s.ref(deploymentKind, "two")
		live(ctx, Default, deployment)
		Expect(deployment.GetLabels()).To(HaveKeyWithValue(kroVersion, older))
		refused(patch(ctx, s.mallory, deployment, `{"spec":{"replicas":7}}`))
	}, SpecTimeout(8*time.Minute))
})
