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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// What a Prometheus is made of.
const (
	prometheusSet    = "prometheus-main"
	prometheusConfig = "prometheus-main"
)

var statefulSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}

// prometheus returns a Prometheus that scrapes what ServiceMonitors of its namespace say.
func (s *scene) prometheus() *unstructured.Unstructured {
	GinkgoHelper()
	return s.object(`
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main}
spec:
  replicas: 2
  image: prometheus:1
  serviceMonitorSelector: {}
  ruleSelector: {}
`)
}

// serviceMonitor returns a ServiceMonitor that such a Prometheus selects.
func (s *scene) serviceMonitor(name string) *unstructured.Unstructured {
	GinkgoHelper()
	return s.object(`
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: ` + name + `}
spec:
  selector: {matchLabels: {app: web}}
  endpoints: [{port: metrics}]
`)
}

// scrapeConfigs returns some that a Prometheus may name.
func (s *scene) scrapeConfigs(name, text string) *unstructured.Unstructured {
	GinkgoHelper()
	return s.object(`
apiVersion: v1
kind: Secret
metadata: {name: ` + name + `, labels: {prometheus.example.com/scrape-configs: "true"}}
stringData: {scrape.yaml: "` + text + `"}
`)
}

// scrapes waits until a Prometheus says that it is done, with Pods by image.
func (s *scene) scrapes(ctx context.Context, prometheus *unstructured.Unstructured, pods map[string]int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(s.pods(ctx, g)).To(Equal(pods))
		live(ctx, g, prometheus)
		for _, kind := range []string{"Available", "Reconciled"} {
			g.Expect(stage.Condition(prometheus, kind)).To(And(HaveKeyWithValue("status", "True"),
				HaveKeyWithValue("observedGeneration", prometheus.GetGeneration())), kind)
		}
	}).WithTimeout(within).Should(Succeed())
}

// config returns the configuration that Pods have, which is compressed.
func (s *scene) config(ctx context.Context, g Gomega) string {
	var secret corev1.Secret
	g.Expect(shared.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: prometheusConfig}, &secret)).To(Succeed())
	return string(secret.Data["prometheus.yaml.gz"])
}

// reconfigured waits until the configuration is another one.
func (s *scene) reconfigured(ctx context.Context, before string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) { g.Expect(s.config(ctx, g)).NotTo(Equal(before)) }).Should(Succeed())
}

// scraping is what people do with a Prometheus in the course of its life.
func scraping(ctx context.Context, s *scene) {
	GinkgoHelper()
	main := s.prometheus()
	Expect(s.alice.Create(ctx, main)).To(Succeed())
	s.scrapes(ctx, main, map[string]int{"prometheus:1": 2})
	By("changing its image")
	merge(ctx, s.alice, main, `{"spec":{"image":"prometheus:2"}}`)
	s.scrapes(ctx, main, map[string]int{"prometheus:2": 2})
	By("scaling it")
	merge(ctx, s.alice, main, `{"spec":{"replicas":3}}`)
	s.scrapes(ctx, main, map[string]int{"prometheus:2": 3})
	By("having it scrape something")
	before := s.config(ctx, Default)
	Expect(s.alice.Create(ctx, s.serviceMonitor("web"))).To(Succeed())
	s.reconfigured(ctx, before)
	By("changing what its StatefulSet cannot be changed to")
	Expect(s.alice.Create(ctx, s.object(`
apiVersion: v1
kind: Service
metadata: {name: another}
spec:
  clusterIP: None
  selector: {app.kubernetes.io/name: prometheus, prometheus: main}
`))).To(Succeed())
	merge(ctx, s.alice, main, `{"spec":{"serviceName":"another"}}`)
	Eventually(ctx, func(g Gomega) {
		set := s.ref(statefulSetKind, prometheusSet)
		live(ctx, g, set)
		service, _, _ := unstructured.NestedString(set.Object, "spec", "serviceName")
		g.Expect(service).To(Equal("another"))
	}).WithTimeout(within).Should(Succeed())
	s.scrapes(ctx, main, map[string]int{"prometheus:2": 3})
	By("losing a Pod")
	evict(ctx, s.mallory, s.anyPod(ctx))
	s.scrapes(ctx, main, map[string]int{"prometheus:2": 3})
	By("deleting it")
	s.quiet(ctx)
	Expect(s.alice.Delete(ctx, main)).To(Succeed())
	Eventually(ctx, func(g Gomega) { g.Expect(s.pods(ctx, g)).To(BeEmpty()) }).WithTimeout(within).Should(Succeed())
}

var _ = Describe("The Prometheus operator", Label(controllers.PrometheusOperator.Name), func() {
	It("does its work, with not many more writes", func(ctx SpecContext) {
		compare(ctx, controllers.PrometheusOperator.Name, scraping)
	}, SpecTimeout(2*specTimeout))

	It("carries out what somebody caused who may, and nothing of a stranger's", func(ctx SpecContext) {
		s := setScene(ctx, true)
		main := s.prometheus()
		Expect(s.alice.Create(ctx, main)).To(Succeed())
		s.scrapes(ctx, main, map[string]int{"prometheus:1": 2})
		s.caused("pods", stage.AliceName, "create")
		s.quiet(ctx)

		By("changing it as an initiator")
		s.look()
		merge(ctx, s.bob, main, `{"spec":{"image":"prometheus:2"}}`)
		s.scrapes(ctx, main, map[string]int{"prometheus:2": 2})
		s.caused("statefulsets", "bob", "update", "patch")
		s.caused("pods", "bob", "create", "delete")
		s.quiet(ctx)
		Expect(s.refusals()).To(BeEmpty())

		By("changing it as a stranger")
		s.look()
		merge(ctx, s.mallory, main, `{"spec":{"image":"prometheus:theirs"}}`)
		Expect(s.mallory.Warned.Take()).To(ContainSubstring("withheld"))
		s.quiet(ctx)
		Expect(s.pods(ctx, Default)).To(Equal(map[string]int{"prometheus:2": 2}))
		set := s.ref(statefulSetKind, prometheusSet)
		live(ctx, Default, set)
		Expect(fmt.Sprint(set.Object["spec"])).NotTo(ContainSubstring("theirs"))
		live(ctx, Default, main)
		Expect(stage.WithheldOf(main)).NotTo(BeEmpty())

		By("losing a Pod meanwhile")
		evict(ctx, s.mallory, s.anyPod(ctx))
		Eventually(ctx, func(g Gomega) {
			g.Expect(s.pods(ctx, g)).To(Equal(map[string]int{"prometheus:2": 2}))
		}).Should(Succeed())

		By("approving it")
		s.look()
		approve(ctx, s.alice, main)
		s.scrapes(ctx, main, map[string]int{"prometheus:theirs": 2})
		s.caused("pods", stage.AliceName, "create", "delete")
		s.quiet(ctx)

		By("being at rest")
		s.look()
		Consistently(ctx, func() []string { return describe(s.counted()) }).WithTimeout(2 * quietMoment).Should(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("follows what it reads, by who may change that", func(ctx SpecContext) {
		s := setScene(ctx, true)
		more := s.scrapeConfigs("more", "- job_name: one")
		Expect(s.alice.Create(ctx, more)).To(Succeed())
		main := s.prometheus()
		Expect(unstructured.SetNestedStringMap(main.Object, map[string]string{"name": "more", "key": "scrape.yaml"}, "spec", "additionalScrapeConfigs")).To(Succeed())
		Expect(s.alice.Create(ctx, main)).To(Succeed())
		s.scrapes(ctx, main, map[string]int{"prometheus:1": 2})
		s.quiet(ctx)

		By("making a ServiceMonitor as an initiator")
		s.look()
		before := s.config(ctx, Default)
		web := s.serviceMonitor("web")
		Expect(s.bob.Create(ctx, web)).To(Succeed())
		s.reconfigured(ctx, before)
		s.causedThrough("secrets", "bob", "ServiceMonitor", "update")
		s.quiet(ctx)

		By("making and deleting one as a stranger")
		refused(s.mallory.Create(ctx, s.serviceMonitor("theirs")))
		refused(s.mallory.Delete(ctx, s.serviceMonitor("web")))

		By("changing it as a stranger")
		s.look()
		before = s.config(ctx, Default)
		merge(ctx, s.mallory, web, `{"spec":{"endpoints":[{"port":"theirs"}]}}`)
		Expect(s.mallory.Warned.Take()).To(ContainSubstring("withheld"))
		s.quiet(ctx)
		Expect(s.config(ctx, Default)).To(Equal(before))

		By("approving it")
		s.look()
		approve(ctx, s.alice, web)
		s.reconfigured(ctx, before)
		s.causedThrough("secrets", stage.AliceName, "ServiceMonitor", "update")
		s.quiet(ctx)

		By("changing a Secret that it names, as an initiator")
		s.look()
		before = s.config(ctx, Default)
		merge(ctx, s.bob, more, `{"stringData":{"scrape.yaml":"- job_name: two"}}`)
		s.reconfigured(ctx, before)
		s.quiet(ctx)
		Expect(s.verdicts()).To(ContainElement(And(ContainSubstring("secrets/"+prometheusConfig), ContainSubstring("Covered bob"))))

		By("changing it as a stranger")
		before = s.config(ctx, Default)
		merge(ctx, s.mallory, more, `{"stringData":{"scrape.yaml":"- job_name: theirs"}}`)
		Expect(s.mallory.Warned.Take()).To(ContainSubstring("withheld"))
		s.quiet(ctx)
		Expect(s.config(ctx, Default)).To(Equal(before))
		refused(s.mallory.Delete(ctx, more))
	}, SpecTimeout(specTimeout))

	It("puts right what somebody has changed by hand, and makes anew what is lost", func(ctx SpecContext) {
		s := setScene(ctx, true)
		main := s.prometheus()
		Expect(s.alice.Create(ctx, main)).To(Succeed())
		s.scrapes(ctx, main, map[string]int{"prometheus:1": 2})
		s.quiet(ctx)
		set := s.ref(statefulSetKind, prometheusSet)

		By("changing the StatefulSet as a stranger")
		s.look()
		err := s.mallory.Patch(ctx, set, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":5}}`)))
		Expect(err).To(MatchError(ContainSubstring("not allowed by its parent Prometheus main")))
		Expect(s.mallory.Delete(ctx, s.ref(statefulSetKind, prometheusSet))).To(MatchError(stage.Denied, "denied"))

		By("losing the StatefulSet, by somebody who breaks the glass")
		live(ctx, Default, set)
		before := set.GetUID()
		merge(ctx, s.alice, set, `{"metadata":{"annotations":{"statefulset.kausality.io/break-glass":"delete: INC-42"}}}`)
		Expect(s.alice.Delete(ctx, set)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			set := s.ref(statefulSetKind, prometheusSet)
			live(ctx, g, set)
			g.Expect(set.GetUID()).NotTo(Equal(before))
		}).WithTimeout(within).Should(Succeed())
		s.scrapes(ctx, main, map[string]int{"prometheus:1": 2})

		By("losing the configuration")
		Expect(s.alice.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: prometheusConfig}})).To(Succeed())
		Eventually(ctx, func(g Gomega) { s.config(ctx, g) }).WithTimeout(within).Should(Succeed())
		s.quiet(ctx)
		Expect(describe(s.Writes(stage.Failed, controlplane.ByUser(controllers.PrometheusOperator.User())))).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})
