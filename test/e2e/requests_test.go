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
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// byKubectl runs kubectl on a manifest of a Deployment with this many replicas.
func (a *actor) byKubectl(ctx context.Context, d *appsv1.Deployment, n int32, args ...string) error {
	GinkgoHelper()
	manifest := builders.MakeDeployment(d.Namespace, d.Name).Replicas(n).Obj()
	manifest.APIVersion, manifest.Kind = appsv1.SchemeGroupVersion.String(), "Deployment"
	raw, err := json.Marshal(manifest)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "deployment.json")
	Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())
	out, err := a.kubectl(ctx, append(args, "--filename="+file)...)
	a.warned.HandleWarningHeader(299, "", out)
	if err != nil {
		return errors.New(out)
	}
	return a.Get(ctx, client.ObjectKeyFromObject(d), d)
}

// By whatever request something is changed, it is the same change.
var _ = Describe("A change", func() {
	var (
		ns    string
		audit witness
		owner *actor
		rogue *actor
	)
	BeforeEach(func(ctx SpecContext) {
		ns = shared.newNamespace(ctx)
		audit = shared.watch(ns)
		owner, rogue = shared.alice(), shared.mallory()
	})
	ways := []struct {
		how string
		set func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error
	}{
		{"a JSON patch", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			return who.Patch(ctx, d, client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"replace","path":"/spec/replicas","value":%d}]`, n)))
		}},
		{"a merge patch", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			return who.Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(replicas(n))))
		}},
		{"a strategic merge patch", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			return who.try(ctx, d, replicas(n))
		}},
		{"an update", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			return who.update(ctx, d, func() { d.Spec.Replicas = new(n) })
		}},
		{"kubectl apply --server-side --force-conflicts", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			return who.byKubectl(ctx, d, n, "apply", "--server-side", "--force-conflicts")
		}},
		{"kubectl apply --server-side", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			return who.byKubectl(ctx, d, n, "apply", "--server-side")
		}},
		{"kubectl apply", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			return who.byKubectl(ctx, d, n, "apply")
		}},
		{"kubectl replace", func(ctx context.Context, who *actor, d *appsv1.Deployment, n int32) error {
			// It reads the version that it replaces just before, and controllers write.
			conflict := func(err error) bool { return strings.Contains(err.Error(), "(Conflict)") }
			return retry.OnError(retry.DefaultRetry, conflict, func() error { return who.byKubectl(ctx, d, n, "replace") })
		}},
	}

	It("by an initiator is carried out, by whatever request", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(1))
		for i, way := range ways {
			By(way.how)
			n := int32(2 + i%2)
			Expect(way.set(ctx, owner, d, n)).To(Succeed())
			shared.complete(ctx, d, "1")
			Expect(shared.scales(ctx, Default, d)).To(Equal([]int32{n}))
		}
		By("kubectl replace --force, which is a deletion and a creation")
		Expect(owner.byKubectl(ctx, d, 4, "replace", "--force")).To(Succeed())
		shared.complete(ctx, d, "1")
		shared.hasPods(ctx, ns, map[string]int{"web:1": 4})
		Expect(audit.refusals()).To(BeEmpty())
		Expect(owner.warned.take()).NotTo(ContainSubstring("kausality"))
	}, SpecTimeout(specTimeout))

	It("by a stranger is withheld, by whatever request", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		audit := shared.watch(ns)
		for i, way := range ways {
			By(way.how)
			Expect(way.set(ctx, rogue, d, int32(3+i%2))).To(Succeed())
			Expect(rogue.warned.take()).To(SatisfyAll(ContainSubstring("spec.replicas"), ContainSubstring("withheld")))
			Expect(ledgerOf(Default, d, ledgerKey)).To(ConsistOf(SatisfyAll(
				HaveField("Relation", v1alpha1.RelationWithheld), HaveField("Mutation", "spec.replicas"), HaveField("Content", Not(BeEmpty())))))
		}
		audit.tries(ctx, deploymentController, "Deployment web")
		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 2}))
		}).WithTimeout(quietMoment).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("that conflicts leaves nothing behind, and many at once lose nothing", func(ctx SpecContext) {
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		stale := d.DeepCopy()
		stale.ResourceVersion = "1"
		stale.Spec.Replicas = new(int32(9))
		Expect(owner.Update(ctx, stale)).To(Satisfy(apierrors.IsConflict))
		Expect(owner.byKubectl(ctx, d, 9, "apply", "--server-side", "--field-manager=other")).To(
			MatchError(ContainSubstring("conflict")))
		Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
		Expect(shared.recorded(ctx, d).Status.PendingGrants).To(BeEmpty())

		By("many writing at once, some through the scale")
		var all sync.WaitGroup
		errs := make(chan error, 12)
		for i := range cap(errs) {
			all.Go(func() {
				target := d.DeepCopy()
				if i%2 == 0 {
					errs <- owner.SubResource("scale").Patch(ctx, target, client.RawPatch(types.MergePatchType, []byte(replicas(int32(3+i)))))
					return
				}
				errs <- owner.try(ctx, target, image(fmt.Sprint("web:", 1+i)))
			})
		}
		all.Wait()
		close(errs)
		for err := range errs {
			Expect(err).NotTo(HaveOccurred())
		}
		shared.rolledOut(ctx, d)
		Expect(shared.pods(ctx, Default, ns)).To(Equal(map[string]int{d.Spec.Template.Spec.Containers[0].Image: int(*d.Spec.Replicas)}))
	}, SpecTimeout(specTimeout))
})

// traces returns the objects in a namespace with their versions: what a request may have
// left behind.
func (c *cluster) traces(ctx context.Context, g Gomega, namespace string) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for kind, list := range map[string]client.ObjectList{
		"Deployment": &appsv1.DeploymentList{}, "ReplicaSet": &appsv1.ReplicaSetList{}, "Pod": &corev1.PodList{},
		"AllowanceRecord": &v1alpha1.AllowanceRecordList{}, "Event": &eventsv1.EventList{},
	} {
		g.Expect(c.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		g.Expect(apimeta.EachListItem(list, func(obj runtime.Object) error {
			object, err := apimeta.Accessor(obj)
			if err == nil {
				found[kind+"/"+object.GetName()] = object.GetResourceVersion()
			}
			return err
		})).To(Succeed())
	}
	return found
}

var _ = Describe("A dry run", func() {
	It("shows what would happen, and leaves no trace anywhere", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner, rogue := shared.alice(), shared.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		shared.marked(ctx, d)
		rs, pod := shared.newestReplicaSet(ctx, d), shared.anyPod(ctx, ns)
		var before map[string]string
		Eventually(ctx, func(g Gomega) { // until all that is to be told of the creation was told
			last := before
			before = shared.traces(ctx, g, ns)
			g.Expect(before).To(Equal(last))
		}).WithPolling(quietMoment).Should(Succeed())

		By("being told of what would be granted and withheld")
		made := builders.MakeDeployment(ns, "").Replicas(2)
		made.GenerateName = "web-"
		created := made.Obj()
		Expect(rogue.Create(ctx, created, client.DryRunAll)).To(Succeed())
		Expect(created.Annotations).To(HaveKey(ledgerKey))
		merge := func(p patch) client.Patch { return client.RawPatch(types.StrategicMergePatchType, []byte(p)) }
		shown := d.DeepCopy()
		Expect(owner.Patch(ctx, shown, merge(replicas(5)), client.DryRunAll)).To(Succeed())
		Expect(ledgerOf(Default, shown, ledgerKey)).To(ContainElement(HaveField("Mutation", "spec.replicas")))
		shown = d.DeepCopy()
		Expect(rogue.Patch(ctx, shown, merge(replicas(5)), client.DryRunAll)).To(Succeed())
		Expect(ledgerOf(Default, shown, ledgerKey)).To(ContainElement(HaveField("Relation", v1alpha1.RelationWithheld)))
		Expect(rogue.warned.take()).To(ContainSubstring("withheld"))
		Expect(owner.Patch(ctx, d.DeepCopy(), merge(approve("*")), client.DryRunAll)).To(Succeed())
		Expect(owner.SubResource("scale").Patch(ctx, d.DeepCopy(), merge(replicas(5)), &client.SubResourcePatchOptions{
			PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}},
		})).To(Succeed())
		Expect(owner.Delete(ctx, d.DeepCopy(), client.DryRunAll)).To(Succeed())
		Expect(owner.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(ns), client.DryRunAll)).To(Succeed())

		By("being refused what would be")
		expectForbidden(rogue.SubResource("scale").Patch(ctx, d.DeepCopy(), merge(replicas(5)), &client.SubResourcePatchOptions{
			PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}},
		}), "spec.replicas", "Group "+platformTeam)
		expectForbidden(rogue.Patch(ctx, rs.DeepCopy(), merge(replicas(5)), client.DryRunAll), "spec.replicas")
		expectForbidden(rogue.Delete(ctx, rs.DeepCopy(), client.DryRunAll), "deletion")
		expectForbidden(rogue.Delete(ctx, pod.DeepCopy(), client.DryRunAll), "deletion")
		expectForbidden(rogue.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, client.InNamespace(ns), client.DryRunAll), "deletion of ReplicaSet "+rs.Name)

		By("evicting, of which drain says only in the body that it is a dry run")
		evict := func(who *actor, options *metav1.DeleteOptions, opts ...client.SubResourceCreateOption) error {
			return who.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod.Name}, DeleteOptions: options,
			}, opts...)
		}
		Expect(evict(rogue, nil, &client.SubResourceCreateOptions{CreateOptions: client.CreateOptions{DryRun: []string{metav1.DryRunAll}}})).To(Succeed())
		Expect(evict(rogue, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})).To(Succeed())

		Consistently(ctx, func(g Gomega) {
			g.Expect(shared.traces(ctx, g, ns)).To(Equal(before))
		}).WithTimeout(quietMoment).Should(Succeed())
	}, SpecTimeout(specTimeout))
})
