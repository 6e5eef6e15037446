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
	"crypto/x509/pkix"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/stage"
)

// withCertificate acts with a client certificate for a user, which the control plane has signed.
func withCertificate(ctx context.Context, user string) *actor {
	GinkgoHelper()
	pem, err := keyutil.MakeEllipticPrivateKeyPEM()
	Expect(err).NotTo(HaveOccurred())
	key, err := keyutil.ParsePrivateKeyPEM(pem)
	Expect(err).NotTo(HaveOccurred())
	asked, err := certutil.MakeCSR(key, &pkix.Name{CommonName: user}, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "controller-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: asked, SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}
	Expect(shared.Create(ctx, csr)).To(Succeed())
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Wanted",
	}}
	Expect(shared.SubResource("approval").Update(ctx, csr)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(csr), csr)).To(Succeed())
		g.Expect(csr.Status.Certificate).NotTo(BeEmpty())
	}).Should(Succeed())
	return shared.withCredential(func(config *rest.Config) { config.CertData, config.KeyData = csr.Status.Certificate, pem })
}

// withSecret acts with a token of the controller's service account that a Secret holds.
func withSecret(ctx context.Context, ns string) *actor {
	GinkgoHelper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "controller-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "controller"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
	Expect(shared.Create(ctx, secret)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		g.Expect(secret.Data).To(HaveKey(corev1.ServiceAccountTokenKey))
	}).Should(Succeed())
	return shared.withCredential(func(config *rest.Config) { config.BearerToken = string(secret.Data[corev1.ServiceAccountTokenKey]) })
}

// withGonePod acts with a token of a Pod that is deleted after the API server has seen the token:
// for some seconds it takes it.
func withGonePod(ctx context.Context, ns string) *actor {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "gone-"},
		Spec:       corev1.PodSpec{ServiceAccountName: "controller", Containers: []corev1.Container{{Name: "manager", Image: "example.org/controller:v2"}}},
	}
	Expect(shared.Create(ctx, pod)).To(Succeed())
	who := shared.withToken(ctx, ns, &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID})
	Expect(who.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	Expect(shared.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	return who
}

// Which version a controller is in tells the Pod that its token is bound to, and nothing else.
var _ = Describe("The version of a controller", func() {
	It("is unknown where nothing names its Pod, which is said, and no upgrade where it is the same", func(ctx SpecContext) {
		const v1, v2 = "example.org/controller:v1", "example.org/controller:v2"
		group := defineThings(ctx)
		ns := shared.newNamespace(ctx)
		user := shared.makeController(ctx, ns)
		shared.governController(ctx, group, ns)
		owner, greta, reader := shared.as(alice, platformTeam, "system:masters"), shared.as("greta", "system:masters"), shared.as("reader", "system:masters")

		By("saying so before any Pod runs as it")
		agreed := upgradeOf(user)
		Expect(greta.Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			g.Expect(agreed.Status.Conditions).To(ContainElement(SatisfyAll(HaveField("Type", v1alpha1.ConditionEnforced),
				HaveField("Reason", v1alpha1.ReasonIdentityUnknown), HaveField("Message", ContainSubstring("No Pod runs as "+user)))))
		}).Should(Succeed())

		first := shared.runVersion(ctx, ns, "controller-1", v1)
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a"}
		Expect(owner.Create(ctx, thing)).To(Succeed())
		Eventually(ctx, func() error { return first.reconcileAs(ctx, thing) }).Should(Succeed())
		shared.over(ctx, thing)
		remembers := func() []v1alpha1.ControllerVersion { return shared.recorded(ctx, thing).Status.Versions }
		Eventually(ctx, remembers).Should(ConsistOf(HaveField("Image", v1)))
		made := remembers()
		shared.expectAccepted(ctx, agreed)
		refused := func(who *actor, says string) {
			GinkgoHelper()
			other := *first
			other.actor, other.format = who, "2"
			err := other.reconcileAs(ctx, thing.DeepCopy())
			Expect(err).To(MatchError(denied, "denied"))
			Expect(err).To(MatchError(ContainSubstring("UpgradeAllowance " + agreed.Name + " does not let it through: " + says)))
		}

		By("having credentials that name no Pod")
		const unknown = "the version that makes the request is not known: "
		refused(shared.withToken(ctx, ns, nil), unknown+"its token is bound to no Pod")
		refused(withCertificate(ctx, user), unknown+"it shows a client certificate, which is bound to no Pod")
		refused(shared.serviceAccount(user), unknown+"nothing says which Pod it is: somebody impersonates it, or its token is that of a Secret")
		refused(withSecret(ctx, ns), unknown+"nothing says which Pod it is")
		refused(withGonePod(ctx, ns), unknown+"its Pod "+ns+"/gone-")
		reader.reads(ctx, ns, WithTransform(unwrapped, ContainSubstring(unknown)), "why", "things."+group+"/app")

		By("being the same in a younger Pod, with another container beside it, and with another token")
		replica := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "controller-2", Annotations: map[string]string{"kubectl.kubernetes.io/default-container": "manager"}},
			Spec: corev1.PodSpec{ServiceAccountName: "controller", Containers: []corev1.Container{
				{Name: "injected", Image: "example.org/sidecar:v9"}, {Name: "manager", Image: v1},
			}},
		}
		Expect(shared.Create(ctx, replica)).To(Succeed())
		for range 2 {
			refused(shared.withToken(ctx, ns, &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: replica.Name, UID: replica.UID}),
				"the parent was upgraded to image "+v1+", or made by it")
		}
		Expect(remembers()).To(Equal(made))

		By("being what somebody says who may impersonate a Pod")
		second := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "controller-3"}, Spec: *replica.Spec.DeepCopy()}
		second.Spec.Containers = []corev1.Container{{Name: "manager", Image: v2}}
		Expect(shared.Create(ctx, second)).To(Succeed())
		config := rest.CopyConfig(shared.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: serviceaccount.MakeGroupNames(ns), Extra: map[string][]string{
			serviceaccount.PodNameKey: {second.Name}, serviceaccount.PodUIDKey: {string(second.UID)},
		}}
		c, err := client.New(config, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		posing := *first
		posing.actor, posing.format = &actor{Actor: &stage.Actor{Client: c}, cluster: shared}, "2"
		Eventually(ctx, func() error { return posing.reconcileAs(ctx, thing) }).WithTimeout(time.Minute).Should(Succeed())
		Expect(remembers()).To(ConsistOf(HaveField("Image", v2)))
	}, SpecTimeout(specTimeout))
})
