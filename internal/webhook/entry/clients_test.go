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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func makeCertificate(t *testing.T, template *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	cert, key := makeCertificate(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	return &authority{cert, key}
}

func (a *authority) issue(t *testing.T, name string, usage x509.ExtKeyUsage) tls.Certificate {
	t.Helper()
	cert, key := makeCertificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{usage}}, a)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *authority) write(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// transportOf returns another one like that of a test server's client.
func transportOf(t *testing.T, server *httptest.Server) *http.Transport {
	t.Helper()
	transport, ok := server.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the client of a test server has another transport than it had")
	}
	return transport.Clone()
}

// TestClients shows who may connect where certificates are asked for, also after the
// authority was exchanged.
func TestClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	ours.write(t, file)
	authorities, err := ReadAuthorities(file)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	Clients{Authorities: authorities, Names: []string{"apiserver"}}.Configure(server.TLS, logr.Discard())
	server.StartTLS()
	defer server.Close()

	const client = x509.ExtKeyUsageClientAuth
	connects := func(certs ...tls.Certificate) bool {
		t.Helper()
		transport := transportOf(t, server)
		transport.TLSClientConfig.Certificates = certs
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: transport}).Do(req)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	}
	api := ours.issue(t, "apiserver", client)
	for name, tc := range map[string]struct {
		shown []tls.Certificate
		want  bool
	}{
		"no certificate":         {nil, false},
		"that of the API server": {[]tls.Certificate{api}, true},
		"by another authority":   {[]tls.Certificate{theirs.issue(t, "apiserver", client)}, false},
		"of another name":        {[]tls.Certificate{ours.issue(t, "kubelet", client)}, false},
		"that is for servers":    {[]tls.Certificate{ours.issue(t, "apiserver", x509.ExtKeyUsageServerAuth)}, false},
	} {
		if got := connects(tc.shown...); got != tc.want {
			t.Errorf("%s: connects = %v, want %v", name, got, tc.want)
		}
	}
	theirs.write(t, file)
	if connects(api) || !connects(theirs.issue(t, "apiserver", client)) {
		t.Error("the authority that is read is the one from before")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if connects(api) || !connects(theirs.issue(t, "apiserver", client)) {
		t.Error("while the file is away, others count than those that it had")
	}
}
