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

package install

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// afterLoss is how long requests may go unanswered, or be answered by nobody, once a replica has
// been lost without a word: those that it was about to answer.
const afterLoss = time.Second

var _ = Describe("Two replicas", Label("ha"), Ordered, func() {
	var (
		w         *world
		web       *appsv1.Deployment
		operators = map[string]*controlplane.Operator{}
		started   int
	)
	// another starts another process.
	another := func(ctx context.Context) {
		GinkgoHelper()
		started++
		name := fmt.Sprintf("%s-%d", controlplane.DefaultOperatorName, started)
		operators[name] = w.run(ctx, name, *operatorBin)
	}
	// stop ends one in an orderly way.
	stop := func(name string) {
		GinkgoHelper()
		w.stop(operators[name])
		delete(operators, name)
	}
	// lose kills an operator, and returns the time.
	lose := func(name string) time.Time {
		GinkgoHelper()
		Expect(operators[name].Kill()).To(Succeed())
		gone := time.Now()
		Expect(operators[name].Stop()).To(Succeed(), "its name is forgotten")
		delete(operators, name)
		return gone
	}

	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx)
		for _, command := range documented(withKubectl) {
			w.sh(ctx, command)
		}
		another(ctx)
		another(ctx)
		web, _ = w.live(ctx, v1alpha1.FailurePolicyIgnore)
	}, NodeTimeout(specTimeout))

	It("are replaced one by one under load, and each request is answered, and rightly", func(ctx SpecContext) {
		began := time.Now()
		l := w.underLoad(ctx, web)
		l.goesOn(ctx)
		for _, old := range slices.Sorted(maps.Keys(operators)) {
			another(ctx)
			stop(old)
			l.goesOn(ctx)
		}
		Expect(l.end()).To(BeEmpty())
		Expect(w.unjudged(began)).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("lose the one that leads in an orderly way, as when a node is drained, and answer all the same", func(ctx SpecContext) {
		began := time.Now()
		l := w.underLoad(ctx, web)
		l.goesOn(ctx)
		out := w.sh(ctx, "kubectl drain node-1 --ignore-daemonsets --delete-emptydir-data --force")
		Expect(out).To(ContainSubstring("drained"))
		pods := &corev1.PodList{}
		Eventually(ctx, func(g Gomega) {
			g.Expect(w.List(ctx, pods, client.InNamespace(controlplane.OperatorNamespace))).To(Succeed())
			for _, pod := range pods.Items {
				g.Expect(pod.Spec.NodeName).To(Equal("node-2"))
			}
			d := &appsv1.Deployment{}
			g.Expect(w.Get(ctx, operatorKey, d)).To(Succeed())
			g.Expect(d.Status.AvailableReplicas).To(Equal(*d.Spec.Replicas))
		}).Should(Succeed())
		w.sh(ctx, "kubectl uncordon node-1")
		stop(leads(ctx, operators))
		l.goesOn(ctx)
		Expect(l.end()).To(BeEmpty())
		Expect(w.unjudged(began)).To(BeEmpty())

		By("the other one leading: what only a leader does is done")
		w.completes(ctx, web, "web:4")
		another(ctx)
	}, SpecTimeout(specTimeout))

	It("lose either of them at once, and only what it was asked at that moment is not answered", func(ctx SpecContext) {
		for _, ofLeader := range []bool{true, false} {
			l := w.underLoad(ctx, web)
			l.goesOn(ctx)
			leader, lost := leads(ctx, operators), ""
			for name := range operators {
				if (name == leader) == ofLeader {
					lost = name
				}
			}
			gone := lose(lost)
			l.goesOn(ctx)
			wrongs := l.end()
			GinkgoWriter.Println("the leader:", ofLeader, "not answered:", len(wrongs))
			Expect(len(wrongs)).To(BeNumerically("<=", 2*askers), "more than were asked at a time")
			for _, each := range wrongs {
				Expect(each.at).To(BeTemporally("<", gone.Add(afterLoss)), "%s: %v", each.who, each.err)
				// Nobody is refused for it: the policy says Ignore.
				Expect(each.who).To(Equal(stage.MalloryName), "%v", each.err)
				Expect(each.err).NotTo(HaveOccurred())
			}
			Expect(w.unjudged(gone.Add(afterLoss))).To(BeEmpty())
			w.completes(ctx, web, "web:"+lost)
			another(ctx)
		}
	}, SpecTimeout(specTimeout))

	It("refuse nobody for it where the policy fails closed, but that which was asked at that moment", func(ctx SpecContext) {
		policies := &v1alpha1.AllowancePolicyList{}
		Expect(w.List(ctx, policies)).To(Succeed())
		for i := range policies.Items {
			p := &policies.Items[i]
			// The operator counts in the status meanwhile.
			before := p.DeepCopy()
			p.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
			Expect(w.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
			w.Enforced(ctx, p, settled)
		}
		l := w.underLoad(ctx, web)
		l.goesOn(ctx)
		gone := lose(leads(ctx, operators))
		l.goesOn(ctx)
		for _, each := range l.end() {
			Expect(each.at).To(BeTemporally("<", gone.Add(afterLoss)), "%s: %v", each.who, each.err)
			Expect(each.err).To(Satisfy(apierrors.IsInternalError), "nothing passes unjudged: %s", each.who)
		}
		another(ctx)
	}, SpecTimeout(specTimeout))
})

// leads returns which of the operators leads. One that did, and does not any more, ends.
func leads(ctx context.Context, operators map[string]*controlplane.Operator) string {
	GinkgoHelper()
	var leader string
	Eventually(ctx, func(g Gomega) {
		leader = ""
		for name, operator := range operators {
			log, err := os.ReadFile(operator.Log())
			g.Expect(err).NotTo(HaveOccurred())
			if strings.Contains(strings.ToLower(string(log)), "successfully acquired lease") {
				leader = name
			}
		}
		g.Expect(leader).NotTo(BeEmpty())
	}).Should(Succeed())
	return leader
}

// completes has Alice change an image, and waits until that is done, and is written down.
func (w *world) completes(ctx context.Context, d *appsv1.Deployment, image string) {
	GinkgoHelper()
	w.change(ctx, w.Alice(), d, imageOf(image))
	w.rolledOut(ctx, d)
	Eventually(ctx, func(g Gomega) {
		records := &v1alpha1.AllowanceRecordList{}
		g.Expect(w.List(ctx, records, client.InNamespace(d.Namespace))).To(Succeed())
		g.Expect(records.Items).To(ContainElement(HaveField("Spec.TargetRef.Name", d.Name)))
	}).Should(Succeed())
}
