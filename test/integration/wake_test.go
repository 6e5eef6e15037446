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
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// shownBlocked watches a Deployment, and notes with each write of it whether it shows that it is
// blocked.
type shownBlocked struct {
	mu    sync.Mutex
	shows []bool
}

func watchBlocked(ctx context.Context, d *appsv1.Deployment) *shownBlocked {
	GinkgoHelper()
	watching, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	w, err := watching.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(d.Namespace),
		client.MatchingFields{"metadata.name": d.Name}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: d.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	out := &shownBlocked{}
	go func() {
		for event := range w.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				out.mu.Lock()
				out.shows = append(out.shows, isBlocked(d))
				out.mu.Unlock()
			}
		}
	}()
	return out
}

func (s *shownBlocked) seen() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shows)
}

// deploymentsUser is who is denied something by deniedUpdate.
const deploymentsUser = "system:serviceaccount:kube-system:deployment-controller"

// agreement returns an UpgradeAllowance for whoever is denied something by deniedUpdate.
func agreement(name string) *v1alpha1.UpgradeAllowance {
	return &v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.UpgradeAllowanceSpec{
			ServiceAccount: deploymentsUser,
			Policies: []v1alpha1.PolicyEntry{{
				Target: v1alpha1.Target{APIGroup: new("apps"), APIVersion: "v1", Resource: "replicasets"}, Relation: v1alpha1.RelationControllerChild,
			}},
		},
	}
}

// agree has the parts know of one that is accepted, and tells them so.
func (p *operatorParts) agree(ctx context.Context, u *v1alpha1.UpgradeAllowance) {
	GinkgoHelper()
	apply(ctx, u)
	compiled, errs := upgrade.Compile(u, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) { return replicaSets, true })
	Expect(errs).To(BeEmpty())
	p.upgrades.Set([]*upgrade.Allowance{compiled})
	u.Status.AcceptedAt = new(metav1.Now())
	Expect(k8s.Status().Update(ctx, u)).To(Succeed())
}

var _ = Describe("What waits for an UpgradeAllowance", Ordered, func() {
	var (
		p         *operatorParts
		namespace string
	)
	BeforeAll(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		forgetSignOfLife(ctx)
		p = startParts(ctx, deployments, replicaSets)
	})
	AfterEach(func() { p.upgrades.Set(nil) })

	It("is woken by it once", func(ctx SpecContext) {
		d := deploymentWith(ctx, namespace, "waits")
		written := watchBlocked(ctx, d)
		p.records.Observe(deniedUpdate(targetOf(d, deployments)))
		Eventually(written.seen).Should(Equal([]bool{true}))

		p.agree(ctx, agreement("comes"))
		Eventually(written.seen).Should(HaveLen(2))
		Consistently(written.seen).WithTimeout(4 * time.Second).Should(Equal([]bool{true, false}))
	})

	It("is woken by another one of the name and the generation of one that was asked", func(ctx SpecContext) {
		d := deploymentWith(ctx, namespace, "asked")
		asked := agreement("again")
		p.agree(ctx, asked)
		denied := deniedUpdate(targetOf(d, deployments))
		denied.Decision.Upgrades = []string{p.upgrades.For(deploymentsUser)[0].ID()}
		written := watchBlocked(ctx, d)
		p.records.Observe(denied)
		Eventually(written.seen).Should(Equal([]bool{true}))
		Consistently(written.seen).WithTimeout(3 * time.Second).Should(Equal([]bool{true}))

		p.upgrades.Set(nil)
		Expect(k8s.Delete(ctx, asked)).To(Succeed())
		p.agree(ctx, agreement("again"))
		Eventually(written.seen).Should(Equal([]bool{true, false}))
	})

	DescribeTable("is woken by one that comes to select it", func(ctx SpecContext, name string, selects func(*v1alpha1.UpgradeAllowanceSpec), relabel func(*appsv1.Deployment) client.Object, want ...bool) {
		d := deploymentWith(ctx, namespace, name)
		written := watchBlocked(ctx, d)
		p.records.Observe(deniedUpdate(targetOf(d, deployments)))
		Eventually(written.seen).Should(Equal([]bool{true}))
		u := agreement(name)
		selects(&u.Spec)
		p.agree(ctx, u)
		Consistently(written.seen).WithTimeout(3 * time.Second).Should(Equal([]bool{true}))

		Expect(k8s.Patch(ctx, relabel(d), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"stage":"`+name+`"}}}`)))).To(Succeed())
		Eventually(written.seen).Should(Equal(want))
		Consistently(written.seen).WithTimeout(3 * time.Second).Should(Equal(want))
	},
		Entry("as its namespace is relabelled, of which nobody else tells it", "namespace-relabelled",
			func(spec *v1alpha1.UpgradeAllowanceSpec) {
				spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "namespace-relabelled"}}
			},
			func(d *appsv1.Deployment) client.Object {
				return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Namespace}}
			}, true, false),
		Entry("as it is relabelled itself", "relabelled",
			func(spec *v1alpha1.UpgradeAllowanceSpec) {
				spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "relabelled"}}
			},
			func(d *appsv1.Deployment) client.Object { return d.DeepCopy() }, true, true, false),
	)
})
