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
	"net/http"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

const (
	// refusedWithin is how long it may take until an operator is not ready whose service account is gone: an
	// API server goes on to accept a token for ten seconds.
	refusedWithin = 40 * time.Second
	// rereadWithin is how long a client may go on with a token after there is another one in its file.
	rereadWithin = 90 * time.Second
)

// An operator whose service account was deleted and made again has a token that is good for nothing until
// it has another one. It must not refuse what it cannot write down.
var _ = Describe("An operator whose credential is refused", stage.Long, func() {
	It("is like one that is down, and begins anew with another one", func(ctx SpecContext) {
		cp := startControlPlane(ctx, controlplane.Options{})
		objects, err := cp.Render(ctx, *operatorSetup)
		Expect(err).NotTo(HaveOccurred())
		Expect(cp.Apply(ctx, objects)).To(Succeed())
		account := credentialOf(cp)
		account.renew(ctx)
		installed := stage.InstallOperator(ctx, cp, controlplane.OperatorOptions{
			Binary: *operatorBin, Overlay: *operatorSetup, ExtraFlags: []string{"--kubeconfig=" + account.kubeconfig},
		})
		c := connect(cp)
		c.applySamplePolicies(ctx)
		ns := c.newNamespace(ctx)
		owner, stranger := c.alice(), c.mallory()
		d := owner.deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2))
		stranger.change(ctx, d, image("web:stranger"))
		c.withholding(ctx, d, "spec.template.spec.containers[0].image")
		owner.change(ctx, d, image("web:2"))
		c.complete(ctx, d, "2")

		By("making its service account again")
		key := metav1.ObjectMeta{Namespace: controlplane.OperatorNamespace, Name: controlplane.OperatorServiceAccount}
		Expect(c.Delete(ctx, &corev1.ServiceAccount{ObjectMeta: key})).To(Succeed())
		Expect(c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: key})).To(Succeed())
		Eventually(ctx, account.ready(c.ReadyURL)).WithTimeout(refusedWithin).Should(Equal(http.StatusInternalServerError))
		Expect(os.ReadFile(installed.Log())).To(ContainSubstring("Nothing can be written down, and no request is judged"))

		By("going on without it")
		owner.change(ctx, d, image("web:3"))
		c.complete(ctx, d, "3")
		c.complete(ctx, stranger.deploy(ctx, builders.MakeDeployment(ns, "theirs").Replicas(1)), "1")
		Expect(stranger.try(ctx, c.newestReplicaSet(ctx, d), replicas(9))).To(Succeed())

		By("giving it another one")
		account.renew(ctx)
		Eventually(ctx, func() ([]byte, error) { return os.ReadFile(installed.Log()) }).WithTimeout(rereadWithin).
			Should(ContainSubstring("accepts the operator's credential again"))
		Expect(installed.Restart(ctx)).To(Succeed())
		Expect(account.ready(c.ReadyURL)()).To(Equal(http.StatusOK))
		stranger.change(ctx, d, image("web:stranger"))
		c.withholding(ctx, d, "spec.template.spec.containers[0].image")
	}, SpecTimeout(startTimeout+2*specTimeout))
})

// credential is a kubeconfig that has its token in another file, as in Pods.
type credential struct {
	cp                *controlplane.ControlPlane
	kubeconfig, token string
}

func credentialOf(cp *controlplane.ControlPlane) credential {
	dir := GinkgoT().TempDir()
	return credential{cp: cp, kubeconfig: filepath.Join(dir, "kubeconfig"), token: filepath.Join(dir, "token")}
}

// renew has a new token in the file.
func (c credential) renew(ctx context.Context) {
	GinkgoHelper()
	fresh := c.kubeconfig + ".new"
	Expect(c.cp.WriteKubeconfigFor(ctx, controlplane.OperatorNamespace, controlplane.OperatorServiceAccount, fresh)).To(Succeed())
	config, err := clientcmd.LoadFromFile(fresh)
	Expect(err).NotTo(HaveOccurred())
	for name, user := range config.AuthInfos {
		Expect(os.WriteFile(c.token, []byte(user.Token), 0o600)).To(Succeed())
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: c.token}
	}
	Expect(clientcmd.WriteToFile(*config, c.kubeconfig)).To(Succeed())
}

// ready asks whether the operator is.
func (credential) ready(url string) func() (int, error) {
	return func() (int, error) {
		response, err := http.Get(url) //nolint:noctx // It is on this machine, and answers at once.
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
}
