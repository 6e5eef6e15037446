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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/policy"
)

// operatorUser is who the operator is in these specs, and operatorNamespace where
// it lives.
const (
	operatorNamespace = "kausality-system"
	operatorUser      = "system:serviceaccount:kausality-system:kausality-controller-manager"
)

// The annotations that hold ledgers.
const (
	ledgerKey           = v1alpha1.AnnotationAllowances
	replicaSetLedgerKey = v1alpha1.ReplicaSetAnnotationPrefix + "allowances"
)

// newResolver knows nothing yet.
func newResolver() *discovery.Resolver {
	GinkgoHelper()
	c, err := clientdiscovery.NewDiscoveryClientForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return discovery.New(c, discovery.Reader{Reader: k8s}, openapi.NewClientWithContext(c.RESTClient()), clock.RealClock{})
}

// serves knows what the API server serves of a group version now.
func serves(ctx context.Context, gv schema.GroupVersion) *discovery.Resolver {
	GinkgoHelper()
	resolver := newResolver()
	_, err := resolver.Update(ctx, []schema.GroupVersion{gv})
	Expect(err).NotTo(HaveOccurred())
	return resolver
}

// policyFor returns a policy for a kind ("group/version/Kind") with a rule that names
// resources ("group/version/resources").
func policyFor(ctx context.Context, kind string, resources ...string) *policy.Policy {
	GinkgoHelper()
	k := strings.Split(kind, "/")
	rule := v1alpha1.Rule{Trigger: "spec"}
	for _, resource := range resources {
		r := strings.Split(resource, "/")
		rule.Policies = append(rule.Policies, v1alpha1.PolicyEntry{
			Relation: v1alpha1.RelationControllerChild,
			Target:   v1alpha1.Target{APIGroup: new(r[0]), APIVersion: r[1], Resource: r[2]},
		})
	}
	compiled, errs := policy.Compile(&v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(k[2]), Generation: 1},
		Spec: v1alpha1.AllowancePolicySpec{
			For:   v1alpha1.ParentKind{APIGroup: k[0], APIVersion: k[1], Kind: k[2]},
			Rules: []v1alpha1.Rule{rule},
		},
	}, func(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return serves(ctx, gvr.GroupVersion()).KindFor(gvr)
	})
	Expect(errs).To(BeEmpty())
	return compiled
}

// inputFor renders policies for what the API server serves.
func inputFor(ctx context.Context, policies ...*policy.Policy) interception.Input {
	GinkgoHelper()
	return interception.Input{
		Policies: policies,
		Holder: func(gvk schema.GroupVersionKind) (interception.Served, bool) {
			found, ok := serves(ctx, gvk.GroupVersion()).ByKind(gvk)
			return interception.Served{Resource: found.GVR, Namespaced: found.Namespaced, Subresources: found.Subresources, StatusInObject: found.HasStatusInObject()}, ok
		},
		Child: func(gvr schema.GroupVersionResource) (interception.Served, bool) {
			found, ok := serves(ctx, gvr.GroupVersion()).ByResource(gvr)
			return interception.Served{Resource: found.GVR, Namespaced: found.Namespaced, Subresources: found.Subresources, StatusInObject: found.HasStatusInObject()}, ok
		},
		OperatorNamespace: operatorNamespace,
		OperatorUser:      operatorUser,
	}
}

// newNamespace creates a namespace for one container of specs. Nobody empties
// namespaces here, so it stays until the API server ends.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

func newDeployment(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: newPod("", "").Spec},
		},
	}
}

// newReplicaSet is controlled by owner unless that is nil.
func newReplicaSet(namespace, name string, owner *appsv1.Deployment) *appsv1.ReplicaSet {
	d := newDeployment(namespace, name)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: d.ObjectMeta,
		Spec:       appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
	if owner != nil {
		rs.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment")),
		}
	}
	return rs
}

func newPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}
}

// thingDefinition defines the kind Thing, which takes any field, in a group.
func thingDefinition(group string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing", ListKind: "ThingList", Plural: "things", Singular: "thing"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// defineThing defines the kind Thing in a group, and returns when it is served.
func defineThing(ctx context.Context, group string) {
	GinkgoHelper()
	apply(ctx, thingDefinition(group))
	waitServed(ctx, group)
}

// waitServed returns when the kind Thing is served in a group.
func waitServed(ctx context.Context, group string) {
	GinkgoHelper()
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	Eventually(func(g Gomega) {
		resolver := newResolver()
		_, err := resolver.Update(ctx, []schema.GroupVersion{gvr.GroupVersion()})
		g.Expect(err).NotTo(HaveOccurred())
		_, ok := resolver.ByResource(gvr)
		g.Expect(ok).To(BeTrue())
	}).Should(Succeed())
}

func newThing(group, namespace, name string) *unstructured.Unstructured {
	thing := &unstructured.Unstructured{}
	thing.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"})
	thing.SetNamespace(namespace)
	thing.SetName(name)
	return thing
}

// annotate sets one annotation.
func annotate(ctx context.Context, c client.Client, object client.Object, key, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}
