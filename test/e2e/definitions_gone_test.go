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
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// The definitions of our own kinds.
const (
	policiesDefinition = "kausality.io_allowancepolicies.yaml"
	recordsDefinition  = "kausality.io_allowancerecords.yaml"
)

// Who deletes one of our definitions deletes all that is of it. The operator says so, holds
// nobody up who has no policy any more, and goes on where it was once it is back.
var _ = Describe("A definition of ours that is deleted and made again", func() {
	var (
		cp        *controlplane.ControlPlane
		installed *controlplane.Operator
		c         *cluster
		ns        string
		// half is in the middle of a rollout, of held something is withheld, and idle is at rest.
		half, held, idle *appsv1.Deployment
	)
	BeforeEach(func(ctx SpecContext) {
		cp, installed = startCluster(ctx, controlplane.Options{})
		c = connect(cp)
		c.apply(ctx, c.samplePoliciesFor(ctx, "defined")...)
		ns = c.newNamespaceFor(ctx, "defined")
		owner := c.alice()
		half = owner.deploy(ctx, builders.MakeDeployment(ns, "half").Replicas(4))
		held = owner.deploy(ctx, builders.MakeDeployment(ns, "held").Replicas(2))
		idle = owner.deploy(ctx, builders.MakeDeployment(ns, "idle").Replicas(2))
		owner.change(ctx, half, image("half:"+unready))
		c.mallory().change(ctx, held, image("held:stranger"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(c.scales(ctx, g, half)).To(Equal([]int32{3, 2}))
			g.Expect(c.record(ctx, g, held).Status.WithheldCount).To(BeEquivalentTo(1))
		}).Should(Succeed())
	}, NodeTimeout(2*startTimeout))

	// goesOn checks that grants and what is withheld are what they were. Without policies, and
	// without an operator, nothing was withheld.
	goesOn := func(ctx context.Context, withholds bool) {
		GinkgoHelper()
		const withheld = "spec.template.spec.containers[0].image"
		heldImage := "held:1"
		By("going on")
		Eventually(ctx, func(g Gomega) {
			rs := c.replicaSets(ctx, g, idle)
			g.Expect(rs).To(HaveLen(1))
			g.Expect(c.mallory().try(ctx, &rs[0], replicas(9), client.DryRunAll)).To(MatchError(denied, "denied"))
		}).Should(Succeed())
		if withholds {
			c.withholding(ctx, held, withheld)
			Expect(c.replicaSets(ctx, Default, held)).To(HaveLen(1))
		} else {
			heldImage = "held:stranger"
		}
		owner := c.alice()
		owner.change(ctx, half, image("half:2"))
		owner.change(ctx, idle, image("idle:2"))
		Eventually(ctx, func() error { return owner.scale(ctx, idle, 3) }).Should(Succeed())
		c.hasPods(ctx, ns, map[string]int{"half:2": 4, heldImage: 2, "idle:2": 3})
		owner.change(ctx, held, approve("spec.template"))
		c.hasPods(ctx, ns, map[string]int{"half:2": 4, "held:stranger": 2, "idle:2": 3})
	}

	DescribeTable("while the operator runs",
		func(ctx SpecContext, file string) {
			definition := c.undefine(ctx, file)
			if file == policiesDefinition {
				By("nobody being held up")
				Eventually(ctx, func() error {
					return c.mallory().try(ctx, c.newestReplicaSet(ctx, idle), replicas(9), client.DryRunAll)
				}).Should(Succeed())
			} else {
				By("denials staying denials")
				refuse(c.mallory().try(ctx, c.newestReplicaSet(ctx, idle), replicas(9), client.DryRunAll))
			}
			Expect(c.mallory().Create(ctx, builders.MakeDeployment(c.newNamespace(ctx), "other").Obj())).To(Succeed())
			c.define(ctx, definition)
			if file == policiesDefinition {
				c.apply(ctx, c.samplePoliciesFor(ctx, "defined")...)
			}
			goesOn(ctx, file == recordsDefinition)
		},
		Entry("of policies", policiesDefinition, stage.Long, SpecTimeout(2*startTimeout)),
		Entry("of records", recordsDefinition, SpecTimeout(2*startTimeout)),
	)

	DescribeTable("while the operator starts",
		func(ctx SpecContext, file string) {
			Expect(installed.Kill()).To(Succeed())
			definition := c.undefine(ctx, file)
			started := make(chan error, 1)
			go func() { started <- installed.Restart(ctx) }()
			Consistently(ctx, started, quietMoment).ShouldNot(Receive(), "it is ready without the definition")
			c.define(ctx, definition)
			Eventually(ctx, started).WithTimeout(startTimeout).Should(Receive(Succeed()))
			if file == policiesDefinition {
				c.apply(ctx, c.samplePoliciesFor(ctx, "defined")...)
			}
			goesOn(ctx, false)
		},
		Entry("of policies", policiesDefinition, stage.Long, SpecTimeout(2*startTimeout)),
		Entry("of records", recordsDefinition, stage.Long, SpecTimeout(2*startTimeout)),
	)
})

// undefine deletes one of our definitions, and returns what to make it again by.
func (c *cluster) undefine(ctx context.Context, file string) *unstructured.Unstructured {
	GinkgoHelper()
	definition := &unstructured.Unstructured{}
	raw, err := os.ReadFile(filepath.Join(root, "config", "crd", "bases", file))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.Unmarshal(raw, &definition.Object)).To(Succeed())
	Expect(c.Delete(ctx, definition.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	Eventually(ctx, func() error {
		gone := &unstructured.Unstructured{}
		gone.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		return c.Get(ctx, client.ObjectKeyFromObject(definition), gone)
	}).Should(Satisfy(apierrors.IsNotFound))
	return definition
}

// define makes a definition again, and waits until it is served.
func (c *cluster) define(ctx context.Context, definition *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(c.Create(ctx, definition)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(definition), definition)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(conditions).To(ContainElement(SatisfyAll(HaveKeyWithValue("type", "Established"), HaveKeyWithValue("status", "True"))))
	}).Should(Succeed())
}
