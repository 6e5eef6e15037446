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
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	retentioncontroller "kausality.io/operator/internal/controller/retention"
	"kausality.io/operator/internal/record"
)

var _ = Describe("Records of what is gone", func() {
	It("are deleted by age and by count, once they are known to be of what is gone", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		p := startParts(ctx, deployments)

		targetNamed := func(kind, name string, uid types.UID) v1alpha1.TargetReference {
			return v1alpha1.TargetReference{Version: "v1", Kind: kind, Namespace: namespace, Name: name, UID: uid}
		}
		recordFor := func(ref v1alpha1.TargetReference, ended time.Duration) string {
			GinkgoHelper()
			rec := &v1alpha1.AllowanceRecord{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: record.Name(ref)},
				Spec:       v1alpha1.AllowanceRecordSpec{TargetRef: ref},
			}
			Expect(k8s.Create(ctx, rec)).To(Succeed())
			rec.Status.Phase = v1alpha1.PhaseSteady
			if ended > 0 {
				at := metav1.NewTime(time.Now().Add(-ended))
				rec.Status.Phase, rec.Status.EndedAt = v1alpha1.PhaseDeleting, &at
			}
			Expect(k8s.Status().Update(ctx, rec)).To(Succeed())
			return rec.Name
		}
		living := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "living"}}
		Expect(k8s.Create(ctx, living)).To(Succeed())

		kept := []string{recordFor(targetNamed("ConfigMap", living.Name, living.UID), 0)}
		unnoticed := []string{
			recordFor(targetNamed("ConfigMap", "gone", "a"), 0),
			recordFor(targetNamed("ConfigMap", living.Name, "an earlier one"), 0),
			recordFor(targetNamed("NotServedAnyMore", "gone", "b"), 0),
		}
		kept = append(kept, unnoticed...)
		for i := range 5 {
			ref := targetNamed("ConfigMap", fmt.Sprint("ended-", i), types.UID(fmt.Sprint("ended-", i)))
			name := recordFor(ref, time.Duration(60-i)*time.Minute)
			// Of eight that have ended, three of them just now, there is room for five.
			if i >= 3 {
				kept = append(kept, name)
			}
		}
		ref := targetNamed("ConfigMap", "old", "old")
		recordFor(ref, 3*time.Hour)

		running, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		// A sweep looks at some of all records: those of other specs are many.
		ours := client.NewNamespacedClient(k8s, namespace)
		records := record.NewStore(record.Config{Client: ours, Live: ours, OperatorNamespace: operatorNamespace})
		// What is unnoticed at the first sweep counts at the next.
		for range 2 {
			retention := &retentioncontroller.Reconciler{
				Client: ours, Holders: p.holders, Looked: p.holders.Looked(), Records: records, Clock: clock.RealClock{}, Age: 2 * time.Hour, Count: 5,
			}
			go func() { done <- retention.Start(running) }()
			Eventually(func(g Gomega) {
				for _, name := range unnoticed {
					var rec v1alpha1.AllowanceRecord
					g.Expect(k8s.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &rec)).To(Succeed())
					g.Expect(rec.Status).To(And(HaveField("EndedAt", Not(BeNil())), HaveField("Phase", v1alpha1.PhaseDeleting)))
				}
			}).WithContext(ctx).Should(Succeed())
		}
		Eventually(func(g Gomega) {
			var list v1alpha1.AllowanceRecordList
			g.Expect(k8s.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
			g.Expect(names).To(ConsistOf(kept))
		}).WithContext(ctx).Should(Succeed())
		stop()
		Expect(<-done).To(Succeed())
		Expect(<-done).To(Succeed())
	}, SpecTimeout(time.Minute))
})
