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
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// scaling returns the ways of somebody who scales a custom resource by another version than policies
// name, which has a scale of its own.
func scaling() []bypass {
	return []bypass{
		{"scaling by a version that alone has a scale", func(ctx context.Context, s *scene) {
			thing := s.sized(ctx, "alone", "", ".spec.size")
			scaleRefused(ctx, s, thing, "spec.size of Thing sized")
			target := autoscalingv2.CrossVersionObjectReference{APIVersion: thing.GetAPIVersion(), Kind: "Thing", Name: thing.GetName()}
			delegated(s.rogue.Create(ctx, makeAutoscaler(thing.GetNamespace(), target, 5, 6)), "Thing sized")
		}},
		{"scaling by a version in which another field is the scale", func(ctx context.Context, s *scene) {
			scaleRefused(ctx, s, s.sized(ctx, "another", ".spec.other", ".spec.size"), "spec.size of Thing sized")
		}},
	}
}

// sized makes an object of a kind that is scaled by one path in the version that its policy names, none
// if empty, and by another one in the next version, in which the object is returned. The policy is about
// spec.size.
func (s *scene) sized(ctx context.Context, name, own, next string) *unstructured.Unstructured {
	GinkgoHelper()
	group := shared.defineThings(ctx, func(definition *apiextensionsv1.CustomResourceDefinition) {
		first := &definition.Spec.Versions[0]
		second := *first.DeepCopy()
		second.Name, second.Storage = "v2", false
		second.Subresources.Scale = scaleAt(next)
		if own != "" {
			first.Subresources.Scale = scaleAt(own)
		}
		definition.Spec.Versions = append(definition.Spec.Versions, second)
	})
	policies := name + "-sized-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	thing := builders.MakeThing(group, ns, "sized")
	thing.Object["spec"] = map[string]any{"size": int64(1), "other": int64(1)}
	Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, thing)).To(Succeed())
	shared.apply(ctx, ownPolicy(policies, group, "Thing", "  consumption: {ttl: 1s} # what is new may finish what it is doing as long"+refusing("spec.size")))
	thing.SetAPIVersion(group + "/v2")
	return thing
}

func scaleAt(path string) *apiextensionsv1.CustomResourceSubresourceScale {
	return &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: path, StatusReplicasPath: ".status.size"}
}

// scaleRefused checks that a stranger may not scale an object, and that an initiator may.
func scaleRefused(ctx context.Context, s *scene, thing *unstructured.Unstructured, what string) {
	GinkgoHelper()
	scale := func(who *actor, n int, opts ...client.SubResourcePatchOption) error {
		return who.SubResource("scale").Patch(ctx, thing.DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)), opts...)
	}
	Eventually(ctx, func() error { return scale(s.rogue, 7, client.DryRunAll) }).Should(MatchError(ContainSubstring(what)))
	refused(scale(s.rogue, 7), what)
	Expect(scale(shared.as(alice, platformTeam, "system:masters"), 2)).To(Succeed())
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
	Expect(thing.Object["spec"]).To(HaveKeyWithValue("size", int64(2)))
}
