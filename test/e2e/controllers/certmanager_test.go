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

package controllers

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// issuedSecret is where the Certificate of the specs is.
const issuedSecret = "web-tls"

// issuer returns an Issuer that needs nobody else.
func (s *scene) issuer() *unstructured.Unstructured {
	GinkgoHelper()
	return s.object(`
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self}
spec: {selfSigned: {}}
`)
}

// certificate returns a Certificate of the issuer.
func (s *scene) certificate() *unstructured.Unstructured {
	GinkgoHelper()
	return s.object(`
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec:
  secretName: ` + issuedSecret + `
  issuerRef: {name: self, kind: Issuer, group: cert-manager.io}
  dnsNames: [web.example.org]
  privateKey: {algorithm: ECDSA, rotationPolicy: Never}
`)
}

// secret returns what was issued, with its key.
func (s *scene) secret(ctx context.Context, g Gomega) *corev1.Secret {
	secret := &corev1.Secret{}
	g.Expect(shared.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: issuedSecret}, secret)).To(Succeed())
	return secret
}

// names returns the names in what was issued.
func (s *scene) names(ctx context.Context, g Gomega) []string {
	block, _ := pem.Decode(s.secret(ctx, g).Data[corev1.TLSCertKey])
	g.Expect(block).NotTo(BeNil(), "no certificate")
	parsed, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	return parsed.DNSNames
}

// issued waits until a Certificate is ready at its generation, with names.
func (s *scene) issued(ctx context.Context, certificate *unstructured.Unstructured, names ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		live(ctx, g, certificate)
		g.Expect(stage.Condition(certificate, "Ready")).To(And(HaveKeyWithValue("status", "True"),
			HaveKeyWithValue("observedGeneration", certificate.GetGeneration())))
		g.Expect(stage.Condition(certificate, "Issuing")).NotTo(HaveKeyWithValue("status", "True"))
		g.Expect(s.names(ctx, g)).To(ConsistOf(names))
	}).WithTimeout(within).Should(Succeed())
}

// renew asks for another certificate, as "cmctl renew" does.
func (s *scene) renew(ctx context.Context, who *stage.Actor, certificate *unstructured.Unstructured) error {
	GinkgoHelper()
	live(ctx, Default, certificate)
	asked := certificate.DeepCopy()
	conditions, _, err := unstructured.NestedSlice(asked.Object, "status", "conditions")
	Expect(err).NotTo(HaveOccurred())
	conditions = append(conditions, map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": asked.GetGeneration(),
	})
	Expect(unstructured.SetNestedSlice(asked.Object, conditions, "status", "conditions")).To(Succeed())
	return who.Status().Update(ctx, asked)
}

// issuing is what people do with a Certificate in the course of its life.
func issuing(ctx context.Context, s *scene) {
	GinkgoHelper()
	Expect(s.alice.Create(ctx, s.issuer())).To(Succeed())
	web := s.certificate()
	Expect(s.alice.Create(ctx, web)).To(Succeed())
	s.issued(ctx, web, "web.example.org")
	By("changing its names")
	merge(ctx, s.alice, web, `{"spec":{"dnsNames":["web.example.org","www.example.org"]}}`)
	s.issued(ctx, web, "web.example.org", "www.example.org")
	By("changing what its Secret is labeled with")
	merge(ctx, s.alice, web, `{"spec":{"secretTemplate":{"labels":{"team":"shop"}}}}`)
	Eventually(ctx, func(g Gomega) {
		g.Expect(s.secret(ctx, g).Labels).To(HaveKeyWithValue("team", "shop"))
	}).WithTimeout(within).Should(Succeed())
	By("losing the Secret")
	s.quiet(ctx)
	Expect(s.alice.Delete(ctx, s.secret(ctx, Default))).To(Succeed())
	s.issued(ctx, web, "web.example.org", "www.example.org")
	By("deleting it")
	s.quiet(ctx)
	Expect(s.alice.Delete(ctx, web)).To(Succeed())
	shared.Gone(ctx, s.ref(corev1.SchemeGroupVersion.WithKind("Secret"), issuedSecret))
}

var _ = Describe("cert-manager", Label(controllers.CertManager.Name), func() {
	It("does its work, with not many more writes", func(ctx SpecContext) {
		compare(ctx, controllers.CertManager.Name, issuing)
	}, SpecTimeout(2*specTimeout))

	It("carries out what somebody caused who may, and nothing of a stranger's", func(ctx SpecContext) {
		s := setScene(ctx, true)
		Expect(s.alice.Create(ctx, s.issuer())).To(Succeed())
		web := s.certificate()
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.issued(ctx, web, "web.example.org")
		s.caused("secrets", stage.AliceName, "create", "delete")
		s.quiet(ctx)

		By("changing it as an initiator")
		s.look()
		merge(ctx, s.bob, web, `{"spec":{"dnsNames":["web.example.org","www.example.org"]}}`)
		s.issued(ctx, web, "web.example.org", "www.example.org")
		s.caused("certificaterequests", "bob", "create")
		s.quiet(ctx)
		Expect(s.refusals()).To(BeEmpty())

		By("changing it as a stranger")
		s.look()
		before := s.secret(ctx, Default).ResourceVersion
		merge(ctx, s.mallory, web, `{"spec":{"dnsNames":["theirs.example.org"]}}`)
		Expect(s.mallory.Warned.Take()).To(ContainSubstring("withheld"))
		s.quiet(ctx)
		Expect(s.secret(ctx, Default).ResourceVersion).To(Equal(before))
		live(ctx, Default, web)
		Expect(stage.WithheldOf(web)).NotTo(BeEmpty())

		By("approving it")
		s.look()
		approve(ctx, s.alice, web)
		s.issued(ctx, web, "theirs.example.org")
		s.caused("certificaterequests", stage.AliceName, "create")
		s.quiet(ctx)

		By("being at rest")
		s.look()
		Consistently(ctx, func() []string { return describe(s.counted()) }).WithTimeout(2 * quietMoment).Should(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("renews what its time has come for", func(ctx SpecContext) {
		s := setScene(ctx, true)
		Expect(s.alice.Create(ctx, s.issuer())).To(Succeed())
		web := s.certificate()
		// Its webhook, which is not there, would want an hour.
		spec, _, _ := unstructured.NestedMap(web.Object, "spec")
		spec["duration"], spec["renewBefore"] = "30s", "10s"
		Expect(unstructured.SetNestedMap(web.Object, spec, "spec")).To(Succeed())
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.issued(ctx, web, "web.example.org")
		for range 2 {
			before := s.secret(ctx, Default).Data[corev1.TLSCertKey]
			Eventually(ctx, func(g Gomega) { g.Expect(s.secret(ctx, g).Data[corev1.TLSCertKey]).NotTo(Equal(before)) }).
				WithTimeout(within).Should(Succeed())
		}
		Expect(s.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("renews for those who may, as cmctl asks for it", func(ctx SpecContext) {
		s := setScene(ctx, true)
		Expect(s.alice.Create(ctx, s.issuer())).To(Succeed())
		web := s.certificate()
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.issued(ctx, web, "web.example.org")
		s.quiet(ctx)
		s.look()
		before := s.secret(ctx, Default).Data[corev1.TLSCertKey]
		refused(s.renew(ctx, s.mallory, web))
		refused(s.mallory.Status().Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(`{"status":{"nextPrivateKeySecretName":"theirs"}}`))))
		Expect(s.renew(ctx, s.bob, web)).To(Succeed())
		Eventually(ctx, func(g Gomega) { g.Expect(s.secret(ctx, g).Data[corev1.TLSCertKey]).NotTo(Equal(before)) }).
			WithTimeout(within).Should(Succeed())
		s.issued(ctx, web, "web.example.org")
		s.caused("certificaterequests", "bob", "create")
		s.caused("secrets", "bob", "create", "update", "patch")
		s.quiet(ctx)
		Expect(s.Writes(controlplane.ByUser(stage.MalloryName), controlplane.Succeeded)).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("issues by what may be changed of its issuer", func(ctx SpecContext) {
		s := setScene(ctx, true)
		self := s.issuer()
		Expect(s.alice.Create(ctx, self)).To(Succeed())
		web := s.certificate()
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.issued(ctx, web, "web.example.org")
		s.quiet(ctx)

		By("changing and deleting the issuer as a stranger")
		const theirs = `{"spec":{"selfSigned":{"crlDistributionPoints":["http://theirs.example.org"]}}}`
		refused(s.mallory.Patch(ctx, self, client.RawPatch(types.MergePatchType, []byte(theirs))))
		refused(s.mallory.Delete(ctx, s.issuer()))

		By("changing it as an initiator")
		s.look()
		merge(ctx, s.bob, self, `{"spec":{"selfSigned":{"crlDistributionPoints":["http://crl.example.org"]}}}`)
		Eventually(ctx, func(g Gomega) {
			live(ctx, g, self)
			g.Expect(stage.Condition(self, "Ready")).To(HaveKeyWithValue("observedGeneration", self.GetGeneration()))
		}).Should(Succeed())
		s.quiet(ctx)
		Expect(s.alice.Delete(ctx, s.secret(ctx, Default))).To(Succeed())
		s.issued(ctx, web, "web.example.org")
		s.causedThrough("certificaterequests", "bob", "Issuer", "create")
		Expect(s.refusals()).To(BeEmpty())
	}, SpecTimeout(specTimeout))

	It("keeps what it has issued from strangers", func(ctx SpecContext) {
		s := setScene(ctx, true)
		Expect(s.alice.Create(ctx, s.issuer())).To(Succeed())
		web := s.certificate()
		Expect(s.alice.Create(ctx, web)).To(Succeed())
		s.issued(ctx, web, "web.example.org")
		s.quiet(ctx) // The operator is told of it a moment later.
		s.look()
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: issuedSecret}}
		err := s.mallory.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(`{"data":{"tls.key":"eA=="}}`)))
		Expect(err).To(MatchError(ContainSubstring("not allowed by its parent Certificate web")))
		Expect(s.mallory.Delete(ctx, secret)).To(MatchError(stage.Denied, "denied"))
		Expect(s.Writes(controlplane.ByUser(stage.MalloryName), controlplane.Succeeded)).To(BeEmpty())
	}, SpecTimeout(specTimeout))
})
