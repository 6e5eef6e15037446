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

package integration

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/ledger"
)

// No webhook runs here: what these specs see is what holds while it is down.
var _ = Describe("The admission policy", Ordered, func() {
	const (
		approve        = v1alpha1.AnnotationApprove
		breakGlass     = v1alpha1.AnnotationPrefix + "break-glass"
		hashKey        = v1alpha1.AnnotationPrefix + "controller-ua-hash"
		replicaSetHash = v1alpha1.ReplicaSetAnnotationPrefix + "controller-ua-hash"

		deploymentController = "system:serviceaccount:kube-system:deployment-controller"
	)
	var (
		ns       string
		operator client.Client
	)

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		operator = clientAs(operatorUser)
		defineThing(ctx, "protection.example.org")
		in := inputFor(ctx,
			policyFor(ctx, "apps/v1/Deployment", "apps/v1/replicasets"),
			policyFor(ctx, "apps/v1/ReplicaSet", "/v1/pods"),
			policyFor(ctx, "/v1/Pod"),
			policyFor(ctx, "protection.example.org/v1/Thing"),
		)
		in.Name = "protection"
		desired := interception.Render(in)
		apply(ctx, desired.AdmissionPolicy, desired.Binding)

		// API servers learn of policies by a watch, and of the schemas of custom
		// resources, which patching needs, some time later.
		for _, probe := range []func() client.Object{
			func() client.Object { return newDeployment(ns, "probe") },
			func() client.Object { return newThing("protection.example.org", ns, "probe") },
		} {
			Eventually(func(g Gomega) {
				object := probe()
				object.SetAnnotations(map[string]string{ledgerKey: "forged"})
				g.Expect(k8s.Create(ctx, object, client.DryRunAll)).To(Succeed())
				g.Expect(object.GetAnnotations()).To(BeEmpty())
			}).Should(Succeed())
		}
	})

	// holder creates an object whose annotations the operator has written.
	holder := func(ctx SpecContext, object client.Object, annotations map[string]string) {
		GinkgoHelper()
		Expect(k8s.Create(ctx, object)).To(Succeed())
		for key, value := range annotations {
			Expect(annotate(ctx, operator, object, key, value)).To(Succeed())
		}
		Expect(object.GetAnnotations()).To(Equal(annotations))
	}

	for name, object := range map[string]func(name string) client.Object{
		"a Deployment":      func(name string) client.Object { return newDeployment(ns, name) },
		"a custom resource": func(name string) client.Object { return newThing("protection.example.org", ns, name) },
	} {
		It("protects the annotations of "+name, func(ctx SpecContext) {
			protected := map[string]string{ledgerKey: "ledger", hashKey: "hash", "example.org/note": "1"}
			d := object("protected")
			holder(ctx, d, protected)
			mergePatch := func(patch string) {
				GinkgoHelper()
				Expect(k8s.Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
			}

			By("forging them")
			Expect(annotate(ctx, k8s, d, ledgerKey, "forged")).To(Succeed())
			Expect(annotate(ctx, k8s, d, replicaSetLedgerKey, "forged")).To(Succeed())
			Expect(d.GetAnnotations()).To(Equal(protected))

			By("bringing one that means nothing, of which the webhook has to tell")
			Expect(annotate(ctx, k8s, d, v1alpha1.AnnotationPrefix+"other", "forged")).To(Succeed())
			Expect(d.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationPrefix+ledger.NameDropped, v1alpha1.AnnotationPrefix+"other"))
			mergePatch(`{"metadata":{"annotations":{"kausality.io/dropped":null}}}`)
			Expect(d.GetAnnotations()).To(Equal(protected))

			By("removing one")
			mergePatch(`{"metadata":{"annotations":{"kausality.io/allowances":null}}}`)
			Expect(d.GetAnnotations()).To(Equal(protected))

			By("removing all")
			mergePatch(`{"metadata":{"annotations":null}}`)
			own := maps.Clone(protected)
			delete(own, "example.org/note")
			Expect(d.GetAnnotations()).To(Equal(own))
			d.SetAnnotations(nil)
			Expect(k8s.Update(ctx, d)).To(Succeed())
			Expect(d.GetAnnotations()).To(Equal(own))

			By("applying another manifest")
			applied := object("protected")
			applied.SetAnnotations(map[string]string{ledgerKey: "forged", "example.org/note": "2"})
			applied.SetManagedFields(nil)
			applied.SetResourceVersion(d.GetResourceVersion())
			if d, ok := applied.(*appsv1.Deployment); ok {
				d.APIVersion, d.Kind = "apps/v1", "Deployment"
			}
			Expect(k8s.Patch(ctx, applied, client.Apply, client.FieldOwner("spec"), client.ForceOwnership)).To(Succeed()) //nolint:staticcheck // typed and unstructured objects in one line
			own["example.org/note"] = "2"
			Expect(applied.GetAnnotations()).To(Equal(own))

			By("asking for something")
			Expect(annotate(ctx, k8s, applied, approve, "*")).To(Succeed())
			Expect(annotate(ctx, k8s, applied, breakGlass, "fire")).To(Succeed())
			own[approve], own[breakGlass] = "*", "fire"
			Expect(applied.GetAnnotations()).To(Equal(own))

			By("being the operator")
			Expect(annotate(ctx, operator, applied, ledgerKey, "other")).To(Succeed())
			Expect(applied.GetAnnotations()).To(HaveKeyWithValue(ledgerKey, "other"))

			By("creating another with them")
			another := object("another")
			another.SetAnnotations(map[string]string{ledgerKey: "forged", replicaSetLedgerKey: "forged", approve: "*", "example.org/note": "1"})
			Expect(k8s.Create(ctx, another)).To(Succeed())
			Expect(another.GetAnnotations()).To(Equal(map[string]string{approve: "*", "example.org/note": "1"}))
		})
	}

	It("protects them in writes of the status", func(ctx SpecContext) {
		d := newDeployment(ns, "status")
		holder(ctx, d, map[string]string{ledgerKey: "ledger"})
		d.Annotations = map[string]string{hashKey: "forged"}
		d.Status.ObservedGeneration = 1
		Expect(k8s.Status().Update(ctx, d)).To(Succeed())
		Expect(d.Status.ObservedGeneration).To(BeEquivalentTo(1))
		Expect(d.Annotations).To(Equal(map[string]string{ledgerKey: "ledger"}))
	})

	It("protects them in bindings of Pods", func(ctx SpecContext) {
		forged := map[string]string{ledgerKey: "forged", "pod." + ledgerKey: "forged", "example.org/note": "1"}
		target := corev1.ObjectReference{Kind: "Node", Name: "n"}

		pod := newPod(ns, "bound")
		Expect(k8s.Create(ctx, pod)).To(Succeed())
		binding := &corev1.Binding{Target: target}
		binding.Annotations = forged
		Expect(k8s.SubResource("binding").Create(ctx, pod, binding)).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations).To(Equal(map[string]string{"example.org/note": "1"}))

		pod = newPod(ns, "bound-by-old-name")
		Expect(k8s.Create(ctx, pod)).To(Succeed())
		binding = &corev1.Binding{Target: target}
		binding.Namespace, binding.Name, binding.Annotations = ns, pod.Name, forged
		Expect(k8s.Create(ctx, binding)).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Annotations).To(Equal(map[string]string{"example.org/note": "1"}))
	})

	Context("on ReplicaSets", func() {
		var owner *appsv1.Deployment

		BeforeAll(func(ctx SpecContext) {
			owner = newDeployment(ns, "owner")
			Expect(k8s.Create(ctx, owner)).To(Succeed())
		})

		It("leaves what the Deployment controller copies alone, and protects their own", func(ctx SpecContext) {
			controller := clientAs(deploymentController)
			rs := newReplicaSet(ns, "copied", owner)
			rs.Annotations = map[string]string{ledgerKey: "copy", replicaSetLedgerKey: "forged"}
			Expect(controller.Create(ctx, rs)).To(Succeed())
			Expect(rs.Annotations).To(Equal(map[string]string{ledgerKey: "copy", replicaSetLedgerKey: ""}))

			Expect(annotate(ctx, operator, rs, replicaSetLedgerKey, "ledger")).To(Succeed())
			Expect(annotate(ctx, operator, rs, replicaSetHash, "hash")).To(Succeed())
			rs.Annotations = map[string]string{ledgerKey: "newer copy", replicaSetHash: "forged"}
			Expect(controller.Update(ctx, rs)).To(Succeed())
			want := map[string]string{ledgerKey: "newer copy", replicaSetLedgerKey: "ledger", replicaSetHash: "hash"}
			Expect(rs.Annotations).To(Equal(want))

			delete(rs.Annotations, ledgerKey)
			rs.Annotations[v1alpha1.ReplicaSetAnnotationPrefix+"approve"] = "*"
			Expect(k8s.Status().Update(ctx, rs)).To(Succeed())
			delete(want, ledgerKey)
			want[v1alpha1.ReplicaSetAnnotationPrefix+"approve"] = "*"
			Expect(rs.Annotations).To(Equal(want))
		})

		It("gives nothing for a copy that a ReplicaSet is released with", func(ctx SpecContext) {
			rs := newReplicaSet(ns, "released", owner)
			rs.Annotations = map[string]string{ledgerKey: "copy", "example.org/note": "1"}
			Expect(clientAs(deploymentController).Create(ctx, rs)).To(Succeed())
			Expect(rs.Annotations).To(HaveKey(ledgerKey))
			rs.OwnerReferences = nil
			Expect(k8s.Update(ctx, rs)).To(Succeed())
			Expect(rs.Annotations).To(Equal(map[string]string{"example.org/note": "1"}))
		})

		It("protects the ledger of one that no Deployment controls", func(ctx SpecContext) {
			rs := newReplicaSet(ns, "alone", nil)
			rs.Annotations = map[string]string{ledgerKey: "forged"}
			Expect(k8s.Create(ctx, rs)).To(Succeed())
			Expect(rs.Annotations).To(BeEmpty())
		})

		It("lets nothing flow back with an undo", func(ctx SpecContext) {
			Expect(annotate(ctx, k8s, owner, replicaSetLedgerKey, "of a ReplicaSet")).To(Succeed())
			Expect(owner.Annotations).To(BeEmpty())
		})

		It("has what is its own go on under the other prefix where it loses its owner, and gets one again", func(ctx SpecContext) {
			rs := newReplicaSet(ns, "moving", owner)
			Expect(k8s.Create(ctx, rs)).To(Succeed())
			Expect(annotate(ctx, operator, rs, replicaSetLedgerKey, "ledger")).To(Succeed())
			owners := rs.OwnerReferences
			rs.OwnerReferences = nil
			Expect(k8s.Update(ctx, rs)).To(Succeed())
			Expect(rs.Annotations).To(HaveKeyWithValue(ledgerKey, "ledger"))
			rs.OwnerReferences, rs.Annotations = owners, nil
			Expect(k8s.Update(ctx, rs)).To(Succeed())
			Expect(rs.Annotations).To(Equal(map[string]string{replicaSetLedgerKey: "ledger"}))
		})

		It("leaves what says nothing of what a controller copies back", func(ctx SpecContext) {
			d := newDeployment(ns, "copied-back")
			Expect(k8s.Create(ctx, d)).To(Succeed())
			controller := clientAs("system:serviceaccount:kube-system:copier")
			Expect(annotate(ctx, controller, d, ledgerKey, "copy")).To(Succeed())
			Expect(annotate(ctx, controller, d, replicaSetLedgerKey, "copy")).To(Succeed())
			Expect(d.Annotations).To(Equal(map[string]string{ledgerKey: "", replicaSetLedgerKey: "copy"}))
		})
	})

	It("protects the ledger among very many annotations", func(ctx SpecContext) {
		d := newDeployment(ns, "many")
		holder(ctx, d, map[string]string{ledgerKey: "ledger"})
		d.Annotations = manyAnnotations()
		d.Annotations[ledgerKey] = "forged"
		Expect(k8s.Update(ctx, d)).To(Succeed())
		Expect(d.Annotations).To(HaveKeyWithValue(ledgerKey, "ledger"))

		many := newDeployment(ns, "many-from-the-start")
		many.Annotations = manyAnnotations()
		many.Annotations[ledgerKey] = "forged"
		Expect(k8s.Create(ctx, many)).To(Succeed())
		Expect(many.Annotations).NotTo(HaveKey(ledgerKey))
	})

	// Until it has read the schema of a kind, which takes an API server up to five seconds,
	// it answers what a policy applies to with 503, whatever the failurePolicy says.
	It("has nobody fail who needs no correction while a kind is new", func(ctx SpecContext) {
		const group = "new.protection.example.org"
		things := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
		in := inputFor(ctx, policyFor(ctx, group+"/v1/Thing"))
		in.Name = "protection-of-the-new"
		in.Holder = func(schema.GroupVersionKind) (interception.Served, bool) {
			return interception.Served{Resource: things, Namespaced: true, Subresources: []string{"status"}}, true // as soon as it is served
		}
		desired := interception.Render(in)
		apply(ctx, desired.AdmissionPolicy, desired.Binding)
		defineThing(ctx, group)

		named := newThing(group, ns, "new")
		named.SetAnnotations(map[string]string{approve: "*"})
		Expect(k8s.Create(ctx, named)).To(Succeed())
		Eventually(func(g Gomega) {
			By("asking for something, and writing what others keep")
			for _, key := range []string{approve, breakGlass, "example.org/note"} {
				Expect(annotate(ctx, k8s, named, key, rand.String(8))).To(Succeed())
			}
			named.SetAnnotations(nil)
			Expect(k8s.Update(ctx, named)).To(Succeed())

			forged := newThing(group, ns, "forged")
			forged.SetAnnotations(map[string]string{ledgerKey: "forged"})
			g.Expect(k8s.Create(ctx, forged, client.DryRunAll)).To(Succeed())
			g.Expect(forged.GetAnnotations()).To(BeEmpty())
		}).Should(Succeed())
	})
})
