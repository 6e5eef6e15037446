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
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// steeringRollouts returns the ways to have somebody's rollout go on, by a field that only says
// how far it goes: under the samples, and under the policies of the documentation.
func steeringRollouts() []bypass {
	return []bypass{
		{"finishing somebody's canary by its partition", func(ctx context.Context, s *scene) {
			policies := "documented-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, forOwn(policies, documented("allowancepolicy.md", "statefulset"))...)
			set := builders.MakeStatefulSet(ns, "web", 3)
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
			Expect(shared.alice().Create(ctx, set)).To(Succeed())
			shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
			shared.ended(ctx, set)
			shared.alice().change(ctx, set, image("web:2"))
			canary := map[string]int{"web:1": 2, "web:2": 1}
			shared.hasPods(ctx, ns, canary)

			partition := patch(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
			s.rogue.warned.take()
			audit := shared.watch(ns)
			s.rogue.change(ctx, set, partition)
			Expect(s.rogue.warned.take()).To(ContainSubstring("spec.updateStrategy.rollingUpdate.partition"))
			audit.tries(ctx, statefulSetController, "StatefulSet web")
			Consistently(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, ns)).To(Equal(canary)) }).WithTimeout(quietMoment).Should(Succeed())
			shared.alice().change(ctx, set, approve("spec.updateStrategy"))
			shared.hasPods(ctx, ns, map[string]int{"web:2": 3})
		}},
		{"changing what is carried out without a change of children", func(ctx context.Context, s *scene) {
			policies := "history-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, forOwn(policies, documented("allowancepolicy.md", "statefulset"))...)
			set := builders.MakeStatefulSet(ns, "web", 2)
			Expect(shared.alice().Create(ctx, set)).To(Succeed())
			shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
			shared.ended(ctx, set)
			for _, spec := range []string{
				`{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}`,
				`{"persistentVolumeClaimRetentionPolicy":null,"revisionHistoryLimit":0}`,
			} {
				refused(s.rogue.try(ctx, set.DeepCopy(), patch(`{"spec":`+spec+`}`)), "StatefulSet web was refused", "mallory may not initiate it")
			}
			shared.alice().change(ctx, set, `{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},"revisionHistoryLimit":3}}`)
		}},
		{"having claims made, or go with a Pod that is lost, by the number of Pods", func(ctx context.Context, s *scene) {
			policies := "claims-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, forOwn(policies, documented("allowancepolicy.md", "statefulset"))...)
			set := builders.MakeStatefulSet(ns, "web", 2)
			set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claimTemplate(ctx, ns, 2)}
			Expect(shared.alice().Create(ctx, set)).To(Succeed())
			shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
			shared.ended(ctx, set)
			for _, spec := range []string{`{"replicas":1}`, `{"replicas":5}`, `{"ordinals":{"start":1}}`} {
				refused(s.rogue.try(ctx, set.DeepCopy(), patch(`{"spec":`+spec+`}`)), "StatefulSet web was refused", "mallory may not initiate it")
			}
			claims := func(g Gomega) map[string]bool {
				list := &corev1.PersistentVolumeClaimList{}
				g.Expect(shared.List(ctx, list, client.InNamespace(ns))).To(Succeed())
				out := map[string]bool{}
				for _, c := range list.Items {
					out[c.Name] = metav1.GetControllerOf(&c) != nil
				}
				return out
			}
			Consistently(ctx, func(g Gomega) {
				g.Expect(claims(g)).To(Equal(map[string]bool{"data-web-0": false, "data-web-1": false}))
			}).WithTimeout(quietMoment).Should(Succeed())
			shared.alice().change(ctx, set, patch(`{"spec":{"replicas":1}}`))
			Eventually(ctx, func(g Gomega) { g.Expect(claims(g)).To(Equal(map[string]bool{"data-web-0": false})) }).Should(Succeed())
		}},
		{"having evictions carry out a smaller number of Pods", func(ctx context.Context, s *scene) {
			policies := "fewer-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, forOwn(policies, documented("allowancepolicy.md", "statefulset"))...)
			set := builders.MakeStatefulSet(ns, "web", 3)
			Expect(shared.alice().Create(ctx, set)).To(Succeed())
			shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
			shared.ended(ctx, set)
			for _, spec := range []string{`{"replicas":1}`, `{"replicas":0}`, `{"ordinals":{"start":1}}`} {
				refused(s.rogue.try(ctx, set.DeepCopy(), patch(`{"spec":`+spec+`}`)), "StatefulSet web was refused", "mallory may not initiate it")
			}
			s.rogue.change(ctx, set, replicas(5))
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"), "what makes more is asked for each")
			refused(s.rogue.try(ctx, set.DeepCopy(), replicas(2)), "StatefulSet web was refused")
			s.rogue.change(ctx, set, replicas(4))
			for _, name := range []string{"web-2", "web-1"} {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
				Expect(shared.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
				s.rogue.hasEvicted(ctx, pod)
			}
			shared.hasPods(ctx, ns, map[string]int{"web:1": 3})

			jobs := policies + "-jobs"
			shared.apply(ctx, makesPods(jobs, batchv1.GroupName, "Job", "spec"))
			job := builders.MakeJob(shared.newNamespaceFor(ctx, jobs), "run", 3, 2)
			Expect(shared.alice().Create(ctx, job)).To(Succeed())
			refused(s.rogue.try(ctx, job.DeepCopy(), patch(`{"spec":{"parallelism":1}}`)), "Job run was refused", "mallory may not initiate it")
		}},
		{"having a Job of which no Pod runs fail, or end, by its limits", func(ctx context.Context, s *scene) {
			policies := "limits-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, makesPods(policies, batchv1.GroupName, "Job", "spec"))
			none := corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
			Expect(shared.Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"}, Spec: none})).To(Succeed())
			ended := func(job *batchv1.Job) []batchv1.JobConditionType {
				var out []batchv1.JobConditionType
				for _, c := range job.Status.Conditions {
					if c.Status == corev1.ConditionTrue && c.Type != batchv1.JobSuspended {
						out = append(out, c.Type)
					}
				}
				return out
			}
			for _, each := range []struct{ name, spec string }{
				{"resuming", `{"suspend":false}`},
				{"deadline", `{"activeDeadlineSeconds":1}`},
				{"completions", `{"completions":0,"parallelism":0}`},
				{"replacing", `{"podReplacementPolicy":"Failed"}`},
				{"suspending", `{"suspend":true}`},
			} {
				By(each.name)
				name, spec := each.name, each.spec
				job := builders.MakeJob(ns, name, 3, 3)
				job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
				if name == "resuming" {
					job.Spec.Suspend, job.Spec.ActiveDeadlineSeconds = new(true), new(int64(1))
				}
				Expect(shared.alice().Create(ctx, job)).To(Succeed())
				Eventually(ctx, func(g Gomega) {
					g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
					g.Expect(job.Status.StartTime != nil || len(job.Status.Conditions) > 0).To(BeTrue(), "its controller has not seen it")
				}).Should(Succeed())
				err := s.rogue.try(ctx, job.DeepCopy(), patch(`{"spec":`+spec+`}`))
				Consistently(ctx, func(g Gomega) {
					g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
					g.Expect(ended(job)).To(BeEmpty())
				}).WithTimeout(quietMoment).Should(Succeed())
				refused(err, "Job "+name+" was refused", "mallory may not initiate it")
			}
		}},
		{"resuming somebody's rollout that is paused", func(ctx context.Context, s *scene) {
			ns := shared.newNamespace(ctx)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			shared.alice().change(ctx, d, `{"spec":{"paused":true}}`)
			shared.alice().change(ctx, d, image("web:2"))
			s.resumed(ctx, d, map[string]int{"web:1": 2})
			shared.hasPods(ctx, ns, map[string]int{"web:2": 2})
		}},
		{"resuming what was created paused", func(ctx context.Context, s *scene) {
			ns := shared.newNamespace(ctx)
			d := builders.MakeDeployment(ns, "web").Replicas(2).Obj()
			d.Spec.Paused = true
			Expect(shared.alice().Create(ctx, d)).To(Succeed())
			s.resumed(ctx, d, map[string]int{})
			shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
		}},
		{"having a Deployment go back to an older template", func(ctx context.Context, s *scene) {
			ns := shared.newNamespace(ctx)
			d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
			shared.alice().change(ctx, d, image("web:2"))
			shared.complete(ctx, d, "2")
			back := annotation(appsv1.DeprecatedRollbackTo, "1")
			refused(s.rogue.try(ctx, d.DeepCopy(), back), "spec.rollbackTo", "Deployment web was refused", "mallory may not initiate it")
			shared.alice().change(ctx, d, replicas(3))
			shared.complete(ctx, d, "2")
			shared.hasPods(ctx, ns, map[string]int{"web:2": 3})

			audit := shared.watch(ns)
			shared.alice().change(ctx, d, back)
			shared.complete(ctx, d, "3")
			shared.hasPods(ctx, ns, map[string]int{"web:1": 3})
			Expect(d.Annotations).NotTo(HaveKey(appsv1.DeprecatedRollbackTo))
			Expect(audit.writes(controlplane.ByUser(deploymentController), controlplane.Refused(http.StatusForbidden))).To(BeEmpty())
			Eventually(ctx, func(g Gomega) { // The controller's write is hers.
				g.Expect(shared.record(ctx, g, d).Status.History).To(ContainElement(SatisfyAll(
					HaveField("Event", v1alpha1.EventGranted), HaveField("User", deploymentController), HaveField("Initiator", alice))))
			}).Should(Succeed())
		}},
	}
}

// resumed resumes a Deployment, and checks that its Pods stay as they are until alice
// approves that.
func (s *scene) resumed(ctx context.Context, d *appsv1.Deployment, pods map[string]int) {
	GinkgoHelper()
	s.rogue.warned.take()
	audit := shared.watch(d.Namespace)
	s.rogue.change(ctx, d, `{"spec":{"paused":false}}`)
	Expect(s.rogue.warned.take()).To(ContainSubstring("spec.paused"))
	audit.tries(ctx, deploymentController, "Deployment web")
	Consistently(ctx, func(g Gomega) { g.Expect(shared.pods(ctx, g, d.Namespace)).To(Equal(pods)) }).WithTimeout(quietMoment).Should(Succeed())
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
	shared.alice().change(ctx, d, approve("spec.paused"))
}

// documented returns the policies of a name that a page of the documentation spells out.
func documented(page, name string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	Expect(err).NotTo(HaveOccurred())
	for _, block := range strings.Split(string(text), "```")[1:] {
		if policy, isYAML := strings.CutPrefix(block, "yaml\n"); isYAML && strings.Contains(policy, "\n  name: "+name+"\n") {
			return parsePolicies(policy)
		}
	}
	Fail(page + " has no policy " + name)
	return nil
}

// claimTemplate returns a template of claims of its own class, of which there are as many volumes.
func claimTemplate(ctx context.Context, ns string, volumes int) corev1.PersistentVolumeClaim {
	GinkgoHelper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
	for i := range volumes {
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", ns, i)},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName: ns, Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/none"}},
			},
		}
		Expect(shared.Create(ctx, volume)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, volume)) })
	}
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(ns), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
}
