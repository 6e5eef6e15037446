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
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
)

// handedOver is how long replicas may take to serve with what another authority has signed; they
// take some 30 seconds.
const handedOver = 3 * time.Minute

// servingCert is the Certificate that is installed, and its Secret.
var (
	servingCert   = client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: "kausality-serving-cert"}
	servingSecret = client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: "kausality-webhook-server-cert"}
)

// The Issuer that is installed signs each certificate with its own key: each renewal is another
// authority. Policies fail closed, so that a request that nobody judges is refused for that.
var _ = Describe("Kausality, with certificates of cert-manager", Label("cert-manager"), func() {
	It("judges each request while cert-manager renews them", func(ctx SpecContext) {
		w := newWorld(ctx)
		Expect(controllers.Start(ctx, w.cp, controllers.CertManager)).To(Succeed())
		for _, command := range documented("With cert-manager") {
			w.sh(ctx, command)
		}
		first := w.issuedAfter(ctx, nil)
		operators := w.runAll(ctx)
		w.servedBy(ctx, operators, first)
		web, _ := w.live(ctx, v1alpha1.FailurePolicyFail)
		policy := &v1alpha1.AllowancePolicy{}
		Expect(w.Get(ctx, client.ObjectKey{Name: "deployment"}, policy)).To(Succeed())
		policy.ObjectMeta = metav1.ObjectMeta{Name: "another"}

		began := time.Now()
		l := w.underLoad(ctx, web)
		l.ask(ctx, "an admin", func(err error) bool { return err == nil }, func(ctx context.Context) error {
			return w.Create(ctx, policy.DeepCopy(), client.DryRunAll)
		})
		l.goesOn(ctx)
		last := first
		for range 2 {
			w.renew(ctx)
			fresh := w.issuedAfter(ctx, last)
			w.remount(ctx, operators)
			w.servedBy(ctx, operators, fresh)
			l.goesOn(ctx)
			last = fresh
		}
		Expect(l.end()).To(BeEmpty(), "each request has its answer, and the right one")
		Expect(w.unjudged(began)).To(BeEmpty())
	}, SpecTimeout(2*specTimeout))
})

// renew asks cert-manager for another certificate, as "cmctl renew" does.
func (w *world) renew(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		certificate := &unstructured.Unstructured{}
		certificate.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
		g.Expect(w.Get(ctx, servingCert, certificate)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		conditions = append(conditions, map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": certificate.GetGeneration(),
		})
		g.Expect(unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions")).To(Succeed())
		g.Expect(w.Status().Update(ctx, certificate)).To(Succeed())
	}).Should(Succeed())
}

// issuedAfter waits until there is another certificate than the last one.
func (w *world) issuedAfter(ctx context.Context, last []byte) []byte {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.Get(ctx, servingSecret, secret)).To(Succeed())
		g.Expect(secret.Data[corev1.TLSCertKey]).NotTo(BeEmpty())
		g.Expect(secret.Data[corev1.TLSCertKey]).NotTo(Equal(last))
	}).WithTimeout(settled).Should(Succeed())
	return secret.Data[corev1.TLSCertKey]
}

// remount has what is mounted be what the Secret has, as kubelets do within a minute or so.
func (w *world) remount(ctx context.Context, operators []*controlplane.Operator) {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(w.Get(ctx, operatorKey, d)).To(Succeed())
	for _, o := range operators {
		w.mount(ctx, d.Spec.Template.Spec, filepath.Join(w.cp.Dir(), o.Name+"-certs"))
	}
}

// servedBy waits until all operators serve with a certificate.
func (w *world) servedBy(ctx context.Context, operators []*controlplane.Operator, certificate []byte) {
	GinkgoHelper()
	block, _ := pem.Decode(certificate)
	Expect(block).NotTo(BeNil(), "no certificate")
	for _, o := range operators {
		Eventually(ctx, func(g Gomega) {
			var address string
			for _, arg := range w.cp.Args(o.Name) {
				if port, found := strings.CutPrefix(arg, "--webhook-port="); found {
					address = net.JoinHostPort("127.0.0.1", port)
				}
			}
			// What it is, and not whether somebody trusts it, is the question.
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			g.Expect(err).NotTo(HaveOccurred())
			defer conn.Close() //nolint:errcheck // Nothing was written.
			secured := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			g.Expect(secured.HandshakeContext(ctx)).To(Succeed())
			served := secured.ConnectionState().PeerCertificates
			g.Expect(served).NotTo(BeEmpty())
			g.Expect(bytes.Equal(served[0].Raw, block.Bytes)).To(BeTrue(), "%s serves with another certificate", o.Name)
		}).WithTimeout(handedOver).Should(Succeed())
	}
}
