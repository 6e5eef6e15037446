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
	"flag"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// previous is the source tree of the previous release, with its operator beside it.
var previous = flag.String("previous", filepath.Join(root, "bin", "previous", "tree"), "the sources of the previous release, as \"make previous-operator\" has them")

// What reaches the cloud does not depend on which release finds a gate. Only "make e2e-upgrade" has
// the previous release.
var _ = Describe("An upgrade from the previous release, and back again", Label("previous"), func() {
	const group = "upgraded.example.org"
	It("leaves gates as they are: one that is open, one that is closed, and one that is held", func(ctx SpecContext) {
		cp := stage.StartControlPlane(ctx, controlplane.Options{})
		Expect(crossplane.Start(ctx, cp, crossplane.Options{Poll: poll})).To(Succeed())
		w := &world{Cluster: stage.Connect(cp), CloudURL: crossplane.CloudURL(cp)}
		release := func(install controlplane.OperatorOptions) *controlplane.Operator {
			GinkgoHelper()
			install.ExtraFlags = append(install.ExtraFlags, "--composite-quiet-time="+quietTime.String(), "--gate-settle-time="+settleTime.String())
			return stage.InstallOperator(ctx, cp, install)
		}
		before := func() *controlplane.Operator {
			GinkgoHelper()
			// It has to be told where it is reached, which it does not read from what is installed.
			ports, err := controlplane.FreePorts(ctx, 1)
			Expect(err).NotTo(HaveOccurred())
			port := strconv.Itoa(ports[0])
			url := "https://" + net.JoinHostPort("localhost", port)
			return release(controlplane.OperatorOptions{
				Binary: filepath.Join(filepath.Dir(*previous), "manager"), Overlay: filepath.Join(*previous, "config", "dev"),
				WebhookURL: url, ExtraFlags: []string{"--webhook-url=" + url, "--webhook-port=" + port},
			})
		}
		present := func() *controlplane.Operator {
			GinkgoHelper()
			return release(controlplane.OperatorOptions{Binary: *operatorBin, Overlay: *operatorSetup})
		}

		running := before()
		w.offer(ctx, group)
		policies := stage.ParsePolicies(strings.ReplaceAll(gatedDatabases, "GROUP", group))
		w.Apply(ctx, policies...)
		ns, alice := w.MakeNamespace(ctx, nil), w.initiator()
		databases, instances := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
		for _, name := range []string{"open", "closed", "held"} {
			databases[name] = database(group, databaseKind, ns, name, medium)
			Expect(alice.Create(ctx, databases[name])).To(Succeed())
			instances[name] = w.instanceOf(ctx, databases[name], "instance")
			w.has(ctx, instances[name], medium)
			w.Closed(ctx, instances[name], stage.Observing)
		}
		Expect(w.collector().Delete(ctx, instances["held"])).To(Succeed())
		Expect(w.cloud().Inject(ctx, cloud.Fault{Name: instances["open"].GetName(), Verb: cloud.Update, Outcome: cloud.Refused})).To(Succeed())
		Expect(alice.Patch(ctx, databases["open"], resize(large))).To(Succeed())
		w.asTheyWere(ctx, instances)

		// Up, back, and up again.
		for _, next := range []func() *controlplane.Operator{present, before, present} {
			Expect(running.Stop()).To(Succeed())
			running = next()
			for _, p := range policies {
				w.Enforced(ctx, p, specTimeout)
			}
			w.asTheyWere(ctx, instances)
			tried := len(w.calls(ctx, instances["open"]).Of(cloud.Update))
			Eventually(ctx, func() int { return len(w.calls(ctx, instances["open"]).Of(cloud.Update)) }).WithTimeout(specTimeout).Should(BeNumerically(">", tried),
				"the provider does not try any more")
			w.asTheyWere(ctx, instances)
		}

		By("completing what was allowed three upgrades ago, and nothing else")
		Expect(w.cloud().Clear(ctx, instances["open"].GetName())).To(Succeed())
		// By now the provider waits for a minute or so before it tries again.
		Eventually(ctx, func(g Gomega) {
			parameters, err := w.cloud().Peek(ctx, instances["open"].GetName())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parameters).To(HaveKeyWithValue("instanceClass", large))
		}).WithTimeout(specTimeout).Should(Succeed())
		w.Closed(ctx, instances["open"], stage.Observing)
		Expect(w.calls(ctx, instances["closed"]).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create}))
		Expect(w.calls(ctx, instances["held"]).Mutations().Verbs()).To(Equal([]cloud.Verb{cloud.Create}))
	}, SpecTimeout(startTimeout+3*specTimeout))
})

// asTheyWere waits until one gate is open, one closed, and one holds a deletion back.
func (w *world) asTheyWere(ctx SpecContext, instances map[string]*unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		for _, instance := range instances {
			w.refreshed(ctx, instance)
		}
		g.Expect(stage.PoliciesOf(instances["open"])).To(ContainSubstring("Update"))
		g.Expect(stage.PoliciesOf(instances["closed"])).To(Equal(stage.Observing))
		g.Expect(instances["held"].GetAnnotations()).To(And(HaveKeyWithValue("crossplane.io/paused", "true"), HaveKey(v1alpha1.AnnotationGateHeld)))
	}).Should(Succeed())
}
