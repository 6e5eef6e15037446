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
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/internal/certs"
)

var _ = Describe("Self-managed certificates", func() {
	var (
		ns            string
		secret        *corev1.Secret
		configuration *admissionregistrationv1.ValidatingWebhookConfiguration
	)

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "certificate"}}
		configuration = &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "own.kausality.io",
				ClientConfig: admissionregistrationv1.WebhookClientConfig{
					Service: &admissionregistrationv1.ServiceReference{Namespace: ns, Name: "webhook"},
				},
				SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
				AdmissionReviewVersions: []string{"v1"},
			}},
		}
		apply(ctx, configuration)
	})

	// startReplica starts an operator that has nothing but certificates.
	startReplica := func(ctx context.Context, name string, options ...func(*ctrl.Options)) (*certs.Certs, string) {
		GinkgoHelper()
		var replica *certs.Certs
		own := configuration.Name
		dir := filepath.Join(GinkgoT().TempDir(), "certs")
		managerOptions := ctrl.Options{
			LeaderElection:                true,
			LeaderElectionID:              "certs",
			LeaderElectionNamespace:       ns,
			LeaderElectionReleaseOnCancel: true,
		}
		for _, change := range options {
			change(&managerOptions)
		}
		startManager(managerOptions, func(mgr ctrl.Manager) (err error) {
			replica, err = certs.Setup(ctx, mgr, certs.Options{
				Dir:           dir,
				Namespace:     ns,
				SecretName:    secret.Name,
				ServiceName:   "webhook",
				ExtraDNSNames: []string{"localhost"},
				Installed: func(c client.Object) bool {
					return c.GetName() == own
				},
				LeaderElection: true,
				ControllerName: name,
			})
			return err
		})
		return replica, dir
	}

	// expectServing verifies what a replica serves with, as the API server does, and waits until
	// it has left that in its directory.
	expectServing := func(replica *certs.Certs, dir string) {
		GinkgoHelper()
		pair, err := replica.GetCertificate(nil)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			left, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(left.Certificate).To(Equal(pair.Certificate))
		}).Should(Succeed())
		roots := x509.NewCertPool()
		Expect(roots.AppendCertsFromPEM(replica.CABundle())).To(BeTrue())
		for _, host := range []string{"webhook." + ns + ".svc", "localhost"} {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots})
			Expect(err).NotTo(HaveOccurred())
		}
	}

	It("are the same on all replicas, and replaced when they are lost", func(ctx SpecContext) {
		first, firstDir := startReplica(ctx, "first")
		second, secondDir := startReplica(ctx, "second")
		for _, replica := range []*certs.Certs{first, second} {
			Eventually(replica.Ready()).Should(BeClosed())
			Eventually(replica.Changed()).Should(Receive())
			Expect(replica.Healthz(nil)).To(Succeed())
		}
		expectServing(first, firstDir)
		expectServing(second, secondDir)
		Expect(second.CABundle()).To(Equal(first.CABundle()))
		Eventually(func(g Gomega) {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(configuration), configuration)).To(Succeed())
			g.Expect(configuration.Webhooks[0].ClientConfig.CABundle).To(Equal(first.CABundle()))
		}).Should(Succeed())

		By("keeping the key of the authority out of the directory")
		files, err := os.ReadDir(firstDir)
		Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			Expect(file.Name()).To(BeElementOf("tls.crt", "tls.key"))
			info, err := file.Info()
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
		}

		By("losing the Secret")
		lost := first.CABundle()
		Expect(k8s.Delete(ctx, secret)).To(Succeed())
		for _, replica := range []*certs.Certs{first, second} {
			Eventually(replica.CABundle).ShouldNot(Equal(lost))
		}
		expectServing(first, firstDir)
		expectServing(second, secondDir)
		Expect(second.CABundle()).To(Equal(first.CABundle()))
	}, SpecTimeout(time.Minute))

	// The operator ended with the rotator once, which reads the Secret again when it could not
	// write it.
	It("outlive that the Secret is deleted as they start", func(ctx SpecContext) {
		refused, again := make(chan struct{}), make(chan struct{})
		var once sync.Once
		losing := func(options *ctrl.Options) {
			options.NewClient = func(config *rest.Config, o client.Options) (client.Client, error) {
				inner, err := client.NewWithWatch(config, o)
				return interceptor.NewClient(inner, interceptor.Funcs{
					Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
						if _, ok := obj.(*corev1.Secret); ok {
							once.Do(func() {
								close(refused) // Before anybody can make it anew.
								_ = k8s.Delete(ctx, secret)
							})
						}
						return c.Update(ctx, obj, opts...)
					},
					Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
						if _, ok := obj.(*corev1.Secret); ok {
							select {
							case <-refused:
								<-again // Whoever reads it meanwhile finds none.
							default:
							}
						}
						return c.Create(ctx, obj, opts...)
					},
				}), err
			}
		}
		replica, dir := startReplica(ctx, "alone", losing)
		Eventually(refused).Should(BeClosed())
		Consistently(replica.Ready(), "2s").ShouldNot(BeClosed())
		close(again)
		Eventually(replica.Ready()).Should(BeClosed())
		expectServing(replica, dir)
	}, SpecTimeout(time.Minute))
})
