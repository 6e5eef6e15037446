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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// changingChildren returns the requests by which a child can be changed.
func changingChildren() []bypass {
	return []bypass{
		{"updating a child", func(ctx context.Context, s *scene) {
			rs := s.rs.DeepCopy()
			rs.Spec.Replicas = new(int32(9))
			refuse(s.rogue.Update(ctx, rs), "changing spec.replicas of ReplicaSet "+rs.Name)
		}},
		{"patching a child as JSON", func(ctx context.Context, s *scene) {
			raw := []byte(`[{"op":"replace","path":"/spec/replicas","value":9}]`)
			refuse(s.rogue.Patch(ctx, s.rs.DeepCopy(), client.RawPatch(types.JSONPatchType, raw)), "spec.replicas")
		}},
		{"patching a child by merging", func(ctx context.Context, s *scene) {
			refuse(s.rogue.Patch(ctx, s.rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(replicas(9)))), "spec.replicas")
		}},
		{"applying a child with force", func(ctx context.Context, s *scene) {
			raw := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":%q},"spec":{"replicas":9}}`, s.rs.Name)
			refuse(s.rogue.Patch(ctx, s.rs.DeepCopy(), client.RawPatch(types.ApplyPatchType, []byte(raw)),
				client.ForceOwnership, client.FieldOwner("rogue")), "spec.replicas")
		}},
		{"scaling a child", func(ctx context.Context, s *scene) {
			refuse(s.rogue.scale(ctx, s.rs, 9), "spec.replicas")
		}},
		{"creating another child", func(ctx context.Context, s *scene) {
			refuse(s.rogue.Create(ctx, s.another("web-rogue", "")), "creation of ReplicaSet web-rogue")
		}},
		{"creating another child under a generated name", func(ctx context.Context, s *scene) {
			refuse(s.rogue.Create(ctx, s.another("", "web-")), "creation of ReplicaSet web-")
		}},
		{"deleting a child", func(ctx context.Context, s *scene) {
			refuse(s.rogue.Delete(ctx, s.rs), "deletion of ReplicaSet "+s.rs.Name)
		}},
		{"deleting all children at once", func(ctx context.Context, s *scene) {
			refuse(s.rogue.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, client.InNamespace(s.ns), client.MatchingLabels(s.d.Spec.Selector.MatchLabels)),
				"deletion of ReplicaSet "+s.rs.Name)
		}},
		{"keeping a child from its end with a finalizer", func(ctx context.Context, s *scene) {
			s.rogue.change(ctx, s.rs.DeepCopy(), `{"metadata":{"finalizers":["rogue.example.org/stay"]}}`)
			refuse(s.rogue.Delete(ctx, s.rs), "deletion of ReplicaSet "+s.rs.Name)
			s.rogue.change(ctx, s.rs.DeepCopy(), `{"metadata":{"$deleteFromPrimitiveList/finalizers":["rogue.example.org/stay"]}}`)
		}},
		{"changing a grandchild", func(ctx context.Context, s *scene) {
			refuse(s.rogue.try(ctx, s.pod(ctx), podImage("rogue")), "spec.containers[0].image of Pod")
		}},
		{"deleting a grandchild", func(ctx context.Context, s *scene) {
			refuse(s.rogue.Delete(ctx, s.pod(ctx)), "deletion of Pod")
		}},
		{"resizing a Pod", func(ctx context.Context, s *scene) {
			// One without a node, as those of the tests cannot resize.
			ns := s.strict(ctx, "resize", func(pod *corev1.PodSpec) {
				pod.SchedulerName = "none"
				pod.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m")}
			})
			raw := fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"resources":{"requests":{"cpu":"7m"}}}]}}`, builders.Container)
			refuse(s.rogue.SubResource("resize").Patch(ctx, shared.anyPod(ctx, ns), client.RawPatch(types.StrategicMergePatchType, []byte(raw))),
				"spec.containers[0].resources.requests.cpu")
		}},
		{"adding an ephemeral container to a Pod", func(ctx context.Context, s *scene) {
			raw := `{"spec":{"ephemeralContainers":[{"name":"rogue","image":"rogue"}]}}`
			refuse(s.rogue.SubResource("ephemeralcontainers").Patch(ctx, s.pod(ctx), client.RawPatch(types.StrategicMergePatchType, []byte(raw))),
				"spec.ephemeralContainers")
		}},
		{"evicting a Pod that no policy lets anybody delete", func(ctx context.Context, s *scene) {
			ns := s.strict(ctx, "evict", func(*corev1.PodSpec) {})
			pod := shared.anyPod(ctx, ns)
			refuse(s.rogue.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod.Name}}),
				"deletion of Pod "+pod.Name)
		}},
		{"hiding a change in a large object", func(ctx context.Context, s *scene) {
			annotations := make([]string, 30_000)
			for i := range annotations {
				annotations[i] = fmt.Sprintf(`"a%05d":""`, i)
			}
			refuse(s.rogue.try(ctx, s.rs.DeepCopy(), patch(`{"metadata":{"annotations":{`+strings.Join(annotations, ",")+`}},"spec":{"replicas":9}}`)),
				"spec.replicas")
		}},
		{"writing through another version of the kind", func(ctx context.Context, s *scene) { s.versioned(ctx) }},
		{"writing what only another version of the kind has", func(ctx context.Context, s *scene) { s.newer(ctx) }},
		{"opening a NetworkPolicy with an empty selector", func(ctx context.Context, s *scene) { s.opened(ctx) }},
	}
}

// another returns a ReplicaSet that names the Deployment as its owner.
func (s *scene) another(name, generateName string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{Spec: *s.rs.Spec.DeepCopy()}
	rs.Namespace, rs.Name, rs.GenerateName = s.ns, name, generateName
	rs.OwnerReferences, rs.Labels = s.rs.OwnerReferences, s.rs.Labels
	return rs
}

func podImage(image string) patch {
	return patch(fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":%q}]}}`, builders.Container, image))
}

// strict returns a namespace with a ReplicaSet of one Pod, which is replaced when it is
// lost, and may be deleted by nobody.
func (s *scene) strict(ctx context.Context, name string, with func(*corev1.PodSpec)) string {
	policies := name + "-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, ownPolicy(policies, "apps", "ReplicaSet", `
  consumption: {when: "object.status.replicas == 1"}
  maintaining:
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
`))
	rs := s.another("strict", "")
	rs.Namespace, rs.OwnerReferences, rs.Spec.Replicas = ns, nil, new(int32(1))
	with(&rs.Spec.Template.Spec)
	Expect(shared.alice().Create(ctx, rs)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
		g.Expect(rs.Status.Replicas).To(BeEquivalentTo(1))
		g.Expect(rs.Annotations).NotTo(HaveKey(ledgerKey))
	}).Should(Succeed())
	return ns
}

// versioned tries to change a child by a version of its kind that the policy does
// not name.
func (s *scene) versioned(ctx context.Context) {
	child := &autoscalingv1.HorizontalPodAutoscaler{
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"}, MaxReplicas: 3,
		},
	}
	s.bounded(ctx, "versions", child, "{apiGroup: autoscaling, apiVersion: v2, resource: horizontalpodautoscalers}")
	s.denied(ctx, child, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"maxReplicas":9}}`)),
		"changing spec.maxReplicas of HorizontalPodAutoscaler child")
}

// newer tries to change what the version that the policy names does not have: by the
// version that has it, and by the annotation that stands for it.
func (s *scene) newer(ctx context.Context) {
	child := &autoscalingv1.HorizontalPodAutoscaler{
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"}, MaxReplicas: 3,
		},
	}
	s.bounded(ctx, "newer", child, "{apiGroup: autoscaling, apiVersion: v1, resource: horizontalpodautoscalers}")
	byField := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: child.Namespace, Name: child.Name}}
	s.denied(ctx, byField, client.RawPatch(types.MergePatchType, []byte(
		`{"spec":{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}},`+
			`{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":1}}}]}}`)),
		"spec.metrics of HorizontalPodAutoscaler child")
	s.denied(ctx, byField, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"behavior":{"scaleDown":{"selectPolicy":"Disabled"}}}}`)),
		"spec.behavior of HorizontalPodAutoscaler child")
	s.denied(ctx, child, client.RawPatch(types.MergePatchType, []byte(
		`{"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"targetAverageUtilization\":1}}]"}}}`)),
		"spec.metrics of HorizontalPodAutoscaler child")
}

// opened tries to let the Pods of all namespaces in where a NetworkPolicy lets those of
// its own in.
func (s *scene) opened(ctx context.Context) {
	only := func(app string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	child := &networkingv1.NetworkPolicy{
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *only("db"),
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: only("web")}}}},
		},
	}
	s.bounded(ctx, "selectors", child, "{apiGroup: networking.k8s.io, apiVersion: v1, resource: networkpolicies}")
	s.denied(ctx, child, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/ingress/0/from/0/namespaceSelector","value":{}}]`)),
		"adding spec.ingress[0].from[0].namespaceSelector of NetworkPolicy child")
}

// bounded makes a child of a ConfigMap in a namespace of its own, whose policy lets
// the target be changed after the data of the ConfigMap.
func (s *scene) bounded(ctx context.Context, name string, child client.Object, target string) {
	GinkgoHelper()
	policies := name + "-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "parent"}}
	Expect(s.rogue.Create(ctx, parent)).To(Succeed())
	child.SetNamespace(ns)
	child.SetName("child")
	child.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	Expect(s.rogue.Create(ctx, child)).To(Succeed())
	shared.apply(ctx, ownPolicy(policies, "", "ConfigMap", fmt.Sprintf(`
  consumption: {ttl: 1s} # what is new may finish what it is doing as long
  rules:
  - trigger: data
    policies:
    - {target: %s, relation: ControllerChild}
`, target)))
}

// denied waits until the policy of a child is in effect, and checks that it denies a
// change of the child.
func (s *scene) denied(ctx context.Context, child client.Object, change client.Patch, what string) {
	GinkgoHelper()
	try := func(opts ...client.PatchOption) error {
		copied, _ := child.DeepCopyObject().(client.Object)
		return s.rogue.Patch(ctx, copied, change, opts...)
	}
	Eventually(ctx, func() error { return try(client.DryRunAll) }).Should(MatchError(ContainSubstring(what)))
	refuse(try(), what)
}
