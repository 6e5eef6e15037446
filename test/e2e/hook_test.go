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
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/interception"
)

// hook is the validating webhook as its configuration describes it, for whoever calls it
// in the place of the API server.
type hook struct {
	base, path string
	client     *http.Client
}

// findHook reads where the API server reaches the operator, which only who may read
// webhook configurations can.
func (c *cluster) findHook(ctx context.Context) *hook {
	GinkgoHelper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	Expect(c.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, config)).To(Succeed())
	Expect(config.Webhooks).NotTo(BeEmpty())
	how := config.Webhooks[0].ClientConfig
	Expect(how.URL).NotTo(BeNil())
	at, err := url.Parse(*how.URL)
	Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(how.CABundle)).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	DeferCleanup(transport.CloseIdleConnections)
	return &hook{
		base: at.Scheme + "://" + at.Host, path: at.Path,
		client: &http.Client{Transport: transport},
	}
}

// post asks at a path, and returns the code of the answer with its body.
func (h *hook) post(ctx context.Context, path string, review any) (code int, body string) {
	GinkgoHelper()
	code, body, err := h.tryPost(ctx, path, review)
	Expect(err).NotTo(HaveOccurred())
	return code, body
}

// tryPost does the same for who may be cut off.
func (h *hook) tryPost(ctx context.Context, path string, review any) (code int, body string, err error) {
	asked, err := json.Marshal(review)
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+path, bytes.NewReader(asked))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := h.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), errors.Join(err, response.Body.Close())
}

func rawObject(obj runtime.Object) runtime.RawExtension {
	GinkgoHelper()
	content, err := json.Marshal(obj)
	Expect(err).NotTo(HaveOccurred())
	return runtime.RawExtension{Raw: content}
}
