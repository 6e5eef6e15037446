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

package install

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/bench/metrics"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// auditAll has the audit log tell of each request, heartbeats and watches that go on included.
const auditAll = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

var _ = Describe("The shipped roles", Label("rights"), func() {
	It("are enough for everything, and not more: nothing is refused to the operator, and nothing is never used", func(ctx SpecContext) {
		policy := filepath.Join(GinkgoT().TempDir(), "audit.yaml")
		Expect(os.WriteFile(policy, []byte(auditAll), 0o600)).To(Succeed())
		w := newWorld(ctx, "--audit-policy-file="+policy)
		operator := w.Watch(controlplane.ByUser(controlplane.OperatorUser))
		for _, command := range documented(withKubectl) {
			w.sh(ctx, command)
		}
		operators := w.runAll(ctx)
		web, stuck := w.live(ctx, v1alpha1.FailurePolicyIgnore)
		w.useAll(ctx)
		_, err := metrics.NewScraper(ctx, w.Client, w.cp.MetricsURL(operators[0].Name), w.namespace)
		Expect(err).NotTo(HaveOccurred())

		By("another replica leading, with another key and another certificate")
		w.sh(ctx, `kubectl -n kausality-system delete secret kausality-webhook-path`)
		for _, command := range documented("Another serving certificate") {
			w.sh(ctx, command)
		}
		Expect(operators[0].Kill()).To(Succeed())
		w.completes(ctx, web, "web:after")
		Expect(operators[0].Restart(ctx)).To(Succeed())

		By("forgetting what is gone")
		Expect(w.Delete(ctx, stuck)).To(Succeed())
		w.sh(ctx, "kubectl delete allowancepolicies --all")
		w.completes(ctx, web, "web:last")
		asked := operator.Requests()
		Expect(asked).NotTo(BeEmpty())
		var refused []string
		for _, event := range asked.Where(controlplane.Refused(http.StatusForbidden)) {
			refused = append(refused, stage.DescribeEvent(&event))
		}
		Expect(refused).To(BeEmpty())
		w.usesAll(ctx, operator)
	}, SpecTimeout(specTimeout))
})

// useAll has policies for each of the workloads that the operator may read, and changes these.
func (w *world) useAll(ctx context.Context) {
	GinkgoHelper()
	workloads := map[string]string{
		"StatefulSet": `{"serviceName":"x","selector":{"matchLabels":{"app":"x"}},"template":%s}`,
		"DaemonSet":   `{"selector":{"matchLabels":{"app":"x"}},"template":%s}`,
		"Job":         `{"suspend":true,"template":%s}`,
		"CronJob":     `{"schedule":"0 0 1 1 *","jobTemplate":{"spec":{"template":%s}}}`,
	}
	for _, kind := range slices.Sorted(maps.Keys(workloads)) {
		group, restart, target := "apps", "Always", `apiGroup: "", apiVersion: v1, resource: pods`
		if strings.HasSuffix(kind, "Job") {
			group, restart = "batch", "Never"
		}
		if kind == "CronJob" {
			target = "apiGroup: batch, apiVersion: v1, resource: jobs"
		}
		w.Apply(ctx, stage.ParsePolicies(fmt.Sprintf(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: %s}
spec:
  for: {apiGroup: %s, apiVersion: v1, kind: %s}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  initializing: {policies: [{target: {%s}, relation: ControllerChild, verbs: ["*"]}]}
  rules:
  - trigger: spec
    policies: [{target: {%s}, relation: ControllerChild, verbs: ["*"]}]
`, strings.ToLower(kind), group, kind, target, target))...)
		template := fmt.Sprintf(`{"metadata":{"labels":{"app":"x"}},"spec":{"restartPolicy":%q,"containers":[{"name":"main","image":"x"}]}}`, restart)
		made := object(fmt.Sprintf(`{"apiVersion":"%s/v1","kind":%q,"metadata":{"namespace":%q,"name":"all"},"spec":%s}`,
			group, kind, w.namespace, fmt.Sprintf(workloads[kind], template)))
		Expect(w.Alice().Create(ctx, made)).To(Succeed())
		change := map[string]string{
			"StatefulSet": `{"spec":{"replicas":2}}`, "DaemonSet": `{"spec":{"minReadySeconds":1}}`,
			"Job": `{"spec":{"suspend":false}}`, "CronJob": `{"spec":{"suspend":true}}`,
		}[kind]
		Expect(w.Alice().Patch(ctx, made, client.RawPatch(types.MergePatchType, []byte(change)))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(w.Remains(ctx, g)).To(ContainElement(ContainSubstring("/all kausality.io/")))
		}).Should(Succeed())
	}
	w.sh(ctx, "kubectl apply --server-side -k config/samples/upgrades")
	Eventually(ctx, func(g Gomega) {
		upgrades := &v1alpha1.UpgradeAllowanceList{}
		g.Expect(w.List(ctx, upgrades)).To(Succeed())
		g.Expect(upgrades.Items).NotTo(BeEmpty())
		g.Expect(upgrades.Items).To(HaveEach(HaveField("Status.Conditions", Not(BeEmpty()))))
	}).Should(Succeed())
	// An eviction is Alice's, and a Pod takes the place of another one.
	pods := &corev1.PodList{}
	Expect(w.List(ctx, pods, client.InNamespace(w.namespace), client.MatchingLabels{"app": "web"})).To(Succeed())
	Expect(pods.Items).NotTo(BeEmpty())
	Expect(w.Alice().Delete(ctx, &pods.Items[0])).To(Succeed())
	sets := &appsv1.ReplicaSetList{}
	Expect(w.List(ctx, sets, client.InNamespace(w.namespace))).To(Succeed())
	Expect(sets.Items).NotTo(BeEmpty())
}

// object returns the one of some JSON.
func object(text string) *unstructured.Unstructured {
	GinkgoHelper()
	objects, err := controlplane.Decode([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	Expect(objects).To(HaveLen(1))
	return objects[0]
}
