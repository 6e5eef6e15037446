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
	"fmt"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	interceptioncontroller "kausality.io/operator/internal/controller/interception"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// startManager runs what setup adds until the end of the spec.
func startManager(options ctrl.Options, setup func(ctrl.Manager) error) {
	GinkgoHelper()
	options.Scheme = scheme
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Controller.SkipNameValidation = new(true)
	mgr, err := ctrl.NewManager(config, options)
	Expect(err).NotTo(HaveOccurred())
	Expect(setup(mgr)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
}

// fixedPolicies is a PolicySource that a spec changes.
type fixedPolicies struct {
	mu       sync.Mutex
	policies []*policy.Policy
	changed  chan event.GenericEvent
}

func (f *fixedPolicies) Known() bool { return true }

func (f *fixedPolicies) Policies() []*policy.Policy {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.policies
}

func (f *fixedPolicies) set(policies ...*policy.Policy) {
	f.mu.Lock()
	f.policies = policies
	f.mu.Unlock()
	f.notify()
}

func (f *fixedPolicies) notify() {
	f.changed <- event.GenericEvent{Object: &metav1.PartialObjectMetadata{}}
}

// followKinds has served know one group version as its definitions change, as
// catalog.Reconciler does, and calls changed when it says something else.
func followKinds(mgr ctrl.Manager, served *discovery.Resolver, gv schema.GroupVersion, changed func()) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("kinds").
		WatchesMetadata(discovery.Definition(), &handler.EnqueueRequestForObject{}).
		Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			_, group, _ := strings.Cut(request.Name, ".")
			served.Invalidate(group)
			differs, err := served.Update(ctx, []schema.GroupVersion{gv})
			if differs {
				changed()
			}
			next, _ := served.NextUpdate()
			return reconcile.Result{RequeueAfter: next}, err
		}))
}

// fixedCertificates is a CertificateSource that a spec changes.
type fixedCertificates struct {
	ready chan struct{}
	mu    sync.Mutex
	ca    []byte
}

func (f *fixedCertificates) Ready() <-chan struct{} { return f.ready }

func (f *fixedCertificates) CABundle() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ca
}

func (f *fixedCertificates) set(ca []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ca = ca
}

// madeFrom is a GeneratingPolicy that makes objects from Widgets of a group, and reads a Gadget.
func madeFrom(group string) *v1alpha1.GeneratingPolicy {
	p := &v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: "causes-spec"}}
	p.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{"widgets"}},
		},
	}}}
	p.Spec.Generate = []v1alpha1.Generation{{Expression: fmt.Sprintf("generator.ApplyAll('default', resource.Get('%s/v1', 'gadgets', 'default', 'one'))", group)}}
	return p
}

var _ = Describe("The interception controller", func() {
	const name = "controller-spec"
	var (
		policies     *fixedPolicies
		certificates *fixedCertificates
		reconciler   *interceptioncontroller.Reconciler
		mutating     *admissionregistrationv1.MutatingWebhookConfiguration
		validating   *admissionregistrationv1.ValidatingWebhookConfiguration
		protection   *admissionregistrationv1.MutatingAdmissionPolicy
		binding      *admissionregistrationv1.MutatingAdmissionPolicyBinding
		causes       *admissionregistrationv1.MutatingWebhookConfiguration
	)
	// The webhook is never called: policies name a kind of which no object exists.
	const group = "controller.example.org"

	BeforeEach(func() {
		meta := metav1.ObjectMeta{Name: name}
		mutating = &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}
		validating = &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta}
		protection = &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta}
		binding = &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta}
		causes = &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: interception.CausesName(name)}}
		DeferCleanup(func(ctx SpecContext) { // once the manager has stopped
			for _, object := range []client.Object{mutating, validating, protection, binding, causes} {
				Expect(client.IgnoreNotFound(k8s.Delete(ctx, object))).To(Succeed())
			}
		})

		policies = &fixedPolicies{changed: make(chan event.GenericEvent, 1)}
		certificates = &fixedCertificates{ready: make(chan struct{}), ca: newCountingWebhook().clientConfig().CABundle}
		served := newResolver()
		startManager(ctrl.Options{}, func(mgr ctrl.Manager) error {
			reconciler = &interceptioncontroller.Reconciler{
				Client:       mgr.GetClient(),
				Policies:     policies,
				Certificates: certificates,
				Served:       served,
				Gates:        registryOf(mgr, served),
				Clock:        clock.RealClock{},
				Changes:      []<-chan event.GenericEvent{policies.changed},
				Config: interception.Input{
					Name:              name,
					OperatorNamespace: operatorNamespace,
					OperatorUser:      operatorUser,
				},
			}
			if err := followKinds(mgr, served, schema.GroupVersion{Group: group, Version: "v1"}, policies.notify); err != nil {
				return err
			}
			return reconciler.SetupWithManager(mgr)
		})
	})

	get := func(ctx context.Context, object client.Object) func() error {
		return func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(object), object) }
	}
	all := func() []client.Object { return []client.Object{mutating, validating, protection, binding} }
	rendered := func(p *policy.Policy) func() bool {
		return func() bool { return reconciler.Rendered(p) }
	}
	versions := func(ctx context.Context) []string {
		GinkgoHelper()
		var result []string
		for _, object := range all() {
			Expect(get(ctx, object)()).To(Succeed())
			result = append(result, object.GetResourceVersion())
		}
		return result
	}

	It("has the API server ask who changes GeneratingPolicies, and what they make objects from", func(ctx SpecContext) {
		left := &v1alpha1.GeneratingPolicyList{}
		Expect(k8s.List(ctx, left)).To(Succeed())
		Expect(left.Items).To(BeEmpty(), "another spec has left them behind")
		close(certificates.ready)
		policies.set()
		asked := func() ([]string, error) {
			if err := get(ctx, causes)(); err != nil {
				return nil, err
			}
			var out []string
			for _, rule := range causes.Webhooks[0].Rules {
				out = append(out, rule.APIGroups[0]+"/"+rule.Resources[0])
			}
			return out, nil
		}
		Eventually(asked).Should(HaveExactElements("kausality.io/generatingpolicies"))
		for _, object := range all() {
			Expect(apierrors.IsNotFound(get(ctx, object)())).To(BeTrue())
		}

		By("having one that makes Things from Widgets, and reads a Gadget")
		generating := madeFrom(group)
		apply(ctx, generating)
		Eventually(asked).Should(ConsistOf("kausality.io/generatingpolicies", group+"/widgets", group+"/widgets/*", group+"/gadgets", group+"/gadgets/*"))

		By("taking back what somebody edits, and going with the policy")
		causes.Webhooks[0].Rules[0].Resources = []string{"*"}
		Expect(k8s.Update(ctx, causes)).To(Succeed())
		Eventually(asked).Should(ConsistOf("kausality.io/generatingpolicies", group+"/widgets", group+"/widgets/*", group+"/gadgets", group+"/gadgets/*"))
		Expect(k8s.Delete(ctx, generating)).To(Succeed())
		Eventually(asked).Should(HaveExactElements("kausality.io/generatingpolicies"))
	})

	It("keeps everything equal to what policies need", func(ctx SpecContext) {
		By("waiting for a certificate")
		things := policyFor(ctx, group+"/v1/Thing")
		policies.set(things)
		Consistently(get(ctx, mutating), "300ms").ShouldNot(Succeed())
		close(certificates.ready)

		By("waiting for the resource")
		policies.set(things)
		Eventually(rendered(things)).Should(BeTrue())
		for _, object := range all() {
			Expect(apierrors.IsNotFound(get(ctx, object)())).To(BeTrue())
		}
		defineThing(ctx, group)
		for _, object := range all() {
			Eventually(get(ctx, object)).Should(Succeed())
		}
		Expect(mutating.Webhooks).To(HaveLen(1))
		Expect(mutating.Webhooks[0].Rules[0].Resources).To(Equal([]string{"things"}))
		Expect(mutating.Webhooks[0].ClientConfig.CABundle).To(Equal(certificates.CABundle()))

		By("writing nothing while nothing changes")
		before := versions(ctx)
		again := *things
		again.UID = "of another one of the name"
		Expect(rendered(&again)()).To(BeFalse())
		policies.set(&again)
		Eventually(rendered(&again)).Should(BeTrue())
		Expect(versions(ctx)).To(Equal(before))
		Expect(reconciler.ToldAt(&again)).To(Equal(record.Moment{}))

		By("remembering by which write the API server was told of a generation")
		closed := again
		closed.Generation++
		closed.FailurePolicy = v1alpha1.FailurePolicyFail
		policies.set(&closed)
		Eventually(rendered(&closed)).Should(BeTrue())
		Expect(get(ctx, mutating)()).To(Succeed())
		told := record.WriteOf(mutating)
		Expect(reconciler.ToldAt(&closed)).To(Equal(told))
		policies.set(&closed)
		Consistently(func() record.Moment { return reconciler.ToldAt(&closed) }, "300ms").Should(Equal(told))
		open := closed
		open.Generation++
		open.FailurePolicy = v1alpha1.FailurePolicyIgnore
		policies.set(&open)
		Eventually(rendered(&open)).Should(BeTrue())
		Expect(told.Before(reconciler.ToldAt(&open))).To(BeTrue())
		policies.set(&again)
		Eventually(rendered(&open)).Should(BeFalse())
		Expect(get(ctx, mutating)()).To(Succeed())

		By("taking back what somebody edits")
		mutating.Webhooks[0].FailurePolicy = ptr.To(admissionregistrationv1.Fail)
		mutating.Webhooks[0].Rules[0].Resources = []string{"*"}
		mutating.Labels["somebody"] = "else"
		Expect(k8s.Update(ctx, mutating)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, mutating)()).To(Succeed())
			g.Expect(*mutating.Webhooks[0].FailurePolicy).To(Equal(admissionregistrationv1.Ignore))
			g.Expect(mutating.Webhooks[0].Rules[0].Resources).To(Equal([]string{"things"}))
		}).Should(Succeed())
		Expect(mutating.Labels).To(HaveKeyWithValue("somebody", "else"))
		for _, object := range all() {
			Expect(k8s.Delete(ctx, object)).To(Succeed())
			object.SetResourceVersion("")
			Eventually(get(ctx, object)).Should(Succeed())
		}

		By("taking another CA bundle over")
		certificates.set(newCountingWebhook().clientConfig().CABundle)
		policies.set(things)
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, validating)()).To(Succeed())
			g.Expect(validating.Webhooks[0].ClientConfig.CABundle).To(Equal(certificates.CABundle()))
		}).Should(Succeed())

		By("being reached, and owned, as what is installed says")
		installed := newInstalled()
		Expect(get(ctx, installed)()).To(Succeed())
		for _, object := range all() {
			Expect(get(ctx, object)()).To(Succeed())
			Expect(object.GetOwnerReferences()).To(ConsistOf(And(HaveField("UID", installed.UID), HaveField("BlockOwnerDeletion", BeNil()))))
		}
		service := *validating.Webhooks[0].ClientConfig.Service
		Expect([]any{service.Namespace, service.Name, *service.Port}).To(HaveExactElements(operatorNamespace, "webhook", int32(8443)))
		second := newInstalled()
		second.Name = "installed-as-well"
		Expect(k8s.Create(ctx, second)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, mutating)()).To(Succeed())
			g.Expect(mutating.OwnerReferences).To(HaveLen(2))
		}).Should(Succeed())
		Expect(k8s.Delete(ctx, installed)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, mutating)()).To(Succeed())
			g.Expect(mutating.OwnerReferences).To(ConsistOf(HaveField("UID", second.UID)))
		}).Should(Succeed())

		By("removing everything while nothing is installed")
		Expect(reconciler.Off()).To(BeFalse())
		Expect(k8s.Delete(ctx, second)).To(Succeed())
		for _, object := range all() {
			Eventually(get(ctx, object)).Should(Satisfy(apierrors.IsNotFound))
		}
		Eventually(reconciler.Off).Should(BeTrue())
		Expect(rendered(things)()).To(BeFalse())
		Expect(k8s.Create(ctx, newInstalled())).To(Succeed())
		for _, object := range all() {
			Eventually(get(ctx, object)).Should(Succeed())
		}
		Eventually(reconciler.Off).Should(BeFalse())

		By("removing everything with the last policy")
		policies.set()
		for _, object := range all() {
			Eventually(get(ctx, object)).Should(Satisfy(apierrors.IsNotFound))
		}
		Eventually(rendered(things)).Should(BeFalse())
	})
})
