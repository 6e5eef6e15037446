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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// releaseTime is longer than it takes until a gate opens that no policy names any more.
const releaseTime = 25 * time.Second

// disowning returns ways to have policies not be about instances any more, by what tells of
// their kind whose it is.
func disowning() []bypass {
	return []bypass{
		{"calling the provider of a kind otherwise", func(ctx context.Context, s *cloudScene) {
			revision := &unstructured.Unstructured{}
			revision.SetAPIVersion("pkg.crossplane.io/v1")
			revision.SetKind("ProviderRevision")
			revision.SetName("provider-aws-1")
			s.disown(ctx, "own-renamed", revision, merge(`{"metadata":{"labels":{"pkg.crossplane.io/package":"other"}}}`), "it is said to be of Provider other now")
		}},
		{"taking a kind from its provider", func(ctx context.Context, s *cloudScene) {
			s.disown(ctx, "own-disowned", instanceDefinition(), drop("/metadata/ownerReferences"), "nobody can tell whose it is now")
		}},
		{"taking a kind out of its category", func(ctx context.Context, s *cloudScene) {
			s.disown(ctx, "own-uncategorized", instanceDefinition(), drop("/spec/names/categories"), "")
		}},
	}
}

// disown has something changed that tells about the kind of an instance, and sees that the
// gate stays and does what it is for. What was changed is put back afterwards.
func (s *cloudScene) disown(ctx context.Context, name string, from *unstructured.Unstructured, change client.Patch, says string) {
	GinkgoHelper()
	i := ownInstance(ctx, name)
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(from), from)).To(Succeed())
	before := from.DeepCopy()
	Expect(s.rogue.Patch(ctx, from, change)).To(Succeed())
	putBack := func(ctx context.Context) error {
		now := before.DeepCopy()
		if err := shared.Get(ctx, client.ObjectKeyFromObject(now), now); err != nil {
			return err
		}
		fixed := now.DeepCopy()
		fixed.SetLabels(before.GetLabels())
		fixed.SetOwnerReferences(before.GetOwnerReferences())
		if categories, ok, _ := unstructured.NestedSlice(before.Object, "spec", "names", "categories"); ok {
			if err := unstructured.SetNestedSlice(fixed.Object, categories, "spec", "names", "categories"); err != nil {
				return err
			}
		}
		return shared.Patch(ctx, fixed, client.MergeFrom(now))
	}
	DeferCleanup(putBack)
	Expect(shared.cloud().Drift(ctx, name, cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
	// What is written to it makes everybody look.
	Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"metadata":{"labels":{"touched":"once"}}}`))).To(Succeed())
	Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
		WithTimeout(releaseTime).Should(Equal([]cloud.Verb{cloud.Create}))
	if says != "" {
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
			g.Expect(stage.Condition(i.instance, v1alpha1.ConditionGate)).To(And(
				HaveKeyWithValue("reason", "Closed"), HaveKeyWithValue("message", ContainSubstring(says))))
		}).Should(Succeed())
		Expect(i.explain(ctx)).To(ContainSubstring("The kind was of Provider"))
	}

	By("changing it as who may")
	Expect(i.by.Patch(ctx, i.instance.DeepCopy(), merge(sizeOf(i.instance, large)))).To(Succeed())
	shared.has(ctx, i.instance, large)
	i.closed(ctx)
	i.mutated(ctx, cloud.Create, cloud.Update)
	Expect(putBack(ctx)).To(Succeed())
}

// instanceDefinition returns what defines instances.
func instanceDefinition() *unstructured.Unstructured {
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("rdsinstances.rds.aws.crossplane.io")
	return definition
}

func drop(field string) client.Patch {
	return client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"`+field+`"}]`))
}
