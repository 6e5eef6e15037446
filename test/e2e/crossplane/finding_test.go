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

package crossplane

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/crossplane/cloud"
)

// finding returns ways to have Crossplane find something else than what it has made.
func finding() []bypass {
	return []bypass{
		{"naming another resource as what a new composite resource is composed of", func(ctx context.Context, s *cloudScene) {
			i := provision(ctx, bypassNamingGroup, databaseKind, "")
			other := managed(i.instance.GroupVersionKind().GroupVersion(), "other")
			other.SetNamespace(i.instance.GetNamespace())
			other.SetAnnotations(map[string]string{
				"crossplane.io/composition-resource-name": "instance", "crossplane.io/external-name": s.victim,
			})
			Expect(unstructured.SetNestedStringSlice(other.Object, []string{"Observe"}, "spec", "managementPolicies")).To(Succeed())
			Expect(s.rogue.Create(ctx, other)).To(Succeed())
			named := merge(fmt.Sprintf(`{"spec":{"crossplane":{"resourceRefs":[{"apiVersion":%q,"kind":%q,"name":"other"}]}}}`,
				other.GetAPIVersion(), other.GetKind()))
			for _, patch := range []client.Patch{named, merge(`{"spec":{"crossplane":{"resourceRefs":null}}}`)} {
				Expect(s.rogue.Patch(ctx, i.database.DeepCopy(), patch)).To(MatchError(And(
					ContainSubstring("by spec.crossplane.resourceRefs Crossplane finds what it has made for Database main"),
					ContainSubstring("for who may initiate on it: Group platform-team"))))
			}

			By("changing it as who may")
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			i.mutated(ctx, cloud.Create, cloud.Update)
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(other), other)).To(Succeed())
			Expect(other.GetOwnerReferences()).To(BeEmpty())

			By("naming it as who may")
			Expect(i.by.Patch(ctx, i.database.DeepCopy(), named, client.DryRunAll)).To(Succeed())
		}},
	}
}
