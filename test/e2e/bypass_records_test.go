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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// losingRecords returns the ways to have what is kept in records, and nowhere else,
// forgotten.
func losingRecords() []bypass {
	protected := func(err error, what string) {
		GinkgoHelper()
		Expect(err).To(SatisfyAll(MatchError(apierrors.IsForbidden, "forbidden"),
			MatchError(ContainSubstring("only Kausality "+what+" AllowanceRecords"))))
	}
	patchRecord := func(ctx context.Context, s *scene, patch string, args ...any) error {
		GinkgoHelper()
		rec := shared.recorded(ctx, s.d)
		return s.rogue.Patch(ctx, &rec, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, patch, args...)))
	}
	return []bypass{
		{"deleting a record", func(ctx context.Context, s *scene) {
			rec := shared.recorded(ctx, s.d)
			protected(s.rogue.Delete(ctx, &rec), "deletes")
			protected(s.rogue.Delete(ctx, &rec, client.PropagationPolicy(metav1.DeletePropagationForeground)), "deletes")
		}},
		{"deleting all records at once", func(ctx context.Context, s *scene) {
			shared.recorded(ctx, s.d)
			protected(s.rogue.DeleteAllOf(ctx, &v1alpha1.AllowanceRecord{}, client.InNamespace(s.ns)), "deletes")
		}},
		{"giving a record an owner, for the collector to delete it", func(ctx context.Context, s *scene) {
			protected(patchRecord(ctx, s, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"none"}]}}`), "writes")
		}},
		{"relabeling a record", func(ctx context.Context, s *scene) {
			protected(patchRecord(ctx, s, `{"metadata":{"labels":{"kausality.io/target-uid":%q}}}`, "another"), "writes")
			protected(patchRecord(ctx, s, `{"metadata":{"labels":{"kausality.io/parent-uid":%q}}}`, "another"), "writes")
			protected(patchRecord(ctx, s, `{"metadata":{"labels":null}}`), "writes")
			Expect(patchRecord(ctx, s, `{"metadata":{"labels":{"example.org/seen":"yes"}}}`)).To(Succeed(), "what is not ours is anybody's")
		}},
		{"deleting a record, with its protection out of the way", func(ctx context.Context, _ *scene) {
			ns := shared.newNamespace(ctx)
			thing, revive := usedUp(ctx, ns)
			before := shared.recorded(ctx, thing)
			shared.loseRecords(ctx, ns)
			refuse(revive())
			Eventually(ctx, func(g Gomega) {
				g.Expect(revive()).To(MatchError(denied, "denied"))
				rec := shared.record(ctx, g, thing)
				g.Expect(rec.UID).NotTo(Equal(before.UID))
				g.Expect(rec.Status.Phase).To(Equal(v1alpha1.PhaseSteady))
				g.Expect(rec.Status.Approved).To(Equal(before.Status.Approved))
				g.Expect(rec.Status.History).To(ContainElements(before.Status.History))
			}).Should(Succeed())
			// That it is blocked was written to it by now, perhaps, which takes the ledger out: nothing has
			// to be known as used up then.
			shared.over(ctx, thing)
			refuse(revive())
		}},
		{"having a deletion traced to somebody else, by the label of a record", func(ctx context.Context, s *scene) {
			rec := shared.recorded(ctx, s.rs)
			Expect(rec.Status.ParentUID).To(HaveValue(Equal(s.d.UID)))
			asOperator := shared.as(controlplane.OperatorUser, "system:masters")
			Expect(asOperator.Patch(ctx, &rec, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"kausality.io/parent-uid":"another"}}}`)))).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				mended := shared.record(ctx, g, s.rs)
				g.Expect(mended.Labels).To(HaveKeyWithValue(record.LabelParentUID, string(s.d.UID)))
				g.Expect(mended.Status.ParentUID).To(HaveValue(Equal(s.d.UID)))
			}).Should(Succeed())
		}},
		{"keeping a record from being written, by naming one owner twice", func(ctx context.Context, s *scene) {
			d := shared.alice().deploy(ctx, builders.MakeDeployment(s.ns, "twice").Replicas(1))
			rs := shared.newestReplicaSet(ctx, d)
			owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "twice"}}
			Expect(s.rogue.Create(ctx, owner)).To(Succeed())
			named := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","name":"twice","uid":%q`, owner.UID)
			// The API server takes those for one that are the same in all.
			both := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"ownerReferences":[%s},%s,"blockOwnerDeletion":true}]}}`, named, named))
			Expect(s.rogue.Patch(ctx, d, both)).To(Succeed())
			Expect(d.OwnerReferences).To(HaveLen(2))
			refuse(s.rogue.try(ctx, rs, replicas(5)), "spec.replicas")
			Eventually(ctx, func(g Gomega) {
				rec := shared.record(ctx, g, d)
				g.Expect(rec.Status.Denials).To(BeEquivalentTo(1))
				g.Expect(rec.Status.Approved).To(HaveValue(HaveField("Parents", ConsistOf(string(owner.UID)))))
			}).Should(Succeed())
		}},
	}
}

// usedUp makes a custom resource whose allowances are used up, which only its record knows,
// and which has ceased to be ready since. Who tries to revive one of them changes its child.
func usedUp(ctx context.Context, ns string) (thing *unstructured.Unstructured, revive func() error) {
	GinkgoHelper()
	group := defineThings(ctx)
	shared.apply(ctx, thingPolicies(group)...)
	operated := &thingController{shared.as(thingControllerUser, "system:masters"), ns, reportObserved}
	admin := shared.as(alice, platformTeam, "system:masters")
	thing = builders.MakeThing(group, ns, "app")
	thing.Object["spec"] = map[string]any{"config": "a", "port": int64(80)}
	Expect(admin.Create(ctx, thing)).To(Succeed())
	Expect(operated.reconcile(ctx, thing)).To(Succeed())
	shared.over(ctx, thing)
	// Writing this mark later would take the used-up allowances out of the ledger.
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
		g.Expect(thing.GetAnnotations()).To(HaveKey(affectedKey))
	}).Should(Succeed())
	admin.setThing(ctx, thing, `{"config":"b"}`)
	Expect(operated.reconcile(ctx, thing)).To(Succeed())
	shared.over(ctx, thing)
	Expect(thing.GetAnnotations()).To(HaveKey(ledgerKey), "only the record is to know that it has ended")
	unready := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`))
	Expect(operated.Status().Patch(ctx, thing, unready)).To(Succeed())
	return thing, func() error {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "app"}}
		return operated.Patch(ctx, config, client.RawPatch(types.MergePatchType, []byte(`{"data":{"config":"z"}}`)))
	}
}
