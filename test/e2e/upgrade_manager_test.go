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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// The controllers of the controller manager have service accounts, whose tokens are bound to no Pod.
var _ = Describe("An upgrade of a controller of the controller manager", func() {
	// The plugin looks at refusals in the whole cluster. Those of other specs, which may be of another
	// version, are older than this one.
	It("is declared, as the plugin suggests, and goes through", func(ctx SpecContext) {
		policies := shared.samplePoliciesFor(ctx, "declared")
		for _, p := range policies {
			if p.Spec.For.Kind == "ReplicaSet" {
				p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{
					Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: platformTeam}, MayInitiate: true,
				})
			}
		}
		shared.apply(ctx, policies...)
		ns := shared.newNamespaceFor(ctx, "declared")
		owner, greta := shared.alice(), shared.as("greta", "system:masters")
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		shared.complete(ctx, d, "1")
		rs, audit := shared.newestReplicaSet(ctx, d), shared.watch(ns)

		By("being denied to bring in line what its owner has changed")
		began := time.Now().Add(-time.Second) // Records tell whole seconds.
		owner.change(ctx, rs, replicas(1))
		audit.tries(ctx, deploymentController, "Deployment web")
		agreed := &v1alpha1.UpgradeAllowance{}
		Eventually(ctx, func(g Gomega) {
			out, err := greta.kausality(ctx, ns, "upgrade", "suggest", "kube-system/deployment-controller", "--since", time.Since(began).String())
			g.Expect(err).NotTo(HaveOccurred(), out)
			g.Expect(yaml.UnmarshalStrict([]byte(out), agreed)).To(Succeed(), out)
		}).Should(Succeed())
		Expect(agreed.Spec).To(SatisfyAll(HaveField("Detection", v1alpha1.DetectionDeclared), HaveField("Versions", BeEmpty())))

		By("being let through in this namespace, and woken for it")
		agreed.Name += "-" + ns
		agreed.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}}
		Expect(greta.Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
			g.Expect(rs.Spec.Replicas).To(HaveValue(Equal(int32(2))))
		}).Should(Succeed())
		Expect(audit.tracesOf(controlplane.ByUser(deploymentController), controlplane.OfResource("apps", "replicasets"), throughUpgrade)).
			To(HaveEach(HavePrefix("greta ")))
		Expect(shared.recorded(ctx, d).Status.Versions).To(ContainElement(SatisfyAll(HaveField("User", deploymentController), HaveField("UpgradeAllowance", agreed.Name))))
	}, alone, SpecTimeout(specTimeout))
})
