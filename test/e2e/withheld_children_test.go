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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// makesPods returns a policy that lets Pods be made at first, be replaced, and be made for
// changes of the fields.
func makesPods(name, group, kind string, triggers ...string) *v1alpha1.AllowancePolicy {
	GinkgoHelper()
	const target = `{target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}`
	var rules strings.Builder
	for _, trigger := range triggers {
		fmt.Fprintf(&rules, "  - trigger: %s\n    policies: [%s]\n", trigger, target)
	}
	return ownPolicy(name, group, kind, fmt.Sprintf(`
  initializing: {policies: [%[1]s]}
  maintaining: {policies: [%[1]s]}
  rules:
%[2]s`, target, rules.String()))
}

// While something of an object is withheld, sections let through only children as what
// was approved makes them (D2).
var _ = Describe("Of a Job that waits", func() {
	var (
		ns              string
		audit           witness
		owner, stranger *actor
		job             *batchv1.Job
	)
	BeforeEach(func(ctx SpecContext) {
		name := policiesUnder("waiting", "job")
		shared.apply(ctx, makesPods(name, batchv1.GroupName, "Job", "spec.suspend"))
		ns = shared.newNamespaceFor(ctx, name)
		owner, stranger = shared.alice(), shared.mallory()
		job = builders.MakeJob(ns, "sum", 2, 2)
		job.Spec.Template.Spec.Containers[0].Image = "sum:" + unready
	})
	running := map[string]int{"sum:" + unready: 2}
	// runsForOwner checks that a stranger does not get it to run, as it could not wait, and an owner does.
	runsForOwner := func(ctx context.Context) {
		GinkgoHelper()
		audit = shared.watch(ns)
		refused(stranger.try(ctx, job.DeepCopy(), suspended(false)), "spec.suspend of Job sum was refused")
		audit.madeNone(ctx, jobController, "sum:"+unready)
		owner.change(ctx, job, suspended(false))
		shared.hasPods(ctx, ns, running)
		shared.withholdsNothing(ctx, job)
	}

	It("nobody makes Pods before it ever ran", func(ctx SpecContext) {
		job.Spec.Suspend = new(true)
		Expect(owner.Create(ctx, job)).To(Succeed())
		runsForOwner(ctx)
	}, SpecTimeout(specTimeout))

	It("nobody makes Pods after it was stopped", func(ctx SpecContext) {
		Expect(owner.Create(ctx, job)).To(Succeed())
		shared.hasPods(ctx, ns, running)
		owner.change(ctx, job, suspended(true))
		shared.hasPods(ctx, ns, map[string]int{})
		shared.ended(ctx, job)
		runsForOwner(ctx)
	}, SpecTimeout(specTimeout))
})

var _ = Describe("Of a CronJob", func() {
	DescribeTable("nothing is run that a stranger has made of it:", func(ctx SpecContext, about string, with func(*batchv1.CronJob), p patch) {
		name := policiesUnder("runs-"+about, "cronjob")
		shared.apply(ctx, ownPolicy(name, batchv1.GroupName, "CronJob", `
  consumption: {ttl: 1s}
  maintaining:
    policies:
    - {target: {apiGroup: batch, apiVersion: v1, resource: jobs}, relation: ControllerChild, verbs: [Create, Delete]}
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: batch, apiVersion: v1, resource: jobs}, relation: ControllerChild, verbs: [Create]}
`))
		ns := shared.newNamespaceFor(ctx, name)
		owner, stranger := shared.alice(), shared.mallory()
		cron := builders.MakeCronJob(ns, "night", "0 0 1 1 *")
		with(cron)
		Expect(owner.Create(ctx, cron)).To(Succeed())
		shared.ended(ctx, cron)

		audit := shared.watch(ns)
		stranger.change(ctx, cron, p)
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		hasRun(ctx, cron, time.Now().AddDate(-1, 0, -1))
		Eventually(ctx, func() controlplane.AuditEvents {
			return audit.writes(controlplane.ByUser(cronJobController), controlplane.Refused(http.StatusForbidden))
		}).ShouldNot(BeEmpty(), "the controller did not even try")
		runs := func(g Gomega) []batchv1.Job {
			GinkgoHelper()
			var jobs batchv1.JobList
			g.Expect(shared.List(ctx, &jobs, client.InNamespace(ns))).To(Succeed())
			return jobs.Items
		}
		Consistently(ctx, func(g Gomega) { g.Expect(runs(g)).To(BeEmpty()) }).WithTimeout(quietMoment).Should(Succeed())

		By("being approved")
		owner.change(ctx, cron, approve("*"))
		Eventually(ctx, func(g Gomega) { g.Expect(runs(g)).To(HaveLen(1)) }).Should(Succeed())
		shared.withholdsNothing(ctx, cron)
	},
		Entry("it was suspended", SpecTimeout(specTimeout), "suspended",
			func(cron *batchv1.CronJob) { cron.Spec.Suspend = new(true) }, suspended(false)),
		Entry("another schedule", SpecTimeout(specTimeout), "schedule",
			func(*batchv1.CronJob) {}, patch(`{"spec":{"schedule":"0 0 3 1 *"}}`)),
		Entry("another image", SpecTimeout(specTimeout), "template", func(*batchv1.CronJob) {},
			patch(`{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"night:evil"}]}}}}}}`)),
	)
})

var _ = Describe("Of a StatefulSet", func() {
	// four are the Pods of a StatefulSet under a policy that names what makes Pods, or
	// replaces them.
	four := func(ctx context.Context, policies string) *guarded {
		GinkgoHelper()
		name := policiesUnder(policies, "own")
		shared.apply(ctx, makesPods(name, appsv1.GroupName, "StatefulSet", "spec.replicas", "spec.template", "spec.ordinals", "spec.updateStrategy"))
		ns := shared.newNamespaceFor(ctx, name)
		s := &guarded{ns: ns, set: builders.MakeStatefulSet(ns, "web", 4), owner: shared.alice(), stranger: shared.mallory()}
		s.set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type:          appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(3))},
		}
		Expect(s.owner.Create(ctx, s.set)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 4})
		shared.ended(ctx, s.set)
		s.audit = shared.watch(ns)
		return s
	}
	loses := func(ctx context.Context, s *guarded, name string) {
		GinkgoHelper()
		pod := &corev1.Pod{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: s.ns, Name: name}, pod)).To(Succeed())
		s.stranger.hasEvicted(ctx, pod)
	}
	has := func(ctx context.Context, s *guarded, names ...string) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			var pods corev1.PodList
			g.Expect(shared.List(ctx, &pods, client.InNamespace(s.ns))).To(Succeed())
			var got []string
			for i := range pods.Items {
				got = append(got, pods.Items[i].Name)
			}
			g.Expect(got).To(ConsistOf(names))
		}).Should(Succeed())
	}

	It("no stranger chooses the ordinals, and lost Pods come back at the old ones while a number waits", func(ctx SpecContext) {
		s := four(ctx, "ordinals")
		refused(s.stranger.try(ctx, s.set.DeepCopy(), `{"spec":{"ordinals":{"start":2}}}`), "StatefulSet web was refused")
		s.stranger.change(ctx, s.set, replicas(6))
		Expect(s.stranger.warned.take()).To(ContainSubstring("withheld"))
		s.staysFree(ctx, `"web-4"`)
		has(ctx, s, "web-0", "web-1", "web-2", "web-3")
		loses(ctx, s, "web-2")
		has(ctx, s, "web-0", "web-1", "web-2", "web-3")
		s.audit.madeNone(ctx, statefulSetController, `"web-4"`, `"web-5"`)

		By("taking it back, at which a controller that has not heard of it may make one for a moment")
		s.stranger.change(ctx, s.set, replicas(4))
		shared.withholdsNothing(ctx, s.set)
		has(ctx, s, "web-0", "web-1", "web-2", "web-3")
	}, SpecTimeout(specTimeout))

	It("no canary is finished by a stranger, nor by the loss of Pods", func(ctx SpecContext) {
		s := four(ctx, "canary")
		s.owner.change(ctx, s.set, image("web:2"))
		canary := map[string]int{"web:1": 3, "web:2": 1}
		shared.hasPods(ctx, s.ns, canary)
		shared.ended(ctx, s.set)

		s.audit = shared.watch(s.ns)
		s.stranger.change(ctx, s.set, `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
		shared.withholding(ctx, s.set, "spec.updateStrategy.rollingUpdate.partition")
		s.audit.tries(ctx, statefulSetController, "StatefulSet web")
		Consistently(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, s.ns)).To(Equal(canary)) }).WithTimeout(quietMoment).Should(Succeed())
		loses(ctx, s, "web-3")
		shared.hasPods(ctx, s.ns, canary)
		s.audit = shared.watch(s.ns)
		loses(ctx, s, "web-1")
		s.staysFree(ctx, "web:2")

		By("an owner approving it")
		s.owner.change(ctx, s.set, approve("spec.updateStrategy"))
		shared.hasPods(ctx, s.ns, map[string]int{"web:2": 4})
		shared.withholdsNothing(ctx, s.set)
	}, SpecTimeout(specTimeout))

	It("Pods below a partition come back as approved while the template is withheld", func(ctx SpecContext) {
		s := four(ctx, "partitioned")
		s.stranger.change(ctx, s.set, image("web:evil"))
		shared.withholding(ctx, s.set, "spec.template.spec.containers[0].image")
		loses(ctx, s, "web-1")
		shared.hasPods(ctx, s.ns, map[string]int{"web:1": 4})
		loses(ctx, s, "web-3")
		s.staysFree(ctx, "web:evil")
		s.stranger.change(ctx, s.set, image("web:1"))
		shared.withholdsNothing(ctx, s.set)
		shared.hasPods(ctx, s.ns, map[string]int{"web:1": 4})
	}, SpecTimeout(specTimeout))
})

var _ = Describe("Of a DaemonSet", func() {
	It("Pods that are lost come back as approved, or not before that", func(ctx SpecContext) {
		ns := shared.newNamespaceUnder(ctx, "lost", "daemonset")
		owner, stranger := shared.alice(), shared.mallory()
		set := builders.MakeDaemonSet(ns, "web")
		Expect(owner.Create(ctx, set)).To(Succeed())
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
		shared.ended(ctx, set)
		audit := shared.watch(ns)
		stranger.change(ctx, set, image("web:evil"))
		shared.withholding(ctx, set, "spec.template.spec.containers[0].image")
		stranger.hasEvicted(ctx, shared.anyPod(ctx, ns))
		audit.triesToMake(ctx, daemonSetController, "web:evil")
		audit.madeNone(ctx, daemonSetController, "web:evil")

		By("taking it back")
		stranger.change(ctx, set, image("web:1"))
		shared.withholdsNothing(ctx, set)
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
	}, SpecTimeout(specTimeout))
})

// What the status of a custom resource says proves nothing: its controller may not have
// looked at what has changed (D2).
var _ = Describe("What is withheld of a custom resource", func() {
	type kind struct {
		statusInside bool
		consumption  *v1alpha1.Consumption
		report       func(context.Context, *actor, *unstructured.Unstructured) error
	}
	// Longer than its controller takes for the first child, on a busy machine as well.
	seconds := &v1alpha1.Consumption{TTL: &metav1.Duration{Duration: 5 * time.Second}}

	DescribeTable("stays so when its controller says that all is well:", func(ctx SpecContext, k kind) {
		group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
			if k.statusInside {
				definition.Spec.Versions[0].Subresources = nil
			}
		})
		policies := thingPolicies(group)
		policies[0].Spec.Consumption = k.consumption
		shared.apply(ctx, policies...)
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
		controller := &thingController{shared.as(thingControllerUser, "system:masters"), ns, k.report}
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		shared.over(ctx, thing)
		config := func() string {
			GinkgoHelper()
			var held corev1.ConfigMap
			Expect(shared.Get(ctx, client.ObjectKey{Namespace: ns, Name: "app"}, &held)).To(Succeed())
			return held.Data["config"]
		}
		// allIsWell is the controller saying so, without having done anything.
		allIsWell := func() {
			GinkgoHelper()
			Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error { // The operator may write at the same time.
				if err := shared.Get(ctx, client.ObjectKeyFromObject(thing), thing); err != nil {
					return err
				}
				return k.report(ctx, controller.actor, thing)
			})).To(Succeed())
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
				g.Expect(thing.GetAnnotations()).To(HaveKey(approvedKey))
				g.Expect(withheldOf(thing)).To(ConsistOf("spec.config"))
			}).WithTimeout(quietMoment).Should(Succeed())
		}

		stranger.setThing(ctx, thing, `{"config":"evil"}`)
		Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
		allIsWell()
		Expect(controller.reconcile(ctx, thing)).To(MatchError(ContainSubstring("spec.config by mallory is withheld")))

		By("an owner changing something else")
		owner.setThing(ctx, thing, `{"port":81}`)
		Expect(owner.warned.take()).To(ContainSubstring("spec.config by mallory is withheld"))
		Expect(controller.reconcile(ctx, thing)).To(MatchError(ContainSubstring("spec.config by mallory is withheld")))
		allIsWell()
		Expect(config()).To(Equal("a"))

		By("putting it back")
		stranger.setThing(ctx, thing, `{"config":"a"}`)
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
		Expect(thing.GetAnnotations()).NotTo(HaveKey(approvedKey))
		owner.setThing(ctx, thing, `{"port":82}`)
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		Expect(config()).To(Equal("a"))

		By("approving it")
		stranger.setThing(ctx, thing, `{"config":"theirs"}`)
		allIsWell()
		Expect(owner.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(approve("spec.config"))))).To(Succeed())
		Expect(thing.GetAnnotations()).NotTo(HaveKey(approvedKey))
		if k.consumption == nil || k.consumption.When != "" {
			By("its controller taking its time")
			Consistently(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, thing).Status.Consumed).NotTo(ContainElement(
					HaveField("Generation", BeNumerically(">=", thing.GetGeneration()))))
			}).WithTimeout(quietMoment).Should(Succeed())
		}
		Expect(controller.reconcile(ctx, thing)).To(Succeed())
		Expect(config()).To(Equal("theirs"))
	},
		Entry("observedGeneration and Ready", SpecTimeout(specTimeout), kind{report: reportObserved}),
		Entry("a condition with a generation", SpecTimeout(specTimeout), kind{report: reportInCondition}),
		Entry("a condition without a generation", SpecTimeout(specTimeout), kind{report: reportReadyOnly, consumption: seconds}),
		Entry("no status", SpecTimeout(specTimeout), kind{report: reportNothing, consumption: seconds}),
		Entry("observedGeneration alone, as its policy knows", SpecTimeout(specTimeout), kind{
			report:      reportGenerationOnly,
			consumption: &v1alpha1.Consumption{When: "object.status.observedGeneration >= allowance.generation"},
		}),
		Entry("a generation that is a string, as its policy knows", SpecTimeout(specTimeout), kind{
			report:      reportGenerationAsText,
			consumption: &v1alpha1.Consumption{When: "int(object.status.observedGeneration) >= allowance.generation"},
		}),
		Entry("a phase, as its policy knows", SpecTimeout(specTimeout), kind{
			report:      reportGenerationAsText,
			consumption: &v1alpha1.Consumption{When: "object.status.phase == 'Healthy' && int(object.status.observedGeneration) >= object.metadata.generation"},
		}),
		Entry("a status inside, as its policy knows", SpecTimeout(specTimeout), kind{
			statusInside: true, report: reportInside,
			consumption: &v1alpha1.Consumption{When: "object.status.observedGeneration >= allowance.generation"},
		}),
	)

	// redefined changes the definition of Things while one of them has something
	// withheld and one has not, and checks that nothing else is withheld, and that taking
	// it back ends it.
	redefined := func(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition), shows func(context.Context, Gomega, *unstructured.Unstructured)) {
		GinkgoHelper()
		group := defineThings(ctx)
		shared.apply(ctx, thingPolicy(group, "redefined-"+group))
		ns := shared.newNamespace(ctx)
		owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
		made := func(name string) *unstructured.Unstructured {
			GinkgoHelper()
			thing := builders.MakeThing(group, ns, name)
			thing.Object["spec"] = map[string]any{"size": int64(1), "items": []any{map[string]any{"name": "a"}}}
			Expect(owner.Create(ctx, thing)).To(Succeed())
			reportDone(ctx, owner, thing)
			shared.over(ctx, thing)
			return thing
		}
		held, clean := made("held"), made("clean")
		stranger.setThing(ctx, held, `{"size":2}`)
		shared.withholding(ctx, held, "spec.size")

		definition := builders.ThingDefinition(group)
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(definition), definition)).To(Succeed())
			change(definition)
			g.Expect(shared.Update(ctx, definition)).To(Succeed())
		}).Should(Succeed())
		Eventually(ctx, func(g Gomega) {
			shows(ctx, g, held)
			shows(ctx, g, clean)
		}).WithTimeout(effectTimeout).Should(Succeed())

		touch := client.RawPatch(types.MergePatchType, []byte(label("look", "again")))
		for _, thing := range []*unstructured.Unstructured{held, clean} {
			Expect(stranger.Patch(ctx, thing, touch)).To(Succeed())
			Expect(stranger.update(ctx, thing, func() { thing.SetLabels(map[string]string{"look": "once-more"}) })).To(Succeed())
		}
		shared.withholding(ctx, held, "spec.size")
		shared.withholdsNothing(ctx, clean)
		reportDone(ctx, owner, clean)
		owner.setThing(ctx, clean, `{"size":3}`)
		Expect(clean.GetAnnotations()).NotTo(HaveKey(approvedKey))

		By("a stranger changing something else, and taking all back")
		stranger.setThing(ctx, clean, `{"more":true}`)
		shared.withholding(ctx, clean, "spec.more")
		stranger.setThing(ctx, clean, `{"more":null}`)
		shared.withholdsNothing(ctx, clean)
		stranger.setThing(ctx, held, `{"size":1}`)
		shared.withholdsNothing(ctx, held)
	}

	It("is no more than that when the definition gains defaults", func(ctx SpecContext) {
		object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
			return apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true), Properties: properties}
		}
		mode := map[string]apiextensionsv1.JSONSchemaProps{"mode": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"careful"`)}}}
		item := object(mode)
		redefined(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
			spec := object(map[string]apiextensionsv1.JSONSchemaProps{
				"mode":  mode["mode"],
				"items": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}},
			})
			definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}
		}, func(ctx context.Context, g Gomega, thing *unstructured.Unstructured) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
			g.Expect(thing.Object["spec"]).To(HaveKeyWithValue("mode", "careful"))
		})
	}, SpecTimeout(specTimeout))

	It("is no more than that when the definition gains a version", func(ctx SpecContext) {
		redefined(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
			second := definition.Spec.Versions[0].DeepCopy()
			second.Name, definition.Spec.Versions[0].Storage = "v2", false
			definition.Spec.Versions = append(definition.Spec.Versions, *second)
		}, func(ctx context.Context, g Gomega, thing *unstructured.Unstructured) {
			thing.SetAPIVersion(thing.GroupVersionKind().Group + "/v2")
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
		})
	}, SpecTimeout(specTimeout))
})
