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
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// certValidity is long enough for a development cluster that nobody takes
// down.
const certValidity = 365 * 24 * time.Hour

// backdated is since when they are: processes of tests may have clocks that are behind.
const backdated = time.Hour

// loopback is the only address that anything listens on.
const loopback = "127.0.0.1"

// authority signs the certificates of one purpose.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name, NotBefore: time.Now().Add(-backdated)}, key)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key}, nil
}

// bundle returns the authority's own certificate in PEM.
func (a *authority) bundle() []byte { return certPEM(a.cert.Raw) }

// issue signs a certificate for what cfg describes, with a new key; both in
// PEM.
func (a *authority) issue(cfg certutil.Config) (cert, key []byte, err error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject:     pkix.Name{CommonName: cfg.CommonName, Organization: cfg.Organization},
		DNSNames:    cfg.AltNames.DNSNames,
		IPAddresses: cfg.AltNames.IPs,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: cfg.Usages,
		NotBefore:   now.Add(-backdated),
		NotAfter:    now.Add(certValidity),
	}, a.cert, signer.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(signer)
	return certPEM(der), key, err
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}

// pki is what the components need to trust each other. The files are in a
// folder of their own, their names are constants.
type pki struct {
	dir string
	// cluster signs everything but the aggregator's client certificate.
	cluster *authority
}

// The files of a pki, in its dir.
const (
	clusterCAFile    = "ca.crt"
	frontProxyCAFile = "front-proxy-ca.crt"
	// clusterKeyFile is for who signs CertificateSigningRequests.
	clusterKeyFile = "ca.key"
	// servingName is the serving certificate for loopback that all components
	// share, and etcd's peer and the API server's etcd client certificate.
	servingName = "serving"
	// frontProxyName is the certificate that the API server shows to the
	// extension API servers that an APIService may register.
	frontProxyName = "front-proxy-client"
	// serviceAccountKeyFile signs and verifies service account tokens.
	serviceAccountKeyFile = "service-account.key"
)

// newPKI creates all keys and certificates in dir.
func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cluster, err := newAuthority("kubernetes")
	if err != nil {
		return nil, fmt.Errorf("creating the cluster's certificate authority: %w", err)
	}
	// Apart from the cluster's: whoever holds a certificate of this authority
	// may speak for anybody.
	frontProxy, err := newAuthority("front-proxy")
	if err != nil {
		return nil, fmt.Errorf("creating the aggregator's certificate authority: %w", err)
	}
	p := &pki{dir: dir, cluster: cluster}
	if err := p.write(clusterCAFile, cluster.bundle()); err != nil {
		return nil, err
	}
	clusterKey, err := keyutil.MarshalPrivateKeyToPEM(cluster.key)
	if err != nil {
		return nil, err
	}
	if err := p.write(clusterKeyFile, clusterKey); err != nil {
		return nil, err
	}
	if err := p.write(frontProxyCAFile, frontProxy.bundle()); err != nil {
		return nil, err
	}
	if err := p.issue(cluster, servingName, certutil.Config{
		CommonName: "localhost",
		AltNames: certutil.AltNames{
			DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			IPs:      []net.IP{net.ParseIP(loopback), net.IPv6loopback},
		},
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return nil, err
	}
	if err := p.issue(frontProxy, frontProxyName, certutil.Config{
		CommonName: frontProxyName,
		Usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return nil, err
	}
	tokenKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, err
	}
	if err := p.write(serviceAccountKeyFile, tokenKey); err != nil {
		return nil, err
	}
	return p, nil
}

// client signs a certificate that the API server knows as the given user.
func (p *pki) client(user string, groups ...string) (cert, key []byte, err error) {
	return p.cluster.issue(certutil.Config{
		CommonName:   user,
		Organization: groups,
		Usages:       []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issue signs a certificate and stores it under name.
func (p *pki) issue(by *authority, name string, cfg certutil.Config) error {
	cert, key, err := by.issue(cfg)
	if err != nil {
		return fmt.Errorf("issuing the %s certificate: %w", name, err)
	}
	if err := p.write(certFile(name), cert); err != nil {
		return err
	}
	return p.write(keyFile(name), key)
}

func (p *pki) write(name string, content []byte) error {
	return os.WriteFile(p.path(name), content, 0o600)
}

func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

func certFile(name string) string { return name + ".crt" }
func keyFile(name string) string  { return name + ".key" }
