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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// losingRecords are the ways to have what is kept in records, and nowhere else,
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
	}
}
