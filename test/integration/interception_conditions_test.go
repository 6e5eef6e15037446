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
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
)

var _ = Describe("The webhook configurations", Ordered, func() {
	var (
		webhook *countingWebhook
		ns      string
	)

	BeforeAll(func(ctx SpecContext) {
		webhook = newCountingWebhook()
		ns = newNamespace(ctx)
		defineThing(ctx, "conditions.example.org")
		in := inputFor(ctx,
			policyFor(ctx, "apps/v1/Deployment", "apps/v1/replicasets"),
			policyFor(ctx, "apps/v1/ReplicaSet", "/v1/pods"),
			policyFor(ctx, "/v1/ConfigMap"),
			policyFor(ctx, "conditions.example.org/v1/Thing"),
		)
		in.Name = "conditions"
		in.ClientConfig = webhook.clientConfig()
		// A failing expression then fails the request, instead of going unnoticed.
		for _, p := range in.Policies {
			p.FailurePolicy = v1alpha1.FailurePolicyFail
		}
		desired := interception.Render(in)
		apply(ctx, desired.Mutating, desired.Validating)

		// API servers learn of configurations by a watch.
		Eventually(func(g Gomega) {
			webhook.take()
			probe := newThing("conditions.example.org", ns, "probe")
			g.Expect(k8s.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(webhook.take()).To(ContainElements(HaveField("Path", interception.MutatePath), HaveField("Path", interception.ValidatePath)))
		}).Should(Succeed())
	})

	// expectCalls runs one request, and compares the hooks that it reached. How often
	// does not matter: the API server admits a request again where its cache was
	// behind (D6).
	expectCalls := func(request func() error, hooks ...string) {
		GinkgoHelper()
		webhook.take()
		Expect(request()).To(Succeed())
		var got []string
		for _, c := range webhook.take() {
			got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s %s/%s", c.Path, c.Operation, c.Resource, c.Subresource), "/"))
		}
		slices.Sort(got)
		Expect(slices.Compact(got)).To(ConsistOf(hooks))
	}

	It("leave out what cannot matter on a Deployment", func(ctx SpecContext) {
		d := newDeployment(ns, "deployment")
		expectCalls(func() error { return k8s.Create(ctx, d) }, "/mutate CREATE deployments", "/validate CREATE deployments")

		By("changing nothing that counts")
		expectCalls(func() error { return k8s.Update(ctx, d) })
		expectCalls(func() error { return annotate(ctx, k8s, d, "example.org/note", "x") })
		expectCalls(func() error { d.Finalizers = []string{"example.org/x"}; return k8s.Update(ctx, d) })
		expectCalls(func() error { d.Status.ObservedGeneration = 1; return k8s.Status().Update(ctx, d) })

		By("changing what may count")
		expectCalls(func() error { d.Spec.Replicas = ptr.To[int32](2); return k8s.Update(ctx, d) },
			"/mutate UPDATE deployments", "/validate UPDATE deployments")
		expectCalls(func() error { d.Labels = map[string]string{"a": "b"}; return k8s.Update(ctx, d) },
			"/mutate UPDATE deployments", "/validate UPDATE deployments")
		expectCalls(func() error {
			d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "u"}}
			return k8s.Update(ctx, d)
		}, "/mutate UPDATE deployments", "/validate UPDATE deployments")
		expectCalls(func() error { d.OwnerReferences = nil; return k8s.Update(ctx, d) },
			"/mutate UPDATE deployments", "/validate UPDATE deployments")
		expectCalls(func() error {
			return k8s.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: d.Name},
				Spec:       autoscalingv1.ScaleSpec{Replicas: 3},
			}))
		}, "/validate UPDATE deployments/scale")

		By("approving")
		expectCalls(func() error { return annotate(ctx, k8s, d, v1alpha1.AnnotationApprove, "*") },
			"/mutate UPDATE deployments", "/validate UPDATE deployments")

		By("carrying a ledger")
		expectCalls(func() error { return annotate(ctx, k8s, d, ledgerKey, "[]") },
			"/mutate UPDATE deployments", "/validate UPDATE deployments")
		expectCalls(func() error { return k8s.Update(ctx, d) })
		expectCalls(func() error { d.Status.ObservedGeneration = 2; return k8s.Status().Update(ctx, d) },
			"/mutate UPDATE deployments/status")

		By("being the operator, which writes nothing new")
		operator := clientAs(operatorUser)
		nothing := client.RawPatch(types.MergePatchType, []byte(`{}`))
		expectCalls(func() error { return operator.Status().Patch(ctx, d, nothing) }, "/mutate UPDATE deployments/status")
		expectCalls(func() error { return operator.Patch(ctx, d, nothing) }, "/mutate UPDATE deployments", "/validate UPDATE deployments")

		By("deleting it, and deleting what is being deleted")
		expectCalls(func() error { return k8s.Delete(ctx, d) }, "/validate DELETE deployments")
		expectCalls(func() error { return k8s.Delete(ctx, d) })
		expectCalls(func() error {
			return k8s.Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		})
		Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(d), d))).To(BeTrue())
	})

	It("reach the sub-resources of Pods", func(ctx SpecContext) {
		pod := newPod(ns, "pod")
		expectCalls(func() error { return k8s.Create(ctx, pod) }, "/validate CREATE pods")
		expectCalls(func() error {
			return k8s.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n"}})
		})
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		expectCalls(func() error {
			pod.Status.Phase = corev1.PodRunning
			return k8s.Status().Update(ctx, pod)
		})
		expectCalls(func() error {
			pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: "debug", Image: "x", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			}}}
			return k8s.SubResource("ephemeralcontainers").Update(ctx, pod)
		}, "/validate UPDATE pods/ephemeralcontainers")
		expectCalls(func() error {
			return k8s.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
		}, "/validate CREATE pods/eviction") // and no DELETE: evictions are admitted as such
	})

	It("reach each object of a deleted collection", func(ctx SpecContext) {
		for _, name := range []string{"a", "b"} {
			Expect(k8s.Create(ctx, newDeployment(ns, name))).To(Succeed())
		}
		webhook.take()
		Expect(k8s.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(ns))).To(Succeed())
		Expect(webhook.take()).To(And(
			HaveEach(And(HaveField("Path", interception.ValidatePath), HaveField("Operation", admissionv1.Delete))),
			ContainElements(HaveField("Name", "a"), HaveField("Name", "b")),
		))
	})

	It("work for custom resources", func(ctx SpecContext) {
		thing := newThing("conditions.example.org", ns, "thing")
		update := func() error { return k8s.Update(ctx, thing) }
		both := []string{"/mutate UPDATE things", "/validate UPDATE things"}
		expectCalls(func() error { return k8s.Create(ctx, thing) }, "/mutate CREATE things", "/validate CREATE things")
		expectCalls(update)
		expectCalls(func() error {
			thing.Object["status"] = map[string]any{"a": "b"}
			return k8s.Status().Update(ctx, thing)
		})
		expectCalls(func() error {
			thing.Object["spec"] = map[string]any{"a": int64(1), "b": 1.5, "c": []any{nil}}
			return update()
		}, both...)
		expectCalls(func() error { thing.Object["spec"] = "text"; return update() }, both...)
		expectCalls(func() error { thing.Object["other"] = int64(1); return update() }, both...)
		expectCalls(func() error { delete(thing.Object, "other"); return update() }, both...)
		expectCalls(func() error {
			return k8s.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null,"labels":null}}`)))
		})
		expectCalls(func() error { return annotate(ctx, k8s, thing, ledgerKey, "[]") }, both...)
		expectCalls(func() error {
			thing.Object["status"] = map[string]any{"a": "c"}
			return k8s.Status().Update(ctx, thing)
		},
			"/mutate UPDATE things/status")
		expectCalls(func() error { return k8s.Delete(ctx, thing) }, "/validate DELETE things")
	})

	It("stay within the cost limit on large objects", func(ctx SpecContext) {
		const size = 500 << 10
		both := []string{"/mutate UPDATE configmaps", "/validate UPDATE configmaps"}
		large := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "large"},
			Data:       map[string]string{"x": strings.Repeat("x", size)},
		}
		Expect(k8s.Create(ctx, large)).To(Succeed())
		expectCalls(func() error { return k8s.Update(ctx, large) })
		expectCalls(func() error { large.Data["x"] += "y"; return k8s.Update(ctx, large) }, both...)

		By("having very many keys")
		large.Data = map[string]string{}
		for i := range size / 20 {
			large.Data[fmt.Sprintf("key-%06d", i)] = "value"
		}
		Expect(k8s.Update(ctx, large)).To(Succeed())
		expectCalls(func() error { return k8s.Update(ctx, large) })
		expectCalls(func() error { large.Data["key-000007"] = "other"; return k8s.Update(ctx, large) }, both...)

		By("having very many annotations")
		large.Data, large.Annotations = nil, manyAnnotations()
		Expect(k8s.Update(ctx, large)).To(Succeed())
		expectCalls(func() error { return k8s.Update(ctx, large) })
		expectCalls(func() error { large.Data = map[string]string{"a": "b"}; return k8s.Update(ctx, large) }, both...)
		expectCalls(func() error { large.Annotations["a1"] = "x"; return k8s.Update(ctx, large) }, both...)

		By("having very many fields")
		thing := newThing("conditions.example.org", ns, "large")
		for i := range 30_000 {
			thing.Object[fmt.Sprintf("field%d", i)] = "x"
		}
		Expect(k8s.Create(ctx, thing)).To(Succeed())
		expectCalls(func() error { thing.Object["field7"] = "y"; return k8s.Update(ctx, thing) },
			"/mutate UPDATE things", "/validate UPDATE things")
	})

	It("leave kube-system and the operator alone", func(ctx SpecContext) {
		for _, namespace := range []string{metav1.NamespaceSystem, operatorNamespace} {
			expectCalls(func() error { return k8s.Create(ctx, newDeployment(namespace, "d"), client.DryRunAll) })
		}
	})
})

// manyAnnotations are as many as an object can have.
func manyAnnotations() map[string]string {
	annotations := map[string]string{}
	for i := range 50_000 {
		annotations[fmt.Sprintf("a%x", i)] = ""
	}
	return annotations
}
