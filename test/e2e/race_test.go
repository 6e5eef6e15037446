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
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

const (
	// watchDelay is how far the operator's caches are behind.
	watchDelay = 500 * time.Millisecond
	// lostCalls is of how many calls of the mutating webhook one is lost.
	lostCalls = 5
)

// The operator sees everything late, and some of its answers do not arrive. What
// it grants is not lost (D2).
var _ = Describe("With an operator that is behind and not always heard", Ordered, func() {
	var (
		behind   *cluster
		webhooks *webhookProxy
		late     *watchProxy
		started  *controlplane.Operator
	)
	BeforeAll(func(ctx SpecContext) {
		cp := startControlPlane(ctx, controlplane.Options{})
		objects, err := cp.Render(ctx, *operatorSetup)
		Expect(err).NotTo(HaveOccurred())
		Expect(cp.Apply(ctx, objects)).To(Succeed())

		By("putting a proxy between the operator and the API server")
		dir := GinkgoT().TempDir()
		kubeconfig, behindBy := lateKubeconfig(ctx, cp)
		late = behindBy

		By("putting another one between the API server and the operator")
		certs := filepath.Join(dir, "certs")
		ports, err := controlplane.FreePorts(ctx, 1)
		Expect(err).NotTo(HaveOccurred())
		port := strconv.Itoa(ports[0])
		webhooks = startWebhookProxy(ctx, certs, "localhost:"+port, lostCalls)
		started, err = controlplane.InstallOperator(ctx, cp, controlplane.OperatorOptions{
			Binary: *operatorBin, Overlay: *operatorSetup, WebhookURL: webhooks.URL,
			ExtraFlags: []string{
				"--kubeconfig=" + kubeconfig,
				"--cert-dir=" + certs,
				"--webhook-port=" + port,
				"--webhook-timeout-seconds=10",
			},
		})
		Expect(err).NotTo(HaveOccurred())
		behind = connect(cp)
		behind.applySamplePolicies(ctx)
	}, NodeTimeout(startTimeout))

	It("rolls out 20 Deployments", func(ctx SpecContext) {
		const many = 20
		ns := behind.newNamespace(ctx)
		owner := behind.alice()
		var all []*appsv1.Deployment
		for i := range many {
			d := builders.MakeDeployment(ns, fmt.Sprint("web-", i)).Replicas(5).Obj()
			Expect(owner.Create(ctx, d)).To(Succeed())
			all = append(all, d)
		}
		for _, d := range all {
			behind.complete(ctx, d, "1")
		}
		for _, d := range all {
			owner.change(ctx, d, image("web:2"))
		}
		for _, d := range all {
			behind.complete(ctx, d, "2")
		}
		Expect(behind.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:2": many * 5}))
		Expect(webhooks.lost()).To(BeNumerically(">=", many), "the proxy lost no calls")
	}, stage.Long, SpecTimeout(5*time.Minute))

	It("still holds back what nobody caused", func(ctx SpecContext) {
		ns := behind.newNamespace(ctx)
		d := behind.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		// What the operator still believes to be new is unrestricted. Its caches of the
		// object and of the record, which may have a grant that got lost on the way, are
		// behind: what it decides tells what it knows.
		rs := behind.newestReplicaSet(ctx, d)
		Eventually(ctx, func() error {
			return behind.serviceAccount(deploymentController).
				Patch(ctx, rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(replicas(9))), client.DryRunAll)
		}).Should(MatchError(denied, "denied"))
		stranger, audit := behind.mallory(), behind.watch(ns)
		for _, n := range []int32{4, 5, 6, 7, 8, 9} { // more than one in lostCalls
			stranger.change(ctx, d, replicas(n))
		}
		audit.tries(ctx, deploymentController, "Deployment web")
		Consistently(ctx, func(g Gomega) {
			g.Expect(behind.pods(ctx, g, ns)).To(Equal(map[string]int{"web:1": 3}))
		}).WithTimeout(quietMoment).Should(Succeed())
		behind.alice().change(ctx, d, approve("*"))
		behind.complete(ctx, d, "1")
		Expect(behind.pods(ctx, Default, ns)).To(Equal(map[string]int{"web:1": 9}))
	}, SpecTimeout(specTimeout))

	// underWay has something changed while a change of an initiator's is under way, and nothing come of it.
	underWay := func(ctx context.Context, change func(*appsv1.Deployment)) {
		GinkgoHelper()
		ns := behind.newNamespace(ctx)
		d := behind.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(3))
		behind.alice().change(ctx, d, `{"spec":{"minReadySeconds":500}}`)
		behind.alice().change(ctx, d, image("web:2"))
		By("having the operator see that a rollout is under way, which allows its controller more of the same")
		Eventually(ctx, func(g Gomega) {
			g.Expect(behind.pods(ctx, g, ns)).To(HaveKey("web:2"))
			rs := behind.newestReplicaSet(ctx, d)
			g.Expect(behind.serviceAccount(deploymentController).
				Patch(ctx, rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(replicas(9))), client.DryRunAll)).To(Succeed())
		}).Should(Succeed())
		audit := behind.watch(ns)
		change(d)
		audit.tries(ctx, deploymentController, "Deployment web")
		Consistently(ctx, func(g Gomega) {
			g.Expect(behind.pods(ctx, g, ns)).NotTo(HaveKey("evil:1"))
			for _, rs := range behind.replicaSets(ctx, g, d) {
				g.Expect(rs.Spec.Template.Spec.Containers[0].Image).NotTo(Equal("evil:1"))
			}
		}).WithTimeout(quietMoment).Should(Succeed())
	}

	It("holds back what is changed while an initiator's change is under way", func(ctx SpecContext) {
		underWay(ctx, func(d *appsv1.Deployment) { behind.mallory().change(ctx, d, image("evil:1")) })
	}, SpecTimeout(specTimeout))

	// What is withheld is in the record alone then, which the operator's cache does not have yet either.
	It("does so where no answer about the change is heard", func(ctx SpecContext) {
		underWay(ctx, func(d *appsv1.Deployment) {
			webhooks.loseAll(func() { behind.mallory().change(ctx, d, image("evil:1")) })
		})
	}, SpecTimeout(specTimeout))

	It("finishes what is created as the API server gives up midway", func(ctx SpecContext) {
		By("starting the operator once more, as only a leader after another one knows when nobody was there")
		Expect(started.Restart(ctx)).To(Succeed())
		ns := behind.newNamespace(ctx)
		for after := 1; after <= 5; after++ { // there are four writes at most, and one that is tried in vain
			By(fmt.Sprintf("cutting the connection after write %d of the record", after))
			name := fmt.Sprint("web-", after)
			writes, cut := atomic.Int64{}, make(chan struct{})
			told := func(r *http.Request) {
				if strings.Contains(r.URL.Path, "/namespaces/"+ns+"/allowancerecords") && writes.Add(1) == int64(after) {
					close(cut)
				}
			}
			webhooks.cut.Store(&cut)
			late.wrote.Store(&told)
			d := builders.MakeDeployment(ns, name).Replicas(2).Obj()
			webhooks.loseAll(func() { Expect(behind.alice().Create(ctx, d)).To(Succeed()) })
			webhooks.cut.Store(nil)
			late.wrote.Store(nil)
			Expect(d.Annotations).NotTo(HaveKey(ledgerKey))
			behind.complete(ctx, d, "1")
		}
	}, SpecTimeout(specTimeout))
})

// lateKubeconfig writes a kubeconfig by which an operator sees everything late, and returns its path and the proxy that
// it leads to.
func lateKubeconfig(ctx context.Context, cp *controlplane.ControlPlane) (path string, proxy *watchProxy) {
	GinkgoHelper()
	path = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(cp.WriteKubeconfigFor(ctx, controlplane.OperatorNamespace, controlplane.OperatorServiceAccount, path)).To(Succeed())
	proxy = startWatchProxy(cp.AdminConfig(), watchDelay)
	redirect(path, proxy)
	return path, proxy
}

// redirect makes a kubeconfig lead to a proxy.
func redirect(kubeconfig string, proxy *watchProxy) {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	Expect(config.Clusters).To(HaveLen(1))
	for name := range config.Clusters {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: proxy.URL, CertificateAuthorityData: proxy.CA}
	}
	Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
}
