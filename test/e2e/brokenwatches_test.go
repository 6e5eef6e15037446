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
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// lostWithin is how long the operator may take to notice that nothing comes any more on
// its connection.
const lostWithin = 15 * time.Second

// What the operator decides by comes by watches. Where these are broken it knows so.
var _ = Describe("An operator whose watches are broken", Ordered, func() {
	var (
		c   *cluster
		api *unsteadyProxy
	)
	BeforeAll(func(ctx SpecContext) {
		cp := startControlPlane(ctx, controlplane.Options{})
		objects, err := cp.Render(ctx, *operatorSetup)
		Expect(err).NotTo(HaveOccurred())
		Expect(cp.Apply(ctx, objects)).To(Succeed())
		kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(cp.WriteKubeconfigFor(ctx, controlplane.OperatorNamespace, controlplane.OperatorServiceAccount, kubeconfig)).To(Succeed())
		api = startUnsteadyProxy(cp.AdminConfig())
		redirect(kubeconfig, &api.watchProxy)
		_, err = controlplane.InstallOperator(ctx, cp, controlplane.OperatorOptions{
			Binary: *operatorBin, Overlay: *operatorSetup, ExtraFlags: []string{"--kubeconfig=" + kubeconfig},
		})
		Expect(err).NotTo(HaveOccurred())
		c = connect(cp)
		c.applySamplePolicies(ctx)
	}, NodeTimeout(startTimeout))

	ready := func(ctx context.Context) (int, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.ReadyURL, http.NoBody)
		if err != nil {
			return 0, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	// scaling is what a stranger tries with the only ReplicaSet of a namespace, on a dry run.
	scaling := func(ctx context.Context, ns, name string) func() error {
		GinkgoHelper()
		rs := c.newestReplicaSet(ctx, c.alice().deploy(ctx, builders.MakeDeployment(ns, name).Replicas(2)))
		return func() error {
			return c.mallory().Patch(ctx, rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(replicas(9))), client.DryRunAll)
		}
	}
	forbidden := MatchError(ContainSubstring("is not allowed by its parent"))

	It("is not ready while nothing comes, and refuses what it refused before", func(ctx SpecContext) {
		try := scaling(ctx, c.newNamespace(ctx), "web")
		Eventually(ctx, try).Should(forbidden)
		Expect(ready(ctx)).To(Equal(http.StatusOK))
		api.stall()
		Eventually(ctx, func() (int, error) { return ready(ctx) }).WithTimeout(lostWithin).Should(Equal(http.StatusInternalServerError))
		Expect(try()).To(forbidden)
		api.goOn()
		Eventually(ctx, func() (int, error) { return ready(ctx) }).Should(Equal(http.StatusOK))
		Eventually(ctx, try).Should(forbidden)
	}, SpecTimeout(specTimeout))

	It("reads what it does not hear of, and is ready", func(ctx SpecContext) {
		governed, other := c.newNamespace(ctx), c.newNamespaceFor(ctx, "none")
		try, tryOther := scaling(ctx, governed, "web"), scaling(ctx, other, "web")
		Eventually(ctx, try).Should(forbidden)
		Expect(tryOther()).To(Succeed())
		api.refuseWatches()
		DeferCleanup(api.goOn)

		By("a namespace coming under policies")
		namespace := &corev1.Namespace{}
		Expect(c.Get(ctx, client.ObjectKey{Name: other}, namespace)).To(Succeed())
		delete(namespace.Labels, labelOwnPolicies)
		Expect(c.Update(ctx, namespace)).To(Succeed())
		Eventually(ctx, tryOther).WithTimeout(lostWithin).Should(forbidden)
		Expect(ready(ctx)).To(Equal(http.StatusOK))

		By("the policies going")
		Expect(c.DeleteAllOf(ctx, &v1alpha1.AllowancePolicy{})).To(Succeed())
		Eventually(ctx, try).WithTimeout(lostWithin).Should(Succeed())
		Expect(ready(ctx)).To(Equal(http.StatusOK))
	}, SpecTimeout(specTimeout))
})

// unsteadyProxy leads to the API server. It can refuse all watches, and it can keep its
// connections and let nothing through, as a firewall does that has forgotten them.
type unsteadyProxy struct {
	watchProxy

	mu      sync.Mutex
	refuses bool
	watches map[io.Closer]bool
	// stalled is closed where everything goes on.
	stalled chan struct{}
}

func startUnsteadyProxy(api *rest.Config) *unsteadyProxy {
	GinkgoHelper()
	target, err := url.Parse(api.Host)
	Expect(err).NotTo(HaveOccurred())
	// Whoever calls brings a token of their own.
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: api.CAData}})
	Expect(err).NotTo(HaveOccurred())
	p := &unsteadyProxy{watches: map[io.Closer]bool{}, stalled: make(chan struct{})}
	close(p.stalled)
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      quietLog(),
		ModifyResponse: func(resp *http.Response) error {
			if watching := resp.Request.URL.Query().Get("watch"); watching == "true" || watching == "1" {
				return p.attend(resp)
			}
			return nil
		},
	})
	server.EnableHTTP2 = true
	server.Config.ErrorLog = quietLog()
	server.Listener = unsteadyListener{server.Listener, p}
	server.StartTLS()
	DeferCleanup(func() {
		p.goOn()
		server.CloseClientConnections()
		server.Close()
	})
	p.URL = server.URL
	p.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return p
}

var errNoWatches = errors.New("no watches")

func (p *unsteadyProxy) attend(resp *http.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses {
		return errors.Join(errNoWatches, resp.Body.Close())
	}
	p.watches[resp.Body] = true
	return nil
}

// refuseWatches ends all watches, and lets nobody watch.
func (p *unsteadyProxy) refuseWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = true
	for each := range p.watches {
		_ = each.Close()
	}
	clear(p.watches)
}

// stall lets nothing through.
func (p *unsteadyProxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = make(chan struct{})
}

// goOn lets everything through.
func (p *unsteadyProxy) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = false
	select {
	case <-p.stalled:
	default:
		close(p.stalled)
	}
}

// wait returns once something may pass.
func (p *unsteadyProxy) wait() {
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	<-stalled
}

type unsteadyListener struct {
	net.Listener
	proxy *unsteadyProxy
}

func (l unsteadyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return unsteadyConn{conn, l.proxy}, nil
}

type unsteadyConn struct {
	net.Conn
	proxy *unsteadyProxy
}

func (c unsteadyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.proxy.wait()
	return n, err
}

func (c unsteadyConn) Write(b []byte) (int, error) {
	c.proxy.wait()
	return c.Conn.Write(b)
}
