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

package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// connectTimeout bounds how long a kube-apiserver may take to say where it wants to go.
const connectTimeout = 10 * time.Second

// Services leads a kube-apiserver to Services whose Pods are processes on this machine. What
// is installed can then be exactly what is shipped: kube-apiserver looks up the Service that
// a webhook names, and has a proxy connect it to the address of that.
type Services struct {
	listener net.Listener
	dir      string
	lead     func(ctx context.Context, address string) []string
}

// ServeServices begins to lead connections. lead is asked for each where the address of a
// Service, as IP:port, leads to; the first of these that can be reached gets the connection.
func ServeServices(ctx context.Context, lead func(ctx context.Context, address string) []string) (*Services, error) {
	// The path of a socket may not be long.
	dir, err := os.MkdirTemp("", "services-")
	if err != nil {
		return nil, err
	}
	s := &Services{dir: dir, lead: lead}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", s.socket()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	config := fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      uds:
        udsName: %s
`, s.socket())
	if err := os.WriteFile(s.config(), []byte(config), 0o600); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	go s.serve(context.WithoutCancel(ctx))
	return s, nil
}

// APIServerFlags returns what kube-apiserver has to be started with.
func (s *Services) APIServerFlags() []string {
	return []string{"--egress-selector-config-file=" + s.config()}
}

// Close ends the proxy. Connections that are there go on.
func (s *Services) Close() error { return errors.Join(s.listener.Close(), os.RemoveAll(s.dir)) }

func (s *Services) socket() string { return filepath.Join(s.dir, "socket") }
func (s *Services) config() string { return filepath.Join(s.dir, "egress.yaml") }

// serve ends with the listener.
func (s *Services) serve(ctx context.Context) {
	for {
		from, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.connect(ctx, from)
	}
}

// connect serves one connection: where to comes first, by the method CONNECT of HTTP.
func (s *Services) connect(ctx context.Context, from net.Conn) {
	defer from.Close() //nolint:errcheck // It may be closed.
	_ = from.SetReadDeadline(time.Now().Add(connectTimeout))
	reader := bufio.NewReader(from)
	request, err := http.ReadRequest(reader)
	if err != nil || request.Method != http.MethodConnect {
		return
	}
	_ = from.SetReadDeadline(time.Time{})
	to := s.dial(ctx, request.Host)
	if to == nil {
		_, _ = io.WriteString(from, "HTTP/1.1 503 Service Unavailable\r\n\r\n")
		return
	}
	defer to.Close() //nolint:errcheck // It may be closed.
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(to, reader); done <- struct{}{} }()
	go func() { _, _ = io.Copy(from, to); done <- struct{}{} }()
	<-done
}

// dial connects to the first process behind a Service that can be reached; nil where there is none.
func (s *Services) dial(ctx context.Context, service string) net.Conn {
	for _, address := range s.lead(ctx, service) {
		if to, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			return to
		}
	}
	return nil
}
