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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate/kept"
)

// askedName is the name of the configuration by which the API server asks about requests.
const askedName = "spec-asked"

// asking is a policy that makes ConfigMaps first and second for each deletion of a ConfigMap in NS, there
// and in namespace LATER.
const asking = `
metadata: {name: NS}
spec:
  evaluation: {synchronize: %[3]t}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]
  matchConditions: [{name: here, expression: oldObject.metadata.namespace == '%[1]s'}]
  generate:
  - expression: |
      generator.ApplyAll('%[1]s', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'first'}, 'data': {'key': request.userInfo.username}})
  - expression: |
      generator.ApplyAll('%[2]s', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'second'}, 'data': {'key': oldObject.data.key}})`

// newAsking creates that policy, and has the API server seem to ask about its requests: nobody is asked, and
// the spec keeps the requests.
func newAsking(ctx context.Context, namespace, later string, synchronize bool) *v1alpha1.GeneratingPolicy {
	GinkgoHelper()
	p := &v1alpha1.GeneratingPolicy{}
	Expect(yaml.UnmarshalStrict(fmt.Appendf(nil, asking, namespace, later, synchronize), p)).To(Succeed())
	p.Name = namespace
	apply(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: askedName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "asked.kausality.io", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			FailurePolicy:     new(admissionregistrationv1.Ignore),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "asks"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}, Scope: new(admissionregistrationv1.AllScopes),
				},
			}},
		}},
	})
	apply(ctx, p)
	return p
}

// deletion returns the Secret that keeps the deletion by bob of a ConfigMap that is not there.
func deletion(p *v1alpha1.GeneratingPolicy, name string) *corev1.Secret {
	GinkgoHelper()
	request := &kept.Request{
		Policy: p.Name, PolicyUID: p.UID, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: schema.GroupKind{Kind: "ConfigMap"},
		Operation: admissionregistrationv1.Delete, Namespace: p.Name, Name: name, UID: "gone", Time: metav1.NowMicro(),
		Asked:     map[string]any{"operation": "DELETE", "name": name, "userInfo": map[string]any{"username": "bob"}},
		OldObject: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": p.Name, "name": name}, "data": map[string]any{"key": name}},
	}
	secret, err := request.InSecret(operatorNamespace, types.UID(name))
	Expect(err).NotTo(HaveOccurred())
	return secret
}

func isGone(ctx context.Context, object client.Object) func() bool {
	return func() bool {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(object), object)
		return err != nil && client.IgnoreNotFound(err) == nil
	}
}

var _ = Describe("Requests that are kept", func() {
	It("outlive the operator, with what was made for them", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		later := namespace + "-later"
		letWrite(ctx, generatorUser, "get", "list", "create", "patch", "delete")
		stop, _ := startGenerating(ctx)
		p := newAsking(ctx, namespace, later, false)
		Eventually(generatingStatus(ctx, p.Name)).WithContext(ctx).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		secret := deletion(p, "web")
		apply(ctx, secret)
		Eventually(configMapIs(ctx, namespace, "first")).WithContext(ctx).Should(Equal("bob"))
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.Status.Failures).To(ContainElement(And(
				HaveField("Reason", "Waiting"), HaveField("Trigger", HaveValue(HaveField("Request", "DELETE"))))))
		}).WithContext(ctx).Should(Succeed())
		stop()

		Expect(k8s.Delete(ctx, newConfigMap(namespace, "first", "", nil))).To(Succeed())
		apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: later}})
		stop, _ = startGenerating(ctx)
		Eventually(configMapIs(ctx, later, "second")).WithContext(ctx).Should(Equal("web"))
		Eventually(isGone(ctx, secret)).WithContext(ctx).Should(BeTrue())
		Expect(configMapIs(ctx, namespace, "first")()).To(Equal("gone"), "it was made once, and deleted")
		stop()
	})

	It("are given up where nothing can come of them, and not where it may", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		letWrite(ctx, generatorUser, "get", "list", "create", "patch", "delete")
		stop, _ := startGenerating(ctx)
		DeferCleanup(stop)
		p := newAsking(ctx, namespace, namespace, false)
		Eventually(generatingStatus(ctx, p.Name)).WithContext(ctx).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		other := p.DeepCopy()
		other.UID = "another"
		stale, wrong := deletion(other, "stale"), deletion(p, "wrong")
		wrong.Data = map[string][]byte{"request": []byte("{")}
		Expect(k8s.Create(ctx, newConfigMap(namespace, "first", "mine", nil))).To(Succeed())
		conflicting := deletion(p, "web")
		apply(ctx, stale, wrong, conflicting)
		Eventually(configMapIs(ctx, namespace, "second")).WithContext(ctx).Should(Equal("web"))
		Expect(configMapIs(ctx, namespace, "first")()).To(Equal("mine"))
		Expect(isGone(ctx, stale)()).To(BeFalse(), "it goes with its policy")
		Expect(isGone(ctx, conflicting)()).To(BeFalse(), "not all was made")
		Expect(k8s.Delete(ctx, newConfigMap(namespace, "first", "", nil))).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "first")).WithContext(ctx).Should(Equal("bob"))
		Eventually(isGone(ctx, conflicting)).WithContext(ctx).Should(BeTrue())
	})
})
