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
	"errors"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/baseline"
	holdercontroller "kausality.io/operator/internal/controller/holder"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

var (
	deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")
	replicaSets = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
)

// operatorParts are what runs in these specs: everything that follows holders,
// without a webhook of its own.
type operatorParts struct {
	holders *objectcache.Cache
	records *record.Store
	active  *policy.Active
	// upgrades are the UpgradeAllowances that let something through.
	upgrades *upgrade.Active
}

// startParts runs them until the end of the spec or container.
func startParts(ctx context.Context, kinds ...schema.GroupVersionKind) *operatorParts {
	GinkgoHelper()
	cfg := cluster.ConfigAs(operatorUser, "system:masters", "system:authenticated")
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(record.Index(ctx, mgr.GetFieldIndexer())).To(Succeed())
	cache, err := objectcache.New(mgr.GetConfig(), mgr.GetHTTPClient(), mgr.GetRESTMapper())
	Expect(err).NotTo(HaveOccurred())
	p := &operatorParts{
		holders: cache,
		records: record.NewStore(record.Config{
			Client: mgr.GetClient(), Live: mgr.GetAPIReader(),
			OperatorNamespace: operatorNamespace,
		}),
		active: &policy.Active{}, upgrades: &upgrade.Active{},
	}
	namespaces := ancestry.NamespaceReader{Cached: mgr.GetCache(), Live: mgr.GetAPIReader()}
	Expect(followHolders(mgr, cache, p.records, p.active, p.upgrades, namespaces)).To(Succeed())
	Expect(mgr.Add(cache)).To(Succeed())

	p.active.Set(policy.NewIndex([]*policy.Policy{startingPolicy("Deployment", "platform-team"), startingPolicy("ReplicaSet", "platform-team")}))
	run(ctx, mgr)
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
	Expect(cache.Watch(ctx, kinds)).To(Succeed())
	return p
}

// holderClock is what holders are looked at by.
var holderClock = &shiftedClock{}

// followHolders adds what keeps records of holders, and consumes what is in their
// ledgers.
func followHolders(
	mgr ctrl.Manager, cache *objectcache.Cache, records *record.Store, active *policy.Active, upgrades *upgrade.Active, namespaces ancestry.Namespaces,
) error {
	known := baseline.New(baseline.Config{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: operatorNamespace,
		Holders: cache, Looked: cache.Looked(), Behind: records.Behind, Clock: clock.RealClock{},
	})
	sign := holdercontroller.NewSignOfLife(holdercontroller.SignOfLifeConfig{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: operatorNamespace,
		Holders: cache, Looked: cache.Looked(), Records: records, Baseline: known, Policies: active, Namespaces: namespaces,
	})
	holder := &holdercontroller.Reconciler{
		Loops:  writeloop.NewFinder(),
		Client: mgr.GetClient(), Holders: cache, Records: records, Policies: active, Upgrades: upgrades,
		Namespaces: namespaces, SignOfLife: sign, Baseline: known, Events: mgr.GetEventRecorder("kausality"), Clock: holderClock,
		Came: cache.Came,
	}
	return errors.Join(holder.SetupWithManager(mgr), mgr.Add(records), mgr.Add(sign), mgr.Add(known))
}

// forgetSignOfLife makes the next start the first ever, so that nothing is taken
// for created while nobody watched. It returns the lease, empty.
func forgetSignOfLife(ctx context.Context) *coordinationv1.Lease {
	GinkgoHelper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: holdercontroller.SignOfLifeName}}
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, lease.DeepCopy()))).To(Succeed())
	return lease
}

// startingPolicy returns in effect for all objects of a kind of apps/v1: a group may
// initiate.
func startingPolicy(kind, group string) *policy.Policy {
	GinkgoHelper()
	compiled, errs := policy.Compile(&v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: kind, Generation: 1},
		Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: kind},
			Subjects: []v1alpha1.PolicySubject{{
				Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectGroup, Name: group}, MayInitiate: true,
			}},
			Rules: []v1alpha1.Rule{{Trigger: "spec"}},
		},
	}, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	Expect(errs).To(BeEmpty())
	return compiled
}

// targetOf returns the reference by which an object of apps/v1 is recorded.
func targetOf(object client.Object, kind schema.GroupVersionKind) v1alpha1.TargetReference {
	return v1alpha1.TargetReference{
		Group: kind.Group, Version: kind.Version, Kind: kind.Kind,
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
	}
}

func ledgerOf(allowances ...v1alpha1.Allowance) string {
	return ledger.Ledger{}.Merge(allowances...).Encode()
}

func replicasAllowance(generation int64) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: generation, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: "spec.replicas"}},
	}
}

// deploymentWith creates a Deployment that holds a ledger.
func deploymentWith(ctx context.Context, namespace, name string, allowances ...v1alpha1.Allowance) *appsv1.Deployment {
	GinkgoHelper()
	d := newDeployment(namespace, name)
	if len(allowances) > 0 {
		d.Annotations = map[string]string{ledgerKey: ledgerOf(allowances...)}
	}
	apply(ctx, d)
	return d
}

// reportSettled reports, as the deployment controller would, that all is done.
func reportSettled(ctx context.Context, d *appsv1.Deployment) {
	GinkgoHelper()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: append(d.Status.Conditions,
			appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
			appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		),
	}
	Expect(k8s.Status().Update(ctx, d)).To(Succeed())
}

// deniedUpdate returns the outcome of a refused update of a ReplicaSet.
func deniedUpdate(target v1alpha1.TargetReference) record.Outcome {
	return record.Outcome{Target: target, Decision: &v1alpha1.Decision{
		Result: record.ResultDenied, Reason: "Denied", Operation: "Update",
		User: deploymentsUser,
		Kind: "ReplicaSet", Name: "web-1", Paths: []string{"spec.replicas"},
		Message: "nothing covers spec.replicas of ReplicaSet web-1",
	}}
}

// recordStatus returns the status of the record of a target, for Eventually.
func recordStatus(p *operatorParts, target v1alpha1.TargetReference) func(Gomega, context.Context) *v1alpha1.AllowanceRecordStatus {
	return func(g Gomega, ctx context.Context) *v1alpha1.AllowanceRecordStatus {
		rec, err := p.records.Live(ctx, target)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rec).NotTo(BeNil(), "no record of %s %s", target.Kind, target.Name)
		return &rec.Status
	}
}

func heldAllowances(status *v1alpha1.AllowanceRecordStatus) []v1alpha1.Allowance {
	return status.Active
}

func isBlocked(d *appsv1.Deployment) bool {
	for _, c := range d.Status.Conditions {
		if c.Type == v1alpha1.ConditionBlocked && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

var _ = Describe("What somebody was let create", func() {
	It("leaves no record where it was not stored", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		DeferCleanup(func() { holderClock.ahead.Store(0) })
		p := startParts(ctx, deployments)
		d := deploymentWith(ctx, namespace, "web", replicasAllowance(1))
		there := targetOf(d, deployments)
		Eventually(recordStatus(p, there)).WithContext(ctx).Should(HaveField("Phase", Not(BeEmpty())))

		// letCreate is what admission does when it lets somebody create a Deployment of that name.
		letCreate := func(uid types.UID, user string) v1alpha1.TargetReference {
			GinkgoHelper()
			ref := there
			ref.UID = uid
			Expect(p.records.KeepLedger(ctx, ref, "", nil)).To(Succeed())
			p.records.Observe(record.Outcome{Target: ref, History: []v1alpha1.HistoryEntry{{
				Event: v1alpha1.EventGranted, User: user, Initiator: user, Operation: "Create", Message: "anything",
			}}})
			Eventually(recordStatus(p, ref)).WithContext(ctx).Should(HaveField("History", Not(BeEmpty())))
			return ref
		}
		never, gone := letCreate("never", "mallory"), letCreate("gone", "alice")
		Expect(p.records.SetDeletion(ctx, gone, v1alpha1.Deletion{User: "alice"})).To(Succeed())
		Consistently(recordStatus(p, never)).WithContext(ctx).Should(And(HaveField("Phase", BeEmpty()), HaveField("EndedAt", BeNil())))

		By("a minute passing")
		holderClock.ahead.Store(int64(record.UnseenLimit + time.Second))
		again := there
		again.UID = "never"
		p.records.Observe(record.Outcome{Target: again, History: []v1alpha1.HistoryEntry{{
			Event: v1alpha1.EventWithheld, User: "mallory", Operation: "Create", Message: "told late",
		}}})
		Eventually(func() error {
			return k8s.Get(ctx, types.NamespacedName{Namespace: namespace, Name: record.Name(never)}, &v1alpha1.AllowanceRecord{})
		}).WithContext(ctx).Should(MatchError(apierrors.IsNotFound, "not found"))
		Eventually(recordStatus(p, gone)).WithContext(ctx).Should(HaveField("Phase", v1alpha1.PhaseDeleting))
		Consistently(recordStatus(p, there)).WithContext(ctx).Should(HaveField("Phase", Not(Equal(v1alpha1.PhaseDeleting))))
	})
})

var _ = Describe("Holders in the cache", func() {
	It("watches exactly the kinds that it is told to", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		p := startParts(ctx, deployments)
		d := newDeployment(namespace, "web")
		d.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "mine": "stays"}
		apply(ctx, d)
		rs := newReplicaSet(namespace, "web-1", d)
		apply(ctx, rs)

		var cached *unstructured.Unstructured
		Eventually(func() (err error) {
			cached, err = p.holders.Get(ctx, deployments.GroupKind().WithVersion("v1beta9"), client.ObjectKeyFromObject(d))
			return err
		}).Should(Succeed())
		Expect(cached.GroupVersionKind()).To(Equal(deployments))
		Expect(cached.GetManagedFields()).To(BeEmpty())
		Expect(cached.GetAnnotations()).To(Equal(map[string]string{"mine": "stays"}))

		_, err := p.holders.Get(ctx, replicaSets, client.ObjectKeyFromObject(rs))
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "a kind that is not watched is not found: %v", err)
		live, err := p.holders.Live(ctx, replicaSets, client.ObjectKeyFromObject(rs))
		Expect(err).NotTo(HaveOccurred())
		Expect(live.GetUID()).To(Equal(rs.UID))

		absent := schema.GroupVersionKind{Group: "absent.example.com", Version: "v1", Kind: "Absent"}
		Expect(p.holders.Watch(ctx, []schema.GroupVersionKind{replicaSets, absent})).
			To(MatchError(ContainSubstring("Absent.absent.example.com")))
		Expect(p.holders.Kinds()).To(ConsistOf(replicaSets))
		Expect(p.holders.Watches(deployments.GroupKind())).To(BeFalse())
		_, err = p.holders.Get(ctx, replicaSets, client.ObjectKeyFromObject(rs))
		Expect(err).NotTo(HaveOccurred())
		_, err = p.holders.Get(ctx, deployments, client.ObjectKeyFromObject(d))
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
	})
})

var _ = Describe("The records of holders", Ordered, func() {
	var (
		p         *operatorParts
		namespace string
	)
	BeforeAll(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		forgetSignOfLife(ctx)
		p = startParts(ctx, deployments, replicaSets)
	})

	Describe("written by admission", func() {
		It("keeps each of many pending grants that are added at the same time", func(ctx SpecContext) {
			target := targetOf(deploymentWith(ctx, namespace, "pending"), deployments)
			const writers = 5
			errs := make([]error, writers)
			var group sync.WaitGroup
			for i := range writers {
				group.Go(func() {
					grant := record.NewPending(&record.Content{Path: "spec.replicas", Value: int64(100 + i)}, nil,
						[]v1alpha1.Allowance{replicasAllowance(0)}, nil)
					errs[i] = errors.Join(p.records.AddPending(ctx, target, grant, nil), p.records.AddPending(ctx, target, grant, nil))
				})
			}
			group.Wait()
			Expect(errors.Join(errs...)).To(Succeed())
			rec, err := p.records.Live(ctx, target)
			Expect(err).NotTo(HaveOccurred())
			Expect(rec.Status.PendingGrants).To(HaveLen(writers))
			Expect(rec.Labels).To(HaveKeyWithValue(record.LabelTargetUID, string(target.UID)))
		})

		It("keeps the first time of a deletion that is admitted several times", func(ctx SpecContext) {
			target := targetOf(deploymentWith(ctx, namespace, "deletion"), deployments)
			// A deletion that does not come is forgotten after a minute.
			first := metav1.NewTime(time.Now().Add(-10 * time.Second).Truncate(time.Second))
			Expect(p.records.SetDeletion(ctx, target, v1alpha1.Deletion{Time: first, User: "alice"})).To(Succeed())
			Expect(p.records.SetDeletion(ctx, target, v1alpha1.Deletion{User: "alice"})).To(Succeed())
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(HaveField("Deletion.Time.Unix()", first.Unix()))
		})

		It("makes no record in a namespace that is being deleted, and no fuss", func(ctx SpecContext) {
			terminating := newNamespace(ctx)
			d := deploymentWith(ctx, terminating, "web")
			Expect(k8s.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: terminating}})).To(Succeed())
			target := targetOf(d, deployments)
			Expect(p.records.SetDeletion(ctx, target, v1alpha1.Deletion{User: "alice"})).To(Succeed())
			Expect(p.records.Live(ctx, target)).To(BeNil())

			By("keeping elsewhere who deletes what goes with it")
			for range 2 {
				Expect(p.records.KeepDeletion(ctx, target, v1alpha1.Deletion{User: "alice", Policies: []string{"web"}})).To(Succeed())
			}
			Eventually(ctx, func() (*v1alpha1.Deletion, error) { return p.records.DeletionOf(ctx, target.UID) }).
				Should(And(HaveField("User", "alice"), HaveField("Policies", ConsistOf("web"))))
			Expect(p.records.Live(ctx, target)).To(BeNil())
		})

		It("records decisions", func(ctx SpecContext) {
			d := deploymentWith(ctx, namespace, "decisions")
			target := targetOf(d, deployments)
			for range 3 {
				p.records.Observe(deniedUpdate(target))
			}
			passed := deniedUpdate(target)
			passed.Decision.Result, passed.Decision.Reason = record.ResultAllowed, "Maintaining"
			p.records.Observe(passed)

			Eventually(recordStatus(p, target)).WithContext(ctx).Should(And(
				HaveField("Denials", int64(3)),
				HaveField("LastDenial.Paths", ConsistOf("spec.replicas")),
				HaveField("LastDecision.Reason", "Maintaining"),
			))
		})

		It("makes no record for what nothing bounds", func(ctx SpecContext) {
			unbounded := targetOf(deploymentWith(ctx, namespace, "unbounded"), deployments)
			marker := targetOf(deploymentWith(ctx, namespace, "marker"), deployments)
			p.records.Observe(record.Outcome{Target: unbounded, Decision: &v1alpha1.Decision{Result: record.ResultAllowed, Reason: "Maintaining"}})
			p.records.Observe(deniedUpdate(marker))
			Eventually(recordStatus(p, marker)).WithContext(ctx).Should(HaveField("Denials", int64(1)))
			Expect(p.records.Live(ctx, unbounded)).To(BeNil())
		})
	})

	Describe("kept by the controller", func() {
		It("mirrors the ledger, and notes for good what is consumed", func(ctx SpecContext) {
			d := deploymentWith(ctx, namespace, "mirror", replicasAllowance(1))
			target := targetOf(d, deployments)
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(And(
				HaveField("Phase", v1alpha1.PhaseSteady),
				HaveField("ActiveCount", int32(1)),
				HaveField("Initiator", "alice"),
				HaveField("FirstSeen", HaveLen(1)),
			))

			// No webhook prunes here, so the entry stays, and counts no more.
			reportSettled(ctx, d)
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(And(
				HaveField("ActiveCount", int32(0)), HaveField("Consumed", HaveLen(1)),
			))
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			d.Status.AvailableReplicas, d.Status.ReadyReplicas = 0, 0
			Expect(k8s.Status().Update(ctx, d)).To(Succeed())
			Consistently(recordStatus(p, target)).WithContext(ctx).WithTimeout(time.Second).Should(HaveField("ActiveCount", int32(0)))
		})

		It("closes the records of what is gone, and traces what was collected", func(ctx SpecContext) {
			d := deploymentWith(ctx, namespace, "gone", replicasAllowance(1))
			rs := newReplicaSet(namespace, "gone-1", d)
			rs.Annotations = map[string]string{replicaSetLedgerKey: ledgerOf(replicasAllowance(1))}
			apply(ctx, rs)
			parent, child := targetOf(d, deployments), targetOf(rs, replicaSets)
			Eventually(recordStatus(p, child)).WithContext(ctx).Should(HaveField("ActiveCount", int32(1)))
			Eventually(func(g Gomega) map[string]string {
				rec, err := p.records.Live(ctx, child)
				g.Expect(err).NotTo(HaveOccurred())
				return rec.Labels
			}).Should(HaveKeyWithValue(record.LabelParentUID, string(d.UID)))

			Expect(p.records.SetDeletion(ctx, parent, v1alpha1.Deletion{
				User: "bob", Initiator: "bob", Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "gone", Field: v1alpha1.FieldDeleted}},
			})).To(Succeed())
			Expect(k8s.Delete(ctx, d)).To(Succeed())
			Eventually(recordStatus(p, parent)).WithContext(ctx).Should(And(
				HaveField("Phase", v1alpha1.PhaseDeleting), HaveField("Active", BeEmpty()), HaveField("Deletion.User", "bob"),
			))
			Expect(k8s.Delete(ctx, rs)).To(Succeed())
			Eventually(recordStatus(p, child)).WithContext(ctx).Should(And(
				HaveField("Phase", v1alpha1.PhaseDeleting), HaveField("Active", BeEmpty()),
				HaveField("Deletion.Initiator", "bob"), HaveField("Deletion.Trace", HaveLen(2)),
			))
		})

		It("closes the record of what goes while no policy is for its kind, when one comes", func(ctx SpecContext) {
			d := deploymentWith(ctx, namespace, "unwatched")
			target := targetOf(d, deployments)
			p.records.Observe(deniedUpdate(target))
			Eventually(reread(d)).WithContext(ctx).Should(Satisfy(isBlocked))
			// Nothing is open about it, for which somebody would look again anyway.
			Expect(annotate(ctx, k8s, d, ledgerKey, ledgerOf(replicasAllowance(2)))).To(Succeed())
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(And(HaveField("Blocked", BeNil()), HaveField("ActiveCount", int32(1))))
			Expect(annotate(ctx, k8s, d, ledgerKey, ledgerOf())).To(Succeed())
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(HaveField("ActiveCount", int32(0)))

			before := p.active.Index()
			DeferCleanup(func(ctx SpecContext) error {
				p.active.Set(before)
				return p.holders.Watch(ctx, []schema.GroupVersionKind{deployments, replicaSets})
			})
			p.active.Set(policy.NewIndex(nil))
			Expect(p.holders.Watch(ctx, nil)).To(Succeed())
			Expect(k8s.Delete(ctx, d)).To(Succeed())
			Consistently(recordStatus(p, target)).WithContext(ctx).WithTimeout(2 * time.Second).Should(HaveField("EndedAt", BeNil()))

			apply(ctx, &v1alpha1.AllowancePolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "comes"},
				Spec:       v1alpha1.AllowancePolicySpec{For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"}},
			})
			Consistently(recordStatus(p, target)).WithContext(ctx).WithTimeout(3*time.Second).Should(HaveField("EndedAt", BeNil()), "what nobody watches yet")
			Expect(p.holders.Watch(ctx, []schema.GroupVersionKind{deployments, replicaSets})).To(Succeed())
			p.active.Set(before)
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(HaveField("EndedAt", Not(BeNil())))
		})

		It("gives a recreated object a record of its own", func(ctx SpecContext) {
			first := deploymentWith(ctx, namespace, "again", replicasAllowance(1))
			before := targetOf(first, deployments)
			Eventually(recordStatus(p, before)).WithContext(ctx).Should(HaveField("ActiveCount", int32(1)))
			Expect(k8s.Delete(ctx, first)).To(Succeed())
			after := targetOf(deploymentWith(ctx, namespace, "again", replicasAllowance(1)), deployments)
			Eventually(recordStatus(p, before)).WithContext(ctx).Should(HaveField("Phase", v1alpha1.PhaseDeleting))
			Eventually(recordStatus(p, after)).WithContext(ctx).Should(HaveField("ActiveCount", int32(1)))
		})
	})

	Describe("of a holder whose children are denied", func() {
		It("shows it as a condition of a Deployment until an allowance arrives", func(ctx SpecContext) {
			d := deploymentWith(ctx, namespace, "blocked")
			target := targetOf(d, deployments)
			p.records.Observe(deniedUpdate(target))
			Eventually(reread(d)).WithContext(ctx).Should(Satisfy(isBlocked))
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			Expect(d.Generation).To(Equal(int64(1)), "it costs no generation")
			Expect(d.Annotations).To(BeEmpty())
			blockedAt := d.ResourceVersion

			p.records.Observe(deniedUpdate(target))
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(HaveField("Denials", int64(2)))
			Consistently(reread(d)).WithContext(ctx).WithTimeout(time.Second).Should(HaveField("ResourceVersion", blockedAt), "one write for each episode")

			Expect(annotate(ctx, k8s, d, ledgerKey, ledgerOf(replicasAllowance(2)))).To(Succeed())
			Eventually(reread(d)).WithContext(ctx).ShouldNot(Satisfy(isBlocked))
			Eventually(recordStatus(p, target)).WithContext(ctx).Should(And(
				HaveField("Blocked", BeNil()), HaveField("AnsweredDenials", int64(2)),
			))
		})

		It("shows it as an annotation of a ReplicaSet until a policy changes", func(ctx SpecContext) {
			d := deploymentWith(ctx, namespace, "blocking")
			rs := newReplicaSet(namespace, "blocking-1", d)
			apply(ctx, rs)
			target := targetOf(rs, replicaSets)
			p.records.Observe(deniedUpdate(target))
			key := v1alpha1.ReplicaSetAnnotationPrefix + "Blocked"
			Eventually(reread(rs)).WithContext(ctx).Should(HaveField("Annotations", HaveKeyWithValue(key, ContainSubstring("Group platform-team"))))

			before := p.active.Index()
			DeferCleanup(func() { p.active.Set(before) })
			p.active.Set(policy.NewIndex([]*policy.Policy{startingPolicy("Deployment", "platform-team")}))
			// The change of the policy object itself is what makes it look again.
			changed := &v1alpha1.AllowancePolicy{
				ObjectMeta: metav1.ObjectMeta{Name: "changed"},
				Spec:       v1alpha1.AllowancePolicySpec{For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "ReplicaSet"}},
			}
			apply(ctx, changed)
			Eventually(reread(rs)).WithContext(ctx).Should(HaveField("Annotations", Not(HaveKey(key))))
		})
	})
})

// reread reads an object again, for Eventually.
func reread[T client.Object](object T) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		// A field that is absent now must not keep its value.
		fresh, _ := object.DeepCopyObject().(T)
		err := k8s.Get(ctx, client.ObjectKeyFromObject(object), fresh)
		return fresh, err
	}
}

var _ = Describe("Holders and the webhook", Ordered, func() {
	var (
		p         *operatorParts
		namespace string
	)
	BeforeAll(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		forgetSignOfLife(ctx)
		p = startParts(ctx, deployments)
		serveLedgers(ctx, p, namespace)
	})

	// settled makes a Deployment whose allowance is used up, and waits for the last write about
	// that: the entry is noted as consumed before it leaves the ledger, and the record says when it
	// has left.
	settled := func(ctx context.Context, name string) (*appsv1.Deployment, v1alpha1.TargetReference) {
		GinkgoHelper()
		d := deploymentWith(ctx, namespace, name, replicasAllowance(1))
		target := targetOf(d, deployments)
		Eventually(recordStatus(p, target)).WithContext(ctx).Should(HaveField("ActiveCount", int32(1)))
		reportSettled(ctx, d)
		Eventually(reread(d)).WithContext(ctx).Should(HaveField("Annotations", Not(HaveKey(ledgerKey))))
		Eventually(recordStatus(p, target)).WithContext(ctx).Should(And(
			HaveField("ActiveCount", int32(0)), HaveField("Consumed", BeEmpty()), HaveField("FirstSeen", BeEmpty()),
		))
		return d, target
	}

	It("has the ledger of a settled holder pruned", func(ctx SpecContext) {
		d, _ := settled(ctx, "settling")
		Expect(reread(d)(ctx)).To(HaveField("Generation", int64(1)))
	})

	It("has a pending grant folded in, and then forgets it", func(ctx SpecContext) {
		d := deploymentWith(ctx, namespace, "folding")
		target := targetOf(d, deployments)
		grant := record.NewPending(&record.Content{Path: "spec.replicas", Value: 4}, nil, []v1alpha1.Allowance{replicasAllowance(0)}, nil)
		Expect(p.records.AddPending(ctx, target, grant, nil)).To(Succeed())
		d.Spec.Replicas = ptr.To[int32](4)
		Expect(k8s.Update(ctx, d)).To(Succeed())

		Eventually(reread(d)).WithContext(ctx).Should(HaveField("Annotations", HaveKeyWithValue(ledgerKey, ledgerOf(replicasAllowance(2)))))
		Eventually(recordStatus(p, target)).WithContext(ctx).Should(And(
			HaveField("PendingGrants", BeEmpty()),
			WithTransform(heldAllowances, ConsistOf(replicasAllowance(2))),
		))
	})

	It("writes nothing while nothing happens", func(ctx SpecContext) {
		d, target := settled(ctx, "resting")
		versions := func(g Gomega) []string {
			rec, err := p.records.Live(ctx, target)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			return []string{rec.ResourceVersion, d.ResourceVersion}
		}
		resting := versions(NewGomega(Fail))
		Consistently(versions).WithTimeout(2 * time.Second).Should(Equal(resting))
	})
})

var _ = Describe("The sign of life", func() {
	It("adopts what was created while nobody watched, once", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		lease := forgetSignOfLife(ctx)
		lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(-time.Minute)))
		apply(ctx, lease)

		unwatched := targetOf(deploymentWith(ctx, namespace, "unwatched"), deployments)
		creation := replicasAllowance(1)
		creation.Trace[0].Field = v1alpha1.FieldCreated
		traced := targetOf(deploymentWith(ctx, namespace, "traced", creation), deployments)
		// Of these a replica has made records that did not lead.
		judged, refused := targetOf(deploymentWith(ctx, namespace, "judged"), deployments), targetOf(deploymentWith(ctx, namespace, "refused"), deployments)
		for _, spec := range []v1alpha1.AllowanceRecordSpec{{TargetRef: judged, LedgerKnown: true, CreationJudged: true}, {TargetRef: refused}} {
			apply(ctx, &v1alpha1.AllowanceRecord{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: record.Name(spec.TargetRef)}, Spec: spec})
		}

		p := startParts(ctx, deployments)
		Eventually(recordStatus(p, unwatched)).WithContext(ctx).Should(HaveField("Adopting", true))
		Eventually(recordStatus(p, refused)).WithContext(ctx).Should(HaveField("Adopting", true))
		Eventually(recordStatus(p, judged)).WithContext(ctx).Should(And(
			HaveField("Adopting", false), HaveField("Phase", v1alpha1.PhaseSteady),
		))
		Eventually(recordStatus(p, traced)).WithContext(ctx).Should(And(
			HaveField("Adopting", false), HaveField("Phase", v1alpha1.PhaseInitializing),
		))
		Eventually(func(g Gomega) time.Time {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
			return lease.Spec.RenewTime.Time
		}).Should(BeTemporally("~", time.Now(), 30*time.Second))

		// A record that is lost later makes no adoption.
		rec, err := p.records.Live(ctx, unwatched)
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Delete(ctx, rec)).To(Succeed())
		var d appsv1.Deployment
		Expect(k8s.Get(ctx, types.NamespacedName{Namespace: namespace, Name: unwatched.Name}, &d)).To(Succeed())
		Expect(annotate(ctx, k8s, &d, "touched", "true")).To(Succeed())
		Consistently(func() (*v1alpha1.AllowanceRecord, error) { return p.records.Live(ctx, unwatched) }).
			WithTimeout(time.Second).Should(BeNil())
	})
})
