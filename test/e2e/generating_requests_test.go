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
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
)

// requestsPolicy makes ConfigMap made in namespace MADE for each request about something in NS, which says
// who made it.
const requestsPolicy = `
metadata: {name: NS}
spec:
  evaluation: {synchronize: SYNC}
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{RULE}]
  matchConditions: [{name: c, expression: "CONDITION"}]
  generate:
  - expression: |
      generator.ApplyAll('MADE', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {
        'key': request.userInfo.username + ' ' + request.operation + ' ' + request.name + ' WHAT'}})`

const (
	deletions  = `apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [configmaps]`
	evictions  = `apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods/eviction]`
	executions = `apiGroups: [""], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec]`
)

// asked is a policy of which requests are triggers.
type asked struct {
	*generated
}

// newAsked sets it up. fill has what of requestsPolicy is otherwise than for deletions.
func newAsked(ctx context.Context, fill ...string) *asked {
	GinkgoHelper()
	shared.letGenerate(ctx)
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "generate-for-requests", Labels: map[string]string{
			"rbac.kausality.io/aggregate-to-generator": "true", "rbac.kausality.io/aggregate-to-operator": "true",
		}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}},
	}
	Expect(client.IgnoreAlreadyExists(shared.Create(ctx, role))).To(Succeed())
	a := &asked{&generated{
		cluster: shared,
		ns:      shared.newNamespaceFor(ctx, "asked"), in: shared.newNamespaceFor(ctx, "asked"),
		owner: shared.as(alice, platformTeam, "system:masters"), stranger: shared.as(mallory, "system:masters"),
	}}
	text := strings.NewReplacer(append(fill,
		"NS", a.ns, "MADE", a.in, "SYNC", "false", "RULE", deletions, "CONDITION", "true", "WHAT", "")...).Replace(requestsPolicy)
	text = strings.NewReplacer("NS", a.ns, "MADE", a.in).Replace(text)
	a.policy = &v1alpha1.GeneratingPolicy{}
	Expect(yaml.UnmarshalStrict([]byte(text), a.policy)).To(Succeed())
	a.create(ctx)
	return a
}

// kept lists the names of the Secrets that keep requests of the policy.
func (a *asked) kept(ctx context.Context) ([]string, error) {
	found := &corev1.SecretList{}
	err := shared.List(ctx, found, client.InNamespace("kausality-system"), client.MatchingLabels{v1alpha1.LabelRequestFor: a.policy.Name})
	var names []string
	for i := range found.Items {
		names = append(names, found.Items[i].Name)
	}
	return names, err
}

// pod creates a Pod that a node runs.
func (a *asked) pod(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}},
	}
	Expect(a.owner.Create(ctx, pod)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
	}).WithContext(ctx).Should(Succeed())
	return pod
}

// refuseDeletions has an admission policy refuse mallory's deletions in a namespace.
func refuseDeletions(ctx context.Context, ns string) {
	GinkgoHelper()
	shared.validateToo(ctx, ns, "request.userInfo.username != '"+mallory+"'", "not for mallory",
		requests(admissionregistrationv1.Delete, "", "v1", "configmaps"))
	Eventually(func() error {
		return shared.as(mallory, "system:masters").Delete(ctx, configMap(ns, "trigger", ""), client.DryRunAll)
	}).WithContext(ctx).Should(MatchError(ContainSubstring("not for mallory")))
}

var _ = Describe("A GeneratingPolicy about requests", func() {
	It("makes an object once for a deletion", func(ctx SpecContext) {
		a := newAsked(ctx, "WHAT", "' + oldObject.data.key + '")
		Expect(a.owner.Create(ctx, configMap(a.ns, "trigger", "one"))).To(Succeed())
		Expect(a.stranger.Delete(ctx, configMap(a.ns, "trigger", ""), client.DryRunAll)).To(Succeed())
		Consistently(a.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal("gone"))

		Expect(a.owner.Delete(ctx, configMap(a.ns, "trigger", ""))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(alice + " DELETE trigger one"))
		Eventually(a.kept).WithContext(ctx).Should(BeEmpty())
		made := &corev1.ConfigMap{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: a.in, Name: "made"}, made)).To(Succeed())
		Expect(made.Annotations[v1alpha1.AnnotationGeneratedFrom]).To(And(
			ContainSubstring(`"request":"DELETE"`), ContainSubstring(`"user":"`+alice+`"`)))

		Expect(a.owner.Delete(ctx, made)).To(Succeed())
		Consistently(a.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal("gone"))
	})

	It("keeps what it made for as long as it is there, where it synchronizes", func(ctx SpecContext) {
		a := newAsked(ctx, "SYNC", "true")
		Expect(a.owner.Create(ctx, configMap(a.ns, "trigger", "one"))).To(Succeed())
		Expect(a.owner.Delete(ctx, configMap(a.ns, "trigger", ""))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(alice + " DELETE trigger "))
		first, err := a.kept(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(first).To(HaveLen(1))

		Expect(shared.Delete(ctx, configMap(a.in, "made", ""))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(alice + " DELETE trigger "))

		Expect(a.owner.Create(ctx, configMap(a.ns, "trigger", "two"))).To(Succeed())
		Expect(a.stranger.Delete(ctx, configMap(a.ns, "trigger", ""))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(mallory + " DELETE trigger "))
		Eventually(a.kept).WithContext(ctx).Should(And(HaveLen(1), Not(Equal(first))))

		Expect(a.owner.Delete(ctx, a.policy)).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal("gone"))
		Eventually(a.kept).WithContext(ctx).Should(BeEmpty())
	})

	It("does not lose what both an object and its deletion want", func(ctx SpecContext) {
		a := newAsked(ctx, "SYNC", "true", "RULE", strings.Replace(deletions, "[DELETE]", "[CREATE, DELETE]", 1), "'key': request.userInfo.username + ' ' + request.operation + ' ' + request.name + ' WHAT'", "'key': 'one'")
		Expect(a.owner.Create(ctx, configMap(a.ns, "trigger", "one"))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal("one"))
		before := &corev1.ConfigMap{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: a.in, Name: "made"}, before)).To(Succeed())

		Expect(a.owner.Delete(ctx, configMap(a.ns, "trigger", ""))).To(Succeed())
		now := &corev1.ConfigMap{}
		Eventually(func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(before), now)).To(Succeed())
			g.Expect(now.Annotations[v1alpha1.AnnotationGeneratedFrom]).To(ContainSubstring(`"request":"DELETE"`))
		}).WithContext(ctx).Should(Succeed())
		Expect(now.UID).To(Equal(before.UID))
	})

	It("makes objects from what others were before they were changed", func(ctx SpecContext) {
		a := newAsked(ctx, "SYNC", "true", "RULE", strings.Replace(deletions, "[DELETE]", "[CREATE, UPDATE]", 1), "WHAT", "' + (oldObject == null ? 'new' : oldObject.data.key) + '")
		Expect(a.owner.Create(ctx, configMap(a.ns, "trigger", "one"))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(alice + " CREATE trigger new"))
		Expect(a.kept(ctx)).To(BeEmpty())
		Expect(set(ctx, a.stranger, a.ns, "trigger", "two")).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(mallory + " UPDATE trigger one"))
		Expect(set(ctx, a.owner, a.ns, "trigger", "three")).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(alice + " UPDATE trigger two"))
		Expect(a.owner.Delete(ctx, configMap(a.ns, "trigger", ""))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal("gone"))
		Eventually(a.kept).WithContext(ctx).Should(BeEmpty())
	})

	It("makes nothing for a deletion that is refused after all", func(ctx SpecContext) {
		a := newAsked(ctx)
		Expect(a.owner.Create(ctx, configMap(a.ns, "trigger", "one"))).To(Succeed())
		refuseDeletions(ctx, a.ns)
		Expect(a.stranger.Delete(ctx, configMap(a.ns, "trigger", ""))).To(MatchError(ContainSubstring("not for mallory")))
		Eventually(a.kept).WithContext(ctx).Should(HaveLen(1))
		Consistently(a.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal("gone"))

		Expect(a.owner.Delete(ctx, configMap(a.ns, "trigger", ""))).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(alice + " DELETE trigger "))
		Eventually(a.kept).WithContext(ctx).Should(BeEmpty())
	})

	It("makes objects for evictions that are carried out", func(ctx SpecContext) {
		a := newAsked(ctx, "RULE", evictions, "CONDITION", "object.kind == 'Eviction' && oldObject == null", "WHAT", "of ' + object.metadata.name + '")
		one := intstr.FromInt32(1)
		Expect(a.owner.Create(ctx, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.ns, Name: "needed"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "needed"}}},
		})).To(Succeed())
		needed, web := a.pod(ctx, "needed"), a.pod(ctx, "web")
		evict := func(pod *corev1.Pod) error {
			return a.stranger.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
		}
		Eventually(func() error { return evict(needed) }).WithContext(ctx).Should(Satisfy(apierrors.IsTooManyRequests))
		Consistently(a.made).WithContext(ctx).WithTimeout(quietMoment).Should(Equal("gone"))

		Expect(evict(web)).To(Succeed())
		Eventually(a.made).WithContext(ctx).Should(Equal(mallory + " CREATE web of web"))
	})

	It("makes objects for connections", func(ctx SpecContext) {
		a := newAsked(ctx, "RULE", executions, "WHAT", "' + object.command[0] + ' in ' + object.metadata.namespace + '")
		a.pod(ctx, "web")
		// Nodes of kwok run nothing. What counts is that it was asked for.
		_, err := a.owner.RunKubectl(ctx, "exec", "web", "-n", a.ns, "--", "ls")
		Expect(err).To(HaveOccurred())
		Eventually(a.made).WithContext(ctx).Should(Equal(alice + " CONNECT web ls in " + a.ns))
	})
})
