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
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"kausality.io/operator/api/v1alpha1"
	interceptioncontroller "kausality.io/operator/internal/controller/interception"
	"kausality.io/operator/internal/interception"
)

var _ = Describe("The interception controller, told by the policies,", func() {
	const (
		name  = "kinds-spec"
		group = "kinds.example.com"
		// gatedGroup has kinds with gates, which no policy names as such.
		gatedGroup = "gated.kinds.example.com"
	)
	meta := metav1.ObjectMeta{Name: name}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta}
	// intercepted are the resources that the API server asks about.
	intercepted := func(ctx context.Context) func() ([]string, error) {
		return func() ([]string, error) {
			live := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(validating), live); err != nil {
				return nil, err
			}
			var resources []string
			for i := range live.Webhooks {
				for _, rule := range live.Webhooks[i].Rules {
					resources = append(resources, rule.Resources...)
				}
			}
			slices.Sort(resources)
			return slices.Compact(resources), nil
		}
	}

	It("follows the definitions of what they name", func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { // once the managers have stopped
			for _, object := range []client.Object{
				validating,
				&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta},
				&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: interception.CausesName(meta.Name)}},
				&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta},
				&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta},
			} {
				Expect(client.IgnoreNotFound(k8s.Delete(ctx, object))).To(Succeed())
			}
		})
		namespace := newNamespace(ctx)
		policies := startPolicyControllers(ctx)
		certificates := &fixedCertificates{ready: make(chan struct{}), ca: newCountingWebhook().clientConfig().CABundle}
		close(certificates.ready)
		startManager(ctrl.Options{}, func(mgr ctrl.Manager) error {
			return (&interceptioncontroller.Reconciler{
				Client:       mgr.GetClient(),
				Policies:     policies.catalog,
				Certificates: certificates,
				Served:       policies.served,
				Gates:        registryOf(mgr, policies.served),
				Clock:        clock.RealClock{},
				Changes:      []<-chan event.GenericEvent{policies.catalog.Changes()},
				Config: interception.Input{
					Name:              name,
					OperatorNamespace: operatorNamespace,
					OperatorUser:      operatorUser,
				},
			}).SetupWithManager(mgr)
		})

		p := withRule(newPolicy("spec-deployments", namespace, deploymentKind, "platform-team"), "spec", group, "things")
		p.Spec.Deleting = &v1alpha1.DeletingSection{Policies: []v1alpha1.PolicyEntry{{
			Target:   v1alpha1.Target{External: map[string]string{"apiGroup": gatedGroup, "name": "any"}},
			Relation: v1alpha1.RelationExternal, Verbs: []string{"Delete"},
		}}}
		apply(ctx, p)
		Eventually(intercepted(ctx)).Should(And(ContainElement("deployments"), Not(ContainElement("things"))))

		By("asking about a target that appears")
		definition := thingDefinition(group)
		apply(ctx, definition)
		waitServed(ctx, group)
		Eventually(intercepted(ctx)).WithTimeout(inEffectWithin).Should(ContainElements("deployments", "things"))

		By("leaving one alone that vanishes")
		Expect(k8s.Delete(ctx, definition)).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(definition), definition) }).ShouldNot(Succeed())
		Eventually(intercepted(ctx)).WithTimeout(inEffectWithin).Should(And(ContainElement("deployments"), Not(ContainElement("things"))))

		By("asking about what is behind a gate, once it says that it is managed")
		gate := thingDefinition(gatedGroup)
		gate.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Gate", ListKind: "GateList", Plural: "gates", Singular: "gate"}
		gate.Name = "gates." + gatedGroup
		apply(ctx, gate)
		Consistently(intercepted(ctx), "500ms").ShouldNot(ContainElement("gates"))
		managed := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"names":{"categories":["managed"]}}}`))
		Expect(k8s.Patch(ctx, gate, managed)).To(Succeed())
		Eventually(intercepted(ctx)).WithTimeout(inEffectWithin).Should(ContainElements("deployments", "gates"))
		Expect(k8s.Delete(ctx, gate)).To(Succeed())
		Eventually(intercepted(ctx)).WithTimeout(inEffectWithin).ShouldNot(ContainElement("gates"))
	})
})
