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
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"kausality.io/operator/internal/interception"
)

// watchProxy stands before an API server and hands on the events of watches late.
type watchProxy struct {
	// URL of the proxy, and the CA that has signed its certificate.
	URL string
	CA  []byte
	// wrote is told of each write that the API server has answered, before the answer is handed on.
	wrote atomic.Pointer[func(*http.Request)]
}

// startWatchProxy starts a proxy, which ends with the container.
func startWatchProxy(api *rest.Config, delay time.Duration) *watchProxy {
	GinkgoHelper()
	target, err := url.Parse(api.Host)
	Expect(err).NotTo(HaveOccurred())
	// Whoever calls brings a token of their own.
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: api.CAData}})
	Expect(err).NotTo(HaveOccurred())
	proxy := &watchProxy{}
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      quietLog(),
		ModifyResponse: func(resp *http.Response) error {
			if watching := resp.Request.URL.Query().Get("watch"); watching == "true" || watching == "1" {
				resp.Body = delayBody(resp.Body, delay)
			}
			if told := proxy.wrote.Load(); told != nil && resp.Request.Method != http.MethodGet {
				(*told)(resp.Request)
			}
			return nil
		},
	})
	server.EnableHTTP2 = true
	server.Config.ErrorLog = quietLog()
	server.StartTLS()
	DeferCleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	proxy.URL = server.URL
	proxy.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return proxy
}

// chunk is something that was read, and when it may be handed on.
type chunk struct {
	due  time.Time
	data []byte
	err  error
}

// delayedBody hands on what it reads after a delay; how much comes in that time
// does not matter.
type delayedBody struct {
	body   io.ReadCloser
	chunks chan chunk
	closed chan struct{}
	rest   []byte
	err    error
}

// inFlight is how many reads may wait for their time.
const inFlight = 4096

func delayBody(body io.ReadCloser, delay time.Duration) io.ReadCloser {
	d := &delayedBody{body: body, chunks: make(chan chunk, inFlight), closed: make(chan struct{})}
	go func() {
		for {
			buffer := make([]byte, 32*1024)
			n, err := body.Read(buffer)
			select {
			case d.chunks <- chunk{due: time.Now().Add(delay), data: buffer[:n], err: err}:
			case <-d.closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return d
}

// Read implements io.Reader.
func (d *delayedBody) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		select {
		case c := <-d.chunks:
			timer := time.NewTimer(time.Until(c.due))
			select {
			case <-timer.C:
			case <-d.closed:
				timer.Stop()
				return 0, io.ErrClosedPipe
			}
			d.rest, d.err = c.data, c.err
		case <-d.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (d *delayedBody) Close() error {
	close(d.closed)
	return d.body.Close()
}

// lossDelay is how long the API server waits for an answer that is lost. What it
// would wait for others is far longer: on a busy machine none but those may be lost.
const lossDelay = time.Second

// webhookProxy stands before an operator and loses calls of its mutating webhook:
// the API server waits, and gets no answer.
type webhookProxy struct {
	URL string

	calls, losses atomic.Int64
	// losesAll is true while it loses each call.
	losesAll atomic.Bool
	// cut ends calls of the validating webhook without an answer; nil where none is to end so.
	cut atomic.Pointer[chan struct{}]
}

// startWebhookProxy starts a proxy, which ends with the container. It shows the
// certificate that the operator has in dir, as the API server trusts no other.
func startWebhookProxy(ctx context.Context, dir, operator string, oneIn int64) *webhookProxy {
	GinkgoHelper()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "localhost:0")
	Expect(err).NotTo(HaveOccurred())
	_, port, err := net.SplitHostPort(listener.Addr().String())
	Expect(err).NotTo(HaveOccurred())
	proxy := &webhookProxy{URL: "https://localhost:" + port}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: operator}) },
		Transport: &http.Transport{
			// It is a process on this machine whose certificate the proxy shows itself.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		ErrorLog: quietLog(),
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          quietLog(),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
				return &cert, err
			},
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, interception.MutatePath) && (proxy.calls.Add(1)%oneIn == 0 || proxy.losesAll.Load()) {
				proxy.losses.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				select {
				case <-r.Context().Done():
				case <-time.After(lossDelay):
				}
				panic(http.ErrAbortHandler) // no answer, as after a timeout
			}
			if cut := proxy.cut.Load(); cut != nil && strings.HasPrefix(r.URL.Path, interception.ValidatePath) {
				ctx, end := context.WithCancel(r.Context())
				defer end()
				go func() {
					select {
					case <-*cut:
						end()
					case <-ctx.Done():
					}
				}()
				defer func() {
					if ctx.Err() != nil {
						panic(http.ErrAbortHandler)
					}
				}()
				r = r.WithContext(ctx)
			}
			forward.ServeHTTP(w, r)
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	DeferCleanup(func() {
		Expect(server.Close()).To(Succeed())
		Expect(errors.Is(<-served, http.ErrServerClosed)).To(BeTrue())
	})
	return proxy
}

// loseAll loses all calls meanwhile.
func (p *webhookProxy) loseAll(meanwhile func()) {
	p.losesAll.Store(true)
	defer p.losesAll.Store(false)
	meanwhile()
}

// lost returns how many calls were lost by now.
func (p *webhookProxy) lost() int64 { return p.losses.Load() }

// quietLog keeps connections that are cut on purpose out of the output.
func quietLog() *log.Logger { return log.New(GinkgoWriter, "proxy: ", log.LstdFlags) }
