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
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"

	"kausality.io/operator/internal/interception"
	"kausality.io/operator/test/controlplane"
)

// service leads to the replicas of an operator, of which one leads, as a Service does to
// Pods: each connection to one of them in turn, and to the next where it cannot be reached.
type service struct {
	cp    *controlplane.ControlPlane
	names []string
	url   string
	turn  atomic.Int64
	// verdicts counts what the validating hooks were asked, by who asks and for what.
	verdicts map[string]int64
	counting sync.Mutex
}

// verdictsOf returns how often the validating hook was asked about what somebody does to an object, dry runs
// apart: the API server asks again where somebody else was faster to write the object.
func (s *service) verdictsOf(user, name string) int64 {
	s.counting.Lock()
	defer s.counting.Unlock()
	return s.verdicts[user+" "+name]
}

// countVerdict counts a request of the API server.
func (s *service) countVerdict(r *http.Request) io.ReadCloser {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return io.NopCloser(bytes.NewReader(raw))
	}
	var review admissionv1.AdmissionReview
	if json.Unmarshal(raw, &review) == nil && review.Request != nil && !ptr.Deref(review.Request.DryRun, false) {
		s.counting.Lock()
		defer s.counting.Unlock()
		if s.verdicts == nil {
			s.verdicts = map[string]int64{}
		}
		s.verdicts[review.Request.UserInfo.Username+" "+review.Request.Name]++
	}
	return io.NopCloser(bytes.NewReader(raw))
}

// front is how a service leads to replicas.
type front func(s *service, ctx context.Context, listener net.Listener)

// startReplicas starts as many operators beside a control plane as there are options, one
// after the other. They end with the control plane.
func startReplicas(ctx context.Context, cp *controlplane.ControlPlane, serve front, replicas ...controlplane.OperatorOptions) *service {
	GinkgoHelper()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "localhost:0")
	Expect(err).NotTo(HaveOccurred())
	_, port, err := net.SplitHostPort(listener.Addr().String())
	Expect(err).NotTo(HaveOccurred())
	s := &service{cp: cp, url: "https://localhost:" + port}
	for i := range replicas {
		s.names = append(s.names, fmt.Sprintf("%s-%d", controlplane.DefaultOperatorName, i+1))
	}
	go serve(s, context.WithoutCancel(ctx), listener)
	DeferCleanup(listener.Close)
	for i, replica := range replicas {
		replica.Name, replica.WebhookURL = s.names[i], s.url
		if replica.Binary == "" {
			replica.Binary = *operatorBin
		}
		if i == 0 {
			replica.Overlay = *operatorSetup
		}
		replica.ExtraFlags = append([]string{"--leader-elect"}, replica.ExtraFlags...)
		_, err := controlplane.InstallOperator(ctx, cp, replica)
		Expect(err).NotTo(HaveOccurred())
	}
	return s
}

// flags returns the values of a flag of the replicas that were started.
func (s *service) flags(prefix string) []string {
	var out []string
	for _, name := range s.names {
		for _, arg := range s.cp.Args(name) {
			if value, found := strings.CutPrefix(arg, prefix); found {
				out = append(out, value)
			}
		}
	}
	return out
}

// addresses returns where the replicas that were started serve webhooks.
func (s *service) addresses() []string {
	out := s.flags("--webhook-port=")
	for i, port := range out {
		out[i] = net.JoinHostPort("127.0.0.1", port)
	}
	return out
}

// byConnection is a front that leads each connection to one of the replicas in turn. It ends
// with the listener.
func (s *service) byConnection(ctx context.Context, listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		go s.lead(ctx, from)
	}
}

// lead leads one connection.
func (s *service) lead(ctx context.Context, from net.Conn) {
	defer from.Close() //nolint:errcheck // It may be closed.
	addresses, turn := s.addresses(), int(s.turn.Add(1))
	for i := range addresses {
		to, err := (&net.Dialer{}).DialContext(ctx, "tcp", addresses[(turn+i)%len(addresses)])
		if err == nil {
			join(from, to)
			return
		}
	}
}

// join has two connections be one, until one of them ends.
func join(from, to net.Conn) {
	defer to.Close() //nolint:errcheck // It may be closed.
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{to, from}, {from, to}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// byHook is a front that has the two hooks of a request ask two replicas, each of them one, and
// the next request the other way round. It ends with the listener.
func (s *service) byHook(_ context.Context, listener net.Listener) {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			addresses, mutating := s.addresses(), strings.HasPrefix(r.In.URL.Path, interception.MutatePath)
			turn := int(s.turn.Load())
			if mutating {
				turn = int(s.turn.Add(1))
			} else {
				turn++
				r.Out.Body = s.countVerdict(r.In)
			}
			r.SetURL(&url.URL{Scheme: "https", Host: addresses[turn%len(addresses)]})
		},
		// They are processes on this machine, whose certificate the proxy shows itself.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		ErrorLog:  quietLog(),
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, Handler: forward, ErrorLog: quietLog(),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				for _, dir := range s.flags("--cert-dir=") {
					cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
					return &cert, err
				}
				return nil, errors.New("there is no operator yet")
			},
		},
	}
	_ = server.ServeTLS(listener, "", "") // Ends with the listener.
}
