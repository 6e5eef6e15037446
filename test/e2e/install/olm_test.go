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

package install

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/controlplane"
)

const (
	// olmName is the name of OLM's process and of its namespace and service account.
	olmName = "olm"
	// olmManaged is on all that OLM's catalog operator makes of a bundle.
	olmManaged = "olm.managed"
	// olmHealth is where OLM says that it runs. The port cannot be set.
	olmHealth = "http://localhost:8080/healthz"
	csvName   = "kausality.v0.1.0"
)

var (
	csvKind = schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"}
	// olmSecret has what OLM has signed.
	olmSecret = client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: "kausality-controller-manager-service-cert"}
)

// OLM's catalog operator unpacks bundles in Jobs, which nobody runs here: what it makes of one
// is made by the specs. The rest is OLM's own.
var _ = Describe("Kausality, installed by OLM", Label("olm"), Ordered, func() {
	var (
		w         *world
		before    inventory
		bundle    []*unstructured.Unstructured
		csv       *unstructured.Unstructured
		operators []*controlplane.Operator
	)
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx)
		w.startOLM(ctx)
		bundle, csv = readBundle()
	}, NodeTimeout(startTimeout))

	install := func(ctx context.Context) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) { before = w.everything(ctx, g) }).Should(Succeed())
		Expect(w.cp.Apply(ctx, bundle)).To(Succeed())
		Expect(w.cp.Apply(ctx, []*unstructured.Unstructured{csv.DeepCopy()})).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(w.phase(ctx, g)).To(Equal("Succeeded")) }).WithTimeout(settled).Should(Succeed())
		operators = w.runAll(ctx)
	}
	// out is the way out, as it is documented.
	out := func() []string {
		steps := strings.Split(documented("Uninstall with OLM")[0], "\n")
		Expect(steps).To(HaveLen(6))
		return steps
	}
	AfterEach(func() { forget(operators) })

	It("succeeds, is called through OLM's Service with OLM's certificate, and goes with the ClusterServiceVersion", func(ctx SpecContext) {
		install(ctx)
		web, stuck := w.live(ctx, v1alpha1.FailurePolicyIgnore)
		w.calledThrough(ctx, "kausality-controller-manager-service")
		Expect(w.Get(ctx, client.ObjectKey{Name: "kausality-record-protection"}, &admissionregistrationv1.ValidatingAdmissionPolicy{})).To(Succeed())
		bad := &v1alpha1.AllowancePolicy{}
		Expect(w.Get(ctx, client.ObjectKey{Name: "deployment"}, bad)).To(Succeed())
		bad.Spec.Rules[0].Trigger = "spec..replicas"
		Expect(w.Update(ctx, bad)).To(MatchError(ContainSubstring("vallowancepolicy.kausality.io")), "the webhook of our own kinds is asked")

		for _, command := range out() {
			w.sh(ctx, command)
		}
		w.withoutPods(ctx, operators)
		w.asBefore(ctx, before)
		w.afterwards(ctx, web, stuck)
	}, SpecTimeout(specTimeout))

	It("takes all webhooks along with the ClusterServiceVersion, with the operator dead", func(ctx SpecContext) {
		install(ctx)
		web, stuck := w.live(ctx, v1alpha1.FailurePolicyFail)
		kill(operators)
		Expect(scale(ctx, w.Mallory(), w.newest(ctx, web))).To(MatchError(ContainSubstring("failed calling webhook")))
		gone := time.Now()
		steps := out()
		w.sh(ctx, steps[1])
		Eventually(ctx, func(g Gomega) {
			for _, list := range []client.ObjectList{
				&admissionregistrationv1.MutatingWebhookConfigurationList{}, &admissionregistrationv1.ValidatingWebhookConfigurationList{},
			} {
				g.Expect(w.List(ctx, list)).To(Succeed())
				g.Expect(list).To(HaveField("Items", BeEmpty()))
			}
			g.Expect(w.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, &admissionregistrationv1.MutatingAdmissionPolicy{})).To(Satisfy(apierrors.IsNotFound))
		}).Should(Succeed())
		GinkgoWriter.Println("nothing is intercepted after", time.Since(gone))
		for _, command := range append(steps[:1:1], steps[2:]...) {
			w.sh(ctx, command)
		}
		w.withoutPods(ctx, operators)
		w.asBefore(ctx, before)
		w.afterwards(ctx, web, stuck)
	}, SpecTimeout(specTimeout))

	It("judges each request while OLM replaces authority and certificate, and the Pods with them", func(ctx SpecContext) {
		install(ctx)
		web, _ := w.live(ctx, v1alpha1.FailurePolicyFail)
		began := time.Now()
		l := w.underLoad(ctx, web)
		l.goesOn(ctx)
		fresh := w.rotated(ctx)
		l.goesOn(ctx)
		By("mounting it in a Pod that runs, and replacing the Pods")
		w.remount(ctx, operators[:1])
		w.servedBy(ctx, operators[:1], fresh)
		l.goesOn(ctx)
		for i, old := range operators {
			operators[i] = w.run(ctx, old.Name+"-rotated", *operatorBin)
			w.stop(old)
			l.goesOn(ctx)
		}
		w.servedBy(ctx, operators, fresh)
		l.goesOn(ctx)
		Expect(l.end()).To(BeEmpty(), "each request has its answer, and the right one")
		Expect(w.unjudged(began)).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})

// rotated makes OLM replace the authority and the certificate: OLM does so when they are about to expire,
// or when the Secret lacks a key, as here. It returns the new certificate once OLM has rolled the Deployment.
func (w *world) rotated(ctx context.Context) []byte {
	GinkgoHelper()
	mounted := func(g Gomega) (certificate []byte, authority string) {
		secret, d := &corev1.Secret{}, &appsv1.Deployment{}
		g.Expect(w.Get(ctx, olmSecret, secret)).To(Succeed())
		g.Expect(w.Get(ctx, operatorKey, d)).To(Succeed())
		return secret.Data[corev1.TLSCertKey], d.Spec.Template.Annotations["olmcahash"]
	}
	certificate, authority := mounted(Default)
	Expect(authority).NotTo(BeEmpty())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: olmSecret.Namespace, Name: olmSecret.Name}}
	Expect(w.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(`{"data":{"olmCAKey":null}}`)))).To(Succeed())
	csv := &unstructured.Unstructured{}
	csv.SetGroupVersionKind(csvKind)
	csv.SetNamespace(controlplane.OperatorNamespace)
	csv.SetName(csvName)
	Expect(w.Patch(ctx, csv, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"look":"again"}}}`)))).To(Succeed())
	var fresh []byte
	Eventually(ctx, func(g Gomega) {
		made, signedBy := mounted(g)
		g.Expect(made).NotTo(Equal(certificate))
		g.Expect(signedBy).NotTo(Equal(authority))
		g.Expect(w.phase(ctx, g)).To(Equal("Succeeded"))
		fresh = made
	}).WithTimeout(settled).Should(Succeed())
	return fresh
}

// startOLM starts OLM's operator, with all rights, as it has in a cluster.
func (w *world) startOLM(ctx context.Context) {
	GinkgoHelper()
	definitions, err := filepath.Glob(filepath.Join(root, "bin", "peers", "olm-crds", "*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(definitions).NotTo(BeEmpty(), "run \"make olm-binaries\" first")
	var objects []*unstructured.Unstructured
	for _, path := range definitions {
		objects = append(objects, read(path)...)
	}
	Expect(w.cp.Apply(ctx, objects)).To(Succeed())
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: olmName}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: olmName, Name: olmName}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: olmName},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: olmName, Name: olmName}},
		},
	} {
		Expect(w.Create(ctx, object)).To(Succeed())
	}
	kubeconfig := filepath.Join(w.cp.Dir(), "olm.kubeconfig")
	Expect(w.cp.WriteKubeconfigFor(ctx, olmName, olmName, kubeconfig)).To(Succeed())
	binary, err := filepath.Abs(filepath.Join(root, "bin", "peers", "olm"))
	Expect(err).NotTo(HaveOccurred())
	Expect(w.cp.Launch(ctx, 0, func([]int) (controlplane.Program, error) {
		return controlplane.Program{
			Name: olmName, Path: binary, Args: []string{"--namespace=" + olmName},
			Env:      []string{"KUBECONFIG=" + kubeconfig, "OPERATOR_NAMESPACE=" + olmName, "OPERATOR_NAME=olm-operator"},
			ReadyURL: olmHealth,
		}, nil
	})).To(Succeed())
}

// read returns the objects in a file.
func read(path string) []*unstructured.Unstructured {
	GinkgoHelper()
	raw, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	objects, err := controlplane.Decode(raw)
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// readBundle returns what OLM's catalog operator makes of the bundle, but for the
// ClusterServiceVersion, which comes last.
func readBundle() (objects []*unstructured.Unstructured, csv *unstructured.Unstructured) {
	GinkgoHelper()
	objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": controlplane.OperatorNamespace},
	}}, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
		"metadata": map[string]any{"name": "global", "namespace": controlplane.OperatorNamespace},
		"spec":     map[string]any{},
	}})
	paths, err := filepath.Glob(filepath.Join(root, "bundle", "manifests", "*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for _, path := range paths {
		for _, object := range read(path) {
			switch object.GetKind() {
			case "ClusterServiceVersion":
				csv = object
				csv.SetNamespace(controlplane.OperatorNamespace)
				objects = append(objects, permissions(csv)...)
				continue
			case "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding":
			default:
				object.SetNamespace(controlplane.OperatorNamespace)
			}
			objects = append(objects, object)
		}
	}
	for _, object := range objects {
		managed := object.GetLabels()
		if managed == nil {
			managed = map[string]string{}
		}
		managed[olmManaged] = "true"
		object.SetLabels(managed)
	}
	Expect(csv).NotTo(BeNil())
	return objects, csv
}

// permissions returns the service accounts and roles that a ClusterServiceVersion asks for.
func permissions(csv *unstructured.Unstructured) []*unstructured.Unstructured {
	GinkgoHelper()
	raw, err := json.Marshal(csv.Object["spec"])
	Expect(err).NotTo(HaveOccurred())
	var spec struct {
		Install struct {
			Spec struct {
				ClusterPermissions []struct {
					ServiceAccountName string              `json:"serviceAccountName"`
					Rules              []rbacv1.PolicyRule `json:"rules"`
				} `json:"clusterPermissions"`
			} `json:"spec"`
		} `json:"install"`
	}
	Expect(json.Unmarshal(raw, &spec)).To(Succeed())
	Expect(spec.Install.Spec.ClusterPermissions).NotTo(BeEmpty())
	var objects []*unstructured.Unstructured
	for _, p := range spec.Install.Spec.ClusterPermissions {
		name := csvName + "-" + p.ServiceAccountName
		// By these OLM knows what goes with the ClusterServiceVersion.
		owner := map[string]string{
			"olm.owner": csvName, "olm.owner.kind": csv.GetKind(), "olm.owner.namespace": controlplane.OperatorNamespace,
		}
		for _, object := range []client.Object{
			&corev1.ServiceAccount{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
				ObjectMeta: metav1.ObjectMeta{Namespace: controlplane.OperatorNamespace, Name: p.ServiceAccountName},
			},
			&rbacv1.ClusterRole{
				TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: owner}, Rules: p.Rules,
			},
			&rbacv1.ClusterRoleBinding{
				TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: owner},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: controlplane.OperatorNamespace, Name: p.ServiceAccountName}},
			},
		} {
			raw, err := json.Marshal(object)
			Expect(err).NotTo(HaveOccurred())
			made := &unstructured.Unstructured{}
			Expect(json.Unmarshal(raw, &made.Object)).To(Succeed())
			objects = append(objects, made)
		}
	}
	return objects
}

// phase returns how far OLM is with the ClusterServiceVersion.
func (w *world) phase(ctx context.Context, g Gomega) string {
	GinkgoHelper()
	csv := &unstructured.Unstructured{}
	csv.SetGroupVersionKind(csvKind)
	g.Expect(w.Get(ctx, client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: csvName}, csv)).To(Succeed())
	phase, _, err := unstructured.NestedString(csv.Object, "status", "phase")
	g.Expect(err).NotTo(HaveOccurred())
	message, _, err := unstructured.NestedString(csv.Object, "status", "message")
	g.Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Println(phase, message)
	return phase
}

// calledThrough expects that the webhooks that gate go through a Service, as those that OLM makes.
func (w *world) calledThrough(ctx context.Context, service string) {
	GinkgoHelper()
	found := &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	Expect(w.List(ctx, found)).To(Succeed())
	var installed []admissionregistrationv1.WebhookClientConfig
	for i := range found.Items {
		for _, webhook := range found.Items[i].Webhooks {
			Expect(webhook.ClientConfig.Service).NotTo(BeNil())
			Expect(webhook.ClientConfig.Service.Name).To(Equal(service), "%s", found.Items[i].Name)
			if strings.HasPrefix(found.Items[i].Name, "vallowancepolicy.kausality.io-") {
				installed = append(installed, webhook.ClientConfig)
			}
		}
	}
	Expect(installed).To(HaveLen(1))
	rendered := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	Expect(w.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, rendered)).To(Succeed())
	for _, webhook := range rendered.Webhooks {
		Expect(webhook.ClientConfig.CABundle).To(Equal(installed[0].CABundle))
		Expect(webhook.ClientConfig.Service.Port).To(Equal(installed[0].Service.Port))
	}
}
