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
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// The API server asks mutating webhooks in the order of the names of their
// configurations: these come before and after the operator's.
const (
	beforeOurs = "a-" + interception.DefaultName
	afterOurs  = "z-" + interception.DefaultName
)

// edit is what another mutating webhook does to an object.
type edit func(req admission.Request, obj *unstructured.Unstructured)

// requests selects those for one operation on one resource.
func requests(operation admissionregistrationv1.OperationType, group, version, resource string) admissionregistrationv1.NamedRuleWithOperations {
	return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{operation},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}},
	}}
}

// validateToo has an admission policy deny some requests in a namespace unless a CEL expression holds, until
// the end of the spec. It takes the API server a moment to apply it.
func (c *cluster) validateToo(ctx context.Context, namespace, expression, message string, rules ...admissionregistrationv1.NamedRuleWithOperations) {
	GinkgoHelper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules:     rules,
			},
			Validations: []admissionregistrationv1.Validation{{Expression: expression, Message: message}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	Expect(c.Create(ctx, policy)).To(Succeed())
	Expect(c.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(c.Delete(ctx, binding)).To(Succeed())
		Expect(c.Delete(ctx, policy)).To(Succeed())
	})
}

// mutateToo has another mutating webhook edit what is created and updated of some
// resources in a namespace, until the end of the spec or until the result is called.
// The API server asks it again when others change the object after it.
func (c *cluster) mutateToo(ctx context.Context, order, namespace string, resources admissionregistrationv1.Rule, e edit) (stop func(context.Context)) {
	GinkgoHelper()
	handler, err := admission.StandaloneWebhook(&admission.Webhook{
		Handler: admission.HandlerFunc(func(_ context.Context, req admission.Request) admission.Response {
			obj := &unstructured.Unstructured{}
			if err := obj.UnmarshalJSON(req.Object.Raw); err != nil {
				return admission.Errored(400, err)
			}
			e(req, obj)
			raw, err := json.Marshal(obj)
			if err != nil {
				return admission.Errored(500, err)
			}
			return admission.PatchResponseFromRaw(req.Object.Raw, raw)
		}),
	}, admission.StandaloneOptions{})
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = quietLog()
	server.StartTLS()
	DeferCleanup(server.Close)
	resources.Scope = new(admissionregistrationv1.NamespacedScope)
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: order + "-" + namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "other.example.org",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      new(server.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       resources,
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			ReinvocationPolicy:      new(admissionregistrationv1.IfNeededReinvocationPolicy),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	Expect(c.Create(ctx, config)).To(Succeed())
	stop = func(ctx context.Context) {
		GinkgoHelper()
		Expect(client.IgnoreNotFound(c.Delete(ctx, config))).To(Succeed())
	}
	DeferCleanup(stop)
	return stop
}

var (
	deploymentsOnly = admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}
	replicaSetsOnly = admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"replicasets"}}
	podsOnly        = admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}
)

// What counts is what is stored in the end, whoever has edited it on the way there;
// and no grant is lost to those who edit (D2, D6).
var _ = Describe("Another mutating webhook", func() {
	const (
		sizeKey  = "example.org/size"
		wideSize = "wide"
	)
	var (
		ns    string
		audit witness
		owner *actor
		rogue *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, rogue = shared.alice(), shared.mallory()
	})
	// sized makes Deployments with an annotation five replicas large.
	sized := func(_ admission.Request, obj *unstructured.Unstructured) {
		if obj.GetAnnotations()[sizeKey] == wideSize {
			Expect(unstructured.SetNestedField(obj.Object, int64(5), "spec", "replicas")).To(Succeed())
		}
	}
	// heard returns when the API server asks the other webhook.
	heard := func(ctx context.Context, seen func(*appsv1.Deployment) bool) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			probe := builders.MakeDeployment(ns, "probe").Annotation(sizeKey, wideSize).Obj()
			g.Expect(shared.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(seen(probe)).To(BeTrue())
		}).Should(Succeed())
	}
	wide := func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 5 }

	for _, order := range []string{beforeOurs, afterOurs} {
		It("that changes what triggers a rule does so in the name of the requester: "+order, func(ctx SpecContext) {
			d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			shared.mutateToo(ctx, order, ns, deploymentsOnly, sized)
			heard(ctx, wide)

			By("asking as a stranger, by something that does not count")
			tried := shared.watch(ns)
			rogue.change(ctx, d, annotation(sizeKey, wideSize))
			Expect(rogue.warned.take()).To(SatisfyAll(ContainSubstring("spec.replicas"), ContainSubstring("withheld")))
			Expect(d.Spec.Replicas).To(HaveValue(Equal(int32(5))))
			tried.tries(ctx, deploymentController, "Deployment web")
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 2}))
			}).WithTimeout(quietMoment).Should(Succeed())

			By("asking as somebody who may")
			other := owner.deploy(ctx, builders.MakeDeployment(ns, "other").Replicas(2))
			owner.change(ctx, other, annotation(sizeKey, wideSize))
			shared.complete(ctx, other, "1")
			shared.hasPods(ctx, ns, map[string]int{"web:1": 2, "other:1": 5})
			owner.change(ctx, d, approve("*"))
			shared.complete(ctx, d, "1")
		}, SpecTimeout(specTimeout))

		It("that changes a child beyond what its controller may is found out: "+order, func(ctx SpecContext) {
			d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			stop := shared.mutateToo(ctx, order, ns, replicaSetsOnly, func(req admission.Request, obj *unstructured.Unstructured) {
				if req.Operation == "UPDATE" {
					Expect(unstructured.SetNestedField(obj.Object, int64(7), "spec", "minReadySeconds")).To(Succeed())
				}
			})
			owner.change(ctx, d, replicas(4))
			Eventually(ctx, func(g Gomega) {
				g.Expect(audit.refusals()).To(ContainElement(
					ContainSubstring("adding spec.minReadySeconds of ReplicaSet")))
			}).Should(Succeed())
			stop(ctx)
			// The controller may have tried for so long that it waits for a minute.
			rs := shared.newestReplicaSet(ctx, d)
			Eventually(ctx, func() error {
				return shared.serviceAccount(deploymentController).
					Patch(ctx, rs, client.RawPatch(types.MergePatchType, []byte(replicas(4))), client.DryRunAll)
			}).Should(Succeed(), "the other webhook is still asked")
			owner.change(ctx, d, annotation("example.org/wake", "up"))
			shared.complete(ctx, d, "1")
			Expect(shared.newestReplicaSet(ctx, d).Spec.MinReadySeconds).To(BeZero())
		}, SpecTimeout(specTimeout))

		It("that injects a container into Pods does not disturb: "+order, func(ctx SpecContext) {
			shared.mutateToo(ctx, order, ns, podsOnly, func(req admission.Request, obj *unstructured.Unstructured) {
				if req.Operation != "CREATE" {
					return
				}
				containers, _, err := unstructured.NestedSlice(obj.Object, "spec", "containers")
				Expect(err).NotTo(HaveOccurred())
				if len(containers) == 1 {
					containers = append(containers, map[string]any{"name": "sidecar", "image": "sidecar:1"})
				}
				Expect(unstructured.SetNestedSlice(obj.Object, containers, "spec", "containers")).To(Succeed())
			})
			d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
			owner.change(ctx, d, image("web:2"))
			shared.complete(ctx, d, "2")
			Expect(audit.refusals()).To(BeEmpty())
			Expect(shared.anyPod(ctx, ns).Spec.Containers).To(HaveLen(2))
			Expect(audit.tracesOf(controlplane.OfResource("", "pods"), controlplane.ByVerb("create"))).To(HaveEach(HavePrefix(alice + " ")))
		}, SpecTimeout(specTimeout))
	}

	It("that takes our annotations away loses no grant, and lifts nothing that is withheld", func(ctx SpecContext) {
		shared.mutateToo(ctx, afterOurs, ns, admissionregistrationv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments", "replicasets"},
		}, func(_ admission.Request, obj *unstructured.Unstructured) {
			annotations := obj.GetAnnotations()
			delete(annotations, ledgerKey)
			delete(annotations, replicaSetLedgerKey)
			obj.SetAnnotations(annotations)
		})
		heard(ctx, func(d *appsv1.Deployment) bool { return d.Annotations[ledgerKey] == "" })
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "2")
		Expect(audit.refusals()).To(BeEmpty())

		rogue.change(ctx, d, image("web:3"))
		Expect(rogue.warned.take()).To(ContainSubstring("withheld"))
		rogue.change(ctx, d, annotation("example.org/note", "x"), patch(`{"metadata":{"labels":{"note":"x"}}}`))
		owner.change(ctx, d, replicas(6))
		audit.tries(ctx, deploymentController, "Deployment web")
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:2": 4}))
		}).WithTimeout(quietMoment).Should(Succeed())
		owner.change(ctx, d, image("web:4"))
		shared.complete(ctx, d, "3")
		shared.hasPods(ctx, ns, map[string]int{"web:4": 6})
	}, SpecTimeout(specTimeout))

	It("that has ours asked again about each write takes nothing from it, and ours takes nothing for a forgery", func(ctx SpecContext) {
		const seenKey = "example.org/seen"
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		shared.mutateToo(ctx, afterOurs, ns, deploymentsOnly, func(req admission.Request, obj *unstructured.Unstructured) {
			annotations := obj.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[seenKey] = string(req.UID)
			obj.SetAnnotations(annotations)
		})
		heard(ctx, func(d *appsv1.Deployment) bool { return d.Annotations[seenKey] != "" })
		owner.change(ctx, d, image("web:2"))
		Expect(owner.warned.take()).To(BeEmpty())
		shared.complete(ctx, d, "2")

		rogue.change(ctx, d, image("web:3"))
		Expect(rogue.warned.take()).To(SatisfyAll(ContainSubstring("withheld"), Not(ContainSubstring("no effect"))))
		By("approving it, by an annotation that is gone when ours is asked again")
		owner.change(ctx, d, approve("*"))
		Expect(owner.warned.take()).To(BeEmpty())
		shared.complete(ctx, d, "3")
		shared.hasPods(ctx, ns, map[string]int{"web:3": 2})
	}, SpecTimeout(specTimeout))

	It("that writes a ledger is found out", func(ctx SpecContext) {
		const everything = `[{"kind":"*","mutation":"*","generation":2,"initiator":"alice"}]`
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		stop := shared.mutateToo(ctx, afterOurs, ns, deploymentsOnly, func(_ admission.Request, obj *unstructured.Unstructured) {
			annotations := obj.GetAnnotations()
			annotations[ledgerKey] = everything
			obj.SetAnnotations(annotations)
		})
		var err error
		Eventually(ctx, func() error {
			err = owner.try(ctx, d, annotation("example.org/note", "x"))
			return err
		}).Should(HaveOccurred())
		expectForbidden(err, "allowances that nobody granted", "another mutating webhook", ledgerKey)
		expectForbidden(rogue.try(ctx, d, image("web:2")), "allowances that nobody granted")
		expectForbidden(shared.serviceAccount(deploymentController).try(ctx, shared.newestReplicaSet(ctx, d), replicas(9)), "spec.replicas")
		stop(ctx)
		Eventually(ctx, func() error { return owner.try(ctx, d, image("web:3")) }).Should(Succeed())
		shared.complete(ctx, d, "2")
	}, SpecTimeout(specTimeout))
})
