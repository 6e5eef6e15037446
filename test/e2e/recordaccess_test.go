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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// Records are evidence: who may look at a namespace reads them, and nobody writes
// them.
var _ = Describe("The AllowanceRecords of a namespace", func() {
	It("can be read by its readers, and written by nobody", func(ctx SpecContext) {
		ns, other := shared.newNamespace(ctx), shared.newNamespace(ctx)
		d := shared.alice().deploy(ctx, builders.MakeDeployment(ns, "web"))
		rec := shared.recorded(ctx, d)
		forged := client.RawPatch(types.MergePatchType,
			[]byte(`{"status":{"denials":7,"pendingGrants":[{"id":"x","time":"2026-01-01T00:00:00Z","path":"spec.replicas","value":9}]}}`))
		copied := &v1alpha1.AllowanceRecord{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copied"}, Spec: rec.Spec}

		for _, role := range []string{"view", "edit", "admin"} {
			By("having the role " + role)
			user := fmt.Sprintf("%s-of-%s", role, ns)
			Expect(shared.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			})).To(Succeed())
			reader := shared.as(user, "system:authenticated")
			Eventually(ctx, func() error {
				return reader.Get(ctx, client.ObjectKeyFromObject(&rec), &v1alpha1.AllowanceRecord{})
			}).Should(Succeed())
			var list v1alpha1.AllowanceRecordList
			Expect(reader.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			Expect(list.Items).NotTo(BeEmpty())
			for what, err := range map[string]error{
				"reading those of another namespace":      reader.List(ctx, &list, client.InNamespace(other)),
				"reading those of cluster-scoped objects": reader.List(ctx, &list, client.InNamespace(controlplane.OperatorNamespace)),
				"reading all":                reader.List(ctx, &list),
				"making one":                 reader.Create(ctx, copied.DeepCopy()),
				"changing one":               reader.Patch(ctx, rec.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))),
				"changing the status of one": reader.Status().Patch(ctx, rec.DeepCopy(), forged),
				"deleting one":               reader.Delete(ctx, rec.DeepCopy()),
				"deleting all, one by one or all together": reader.DeleteAllOf(ctx, &v1alpha1.AllowanceRecord{}, client.InNamespace(ns)),
			} {
				Expect(err).To(SatisfyAll(MatchError(apierrors.IsForbidden, "forbidden"), MatchError(ContainSubstring("cannot"))), what, "by RBAC")
			}
		}

		By("having all rights")
		admin := shared.as("root", "system:masters")
		for what, err := range map[string]error{
			"making one":                 admin.Create(ctx, copied.DeepCopy()),
			"changing the status of one": admin.Status().Patch(ctx, rec.DeepCopy(), forged),
			"deleting one":               admin.Delete(ctx, rec.DeepCopy()),
		} {
			Expect(err).To(MatchError(MatchRegexp("only Kausality (writes|deletes) AllowanceRecords")), what)
		}
		Expect(admin.Patch(ctx, rec.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))).To(Succeed())
	}, SpecTimeout(specTimeout))

	It("is made again from the objects when it is lost", func(ctx SpecContext) {
		ns := shared.newNamespace(ctx)
		owner := shared.alice()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		owner.change(ctx, d, image("web:"+unready))
		shared.hasPods(ctx, ns, map[string]int{"web:1": 2, "web:" + unready: 1})
		rs := shared.newestReplicaSet(ctx, d)
		lost := []v1alpha1.AllowanceRecord{shared.recorded(ctx, d), shared.recorded(ctx, rs)}

		By("deleting all of it")
		shared.loseRecords(ctx, ns)
		for i, holder := range []struct {
			client.Object
			key    string
			phase  v1alpha1.Phase
			parent types.UID
		}{{d, ledgerKey, v1alpha1.PhaseSteady, ""}, {rs, replicaSetLedgerKey, v1alpha1.PhaseInitializing, d.UID}} {
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(holder), holder.Object)).To(Succeed())
				rec := shared.record(ctx, g, holder)
				g.Expect(rec.UID).NotTo(Equal(lost[i].UID))
				g.Expect(rec.Labels[record.LabelParentUID]).To(Equal(string(holder.parent)))
				g.Expect(rec.Status.Active).To(ConsistOf(toAny(ledgerOf(g, holder, holder.key))...))
				g.Expect(rec.Status.Active).NotTo(BeEmpty())
				g.Expect(rec.Status.Phase).To(Equal(holder.phase))
				g.Expect(rec.Status.Initiator).To(Equal(alice))
				g.Expect(rec.Status.History).To(ContainElement(SatisfyAll(HaveField("Event", v1alpha1.EventGranted), HaveField("Initiator", alice))))
			}).Should(Succeed())
		}

		By("going on")
		owner.change(ctx, d, image("web:2"))
		shared.complete(ctx, d, "3")
	}, SpecTimeout(specTimeout))
})

// loseRecords deletes all records of a namespace as only the operator may, and as whoever
// reaches etcd can.
func (c *cluster) loseRecords(ctx context.Context, namespace string) {
	GinkgoHelper()
	records := c.as(controlplane.OperatorUser, "system:masters")
	Expect(records.DeleteAllOf(ctx, &v1alpha1.AllowanceRecord{}, client.InNamespace(namespace))).To(Succeed())
}
