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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// usingDeputies returns the ways to have something scaled by a controller that may.
func usingDeputies() []bypass {
	return []bypass{
		{"making an autoscaler for the parent", func(ctx context.Context, s *scene) {
			delegated(s.rogue.Create(ctx, makeAutoscaler(s.ns, scaleTarget("Deployment", "web"), 5, 6)), "Deployment web", mallory+" may not initiate")
			expectSize(ctx, s.d)
		}},
		{"making an autoscaler for the parent by a kind in lower case", func(ctx context.Context, s *scene) {
			delegated(s.rogue.Create(ctx, makeAutoscaler(s.ns, scaleTarget("deployment", "web"), 5, 6)), "Deployment web", mallory+" may not initiate")
			expectSize(ctx, s.d)
		}},
		{"changing the autoscaler of the parent", func(ctx context.Context, s *scene) {
			hpa := s.autoscaled(ctx)
			delegated(s.rogue.Patch(ctx, hpa.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"minReplicas":5,"maxReplicas":6}}`))), "Deployment web")
			Expect(s.rogue.Patch(ctx, hpa.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"tool":"again"}},"spec":{"maxReplicas":3}}`)))).
				To(Succeed(), "what is applied again as it is")
			expectSize(ctx, s.d)
			Expect(s.rogue.Delete(ctx, hpa)).To(Succeed())
		}},
		{"changing the autoscaler of the parent by an older version", func(ctx context.Context, s *scene) {
			hpa := s.autoscaled(ctx)
			old := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: hpa.Namespace, Name: hpa.Name}}
			delegated(s.rogue.Patch(ctx, old, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"minReplicas":2}}`))), "Deployment web")
			delegated(s.rogue.Patch(ctx, old, client.RawPatch(types.MergePatchType, []byte(
				`{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/behavior":"{\"ScaleDown\":{\"SelectPolicy\":\"Disabled\",\"Policies\":[{\"Type\":\"Percent\",\"Value\":100,\"PeriodSeconds\":15}]}}"}}}`))), "Deployment web")
			Expect(s.rogue.Delete(ctx, hpa)).To(Succeed())
		}},
		{"pointing an autoscaler at the parent", func(ctx context.Context, s *scene) {
			hpa := makeAutoscaler(s.ns, autoscalingv2.CrossVersionObjectReference{APIVersion: "example.org/v1", Kind: "Thing", Name: "mine"}, 5, 6)
			Expect(s.rogue.Create(ctx, hpa)).To(Succeed(), "one that is nobody's business")
			delegated(s.rogue.Patch(ctx, hpa.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(
				`{"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`))), "Deployment web")
			Expect(s.rogue.Delete(ctx, hpa)).To(Succeed())
		}},
		{"making an autoscaler for a parent that does not exist yet", func(ctx context.Context, s *scene) {
			delegated(s.rogue.Create(ctx, makeAutoscaler(s.ns, scaleTarget("Deployment", "later"), 5, 6)), "Deployment later")
		}},
		{"making an autoscaler for a parent that is going", func(ctx context.Context, s *scene) {
			d := builders.MakeDeployment(s.ns, "going").Replicas(1).Obj()
			d.Finalizers = []string{"example.org/waits"}
			Expect(shared.alice().Create(ctx, d)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				Expect(shared.alice().try(ctx, d, `{"metadata":{"finalizers":null}}`)).To(Succeed())
			})
			Expect(s.rogue.Delete(ctx, d)).To(Succeed())
			delegated(s.rogue.Create(ctx, makeAutoscaler(s.ns, scaleTarget("Deployment", d.Name), 5, 6)), "Deployment going", mallory+" may not initiate")
		}},
		{"making an autoscaler for a parent that is new", func(ctx context.Context, s *scene) {
			policies := "phases-" + s.ns
			ns := shared.newNamespaceFor(ctx, policies)
			shared.apply(ctx, ownPolicy(policies, "apps", "Deployment", `
  rules:
  - trigger: spec.replicas
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: spec.replicas}]}
`))
			paused := func(who *actor, name string) {
				d := builders.MakeDeployment(ns, name).Replicas(1).Obj()
				d.Spec.Paused = true
				Expect(who.Create(ctx, d)).To(Succeed())
			}
			paused(shared.alice(), "hers")
			paused(s.rogue, "mine")
			delegated(s.rogue.Create(ctx, makeAutoscaler(ns, scaleTarget("Deployment", "hers"), 5, 6)), "Deployment hers")
			Expect(s.rogue.Create(ctx, makeAutoscaler(ns, scaleTarget("Deployment", "mine"), 5, 6))).To(Succeed(), "that of who made the parent")
		}},
		{"making an autoscaler for a child", func(ctx context.Context, s *scene) {
			delegated(s.rogue.Create(ctx, makeAutoscaler(s.ns, scaleTarget("ReplicaSet", s.rs.Name), 5, 6)), "is not allowed by its parent Deployment web")
		}},
		{"having an autoscaler carry out a number that is withheld", func(ctx context.Context, s *scene) {
			hpa := s.autoscaled(ctx)
			for _, number := range []int32{30, 0} {
				refused(s.rogue.try(ctx, s.deployment(ctx), replicas(number)), "spec.replicas", "Deployment web was refused",
					"It could not wait: HorizontalPodAutoscaler web goes on from the number that Deployment web has")
			}
			expectSize(ctx, s.d)
			Expect(s.rogue.Delete(ctx, hpa)).To(Succeed())
			s.rogue.change(ctx, s.deployment(ctx), replicas(30))
			Expect(s.rogue.warned.take()).To(ContainSubstring("withheld"), "no autoscaler goes by it any more")

			By("an initiator making one")
			owner := shared.as(alice, platformTeam, "system:masters")
			again := func() error { return owner.Create(ctx, makeAutoscaler(s.ns, scaleTarget("Deployment", "web"), 3, 4)) }
			Expect(again()).To(And(MatchError(denied, "denied"),
				MatchError(ContainSubstring("HorizontalPodAutoscaler web would carry out what is withheld of Deployment web")),
				MatchError(ContainSubstring("the change of spec.replicas by "+mallory+" is withheld")),
				MatchError(ContainSubstring("kubectl annotate -n "+s.ns+" deployment web kausality.io/approve="))))
			s.rogue.change(ctx, s.deployment(ctx), replicas(3))
			Expect(again()).To(Succeed())
			Expect(owner.Delete(ctx, hpa)).To(Succeed(), "others change the number after this")
		}},
		{"making a ScaledObject for the parent", func(ctx context.Context, s *scene) {
			defineScaledObjects(ctx, s.ns)
			delegated(s.rogue.Create(ctx, scaledObject(s.ns, "web")), "ScaledObject web would scale Deployment web")
			Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, scaledObject(s.ns, "web"))).To(Succeed())
			delegated(s.rogue.Patch(ctx, scaledObject(s.ns, "web"), client.RawPatch(types.MergePatchType, []byte(
				`{"metadata":{"annotations":{"autoscaling.keda.sh/paused-replicas":"0"}}}`))), "Deployment web")
		}},
		{"making what a policy knows to scale the parent", func(ctx context.Context, s *scene) {
			group := defineThings(ctx)
			shared.apply(ctx, parsePolicies(strings.ReplaceAll(scalingPolicy, "GROUP", group))...)
			scaling := builders.MakeThing(group, s.ns, "scaling")
			scaling.Object["spec"] = map[string]any{"of": map[string]any{"apiVersion": "example.org/v1", "kind": "Other", "name": "web"}}
			Expect(s.rogue.Create(ctx, scaling)).To(Succeed(), "nobody governs that")
			scaling = builders.MakeThing(group, s.ns, "scales")
			scaling.Object["spec"] = map[string]any{"of": map[string]any{"name": "web"}}
			delegated(s.rogue.Create(ctx, scaling.DeepCopy()), "Thing scales would scale Deployment web")
			Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, scaling)).To(Succeed())
			delegated(s.rogue.Patch(ctx, scaling, client.RawPatch(types.MergePatchType, []byte(
				`{"metadata":{"annotations":{"example.org/paused":"true"}}}`))), "Deployment web")
		}},
	}
}

// scalingPolicy is for a kind that has Deployments scaled, as nobody here knows.
const scalingPolicy = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: "scaling-GROUP"}
spec:
  for: {apiGroup: GROUP, apiVersion: v1, kind: Thing}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  knowledge:
    scales:
      target: {apiGroup: GROUP, apiVersion: v1, resource: things}
      reference: spec.of
      apiGroup: apps
      kind: Deployment
      annotations: [example.org/paused]
  rules:
  - trigger: spec.unused
`

// delegated checks that a request was refused for what would be scaled.
func delegated(err error, parts ...string) {
	GinkgoHelper()
	Expect(err).To(MatchError(denied, "denied"))
	for _, part := range append(parts, "in the name of its own controller") {
		Expect(err).To(MatchError(ContainSubstring(part)))
	}
}

// autoscaled gives the Deployment an autoscaler of alice's, which leaves it as large as it is.
func (s *scene) autoscaled(ctx context.Context) *autoscalingv2.HorizontalPodAutoscaler {
	GinkgoHelper()
	hpa := makeAutoscaler(s.ns, scaleTarget("Deployment", "web"), 3, 3)
	Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, hpa)).To(Succeed())
	return hpa
}

func scaleTarget(kind, name string) autoscalingv2.CrossVersionObjectReference {
	return autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name}
}

// expectSize expects a Deployment to have the number of replicas that it was created with.
func expectSize(ctx context.Context, d *appsv1.Deployment) {
	GinkgoHelper()
	live := &appsv1.Deployment{}
	Expect(shared.Get(ctx, client.ObjectKeyFromObject(d), live)).To(Succeed())
	Expect(live.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
}

var scaledObjectKind = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}

func scaledObject(namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"scaleTargetRef": map[string]any{"name": name}}}}
	obj.SetGroupVersionKind(scaledObjectKind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// defineScaledObjects defines the kind without what acts on it, and waits until objects of
// it are judged.
func defineScaledObjects(ctx context.Context, namespace string) {
	GinkgoHelper()
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "scaledobjects." + scaledObjectKind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: scaledObjectKind.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "scaledobjects", Singular: "scaledobject", Kind: scaledObjectKind.Kind, ListKind: "ScaledObjectList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: scaledObjectKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
	Expect(shared.Create(ctx, definition)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return shared.Delete(ctx, definition) })
	Eventually(ctx, func() error {
		other := scaledObject(namespace, "other")
		_ = unstructured.SetNestedField(other.Object, "Thing", "spec", "scaleTargetRef", "kind")
		return shared.Create(ctx, other, client.DryRunAll)
	}).Should(Succeed(), scaledObjectKind.Kind+" is not served")
}
