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
	"io"
	"net"
	"net/url"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/objectcache"
)

var _ = Describe("The cache of holders", func() {
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

	It("knows that it is behind while the API server cannot be reached, and catches up", func(ctx SpecContext) {
		line := newLine(ctx)
		cfg := rest.CopyConfig(config)
		cfg.Host = "https://" + line.address
		httpClient, err := rest.HTTPClientFor(cfg)
		Expect(err).NotTo(HaveOccurred())
		cache, err := objectcache.New(cfg, httpClient, k8s.RESTMapper())
		Expect(err).NotTo(HaveOccurred())
		run(ctx, cache)
		Expect(cache.Watch(ctx, []schema.GroupVersionKind{configMaps})).To(Succeed())
		Consistently(func() bool { return cache.Behind(configMaps) }, "1s").Should(BeFalse())

		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "behind-", Namespace: metav1.NamespaceDefault}}
		Expect(k8s.Create(ctx, cm)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) error { return client.IgnoreNotFound(k8s.Delete(ctx, cm)) })
		has := func() (*unstructured.Unstructured, error) {
			return cache.Get(ctx, configMaps, client.ObjectKeyFromObject(cm))
		}
		Eventually(has).Should(HaveField("GetResourceVersion()", cm.ResourceVersion))

		line.cut()
		Eventually(func() bool { return cache.Behind(configMaps) }).Should(BeTrue())
		cm.Data = map[string]string{"changed": "meanwhile"}
		Expect(k8s.Update(ctx, cm)).To(Succeed())
		Expect(cache.Behind(configMaps)).To(BeTrue())
		Expect(has()).NotTo(HaveField("GetResourceVersion()", cm.ResourceVersion))

		line.mend(ctx)
		Eventually(func() bool { return cache.Behind(configMaps) }, "60s").Should(BeFalse())
		Expect(has()).To(HaveField("GetResourceVersion()", cm.ResourceVersion))
	})
})

// line leads to the API server until it is cut.
type line struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
}

func newLine(ctx context.Context) *line {
	GinkgoHelper()
	to, err := url.Parse(config.Host)
	Expect(err).NotTo(HaveOccurred())
	l := &line{address: "127.0.0.1:0", to: to.Host, open: map[net.Conn]bool{}}
	l.mend(ctx)
	DeferCleanup(l.cut)
	return l
}

// mend has the line lead to the API server, from the address that it had.
func (l *line) mend(ctx context.Context) {
	GinkgoHelper()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
	Expect(err).NotTo(HaveOccurred())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.address, l.listener = listener.Addr().String(), listener
	go l.accept(context.WithoutCancel(ctx), listener)
}

// cut ends all connections, and refuses further ones.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.listener.Close()
	for conn := range l.open {
		_ = conn.Close()
	}
	clear(l.open)
}

func (l *line) accept(ctx context.Context, listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return // It is cut.
		}
		to, err := new(net.Dialer).DialContext(ctx, "tcp", l.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		l.mu.Lock()
		l.open[from], l.open[to] = true, true
		l.mu.Unlock()
		for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				_, _ = io.Copy(way[0], way[1])
				_ = way[0].Close()
			}()
		}
	}
}
