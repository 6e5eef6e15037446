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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/stage"
)

// neverReady is in the name of an image whose Pods never become ready, so that its rollout stays
// where it is.
const neverReady = "never-ready"

// deploy has Alice create a Deployment.
func (w *world) deploy(ctx context.Context, name string) *appsv1.Deployment {
	GinkgoHelper()
	d := builders.MakeDeployment(w.namespace, name).Replicas(2).Obj()
	Expect(w.Alice().Create(ctx, d)).To(Succeed())
	w.rolledOut(ctx, d)
	return d
}

// change has somebody merge a patch into a Deployment.
func (w *world) change(ctx context.Context, who *stage.Actor, d *appsv1.Deployment, patch string) {
	GinkgoHelper()
	Expect(who.Patch(ctx, d, client.RawPatch(types.StrategicMergePatchType, []byte(patch)))).To(Succeed())
}

// imageOf returns a patch of the one container.
func imageOf(image string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"` + builders.Container + `","image":"` + image + `"}]}}}}`
}

// rolledOut waits until a Deployment is as it should be.
func (w *world) rolledOut(ctx context.Context, d *appsv1.Deployment) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
		g.Expect(d.Status.UpdatedReplicas).To(Equal(*d.Spec.Replicas))
		g.Expect(d.Status.AvailableReplicas).To(Equal(*d.Spec.Replicas))
		g.Expect(d.Status.Replicas).To(Equal(*d.Spec.Replicas))
	}).Should(Succeed())
}

// newest returns the ReplicaSet of a Deployment that has its image.
func (w *world) newest(ctx context.Context, d *appsv1.Deployment) *appsv1.ReplicaSet {
	GinkgoHelper()
	var found *appsv1.ReplicaSet
	Eventually(ctx, func(g Gomega) {
		found = nil
		sets := &appsv1.ReplicaSetList{}
		g.Expect(w.List(ctx, sets, client.InNamespace(d.Namespace))).To(Succeed())
		for i := range sets.Items {
			rs := &sets.Items[i]
			if strings.HasPrefix(rs.Name, d.Name+"-") && rs.Spec.Template.Spec.Containers[0].Image == d.Spec.Template.Spec.Containers[0].Image {
				found = rs
			}
		}
		g.Expect(found).NotTo(BeNil())
	}).Should(Succeed())
	return found
}

// scale returns what a policy refuses: that somebody scales a ReplicaSet by hand. Nothing is
// written.
func scale(ctx context.Context, stranger *stage.Actor, rs *appsv1.ReplicaSet) error {
	return stranger.Patch(ctx, rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":9}}`)), client.DryRunAll)
}

// tryImage returns what a policy allows, by somebody who may initiate. Nothing is written.
func tryImage(ctx context.Context, who *stage.Actor, d *appsv1.Deployment) error {
	return who.Patch(ctx, d.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(imageOf("web:tried"))), client.DryRunAll)
}

// live does with Kausality what there is to do: there are policies, a rollout has completed,
// another one is in the middle, a change is withheld, and what nobody has caused is refused.
func (w *world) live(ctx context.Context, failurePolicy v1alpha1.FailurePolicy) (web, stuck *appsv1.Deployment) {
	GinkgoHelper()
	w.sh(ctx, "kubectl apply --server-side -k config/samples")
	policies := &v1alpha1.AllowancePolicyList{}
	Expect(w.List(ctx, policies)).To(Succeed())
	Expect(policies.Items).NotTo(BeEmpty())
	for i := range policies.Items {
		p := &policies.Items[i]
		Expect(w.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"failurePolicy":"`+string(failurePolicy)+`"}}`)))).To(Succeed())
		w.Enforced(ctx, p, settled)
	}
	web, stuck = w.deploy(ctx, "web"), w.deploy(ctx, "stuck")
	w.change(ctx, w.Alice(), web, imageOf("web:2"))
	w.rolledOut(ctx, web)
	Expect(scale(ctx, w.Mallory(), w.newest(ctx, web))).To(Satisfy(apierrors.IsForbidden))

	w.change(ctx, w.Alice(), stuck, imageOf("stuck:"+neverReady))
	w.newest(ctx, stuck)
	w.change(ctx, w.Mallory(), stuck, `{"spec":{"replicas":5}}`)
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.Remains(ctx, g)).To(ContainElement(ContainSubstring("kausality.io/approved")))
		records := &v1alpha1.AllowanceRecordList{}
		g.Expect(w.List(ctx, records, client.InNamespace(w.namespace))).To(Succeed())
		g.Expect(records.Items).NotTo(BeEmpty())
	}).Should(Succeed())
	return web, stuck
}

// afterwards sees that workloads go on as if Kausality had never been there, and removes them.
func (w *world) afterwards(ctx context.Context, web, stuck *appsv1.Deployment) {
	GinkgoHelper()
	Expect(scale(ctx, w.Mallory(), w.newest(ctx, web))).To(Succeed())
	w.change(ctx, w.Mallory(), web, imageOf("web:3"))
	w.change(ctx, w.Mallory(), stuck, imageOf("stuck:3"))
	w.rolledOut(ctx, web)
	w.rolledOut(ctx, stuck)
	Expect(w.Delete(ctx, web)).To(Succeed())
	Expect(w.Delete(ctx, stuck)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		sets := &appsv1.ReplicaSetList{}
		g.Expect(w.List(ctx, sets, client.InNamespace(w.namespace))).To(Succeed())
		g.Expect(sets.Items).To(BeEmpty())
	}).Should(Succeed())
}
