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

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
)

// changeCertificate changes the Secret with the certificate of the webhooks, and waits
// until there is another one.
func (s *stage) changeCertificate(ctx context.Context, change func(*corev1.Secret) error) error {
	key := client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: "kausality-webhook-server-cert"}
	changed := ""
	err := insist(ctx, func(ctx context.Context) error {
		secret := &corev1.Secret{}
		if err := s.admin.Get(ctx, key, secret); err != nil {
			return err
		}
		if err := change(secret); err != nil {
			return err
		}
		changed = string(secret.Data[corev1.TLSCertKey])
		return s.admin.Update(ctx, secret)
	})
	if err != nil {
		return err
	}
	s.operators.Reconnect()
	return insist(ctx, func(ctx context.Context) error {
		secret := &corev1.Secret{}
		if err := s.admin.Get(ctx, key, secret); err != nil {
			return err
		}
		if now := string(secret.Data[corev1.TLSCertKey]); now == "" || now == changed {
			return errors.New("the certificate is still the one that was put there")
		}
		return nil
	})
}

// expire puts a certificate of the same authority into the Secret that is over.
func expire(secret *corev1.Secret) error {
	authority, err := decodePEM(secret.Data["ca.crt"])
	if err != nil {
		return err
	}
	ca, err := x509.ParseCertificate(authority)
	if err != nil {
		return err
	}
	keyBytes, err := decodePEM(secret.Data["ca.key"])
	if err != nil {
		return err
	}
	caKey, err := x509.ParsePKCS1PrivateKey(keyBytes)
	if err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "expired"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	secret.Data[corev1.TLSCertKey] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret.Data[corev1.TLSPrivateKeyKey] = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return nil
}

func decodePEM(text []byte) ([]byte, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("the Secret of the webhooks holds %d bytes that are no PEM", len(text))
	}
	return block.Bytes, nil
}
