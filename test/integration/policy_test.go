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
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	catalogcontroller "kausality.io/operator/internal/controller/catalog"
	policycontroller "kausality.io/operator/internal/controller/policy"
	"kausality.io/operator/internal/controller/recordevents"
	targetcontroller "kausality.io/operator/internal/controller/target"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// inEffectWithin is how soon a policy takes effect (D15): two seconds, and more where
// the API server itself takes its time to list a kind to a machine that is busy
// with the race detector.
const inEffectWithin = 15 * time.Second

// targetRate is how many objects a second show that a policy is in effect for them.
const targetRate = 50

// rendering stands for the reconciler of the webhook configurations.
type rendering struct {
	pending atomic.Bool
	toldAt  atomic.Pointer[record.Moment]
}

func (r *rendering) Rendered(*policy.Policy) bool { return !r.pending.Load() }

func (r *rendering) ToldAt(*policy.Policy) record.Moment {
	if at := r.toldAt.Load(); at != nil {
		return *at
	}
	return record.Moment{}
}

func (r *rendering) Begun() bool { return true }

func (r *rendering) Off() bool { return false }

func (r *rendering) Failing() (why string, gone bool) { return "", false }

// policyControllers are the controllers of policies, with all they need.
type policyControllers struct {
	active     *policy.Active
	catalog    *catalogcontroller.Catalog
	served     *discovery.Resolver
	index      *catalogcontroller.Reconciler
	records    *record.Store
	rendering  *rendering
	holders    *objectcache.Cache
	namespaces ancestry.NamespaceReader
	gates      *registry.Registry
	// clock is what objects show policies by.
	clock *shiftedClock
	// stop ends them, as the end of the spec does.
	stop func()
}

// startPolicyControllers runs them, and others that build upon them, until the end
// of the spec.
func startPolicyControllers(ctx context.Context, others ...func(ctrl.Manager, *policyControllers) error) *policyControllers {
	GinkgoHelper()
	namespaces, namespaceCache := ancestry.NamespaceCache(nil)
	definitions, definitionCache := discovery.DefinitionCache()
	cfg := cluster.ConfigAs(operatorUser, "system:masters", "system:authenticated")
	var records *record.Cache
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			namespaces: namespaceCache, definitions: definitionCache,
		}},
		NewCache: func(cfg *rest.Config, opts cache.Options) (_ cache.Cache, err error) {
			records, err = record.NewCache(cfg, opts, recordevents.NoteOf, nil)
			return records, err
		},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(record.Index(ctx, mgr.GetFieldIndexer())).To(Succeed())
	c := &policyControllers{active: &policy.Active{}, rendering: &rendering{}, clock: &shiftedClock{}}
	c.holders, err = objectcache.New(mgr.GetConfig(), mgr.GetHTTPClient(), mgr.GetRESTMapper())
	Expect(err).NotTo(HaveOccurred())
	Expect(mgr.Add(c.holders)).To(Succeed())
	c.catalog = catalogcontroller.New(c.active)
	c.served = newResolver()
	c.records = record.NewStore(record.Config{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), OperatorNamespace: operatorNamespace, All: records.All,
	})
	c.gates = registryOf(mgr, c.served)
	c.index = &catalogcontroller.Reconciler{Reader: mgr.GetClient(), Catalog: c.catalog, Kinds: c.served, Holders: c.holders, Records: c.records, Gates: c.gates}
	Expect(c.index.SetupWithManager(mgr)).To(Succeed())
	c.namespaces = ancestry.NamespaceReader{Cached: mgr.GetCache(), Live: mgr.GetAPIReader()}
	Expect((&targetcontroller.Reconciler{
		Client: mgr.GetClient(), Holders: c.holders, Kinds: c.served, Namespaces: c.namespaces,
		Policies: c.active, Catalog: c.catalog, Rate: targetRate, Clock: c.clock, Loops: writeloop.NewFinder(),
	}).SetupWithManager(mgr)).To(Succeed())
	Expect((&policycontroller.Reconciler{
		Adoption: policycontroller.Adoption{
			Holders:    c.holders,
			Namespaces: c.namespaces,
			Records:    c.records,
			Clock:      clock.RealClock{},
		},
		Client: mgr.GetClient(), Catalog: c.catalog, Kinds: c.served, Rendering: c.rendering,
	}).SetupWithManager(ctx, mgr)).To(Succeed())

	for _, setup := range others {
		Expect(setup(mgr, c)).To(Succeed())
	}
	c.stop = run(ctx, mgr)
	Eventually(func() error { return c.index.Ready(nil) }).Should(Succeed())
	return c
}

// newPolicy is for a kind, in one namespace; initiators are groups.
func newPolicy(name, namespace string, kind schema.GroupVersionKind, initiators ...string) *v1alpha1.AllowancePolicy {
	p := &v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: kind.Group, APIVersion: kind.Version, Kind: kind.Kind},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
			},
		},
	}
	for _, group := range initiators {
		p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{
			Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: group}, MayInitiate: true,
		})
	}
	return p
}

// withRule adds a rule that names a resource of group/v1.
func withRule(p *v1alpha1.AllowancePolicy, trigger, group, resource string) *v1alpha1.AllowancePolicy {
	p.Spec.Rules = append(p.Spec.Rules, v1alpha1.Rule{Trigger: trigger, Policies: []v1alpha1.PolicyEntry{{
		Target:   v1alpha1.Target{APIGroup: &group, APIVersion: "v1", Resource: resource},
		Relation: v1alpha1.RelationControllerChild,
		Verbs:    []string{"Create", "Update", "Delete"},
	}}})
	return p
}

var (
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
)

// statusOf reads the status of a policy.
func statusOf(ctx context.Context, name string) func() (v1alpha1.AllowancePolicyStatus, error) {
	return func() (v1alpha1.AllowancePolicyStatus, error) {
		p := &v1alpha1.AllowancePolicy{}
		err := k8s.Get(ctx, client.ObjectKey{Name: name}, p)
		return p.Status, err
	}
}

// haveCondition matches a status with a condition of that reason whose message
// has a part; the status follows from whether the reason is that of success.
func haveCondition(conditionType, reason, part string) OmegaMatcher {
	return WithTransform(func(status v1alpha1.AllowancePolicyStatus) metav1.Condition {
		condition := apimeta.FindStatusCondition(status.Conditions, conditionType)
		if condition == nil {
			return metav1.Condition{}
		}
		return *condition
	}, And(HaveField("Reason", reason), HaveField("Message", ContainSubstring(part))))
}

func beEnforced() OmegaMatcher {
	return haveCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonEnforced, "")
}

// settle writes the status that the Deployment controller would write when a
// rollout is complete.
func settle(ctx context.Context, d *appsv1.Deployment) {
	GinkgoHelper()
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
	Expect(k8s.Status().Update(ctx, d)).To(Succeed())
}

// adopting returns the names of the objects in a namespace that are adopting.
func adopting(ctx context.Context, namespace string) func() ([]string, error) {
	return func() ([]string, error) {
		var records v1alpha1.AllowanceRecordList
		if err := k8s.List(ctx, &records, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		var names []string
		for i := range records.Items {
			if records.Items[i].Status.Adopting {
				names = append(names, records.Items[i].Spec.TargetRef.Name)
			}
		}
		return names, nil
	}
}

var _ = Describe("Policies", func() {
	var (
		controllers *policyControllers
		namespace   string
	)
	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		controllers = startPolicyControllers(ctx)
	})

	It("take effect at once, after what is in the middle of something was recorded", func(ctx SpecContext) {
		busy, done := newDeployment(namespace, "busy"), newDeployment(namespace, "done")
		elsewhere := newDeployment(newNamespace(ctx), "elsewhere")
		apply(ctx, busy, done, elsewhere)
		settle(ctx, done)
		busySet := newReplicaSet(namespace, "busy-1", busy)
		apply(ctx, busySet, newReplicaSet(namespace, "alone", nil))

		apply(ctx,
			withRule(newPolicy("spec-deployments", namespace, deploymentKind, "platform-team"), "spec", "apps", "replicasets"),
			withRule(newPolicy("spec-replicasets", namespace, replicaSetKind), "spec.replicas", "", "pods"),
		)
		for _, name := range []string{"spec-deployments", "spec-replicasets"} {
			Eventually(statusOf(ctx, name)).WithTimeout(inEffectWithin).Should(And(
				beEnforced(),
				HaveField("AdoptedGeneration", int64(1)),
				HaveField("Adopting", int64(1)),
				haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, ""),
			), name)
		}
		Expect(statusOf(ctx, "spec-replicasets")()).To(
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "replacing one that was evicted or lost will be denied"))
		Expect(adopting(ctx, namespace)()).To(ConsistOf("busy", "busy-1"))
		Expect(adopting(ctx, elsewhere.Namespace)()).To(BeEmpty())
		Expect(controllers.active.Index().For(deploymentKind.GroupKind())).To(HaveLen(1))

		By("counting those that are left")
		target := v1alpha1.TargetReference{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: namespace, Name: busy.Name, UID: busy.UID,
		}
		Expect(controllers.records.Update(ctx, target, false, func(status *v1alpha1.AllowanceRecordStatus) bool {
			status.Adopting, status.AdoptingSince = false, nil
			return true
		})).To(Succeed())
		Eventually(statusOf(ctx, "spec-deployments")).Should(HaveField("Adopting", int64(0)))
		Expect(statusOf(ctx, "spec-replicasets")()).To(HaveField("Adopting", int64(1)))

		By("writing nothing when nothing happens")
		before := &v1alpha1.AllowancePolicy{}
		Expect(k8s.Get(ctx, client.ObjectKey{Name: "spec-deployments"}, before)).To(Succeed())
		controllers.catalog.NotifyAll()
		Consistently(func() (*v1alpha1.AllowancePolicy, error) {
			now := &v1alpha1.AllowancePolicy{}
			err := k8s.Get(ctx, client.ObjectKey{Name: "spec-deployments"}, now)
			return now, err
		}).WithTimeout(time.Second).Should(BeComparableTo(before))

		By("going at once")
		Expect(k8s.Delete(ctx, before)).To(Succeed())
		Eventually(func() int {
			return len(controllers.active.Index().For(deploymentKind.GroupKind()))
		}).WithTimeout(inEffectWithin).Should(BeZero())
		Eventually(statusOf(ctx, "spec-replicasets")).Should(
			haveCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonWaiting, "no policy for an owner of ReplicaSet objects"))
	})

	It("wait for somebody who can start their chains", func(ctx SpecContext) {
		busy := newDeployment(namespace, "busy")
		apply(ctx, busy)
		apply(ctx, newReplicaSet(namespace, "busy-1", busy))

		apply(ctx, withRule(newPolicy("spec-replicasets", namespace, replicaSetKind), "spec.replicas", "", "pods"))
		Eventually(statusOf(ctx, "spec-replicasets")).WithTimeout(inEffectWithin).Should(
			haveCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonWaiting, "mayInitiate"))
		Expect(adopting(ctx, namespace)()).To(BeEmpty())

		apply(ctx, withRule(newPolicy("spec-deployments", namespace, deploymentKind, "platform-team"), "spec", "apps", "replicasets"))
		Eventually(statusOf(ctx, "spec-replicasets")).WithTimeout(inEffectWithin).Should(beEnforced())
		Expect(adopting(ctx, namespace)()).To(ConsistOf("busy", "busy-1"))
	})

	It("adopt what a change makes them select", func(ctx SpecContext) {
		first, second := newDeployment(namespace, "first"), newDeployment(namespace, "second")
		first.Labels = map[string]string{"tier": "one"}
		apply(ctx, first, second)
		p := withRule(newPolicy("spec-deployments", namespace, deploymentKind, "platform-team"), "spec", "apps", "replicasets")
		p.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "one"}}
		apply(ctx, p)
		Eventually(statusOf(ctx, p.Name)).Should(beEnforced())
		Expect(adopting(ctx, namespace)()).To(ConsistOf("first"))

		before := p.DeepCopy()
		p.Spec.ObjectSelector = nil
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		Eventually(statusOf(ctx, p.Name)).Should(And(beEnforced(), HaveField("AdoptedGeneration", p.Generation)))
		Expect(adopting(ctx, namespace)()).To(ConsistOf("first", "second"))
	})

	It("are in force as far as they are right", func(ctx SpecContext) {
		p := withRule(newPolicy("spec-deployments", namespace, deploymentKind, "platform-team"), "spec.replicas", "apps", "replicasets")
		apply(ctx, withRule(p, "spec[", "apps", "replicasets"))
		Eventually(statusOf(ctx, p.Name)).Should(And(
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonInvalid, "spec.rules[1].trigger"),
			beEnforced(),
		))
		Expect(controllers.active.Index().For(deploymentKind.GroupKind())[0].Rules).To(HaveLen(1))
	})

	It("are enforced once the API server asks about what they name", func(ctx SpecContext) {
		controllers.rendering.pending.Store(true)
		p := withRule(newPolicy("spec-deployments", namespace, deploymentKind, "platform-team"), "spec", "apps", "replicasets")
		apply(ctx, p)
		Eventually(statusOf(ctx, p.Name)).Should(
			haveCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonPending, "is being told"))
		controllers.rendering.pending.Store(false)
		controllers.catalog.NotifyAll()
		Eventually(statusOf(ctx, p.Name)).WithTimeout(inEffectWithin).Should(beEnforced())
	})

	It("adopt what was begun after they had looked, and before the API server asks about it", func(ctx SpecContext) {
		apply(ctx, newDeployment(namespace, "before"))
		controllers.rendering.pending.Store(true)
		p := withRule(newPolicy("spec-deployments", namespace, deploymentKind, "platform-team"), "spec", "apps", "replicasets")
		apply(ctx, p)
		Eventually(statusOf(ctx, p.Name)).Should(HaveField("AdoptedGeneration", p.Generation))
		Expect(adopting(ctx, namespace)()).To(ConsistOf("before"))

		granted := newDeployment(namespace, "granted")
		granted.Annotations = map[string]string{v1alpha1.AnnotationAllowances: ledger.Ledger{ledger.NewEntry(v1alpha1.Allowance{Kind: "ReplicaSet"})}.Encode()}
		told := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "told"}, Data: map[string]string{"of": p.Name}}
		apply(ctx, newDeployment(namespace, "between"), granted, told, newDeployment(namespace, "unheard"))
		By("another policy, by which the first is compiled anew")
		apply(ctx, withRule(newPolicy("spec-replicasets", namespace, replicaSetKind), "spec", "", "pods"))
		Eventually(statusOf(ctx, "spec-replicasets")).Should(HaveField("AdoptedGeneration", BeEquivalentTo(1)))
		controllers.rendering.toldAt.Store(new(record.WriteOf(told)))
		controllers.rendering.pending.Store(false)
		controllers.catalog.NotifyAll()
		Eventually(statusOf(ctx, p.Name)).WithTimeout(inEffectWithin).Should(beEnforced())
		Eventually(adopting(ctx, namespace)).WithTimeout(inEffectWithin).Should(ConsistOf("before", "between", "unheard"))
		Consistently(adopting(ctx, namespace)).Should(ConsistOf("before", "between", "unheard"))
	})

	It("follow the definitions of the kinds that they name", func(ctx SpecContext) {
		const group = "policies.example.com"
		thingKind := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}
		p := withRule(newPolicy("spec-things", namespace, thingKind, "platform-team"), "spec", group, "things")
		apply(ctx, p)
		Eventually(statusOf(ctx, p.Name)).Should(And(
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonTargetNotFound, "kind Thing in policies.example.com/v1"),
			haveCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonPending, "Thing"),
		))

		definition := thingDefinition(group)
		Expect(k8s.Create(ctx, definition)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(k8s.Delete(ctx, definition)) })
		Eventually(statusOf(ctx, p.Name)).Should(And(
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, ""), beEnforced()))
		Expect(controllers.active.Index().Policies()).To(ContainElement(
			WithTransform(func(p *policy.Policy) bool { return p.Bounds(thingKind.GroupKind()) }, BeTrue())))

		By("dropping a kind that goes")
		Expect(k8s.Delete(ctx, definition)).To(Succeed())
		Eventually(statusOf(ctx, p.Name)).Should(
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonTargetNotFound, ""))
		Expect(controllers.active.Index().For(thingKind.GroupKind())).To(BeEmpty())
	})

	It("tell of owners that no policy is for", func(ctx SpecContext) {
		const group = "owners.example.com"
		defineThing(ctx, group)
		owner := newThing(group, namespace, "owner")
		apply(ctx, owner)
		owned := newReplicaSet(namespace, "owned", nil)
		owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
		apply(ctx, owned)

		p := newPolicy("spec-replicasets", namespace, replicaSetKind, "platform-team")
		apply(ctx, p)
		Eventually(statusOf(ctx, p.Name)).Should(
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "owned by Thing.owners.example.com"))
	})
})

// registryOf knows the kinds with gates that a resolver knows.
func registryOf(mgr ctrl.Manager, served *discovery.Resolver) *registry.Registry {
	return &registry.Registry{
		Drivers: gate.Drivers{crossplane.Driver{}}, Served: served, Definitions: mgr.GetClient(),
		Systems: []string{"system:serviceaccount:crossplane-system:provider-*"},
	}
}
