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

package kyverno

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/kyverno"
	"kausality.io/operator/test/stage"
)

//go:embed testdata/policy.yaml
var policyTemplate string

// teamLabel is on namespaces that policies are for.
const teamLabel = "kyverno.example.org/team"

// generated are the kinds that a policy makes: the first one as a clone.
var generated = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Version: "v1", Kind: "LimitRange"},
}

// byKyverno and byKausality want requests of one of the two.
var (
	byKyverno   = controlplane.Any(controlplane.ByUser(kyverno.AdmissionUser), controlplane.ByUser(kyverno.BackgroundUser))
	byKausality = controlplane.Any(controlplane.ByUser(controlplane.OperatorUser), controlplane.ByUser(controlplane.GeneratorUser))
)

// letGenerate lets Kausality read and write the kinds. Kyverno's own roles let it.
func letGenerate(ctx context.Context) {
	GinkgoHelper()
	Expect(shared.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "generate-beside-kyverno", Labels: map[string]string{
			"rbac.kausality.io/aggregate-to-generator": "true", "rbac.kausality.io/aggregate-to-operator": "true",
		}},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
			{
				APIGroups: []string{"", "networking.k8s.io"}, Resources: []string{"configmaps", "limitranges", "networkpolicies"},
				Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
			},
		},
	})).To(Succeed())
}

// scene is a team with a source and namespaces, of whose policies specs tell.
type scene struct {
	team, source string
	namespaces   []string
}

// newScene makes sources by the given names and two namespaces of a team.
func newScene(ctx context.Context, sources ...string) *scene {
	GinkgoHelper()
	s := &scene{source: shared.MakeNamespace(ctx, nil)}
	s.team = s.source
	for _, name := range sources {
		Expect(shared.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.source, Name: name}, Data: map[string]string{"key": "one"},
		})).To(Succeed())
	}
	for range 2 {
		s.addNamespace(ctx)
	}
	return s
}

// addNamespace makes one more namespace of the team.
func (s *scene) addNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := shared.MakeNamespace(ctx, map[string]string{teamLabel: s.team})
	s.namespaces = append(s.namespaces, namespace)
	return namespace
}

// file writes a policy of Kyverno that makes objects of a name, and returns where it is.
func (s *scene) file(name, made string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), name+".yaml")
	text := strings.NewReplacer("NAME", name, "TEAM", s.team, "SOURCE", s.source, "MADE", made).Replace(policyTemplate)
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}

// applyKyvernos applies a policy of Kyverno, and waits until Kyverno says that it is ready.
func (s *scene) applyKyvernos(ctx context.Context, name, made string) *unstructured.Unstructured {
	GinkgoHelper()
	// The API server hears of the certificate of Kyverno's webhooks by a watch.
	Eventually(ctx, func() (string, error) { return shared.RunKubectl(ctx, "apply", "-f", s.file(name, made)) }).
		Should(ContainSubstring("created"))
	policy := &unstructured.Unstructured{}
	policy.SetGroupVersionKind(schema.GroupVersionKind{Group: "policies.kyverno.io", Version: "v1", Kind: "GeneratingPolicy"})
	policy.SetName(name)
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(policy), policy)).To(Succeed())
		ready, _, err := unstructured.NestedBool(policy.Object, "status", "conditionStatus", "ready")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ready).To(BeTrue(), "status: %v", policy.Object["status"])
	}).Should(Succeed())
	return policy
}

// applyConverted applies the same policy as Kausality's, and waits until it is accepted.
func (s *scene) applyConverted(ctx context.Context, name, made string) *v1alpha1.GeneratingPolicy {
	GinkgoHelper()
	shared.RunShell(ctx, s.source, "kubectl kausality convert -f "+s.file(name, made)+" | kubectl apply -f -")
	policy := &v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Eventually(ctx, conditionOf(policy, v1alpha1.ConditionAccepted)).Should(HaveField("Status", metav1.ConditionTrue))
	return policy
}

// conditionOf returns how a policy of Kausality stands.
func conditionOf(policy *v1alpha1.GeneratingPolicy, kind string) func(context.Context) (metav1.Condition, error) {
	return func(ctx context.Context) (metav1.Condition, error) {
		if err := shared.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return metav1.Condition{}, err
		}
		for _, condition := range policy.Status.Conditions {
			if condition.Type == kind {
				return condition, nil
			}
		}
		return metav1.Condition{}, fmt.Errorf("GeneratingPolicy %s has no condition %s", policy.Name, kind)
	}
}

// removePolicy deletes a policy and waits until it has gone.
func removePolicy(ctx context.Context, policy client.Object) {
	GinkgoHelper()
	Expect(shared.Delete(ctx, policy)).To(Succeed())
	Eventually(ctx, func() bool {
		return apierrors.IsNotFound(shared.Get(ctx, client.ObjectKeyFromObject(policy), policy))
	}).Should(BeTrue())
}

// identities returns the UIDs of the objects of a name that are there, by kind and namespace.
func (s *scene) identities(ctx context.Context, g Gomega, made string) map[string]types.UID {
	out := map[string]types.UID{}
	for _, namespace := range s.namespaces {
		for _, kind := range generated {
			object := &metav1.PartialObjectMetadata{}
			object.SetGroupVersionKind(kind)
			err := shared.Get(ctx, client.ObjectKey{Namespace: namespace, Name: made}, object)
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			if err == nil {
				out[kind.Kind+" "+namespace] = object.UID
			}
		}
	}
	return out
}

// made waits until all objects of a name are there, and returns their UIDs.
func (s *scene) made(ctx context.Context, name string) map[string]types.UID {
	GinkgoHelper()
	var out map[string]types.UID
	Eventually(ctx, func(g Gomega) {
		out = s.identities(ctx, g, name)
		g.Expect(out).To(HaveLen(len(generated) * len(s.namespaces)))
	}).Should(Succeed())
	return out
}

// sourceValue is what sources are changed to.
const sourceValue = "two"

// changeSource changes the source of a name, and waits until the clones follow.
func (s *scene) changeSource(ctx context.Context, name string) {
	GinkgoHelper()
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.source, Name: name}}
	Expect(shared.Patch(ctx, source, client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"`+sourceValue+`"}}`)))).To(Succeed())
	Eventually(ctx, func() []string { return s.clones(ctx, name) }).Should(HaveEach(sourceValue))
}

// clones returns the values of the clones of a name.
func (s *scene) clones(ctx context.Context, name string) []string {
	out := make([]string, 0, len(s.namespaces))
	for _, namespace := range s.namespaces {
		clone := &corev1.ConfigMap{}
		if err := shared.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, clone); err != nil {
			out = append(out, err.Error())
			continue
		}
		out = append(out, clone.Data["key"])
	}
	return out
}

// watch begins to look at what happens to objects of a name in namespaces of the team, those that
// are made later among them.
func (s *scene) watch(made string) stage.Witness {
	GinkgoHelper()
	return shared.Watch(func(event *auditv1.Event) bool {
		return event.ObjectRef != nil && event.ObjectRef.Namespace != s.source && event.ObjectRef.Name == made
	})
}

// describe says in a line each who did what.
func describe(events controlplane.AuditEvents) []string {
	var lines []string
	for i := range events {
		lines = append(lines, stage.DescribeEvent(&events[i]))
	}
	return lines
}
