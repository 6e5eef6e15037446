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
	"os"
	"slices"
)

// Clients are who may connect to the webhooks.
type Clients struct {
	// CAFile has the authorities that sign the certificates of clients, PEM-encoded. No
	// certificate is asked for where it is empty. It is read for each connection, so that
	// authorities can be renewed.
	CAFile string
	// Names are the common names that a certificate may have; any where there are none.
	Names []string
}

// Configure makes a TLS server ask for their certificates. An API server speaks HTTP/1.1
// to a webhook that is behind a Service; with HTTP/2 bodies that wait would block others
// of the same connection.
func (c Clients) Configure(cfg *tls.Config) {
	cfg.NextProtos = []string{"http/1.1"}
	if c.CAFile == "" {
		return
	}
	cfg.ClientAuth = tls.RequireAnyClientCert
	cfg.VerifyConnection = c.verify
}

func (c Clients) verify(state tls.ConnectionState) error {
	bundle, err := os.ReadFile(c.CAFile)
	if err != nil {
		return fmt.Errorf("reading the authorities of clients: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("%s has no certificate of an authority of clients", c.CAFile)
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client shows no certificate")
	}
	leaf, between := state.PeerCertificates[0], x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return fmt.Errorf("the certificate of the client: %w", err)
	}
	if len(c.Names) > 0 && !slices.Contains(c.Names, leaf.Subject.CommonName) {
		return fmt.Errorf("the client is %.64q, which no API server is called", leaf.Subject.CommonName)
	}
	return nil
}
