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

package operators

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"kausality.io/operator/test/controlplane"
)

// delayedCalls is of how many calls one is delayed, while calls are.
const delayedCalls = 20

// callProxy stands between the API server and the operators, as a Service does: it hands
// calls on to each in turn, and to the next where one cannot be reached. It shows the
// certificate that the operators serve with. While it is told to, it delays one in twenty
// calls past the time that the API server waits; an operator gets them all the same.
type callProxy struct {
	url    string
	group  *Group
	server *http.Server
	client *http.Client

	calls, delays atomic.Int64
	delaying      atomic.Bool
}

func startCallProxy(ctx context.Context, g *Group) (*callProxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", controlplane.HostPort(0))
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	p := &callProxy{
		url: "https://localhost:" + port, group: g,
		// They are processes on this machine, whose certificate the proxy shows itself.
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 100,
		}},
	}
	p.server = &http.Server{
		ReadHeaderTimeout: time.Minute, Handler: p, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: p.certificate},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }() // Ends when it is closed.
	return p, nil
}

func (p *callProxy) close() error { return p.server.Close() }

// reconnect has the API server connect anew, and so look at the certificate.
func (p *callProxy) reconnect() {
	p.server.SetKeepAlivesEnabled(false)
	p.server.SetKeepAlivesEnabled(true)
}

// certificate returns what the first operator serves with that has one.
func (p *callProxy) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	last := errors.New("there is no operator")
	for _, name := range p.group.Names() {
		dir := p.group.flag(name, "--cert-dir=")
		cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
		if err == nil {
			return &cert, nil
		}
		last = err
	}
	return nil, last
}

// ServeHTTP implements http.Handler.
func (p *callProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	n := p.calls.Add(1)
	if p.delaying.Load() && n%delayedCalls == 0 {
		p.delays.Add(1)
		// Nobody waits for the answer, and the call is made all the same.
		ctx = context.WithoutCancel(ctx)
		<-time.After(CallTimeout + CallTimeout/2)
	}
	names := p.group.Names()
	for i := range names {
		if p.forward(ctx, w, r, body, names[(int(n)+i)%len(names)]) {
			return
		}
	}
	panic(http.ErrAbortHandler) // As if nobody listened.
}

// forward hands a call on to an operator; false where it cannot be reached.
func (p *callProxy) forward(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte, name string) bool {
	target := fmt.Sprintf("https://%s%s", net.JoinHostPort("127.0.0.1", p.group.flag(name, "--webhook-port=")), r.URL.RequestURI())
	req, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header = r.Header.Clone()
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close() //nolint:errcheck // Read to its end.
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode == http.StatusServiceUnavailable {
		return false // It is starting: a Service would not lead to it yet.
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer) // The API server may have gone.
	return true
}
