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

package entry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestServerLeaves shows that an operator that ends answers what it was asked, and has whoever
// goes on to ask it do so elsewhere.
func TestServerLeaves(t *testing.T) {
	authority := newAuthority(t, "authority")
	certificate := authority.issue(t, "operator", x509.ExtKeyUsageServerAuth)
	server := NewServer("127.0.0.1", 0, func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }, Clients{})
	began, release := make(chan struct{}), make(chan struct{})
	answer := func(w http.ResponseWriter, r *http.Request) {
		if err := r.Context().Err(); err != nil {
			t.Errorf("a request that is being answered has ended: %v", err)
		}
		w.WriteHeader(http.StatusOK)
	}
	server.Register("/quick", http.HandlerFunc(answer))
	server.Register("/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-release
		answer(w, r)
	}))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.serve(ctx, listener) }()

	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	ask := func(path string) (closes bool) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+listener.Addr().String()+path, http.NoBody)
		if err != nil {
			t.Error(err)
			return false
		}
		got, err := transport.RoundTrip(req)
		if err != nil {
			t.Errorf("%s is not answered: %v", path, err)
			return false
		}
		defer got.Body.Close() //nolint:errcheck // It is empty.
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s is answered with %d", path, got.StatusCode)
		}
		return got.Close
	}
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		ask("/slow")
	}()
	<-began
	if ask("/quick") {
		t.Error("connections end before the operator does")
	}
	end()
	for deadline := time.Now().Add(farewellTime / 2); !ask("/quick"); {
		if time.Now().After(deadline) {
			t.Fatal("nobody is told to ask elsewhere")
		}
	}
	close(release)
	<-slow
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
