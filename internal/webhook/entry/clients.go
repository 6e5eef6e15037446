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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
)

// Clients are who may connect to the webhooks.
type Clients struct {
	// Authorities sign the certificates of clients. No certificate is asked for where there
	// are none.
	Authorities *Authorities
	// Names are the common names that a certificate may have; any where there are none.
	Names []string
}

// Configure makes a TLS server ask for their certificates. An API server speaks HTTP/1.1
// to a webhook that is behind a Service; with HTTP/2 bodies that wait would block others
// of the same connection.
func (c Clients) Configure(cfg *tls.Config, log logr.Logger) {
	cfg.NextProtos = []string{"http/1.1"}
	if c.Authorities == nil {
		return
	}
	cfg.ClientAuth = tls.RequireAnyClientCert
	cfg.VerifyConnection = func(state tls.ConnectionState) error { return c.verify(state, log) }
}

// look reads what connections are held against, so that a file that has become bad is told of
// though nobody connects: an API server keeps its connections.
func (c Clients) look(log logr.Logger) {
	if c.Authorities != nil {
		c.Authorities.current(log)
	}
}

func (c Clients) verify(state tls.ConnectionState, log logr.Logger) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client shows no certificate")
	}
	leaf, between := state.PeerCertificates[0], x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: c.Authorities.current(log), Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return fmt.Errorf("the certificate of the client: %w", err)
	}
	if len(c.Names) > 0 && !slices.Contains(c.Names, leaf.Subject.CommonName) {
		return fmt.Errorf("the client is %.64q, which no API server is called", leaf.Subject.CommonName)
	}
	return nil
}
