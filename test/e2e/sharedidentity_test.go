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
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// Without service account credentials all controllers of the controller manager
// are one user, so that a policy cannot tell them apart (D3).
var _ = Describe("With a controller manager whose controllers share a name", Ordered, stage.Long, func() {
	var (
		c  *cluster
		ns string
	)
	sharedController := controlplane.ByUser(user.KubeControllerManager)
	BeforeAll(func(ctx SpecContext) {
		cp, _ := startCluster(ctx, controlplane.Options{SharedControllerIdentity: true})
		c = connect(cp)
	}, NodeTimeout(startTimeout))

	for _, named := range []struct {
		how      string
		subjects []v1alpha1.PolicySubject
	}{
		{"that name it", []v1alpha1.PolicySubject{{Subject: v1alpha1.Subject{
			Kind: v1alpha1.SubjectUser, Name: user.KubeControllerManager,
		}}}},
		{"that name nobody but initiators", nil},
	} {
		Context("and policies "+named.how, Ordered, func() {
			var audit witness
			BeforeAll(func(ctx SpecContext) {
				policies := c.samplePoliciesFor(ctx, "shared")
				for _, p := range policies {
					p.Spec.Subjects = append(initiators(p), named.subjects...)
				}
				c.apply(ctx, policies...)
			}, NodeTimeout(startTimeout))
			BeforeEach(func(ctx SpecContext) {
				ns = c.newNamespaceFor(ctx, "shared")
				audit = c.watch(ns)
			})

			It("rolls out, scales and heals what an initiator causes, and nothing else", func(ctx SpecContext) {
				owner := c.alice()
				d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(4))
				owner.change(ctx, d, image("web:2"))
				c.complete(ctx, d, "2")
				Expect(owner.scale(ctx, d, 6)).To(Succeed())
				c.complete(ctx, d, "2")
				pod := c.anyPod(ctx, ns)
				Expect(c.mallory().evict(ctx, pod)).To(Succeed())
				c.complete(ctx, d, "2")
				c.hasPods(ctx, ns, map[string]int{"web:2": 6})
				Expect(audit.writes(sharedController, stage.Failed)).To(BeEmpty())
				Expect(audit.tracesOf(sharedController, controlplane.OfResource("", "pods"), controlplane.ByVerb("create"))).To(
					HaveEach(HavePrefix(alice + " ")))

				By("trying what nobody caused")
				rs := c.newestReplicaSet(ctx, d)
				for _, who := range []*actor{c.as(user.KubeControllerManager), c.mallory()} {
					expectForbidden(who.try(ctx, rs, replicas(9)), "spec.replicas", "Deployment web", platformTeam)
					expectForbidden(who.Delete(ctx, rs), "deletion", "Deployment web", "no rule allows that")
				}
				expectForbidden(c.mallory().Delete(ctx, c.anyPod(ctx, ns)), "deletion", "ReplicaSet "+rs.Name)
				By("scaling as the autoscaler would, which is nobody of its own here")
				expectForbidden(c.as(user.KubeControllerManager).scale(ctx, d, 9), "spec.replicas", user.KubeControllerManager, platformTeam)
				stranger, tried := c.mallory(), c.watch(ns)
				stranger.change(ctx, d, image("web:3"))
				Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
				tried.tries(ctx, user.KubeControllerManager, "Deployment web")
				Consistently(ctx, func(g Gomega) {
					g.Expect(c.pods(ctx, g, ns)).To(Equal(map[string]int{"web:2": 6}))
				}).WithTimeout(quietMoment).Should(Succeed())
			}, SpecTimeout(specTimeout))

			It("carries out what somebody else creates, and deletes it", func(ctx SpecContext) {
				stranger := c.mallory()
				for _, how := range []metav1.DeletionPropagation{
					metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
				} {
					By("deleting with propagation " + string(how))
					d := stranger.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
					rs := c.newestReplicaSet(ctx, d)
					Expect(stranger.Delete(ctx, d, client.PropagationPolicy(how))).To(Succeed())
					Eventually(ctx, func(g Gomega) {
						g.Expect(c.Get(ctx, client.ObjectKeyFromObject(d), &appsv1.Deployment{})).To(Satisfy(apierrors.IsNotFound))
						if how == metav1.DeletePropagationOrphan {
							g.Expect(c.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
							g.Expect(rs.OwnerReferences).To(BeEmpty())
						} else {
							g.Expect(c.pods(ctx, g, ns)).To(BeEmpty())
						}
						g.Expect(c.record(ctx, g, d).Status.Deletion).To(HaveValue(HaveField("Initiator", mallory)))
					}).Should(Succeed())
				}
				Expect(audit.writes(sharedController, stage.Failed)).To(BeEmpty())
			}, SpecTimeout(specTimeout))

			It("empties a namespace that is deleted", func(ctx SpecContext) {
				c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
				Expect(c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
				Eventually(ctx, func() error {
					return c.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
				}).WithTimeout(30 * time.Second).Should(Satisfy(apierrors.IsNotFound))
			}, SpecTimeout(specTimeout))
		})
	}
})

// initiators returns the subjects of a policy that are people and may initiate.
func initiators(p *v1alpha1.AllowancePolicy) []v1alpha1.PolicySubject {
	var out []v1alpha1.PolicySubject
	for _, s := range p.Spec.Subjects {
		if s.MayInitiate && s.Kind == v1alpha1.SubjectGroup {
			out = append(out, s)
		}
	}
	return out
}

// exercisers returns the subjects of a policy that may not initiate.
func exercisers(p *v1alpha1.AllowancePolicy) []v1alpha1.PolicySubject {
	return slices.DeleteFunc(slices.Clone(p.Spec.Subjects), func(s v1alpha1.PolicySubject) bool { return s.MayInitiate })
}

// denied reports whether a request was forbidden, and not by anybody but Kausality.
func denied(err error) bool { return apierrors.IsForbidden(err) && stage.Denied(err) }

// expectForbidden checks that a request was refused with a message that has all of
// these in it.
func expectForbidden(err error, texts ...string) {
	GinkgoHelper()
	Expect(err).To(MatchError(denied, "denied"))
	for _, text := range texts {
		Expect(err).To(MatchError(ContainSubstring(text)))
	}
}

// evict asks for the eviction of a Pod.
func (a *actor) evict(ctx context.Context, pod *corev1.Pod) error {
	return a.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
	})
}
