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

package stage

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// Records returns the records of an object, which may have lived more than once.
func (c *Cluster) Records(ctx context.Context, g Gomega, obj client.Object) []v1alpha1.AllowanceRecord {
	GinkgoHelper()
	var list v1alpha1.AllowanceRecordList
	g.Expect(c.List(ctx, &list, client.InNamespace(obj.GetNamespace()),
		client.MatchingLabels{record.LabelTargetUID: string(obj.GetUID())})).To(Succeed())
	return list.Items
}

// Record returns the record of an object.
func (c *Cluster) Record(ctx context.Context, g Gomega, obj client.Object) v1alpha1.AllowanceRecord {
	GinkgoHelper()
	all := c.Records(ctx, g, obj)
	g.Expect(all).To(HaveLen(1), "AllowanceRecords of %s", obj.GetName())
	return all[0]
}

// Recorded returns the record of an object, once it has one that says something.
func (c *Cluster) Recorded(ctx context.Context, obj client.Object) v1alpha1.AllowanceRecord {
	GinkgoHelper()
	var rec v1alpha1.AllowanceRecord
	Eventually(ctx, func(g Gomega) {
		rec = c.Record(ctx, g, obj)
		g.Expect(rec.Status).NotTo(BeZero())
	}).Should(Succeed())
	return rec
}

// LedgerKey returns the annotation that has the ledger of an object.
func LedgerKey(obj client.Object) string {
	metadata := &unstructured.Unstructured{}
	metadata.SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	metadata.SetOwnerReferences(obj.GetOwnerReferences())
	return ledger.AnnotationKey(metadata, ledger.NameAllowances)
}

// WithheldOf returns the fields that the ledger of an object says are withheld.
func WithheldOf(obj client.Object) []string {
	GinkgoHelper()
	var entries []v1alpha1.Allowance
	if text := obj.GetAnnotations()[LedgerKey(obj)]; text != "" {
		Expect(json.Unmarshal([]byte(text), &entries)).To(Succeed())
	}
	paths := []string{}
	for _, a := range entries {
		if a.Relation == v1alpha1.RelationWithheld {
			paths = append(paths, a.Mutation)
		}
	}
	return paths
}
