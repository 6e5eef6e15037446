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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Creating something is a cause, whoever does it, and told as one all the way
// down (D2, D9).
var _ = Describe("What a Deployment makes", func() {
	var (
		ns    string
		audit witness
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
	})

	creators := []struct {
		whom string
		are  func() *actor
	}{
		{"an initiator", func() *actor { return shared.alice() }},
		{"somebody else", func() *actor { return shared.mallory() }},
		{"a service account", func() *actor { return shared.serviceAccount(serviceaccount.MakeUsername(ns, "default")) }},
		{"an administrator", func() *actor { return shared.as("root", "system:masters") }},
	}
	for _, creator := range creators {
		It("is traced to its creator: "+creator.whom, func(ctx SpecContext) {
			// It stays as it is just created for as long as its Pods are not ready.
			a := creator.are()
			d := builders.MakeDeployment(ns, "web").Replicas(2).Image("web:" + unready).Obj()
			Expect(a.Create(ctx, d)).To(Succeed())
			Expect(a.warned.take()).To(BeEmpty())
			shared.hasPods(ctx, ns, map[string]int{"web:" + unready: 2})
			expectTraced(ctx, d, a.user.UserName, "web")

			By("becoming ready")
			owner := shared.alice()
			owner.change(ctx, d, image("web:2"))
			shared.complete(ctx, d, "2")
			Expect(audit.refusals()).To(BeEmpty())
		}, SpecTimeout(specTimeout))
	}

	It("is traced by the name that the API server has made up", func(ctx SpecContext) {
		b := builders.MakeDeployment(ns, "").Replicas(1).Image("web:" + unready)
		b.GenerateName = "web-"
		b.Labels["app"], b.Spec.Selector.MatchLabels["app"], b.Spec.Template.Labels["app"] = "web", "web", "web"
		d := b.Obj()
		Expect(shared.mallory().Create(ctx, d)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:" + unready: 1})
		expectTraced(ctx, d, mallory, d.Name)
	}, SpecTimeout(specTimeout))

	It("is traced to the change that made it when that came later", func(ctx SpecContext) {
		d := shared.mallory().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		shared.alice().change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2, "web:" + unready: 1})
		rs := shared.newestReplicaSet(ctx, d)
		Expect(ways(rs)).To(HaveEach(
			HavePrefix("alice -> Deployment/web spec.template.spec.containers[0].image -> ReplicaSet/" + rs.Name + " ")))
		Expect(audit.tracesOf(controlplane.OfResource("", "pods"), controlplane.ByVerb("create"))).To(ContainElement(
			HavePrefix(`alice [{"kind":"Deployment","name":"web"`)))
	}, SpecTimeout(specTimeout))
})

// expectTraced checks that the ledger of the ReplicaSet of a new Deployment, and
// what the audit log says of its Pods, lead back to who created the Deployment.
func expectTraced(ctx context.Context, d *appsv1.Deployment, creator, name string) {
	GinkgoHelper()
	rs := shared.newestReplicaSet(ctx, d)
	Expect(ways(rs)).To(ContainElement(
		creator + " -> Deployment/" + name + " (created) -> ReplicaSet/" + rs.Name + " (created)"))
	Expect(ways(rs)).To(HaveEach(HavePrefix(creator + " -> Deployment/" + name + " (created) -> ReplicaSet/" + rs.Name)))

	w := witness{shared.WholeNamespace(d.Namespace)}
	traces := w.tracesOf(controlplane.OfResource("", "pods"), controlplane.ByVerb("create"))
	Expect(traces).NotTo(BeEmpty())
	for _, trace := range traces {
		Expect(trace).To(HavePrefix(creator + " ["))
		Expect(trace).To(SatisfyAll(
			ContainSubstring(`{"kind":"Deployment","name":"`+name+`"`),
			ContainSubstring(`{"kind":"ReplicaSet","name":"`+rs.Name+`"`),
		))
	}
}

// ways returns the traces in the ledger of a ReplicaSet, in words.
func ways(rs *appsv1.ReplicaSet) []string {
	GinkgoHelper()
	var out []string
	for _, a := range ledgerOf(Default, rs, replicaSetLedgerKey) {
		out = append(out, way(a))
	}
	Expect(out).NotTo(BeEmpty(), "%s has no ledger; its annotations: %s", rs.Name, strings.Join(keysOf(rs.Annotations), ", "))
	return out
}
