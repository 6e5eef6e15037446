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
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Service accounts of the controllers of Jobs.
var (
	jobController     = serviceaccount.MakeUsername("kube-system", "job-controller")
	cronJobController = serviceaccount.MakeUsername("kube-system", "cronjob-controller")
)

func suspended(suspend bool) patch {
	return patch(fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))
}

// A Job says no generation in its status, and is done when it is complete, not
// when it has started.
var _ = Describe("A Job", func() {
	var (
		ns    string
		audit witness
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespaceUnder(ctx, "jobs", "job")
		audit = shared.watch(ns)
	})
	finished := func(ctx context.Context, job *batchv1.Job) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
			g.Expect(job.Status.Succeeded).To(Equal(*job.Spec.Completions))
		}).Should(Succeed())
	}

	It("may go on until the last of its Pods", func(ctx SpecContext) {
		job := builders.MakeJob(ns, "sum", 6, 2)
		Expect(shared.mallory().Create(ctx, job)).To(Succeed())
		finished(ctx, job)
		shared.ended(ctx, job)
		made := audit.podWrites(jobController, "create")
		Expect(made).To(HaveLen(6))
		expectCaused(made, "Initializing", mallory, "Job/sum (created)")
		Expect(audit.refusals()).To(BeEmpty())

		By("being over for good")
		pod := builders.MakePodOf(job)
		for _, who := range []*actor{shared.mallory(), shared.serviceAccount(jobController)} {
			Expect(who.Create(ctx, pod.DeepCopy())).To(MatchError(denied, "denied"))
		}
	}, SpecTimeout(specTimeout))

	It("is suspended and resumed by who may", func(ctx SpecContext) {
		owner, stranger := shared.alice(), shared.mallory()
		job := builders.MakeJob(ns, "sum", 3, 3)
		job.Spec.Suspend = new(true)
		job.Spec.Template.Spec.Containers[0].Image = "sum:" + unready
		Expect(stranger.Create(ctx, job)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
			g.Expect(job.Status.Conditions).To(ContainElement(HaveField("Type", batchv1.JobSuspended)))
		}).Should(Succeed())
		shared.lasts(ctx, job, v1alpha1.PhaseInitializing)

		By("starting it")
		owner.change(ctx, job, suspended(false))
		shared.hasPods(ctx, ns, map[string]int{"sum:" + unready: 3})
		shared.lasts(ctx, job, v1alpha1.PhaseInitializing)

		By("suspending it")
		audit = shared.watch(ns)
		owner.change(ctx, job, suspended(true))
		shared.hasPods(ctx, ns, map[string]int{})
		shared.ended(ctx, job)
		expectCaused(audit.podWrites(jobController, "delete"), "Initializing", alice, "Job/sum spec.suspend")

		By("resuming it without the right to")
		refused(stranger.try(ctx, job.DeepCopy(), suspended(false)), "spec.suspend of Job sum was refused", "mallory may not initiate it")

		By("resuming it with the right to")
		audit = shared.watch(ns)
		owner.change(ctx, job, suspended(false))
		shared.hasPods(ctx, ns, map[string]int{"sum:" + unready: 3})
		shared.lasts(ctx, job, v1alpha1.PhaseSteady)
		expectCaused(audit.podWrites(jobController, "create"), "Covered", alice, "Job/sum spec.suspend")
	}, SpecTimeout(specTimeout))
})

// A CronJob says nothing about generations at all, and acts when its time comes
// and not when it is changed.
var _ = Describe("A CronJob", func() {
	var (
		ns    string
		audit witness
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespaceUnder(ctx, "cronjobs", "cronjob", "job")
		audit = shared.watch(ns)
	})
	// due makes a yearly schedule come round: the last run is said to be long ago.
	due := func(ctx context.Context, cron *batchv1.CronJob) {
		GinkgoHelper()
		hasRun(ctx, cron, time.Now().AddDate(-1, 0, -1))
	}
	jobs := func(ctx context.Context, g Gomega) []batchv1.Job {
		GinkgoHelper()
		var list batchv1.JobList
		g.Expect(shared.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		return list.Items
	}
	runs := func(ctx context.Context, n int) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			all := jobs(ctx, g)
			g.Expect(all).To(HaveLen(n))
			for i := range all {
				g.Expect(all[i].Status.Succeeded).To(BeEquivalentTo(1), all[i].Name)
			}
		}).Should(Succeed())
	}

	started := func() controlplane.AuditEvents {
		GinkgoHelper()
		return audit.writes(controlplane.OfResource("batch", "jobs"), controlplane.ByUser(cronJobController),
			controlplane.ByVerb("create"), controlplane.Succeeded)
	}
	// refused waits until the controller was not let run it.
	refused := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(ctx, func() controlplane.AuditEvents {
			return audit.writes(controlplane.ByUser(cronJobController), controlplane.Refused(http.StatusForbidden))
		}).ShouldNot(BeEmpty(), "the controller did not even try")
	}
	// setTTL changes how long allowances last.
	setTTL := func(ctx context.Context, ttl string) {
		GinkgoHelper()
		p := kindPoliciesFor(policiesUnder("cronjobs", "cronjob", "job"), "cronjob")[0]
		Expect(shared.Patch(ctx, p, client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"consumption":{"ttl":%q}}}`, ttl)))).To(Succeed())
		shared.enforced(ctx, p, effectTimeout)
	}

	It("is run as it was made, and changed by who may", func(ctx SpecContext) {
		owner, stranger := shared.alice(), shared.mallory()
		cron := builders.MakeCronJob(ns, "night", "0 0 1 1 *")
		Expect(stranger.Create(ctx, cron)).To(Succeed())
		shared.lasts(ctx, cron, v1alpha1.PhaseInitializing)

		By("running for the first time")
		due(ctx, cron)
		runs(ctx, 1)
		// Nobody waits for a schedule here: the run was one of those that were
		// missed before there was a CronJob, and stands for one that came after.
		hasRun(ctx, cron, time.Now())
		shared.ended(ctx, cron)
		expectCaused(started(), "Initializing", mallory, "CronJob/night (created)")
		expectCaused(audit.podWrites(jobController, "create"), "Initializing", mallory,
			"CronJob/night (created)", "Job/"+jobs(ctx, Default)[0].Name+" (created)")

		By("running as an initiator has changed it")
		audit = shared.watch(ns)
		owner.change(ctx, cron, patch(`{"spec":{"schedule":"0 0 2 1 *"}}`))
		due(ctx, cron)
		runs(ctx, 2)
		shared.lasts(ctx, cron, v1alpha1.PhaseSteady)
		expectCaused(started(), "Covered", alice, "CronJob/night spec.schedule")

		By("running long after that")
		setTTL(ctx, "1s")
		shared.ended(ctx, cron)
		cleaner := shared.serviceAccount(serviceaccount.MakeUsername("kube-system", "ttl-after-finished-controller"))
		for _, job := range jobs(ctx, Default) {
			Expect(cleaner.Delete(ctx, &job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		}
		audit = shared.watch(ns)
		due(ctx, cron)
		runs(ctx, 1)
		Expect(started()).To(HaveLen(1))
		Expect(started()[0].Annotations).To(HaveKeyWithValue(auditReason, "Maintaining"))
		expectCaused(audit.podWrites(jobController, "create"), "Initializing", cronJobController,
			"CronJob/night (maintaining)", "Job/"+jobs(ctx, Default)[0].Name+" (created)")
		shared.expectEnded(ctx, Default, cron)
		Expect(audit.refusals()).To(BeEmpty())

		By("being run by hand")
		byHand := []string{"create", "job", "by-hand", "--from=cronjob/night", "--namespace=" + ns}
		out, err := stranger.kubectl(ctx, byHand...)
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("not allowed by its parent CronJob night"))
		out, err = owner.kubectl(ctx, byHand...)
		Expect(err).NotTo(HaveOccurred(), out)
		runs(ctx, 2)

		By("being changed without the right to")
		setTTL(ctx, "10m")
		audit = shared.watch(ns)
		stranger.change(ctx, cron, patch(`{"spec":{"schedule":"0 0 3 1 *"}}`))
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		due(ctx, cron)
		refused(ctx)
		Expect(jobs(ctx, Default)).To(HaveLen(2))

		By("being approved")
		owner.change(ctx, cron, approve("spec.schedule"))
		runs(ctx, 3)
		expectCaused(started(), "Covered", alice, "CronJob/night spec.schedule")
	}, SpecTimeout(specTimeout))

	It("does not run what a stranger has made of it before it ever ran", func(ctx SpecContext) {
		owner, stranger := shared.alice(), shared.mallory()
		cron := builders.MakeCronJob(ns, "night", "0 0 1 1 *")
		Expect(owner.Create(ctx, cron)).To(Succeed())
		stranger.change(ctx, cron, patch(
			`{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"night:theirs"}]}}}}}}`))
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		due(ctx, cron)
		refused(ctx)
		Expect(jobs(ctx, Default)).To(BeEmpty())

		By("being approved")
		owner.change(ctx, cron, approve("*"))
		runs(ctx, 1)
		Expect(started()).To(HaveLen(1))
		expectCaused(started(), "Initializing", alice,
			"CronJob/night spec.jobTemplate.spec.template.spec.containers[0].image")
		shared.hasPods(ctx, ns, map[string]int{"night:theirs": 1})
	}, SpecTimeout(specTimeout))
})

// hasRun has the controller of a CronJob say when it last ran.
func hasRun(ctx context.Context, cron *batchv1.CronJob, when time.Time) {
	GinkgoHelper()
	// Its role has no patches.
	Expect(shared.as(cronJobController, "system:serviceaccounts", "system:masters").patchStatus(ctx, cron,
		fmt.Sprintf(`{"lastScheduleTime":%q}`, when.UTC().Format(time.RFC3339)))).To(Succeed())
}
