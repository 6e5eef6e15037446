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

// Package integration tests the operator's parts against a real API server: what
// only the API server can tell, such as which requests it sends to a webhook.
package integration

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/failures"
)

// startTimeout bounds how long the API server may take to start. It takes some
// seconds.
const startTimeout = 2 * time.Minute

// The API server of all specs, which clean up behind themselves.
var (
	// cluster is the control plane: etcd and the API server, without controllers.
	cluster *controlplane.ControlPlane
	// config reaches it with all rights.
	config *rest.Config
	// scheme knows the kinds that specs use.
	scheme = runtime.NewScheme()
	// k8s is a client without a cache.
	k8s client.Client
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Integration")
}

var _ = ReportAfterSuite("What failed", failures.Print)

var _ = BeforeSuite(func(ctx SpecContext) {
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)

	var err error
	cluster, err = controlplane.Start(ctx, controlplane.Options{Components: controlplane.StorageOnly()})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return cluster.Stop() })

	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	config = cluster.AdminConfig()
	k8s, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	Expect(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})).To(Succeed())
	_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Scheme:             scheme,
		Paths:              []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfPathMissing: true,
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Create(ctx, newInstalled())).To(Succeed())
}, NodeTimeout(startTimeout))

// newInstalled returns the installed configuration without which nothing is intercepted. It has the
// API server ask about nothing, as no operator answers.
func newInstalled() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "installed"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "own.kausality.io",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
				Namespace: operatorNamespace, Name: "webhook", Path: new(interception.PolicyPath), Port: new(int32(8443)),
			}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

// clientAs returns a client that impersonates a user with all rights.
func clientAs(user string) client.Client {
	GinkgoHelper()
	c, err := client.New(cluster.ConfigAs(user, "system:masters", "system:authenticated"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// run runs a manager, or a part of one, until the returned function is called, at the
// latest until the end of the spec or container.
func run(ctx context.Context, part manager.Runnable) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(stopped)
		Expect(part.Start(ctx)).To(Succeed())
	}()
	stop = func() {
		cancel()
		Eventually(stopped).Should(BeClosed())
	}
	DeferCleanup(stop)
	return stop
}

// apply creates objects, and deletes them after the spec or container.
func apply(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(k8s.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error {
			return client.IgnoreNotFound(k8s.Delete(ctx, object))
		})
	}
}
