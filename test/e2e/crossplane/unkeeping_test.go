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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/stage"
)

// unkeeping returns ways to have a resource gone before its provider has seen that it is deleted.
func unkeeping() []bypass {
	return []bypass{
		{"taking the finalizers off what is held back", func(ctx context.Context, s *cloudScene) {
			going, staying := ownInstance(ctx, "own-unkept"), ownInstance(ctx, "own-unkept-stays")
			for _, i := range []*gatedInstance{going, staying} {
				// There may be others than its provider who have to see that it goes.
				Expect(s.rogue.Patch(ctx, i.instance, merge(`{"metadata":{"finalizers":["`+i.instance.GetFinalizers()[0]+`","example.org/mine"]}}`))).To(Succeed())
				Expect(s.rogue.Delete(ctx, i.instance.DeepCopy())).To(Succeed())
				i.held(ctx)
				for _, who := range []*stage.Actor{s.rogue, i.by, shared.collector()} {
					Expect(who.Patch(ctx, i.instance.DeepCopy(), unkept())).To(MatchError(And(
						ContainSubstring("the deletion of RDSInstance "+i.instance.GetName()+" is held back: without "+i.instance.GetFinalizers()[0]),
						ContainSubstring("Group platform-team may let it go and keep what is outside: kubectl annotate"), ContainSubstring(v1alpha1.AnnotationOrphan),
						ContainSubstring("Group platform-team may have both deleted: kubectl delete"))))
				}
				Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"metadata":{"finalizers":["example.org/mine"]}}`))).To(MatchError(stage.Denied, "denied"))
			}

			By("taking off another one")
			for _, i := range []*gatedInstance{going, staying} {
				Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"metadata":{"finalizers":["`+i.instance.GetFinalizers()[0]+`"]}}`))).To(Succeed())
				i.held(ctx)
			}

			By("having it go as who may, with what it is in the cloud, and without")
			Expect(going.by.Delete(ctx, going.instance.DeepCopy())).To(Succeed())
			Expect(staying.by.Patch(ctx, staying.instance.DeepCopy(), orphan())).To(Succeed())
			shared.Gone(ctx, going.instance, staying.instance)
			going.mutated(ctx, cloud.Create, cloud.Delete)
			staying.mutated(ctx, cloud.Create)
		}},
		{"taking the finalizers off before the deletion", func(ctx context.Context, s *cloudScene) {
			i := ownInstance(ctx, "own-bare")
			// Its provider puts them back unless somebody pauses it.
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`))).To(Succeed())
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), unkept())).To(Succeed())
			for _, who := range []*stage.Actor{s.rogue, i.by, shared.collector()} {
				Expect(who.Delete(ctx, i.instance.DeepCopy())).To(MatchError(And(
					ContainSubstring("no finalizer of its provider"), ContainSubstring(v1alpha1.AnnotationOrphan))))
			}
			Expect(shared.Get(ctx, client.ObjectKeyFromObject(i.instance), i.instance)).To(Succeed())
			Expect(i.instance.GetDeletionTimestamp()).To(BeNil())
			Expect(i.instance.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationGateHeld))

			By("having its provider put them back")
			Expect(s.rogue.Patch(ctx, i.instance.DeepCopy(), merge(`{"metadata":{"annotations":{"crossplane.io/paused":null}}}`))).To(Succeed())
			Eventually(ctx, func() error { return s.rogue.Delete(ctx, i.instance.DeepCopy()) }).Should(Succeed())
			i.held(ctx)
			Expect(i.by.Delete(ctx, i.instance.DeepCopy())).To(Succeed())
			shared.Gone(ctx, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Delete)
		}},
	}
}

// unkept returns a patch that takes all finalizers off, as people do whose deletion hangs.
func unkept() client.Patch { return merge(`{"metadata":{"finalizers":null}}`) }
