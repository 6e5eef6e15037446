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
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// affecting matches the status of a policy that is in effect for so many objects.
func affecting(n int) OmegaMatcher { return HaveField("Affected", HaveValue(BeEquivalentTo(n))) }

// beStanding matches a status whose conditions Enforced, PartiallyEnforced and
// Overridden have a reason, say something, and are True where the reason is theirs.
func beStanding(reason, says string) OmegaMatcher {
	matchers := []OmegaMatcher{}
	for _, conditionType := range []string{
		v1alpha1.ConditionEnforced, v1alpha1.ConditionPartiallyEnforced, v1alpha1.ConditionOverridden,
	} {
		status := "False"
		if conditionType == reason {
			status = "True"
		}
		matchers = append(matchers, HaveField("Conditions", ContainElement(And(
			HaveField("Type", conditionType), HaveField("Reason", reason), HaveField("ObservedGeneration", BeNumerically(">", 0)),
			HaveField("Status", BeEquivalentTo(status)), HaveField("Message", ContainSubstring(says))))))
	}
	return And(matchers...)
}

var _ = Describe("Policies for the same objects", func() {
	const ready = "object.status.readyReplicas == object.spec.replicas"
	var namespace string
	label := func(ctx SpecContext, obj client.Object, team string) {
		GinkgoHelper()
		patch := fmt.Sprintf(`{"metadata":{"labels":{"team":%q}}}`, team)
		Expect(k8s.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	// consuming is a policy for the Deployments in the namespace that says when they
	// have settled.
	consuming := func(name, when string) *v1alpha1.AllowancePolicy {
		p := withRule(newPolicy(name, namespace, deploymentKind, "platform-team"), "spec", "apps", "replicasets")
		p.Spec.Consumption = &v1alpha1.Consumption{When: when}
		return p
	}
	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		startPolicyControllers(ctx)
	})

	It("say which of them decides, for as many objects as there are", func(ctx SpecContext) {
		red, blue := newDeployment(namespace, "red"), newDeployment(namespace, "blue")
		red.Labels = map[string]string{"team": "red"}
		apply(ctx, red, blue)
		// Both are of the same second, or the first is older.
		first, second := consuming("spec-a-red", ready), consuming("spec-b", "true")
		first.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
		apply(ctx, first)
		Eventually(statusOf(ctx, first.Name)).Should(And(beStanding(v1alpha1.ReasonEnforced, ""), affecting(1)))

		By("being beaten for some objects")
		apply(ctx, second)
		Eventually(statusOf(ctx, second.Name)).Should(And(
			beStanding(v1alpha1.ReasonPartiallyEnforced, "spec.consumption.when by spec-a-red"), affecting(2),
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "")))
		Eventually(statusOf(ctx, first.Name)).Should(beStanding(v1alpha1.ReasonEnforced, "spec.consumption.when of spec-b"))

		By("being beaten for all objects")
		label(ctx, blue, "red")
		Eventually(statusOf(ctx, second.Name)).Should(And(
			beStanding(v1alpha1.ReasonOverridden, "spec.consumption.when by spec-a-red"),
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonConflicted, "spec-a-red")))
		Eventually(statusOf(ctx, first.Name)).Should(affecting(2))

		By("being alone again")
		label(ctx, red, "blue")
		Expect(k8s.Delete(ctx, blue)).To(Succeed())
		Eventually(statusOf(ctx, second.Name)).Should(And(beStanding(v1alpha1.ReasonEnforced, "judged by it."), affecting(1)))
		Eventually(statusOf(ctx, first.Name)).Should(affecting(0))
	})

	It("count the children of what their parents' policies select, and follow namespaces", func(ctx SpecContext) {
		busy := newDeployment(namespace, "busy")
		apply(ctx, busy)
		apply(ctx, newReplicaSet(namespace, "busy-1", busy), newReplicaSet(namespace, "alone", nil))
		p := consuming("spec-deployments", ready)
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}
		apply(ctx, p, withRule(newPolicy("spec-replicasets", namespace, replicaSetKind), "spec.replicas", "", "pods"))
		for _, name := range []string{"spec-deployments", "spec-replicasets"} {
			Eventually(statusOf(ctx, name)).Should(And(beEnforced(), affecting(0)))
		}

		label(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, "red")
		for _, name := range []string{"spec-deployments", "spec-replicasets"} {
			Eventually(statusOf(ctx, name)).Should(affecting(1))
		}
	})
})

var _ = Describe("What of a policy never matches", func() {
	It("is known from what the API server declares, and follows it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		startPolicyControllers(ctx)
		const group = "unmatched.example.com"
		definition := thingDefinition(group)
		declare := func(fields ...string) {
			properties := map[string]apiextensionsv1.JSONSchemaProps{}
			for _, name := range fields {
				properties[name] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			}
			definition.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: properties}},
			}
		}
		declare("size")
		apply(ctx, definition)
		waitServed(ctx, group)
		thing := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}
		p := newPolicy("spec-things", namespace, thing, "platform-team")
		for _, trigger := range []string{"spec.size", "spec.color", "metadata.labels[tier]"} {
			p = withRule(p, trigger, "", "persistentvolumes")
		}
		apply(ctx, p)
		Eventually(statusOf(ctx, p.Name)).Should(haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted,
			"never matches anything: spec.rules[0].policies[0].target: PersistentVolume objects are in no namespace, so that a Thing, which is in one, "+
				"cannot own them; spec.rules[1].trigger: in kind Thing, there is no field spec.color."))

		By("declaring the field")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(definition), definition)).To(Succeed())
		declare("size", "color")
		Expect(k8s.Update(ctx, definition)).To(Succeed())
		Eventually(statusOf(ctx, p.Name)).WithTimeout(inEffectWithin).Should(
			haveCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "cannot own them."))
	})
})
