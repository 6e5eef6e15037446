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
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	krocontroller "kausality.io/operator/internal/controller/kro"
)

// graphs is the definition of kro's graphs, of which the specs need no more.
func graphs() *apiextensionsv1.CustomResourceDefinition {
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: new(true),
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "resourcegraphdefinitions.kro.run"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "kro.run",
			Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "resourcegraphdefinitions", Singular: "resourcegraphdefinition", Kind: "ResourceGraphDefinition", ListKind: "ResourceGraphDefinitionList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true, Schema: anything,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// deriving runs the reconciler of derived policies, with a graph that kro has accepted.
func deriving(ctx context.Context) (graph *unstructured.Unstructured) {
	GinkgoHelper()
	// At the very end: while the reconciler runs, it makes the policy again.
	DeferCleanup(func(ctx context.Context) error {
		return client.IgnoreNotFound(k8s.Delete(ctx, &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "kro-webapp"}}))
	})
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{graphs()}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		Expect(envtest.UninstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{graphs()}})).To(Succeed())
		// What is still ending is not installed anew.
		Eventually(ctx, func() bool {
			return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKey{Name: graphs().Name}, &apiextensionsv1.CustomResourceDefinition{}))
		}).Should(BeTrue())
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	Expect(err).NotTo(HaveOccurred())
	settings, err := krocontroller.ParseSettings("kro-system/kro", "group:platform", "Deny", false)
	Expect(err).NotTo(HaveOccurred())
	Expect((&krocontroller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Cache: mgr.GetCache(), Mapper: mgr.GetRESTMapper(),
		Events: mgr.GetEventRecorder("kausality"), Settings: settings,
	}).SetupWithManager(mgr)).To(Succeed())
	run(ctx, mgr)

	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "cli", "derive", "testdata", "webapp.in.yaml"))
	Expect(err).NotTo(HaveOccurred())
	graph = &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(text, &graph.Object)).To(Succeed())
	apply(ctx, graph)
	accept(ctx, graph)
	return graph
}

// accept has a graph as it is look accepted by kro.
func accept(ctx context.Context, graph *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(unstructured.SetNestedSlice(graph.Object, []any{map[string]any{
		"type": "GraphAccepted", "status": "True", "reason": "Valid", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": graph.GetGeneration(),
	}}, "status", "conditions")).To(Succeed())
	Expect(k8s.Status().Update(ctx, graph)).To(Succeed())
}

// merge merges a patch into an object as an admin does by kubectl.
func merge(ctx context.Context, object client.Object, patch string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl-patch"))).To(Succeed())
}

// listType has the definition of AllowancePolicies say how owners share validationActions.
func listType(ctx context.Context, is string) {
	GinkgoHelper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	Eventually(ctx, func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKey{Name: "allowancepolicies.kausality.io"}, definition)).To(Succeed())
		for i := range definition.Spec.Versions {
			spec := definition.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"]
			actions := spec.Properties["validationActions"]
			actions.XListType = &is
			spec.Properties["validationActions"] = actions
		}
		g.Expect(k8s.Update(ctx, definition)).To(Succeed())
	}).Should(Succeed())
}

var _ = Describe("The policy of a graph", func() {
	policy := func(ctx context.Context, check func(Gomega, *v1alpha1.AllowancePolicy)) *v1alpha1.AllowancePolicy {
		GinkgoHelper()
		p := &v1alpha1.AllowancePolicy{}
		Eventually(ctx, func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKey{Name: "kro-webapp"}, p)).To(Succeed())
			check(g, p)
		}).Should(Succeed())
		return p
	}
	derived := func(g Gomega, p *v1alpha1.AllowancePolicy, status metav1.ConditionStatus, reason, text string) {
		c := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionDerived)
		g.Expect(c).NotTo(BeNil())
		g.Expect(*c).To(And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", ContainSubstring(text))))
		g.Expect(c.ObservedGeneration).To(Equal(p.Generation))
	}
	// follows shows that a policy follows its graph, whose field leads to further rules, and has actions.
	follows := func(ctx context.Context, graph *unstructured.Unstructured, image string, rules int, actions ...v1alpha1.ValidationAction) *v1alpha1.AllowancePolicy {
		GinkgoHelper()
		resources, _, err := unstructured.NestedSlice(graph.Object, "spec", "resources")
		Expect(err).NotTo(HaveOccurred())
		deployment, _ := resources[0].(map[string]any)
		Expect(unstructured.SetNestedSlice(deployment, []any{map[string]any{"name": "app", "image": image}}, "template", "spec", "template", "spec", "containers")).To(Succeed())
		Expect(unstructured.SetNestedSlice(graph.Object, resources, "spec", "resources")).To(Succeed())
		Expect(k8s.Update(ctx, graph)).To(Succeed())
		accept(ctx, graph)
		return policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(p.Spec.Rules).To(HaveLen(rules))
			g.Expect(p.Spec.ValidationActions).To(Equal(actions))
			derived(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "")
		})
	}
	const all, without = 3, 2

	for name, tc := range map[string]struct {
		set []v1alpha1.ValidationAction
		as  string
	}{
		"records only":      {[]v1alpha1.ValidationAction{v1alpha1.ActionAudit}, `["Audit"]`},
		"warns":             {[]v1alpha1.ValidationAction{v1alpha1.ActionWarn}, `["Warn"]`},
		"warns and records": {[]v1alpha1.ValidationAction{v1alpha1.ActionWarn, v1alpha1.ActionAudit}, `["Warn","Audit"]`},
		"records as well":   {[]v1alpha1.ValidationAction{v1alpha1.ActionDeny, v1alpha1.ActionAudit}, `["Deny","Audit"]`},
	} {
		It("keeps what somebody sets to happen to what is not allowed: it "+name, func(ctx SpecContext) {
			graph := deriving(ctx)
			p := policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
				derived(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "")
				g.Expect(p.Spec.ValidationActions).To(Equal([]v1alpha1.ValidationAction{v1alpha1.ActionDeny}))
			})
			merge(ctx, p, `{"spec":{"validationActions":`+tc.as+`}}`)
			follows(ctx, graph, "web:fixed", without, tc.set...)

			By("the graph saying something else")
			merge(ctx, graph, `{"metadata":{"annotations":{"kausality.io/validation-actions":"Deny"}}}`)
			p = follows(ctx, graph, "${schema.spec.image}", all, tc.set...)

			By("giving it to the operator, which keeps what is for the admin")
			merge(ctx, p, `{"metadata":{"annotations":{"kausality.io/managed":"true"}},"spec":{"rules":[]}}`)
			p = policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
				g.Expect(p.Spec.Rules).To(HaveLen(all))
				g.Expect(p.Spec.ValidationActions).To(Equal(tc.set))
			})

			By("deleting it")
			Expect(k8s.Delete(ctx, p)).To(Succeed())
			follows(ctx, graph, "web:fixed", without, v1alpha1.ActionDeny)
		}, SpecTimeout(time.Minute))
	}

	It("is mended where its actions were merged, once they are no set any more", func(ctx SpecContext) {
		listType(ctx, "set")
		DeferCleanup(listType, "atomic")
		graph := deriving(ctx)
		p := policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			derived(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "")
		})
		merge(ctx, p, `{"spec":{"validationActions":["Warn"]}}`)
		policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(p.Spec.ValidationActions).To(Equal([]v1alpha1.ValidationAction{v1alpha1.ActionWarn}))
			derived(g, p, metav1.ConditionFalse, v1alpha1.ReasonNotDerived, "ResourceGraphDefinition webapp can be followed, but what is derived from it may not be written")
		})
		listType(ctx, "atomic")
		follows(ctx, graph, "web:fixed", without, v1alpha1.ActionWarn)
	}, SpecTimeout(time.Minute))

	It("stays strict where its actions were merged, until somebody sets them once they are no set any more", func(ctx SpecContext) {
		listType(ctx, "set")
		DeferCleanup(listType, "atomic")
		graph := deriving(ctx)
		p := policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			derived(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "")
		})
		merge(ctx, p, `{"spec":{"validationActions":["Audit"]}}`)
		merged := []v1alpha1.ValidationAction{v1alpha1.ActionAudit, v1alpha1.ActionDeny}
		policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) { g.Expect(p.Spec.ValidationActions).To(Equal(merged)) })
		listType(ctx, "atomic")
		p = follows(ctx, graph, "web:fixed", without, merged...)
		merge(ctx, p, `{"spec":{"validationActions":["Audit"]}}`)
		follows(ctx, graph, "${schema.spec.image}", all, v1alpha1.ActionAudit)
	}, SpecTimeout(time.Minute))

	It("says what others add to it that is not derived, and has it taken out", func(ctx SpecContext) {
		graph := deriving(ctx)
		p := policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			derived(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "")
			g.Expect(p.Spec.Maintaining).To(BeNil())
		})
		merge(ctx, p, `{"spec":{"failurePolicy":"Fail","consumption":{"maxOpen":"1h","when":"true"},"maintaining":{"policies":[
			{"target":{"apiGroup":"apps","apiVersion":"v1","resource":"deployments"},"relation":"ControllerChild","verbs":["Update"]}]}}}`)
		p = policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			derived(g, p, metav1.ConditionFalse, v1alpha1.ReasonTakenOver, "others have added spec.maintaining, spec.consumption.when")
		})
		merge(ctx, p, `{"metadata":{"annotations":{"kausality.io/managed":"true"}}}`)
		policy(ctx, func(g Gomega, p *v1alpha1.AllowancePolicy) {
			g.Expect(p.Spec.Maintaining).To(BeNil())
			g.Expect(p.Spec.Consumption).To(HaveValue(And(HaveField("When", BeEmpty()), HaveField("MaxOpen", Not(BeNil())))))
			g.Expect(p.Spec.FailurePolicy).To(Equal(v1alpha1.FailurePolicyFail))
			derived(g, p, metav1.ConditionTrue, v1alpha1.ReasonDerived, "")
		})
		follows(ctx, graph, "web:fixed", without, v1alpha1.ActionDeny)
	}, SpecTimeout(time.Minute))
})
