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
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// The controllers of EndpointSlices, and what each calls itself in a label of these.
const (
	endpointSliceController  = "system:serviceaccount:kube-system:endpointslice-controller"
	endpointSliceManager     = "endpointslice-controller.k8s.io"
	endpointMirrorController = "system:serviceaccount:kube-system:endpointslicemirroring-controller"
	endpointMirrorManager    = "endpointslicemirroring-controller.k8s.io"
)

// relabelingEndpoints returns the ways to have a controller of Kubernetes not find any more what
// it has made, by the labels and annotations that it tells that by.
func relabelingEndpoints() []bypass {
	return []bypass{
		{"relabeling an EndpointSlice, so that its Service has no endpoints", relabelEndpoints},
		{"relabeling an EndpointSlice that mirrors Endpoints", relabelMirror},
		{"taking the claim of a Pod for another of its claims", mistakeClaims},
	}
}

// relabelEndpoints has a stranger relabel the EndpointSlice of a Service, whose controller goes on.
func relabelEndpoints(ctx context.Context, s *scene) {
	GinkgoHelper()
	ns := s.endpointsUnder(ctx, "Service", "spec", "endpointslice-controller")
	alice, audit := s.powerful(), shared.watch(ns)
	d := builders.MakeDeployment(ns, "web").Replicas(2).Obj()
	Expect(alice.Create(ctx, d)).To(Succeed())
	service := makeService(ns, map[string]string{"app": "web"})
	Expect(alice.Create(ctx, service)).To(Succeed())
	slice := shared.endpointSlice(ctx, ns, endpointSliceManager, 2)
	s.keepsLabels(ctx, slice, "Service web", discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, corev1.IsHeadlessService)
	Expect(s.rogue.try(ctx, slice.DeepCopy(), label("example.org/note", "mine"))).To(Succeed(), "other labels are anybody's")

	By("relabeling that of a Service without a policy")
	unbounded := shared.newNamespaceFor(ctx, "endpoints-of-nobody")
	Expect(alice.Create(ctx, makeService(unbounded, service.Spec.Selector))).To(Succeed())
	Expect(s.rogue.try(ctx, shared.endpointSlice(ctx, unbounded, endpointSliceManager, 0), label(discoveryv1.LabelServiceName, "other"))).To(Succeed())

	By("having Pods come and go")
	for _, n := range []int32{3, 1} {
		alice.change(ctx, d, replicas(n))
		Expect(shared.endpointSlice(ctx, ns, endpointSliceManager, int(n)).UID).To(Equal(slice.UID))
	}

	By("having its controller write labels")
	alice.change(ctx, service, label("example.org/team", "web"))
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(slice), slice)).To(Succeed())
		g.Expect(slice.Labels).To(And(HaveKeyWithValue("example.org/team", "web"), Not(HaveKey("example.org/note"))))
	}).Should(Succeed())

	By("leaving one for the Service without an owner")
	free := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: ns, Name: "free", Labels: slice.Labels},
		AddressType: slice.AddressType, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}}, Ports: slice.Ports,
	}
	Expect(s.rogue.Create(ctx, free)).To(Succeed(), "it is nobody's child")
	Eventually(ctx, func() error { return shared.Get(ctx, client.ObjectKeyFromObject(free), free) }).Should(MatchError(apierrors.IsNotFound, "gone"))
	Expect(shared.endpointSlice(ctx, ns, endpointSliceManager, 1).UID).To(Equal(slice.UID))

	By("having a Service that is a headless one now")
	alice.change(ctx, service, `{"spec":{"type":"ExternalName","externalName":"web.example.org"}}`,
		`{"spec":{"type":"ClusterIP","externalName":null,"clusterIP":"None"}}`)
	alice.change(ctx, service, label("example.org/team", "other"))
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(slice), slice)).To(Succeed())
		g.Expect(slice.Labels).To(And(HaveKey(corev1.IsHeadlessService), HaveKeyWithValue("example.org/team", "other")))
	}).Should(Succeed())
	alice.change(ctx, d, replicas(2))
	shared.endpointSlice(ctx, ns, endpointSliceManager, 2)
	refuse(s.rogue.try(ctx, slice, patch(fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, corev1.IsHeadlessService))),
		"metadata.labels["+corev1.IsHeadlessService+"]", "Service web")
	Expect(audit.writes(controlplane.ByUser(endpointSliceController), controlplane.Refused(http.StatusForbidden))).To(BeEmpty())
	Expect(audit.refusals()).To(BeEmpty())
}

// relabelMirror has a stranger relabel the EndpointSlice of Endpoints, whose controller goes on.
func relabelMirror(ctx context.Context, s *scene) {
	GinkgoHelper()
	ns := s.endpointsUnder(ctx, "Endpoints", "subsets", "endpointslicemirroring-controller")
	alice, audit := s.powerful(), shared.watch(ns)
	Expect(alice.Create(ctx, makeService(ns, nil))).To(Succeed())
	endpoints := &unstructured.Unstructured{Object: map[string]any{"subsets": subsets("192.0.2.1")}}
	endpoints.SetAPIVersion("v1")
	endpoints.SetKind("Endpoints")
	endpoints.SetNamespace(ns)
	endpoints.SetName("web")
	Expect(alice.Create(ctx, endpoints)).To(Succeed())
	slice := shared.endpointSlice(ctx, ns, endpointMirrorManager, 1)
	s.keepsLabels(ctx, slice, "Endpoints web", discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy)

	By("having other endpoints, and another label")
	base := endpoints.DeepCopy()
	endpoints.Object["subsets"] = subsets("192.0.2.1", "192.0.2.2")
	endpoints.SetLabels(map[string]string{"example.org/team": "web"})
	Expect(alice.Patch(ctx, endpoints, client.MergeFrom(base))).To(Succeed())
	now := shared.endpointSlice(ctx, ns, endpointMirrorManager, 2)
	Expect(now.UID).To(Equal(slice.UID))
	Expect(now.Labels).To(HaveKeyWithValue("example.org/team", "web"))
	Expect(audit.writes(controlplane.ByUser(endpointMirrorController), controlplane.Refused(http.StatusForbidden))).To(BeEmpty())
	Expect(audit.refusals()).To(BeEmpty())
}

// mistakeClaims has a stranger say of the claims of a Pod that they are others.
func mistakeClaims(ctx context.Context, s *scene) {
	GinkgoHelper()
	policies := "claims-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, ownPolicy(policies, "", "Pod", `
  initializing:
    policies:
    - {target: {apiGroup: resource.k8s.io, apiVersion: v1, resource: resourceclaims}, relation: ControllerChild, verbs: [Create]}
`))
	alice, audit := s.powerful(), shared.watch(ns)
	Expect(alice.Create(ctx, makeClaimTemplate(ns))).To(Succeed())
	pod := makeClaimingPod(ns, "first", "second")
	Expect(alice.Create(ctx, pod)).To(Succeed())
	var claims resourcev1.ResourceClaimList
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.List(ctx, &claims, client.InNamespace(ns))).To(Succeed())
		g.Expect(claims.Items).To(HaveLen(2))
	}).Should(Succeed())
	for i := range claims.Items {
		claim := &claims.Items[i]
		for _, p := range []patch{annotation(resourcev1.PodResourceClaimAnnotation, "other"), noAnnotation(resourcev1.PodResourceClaimAnnotation)} {
			refuse(s.rogue.try(ctx, claim.DeepCopy(), p), "metadata.annotations["+resourcev1.PodResourceClaimAnnotation+"]", "Pod web")
		}
	}
	Expect(s.rogue.try(ctx, &claims.Items[0], annotation("example.org/note", "mine"))).To(Succeed(), "other annotations are anybody's")
	Expect(audit.refusals()).To(BeEmpty())
}

// endpointsUnder returns a namespace with a policy for a kind whose EndpointSlices a controller keeps:
// that may do anything with them, at any time.
func (s *scene) endpointsUnder(ctx context.Context, kind, trigger, controller string) string {
	GinkgoHelper()
	const entry = `{target: {apiGroup: discovery.k8s.io, apiVersion: v1, resource: endpointslices}, relation: ControllerChild, verbs: ["*"]}`
	policies := "endpoints-" + controller + "-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, forOwn(policies, parsePolicies(fmt.Sprintf(`
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: own}
spec:
  for: {apiGroup: "", apiVersion: v1, kind: %s}
  uncausedChanges: Refuse
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: kube-system, name: %s}
  maintaining:
    policies: [%s]
  rules:
  - trigger: %s
    policies: [%s]
`, kind, controller, entry, trigger, entry)))...)
	return ns
}

// keepsLabels checks that a stranger is refused to change labels of an object, one by one and all at once.
func (s *scene) keepsLabels(ctx context.Context, obj client.Object, parent string, keys ...string) {
	GinkgoHelper()
	try := func(p patch) error {
		copied, ok := obj.DeepCopyObject().(client.Object)
		Expect(ok).To(BeTrue())
		return s.rogue.try(ctx, copied, p)
	}
	for _, key := range keys {
		refuse(try(label(key, "other")), "metadata.labels["+key+"]", parent)
		if _, has := obj.GetLabels()[key]; has {
			refuse(try(patch(fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key))), "metadata.labels["+key+"]", parent)
		}
	}
	refuse(try(`{"metadata":{"labels":null}}`), "metadata.labels", parent)
}

// endpointSlice returns the one EndpointSlice that a controller keeps for the Service web, once it has so many endpoints.
func (c *cluster) endpointSlice(ctx context.Context, ns, manager string, endpoints int) *discoveryv1.EndpointSlice {
	GinkgoHelper()
	var list discoveryv1.EndpointSliceList
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: manager,
		})).To(Succeed())
		g.Expect(list.Items).To(ConsistOf(HaveField("Endpoints", HaveLen(endpoints))))
	}).Should(Succeed())
	return &list.Items[0]
}

// makeService makes the Service web of Pods with these labels, with one port.
func makeService(ns string, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// subsets are those of Endpoints with some addresses.
func subsets(ips ...string) []any {
	addresses := make([]any, 0, len(ips))
	for _, ip := range ips {
		addresses = append(addresses, map[string]any{"ip": ip})
	}
	return []any{map[string]any{"addresses": addresses, "ports": []any{map[string]any{"port": int64(80)}}}}
}

// makeClaimTemplate makes the template device, of claims that no driver serves.
func makeClaimTemplate(ns string) *resourcev1.ResourceClaimTemplate {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "device"}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "none.example.org"},
	}}
	return template
}

// makeClaimingPod makes the Pod web, which claims devices by these names and so runs nowhere.
func makeClaimingPod(ns string, names ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec:       builders.MakeStatefulSet(ns, "web", 1).Spec.Template.Spec,
	}
	for _, name := range names {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: new("device")})
	}
	return pod
}
