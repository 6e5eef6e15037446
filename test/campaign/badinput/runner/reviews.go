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

package runner

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"kausality.io/operator/test/campaign/badinput/inputs"
)

// reviews returns bodies that an API server would not send, or not yet.
func reviews() []inputs.Value {
	of := func(version, request string) string {
		return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":%q,"request":%s}`, version, request)
	}
	const request = `{"uid":"1","operation":"UPDATE","namespace":"ns","name":"web","kind":{"group":"apps","version":"v1","kind":"Deployment"},
		"resource":{"group":"apps","version":"v1","resource":"deployments"},"userInfo":{"username":"mallory"},"oldObject":{"metadata":{}},"object":{"metadata":{}}}`
	var out []inputs.Value
	for name, body := range map[string]string{
		"an older version":         of("admission.k8s.io/v1beta1", request),
		"a later version":          of("admission.k8s.io/v2", request),
		"a version that is none":   of("v1", request),
		"no version":               of("", request),
		"another kind":             strings.Replace(of("admission.k8s.io/v1", request), "AdmissionReview", "Pod", 1),
		"no request":               of("admission.k8s.io/v1", "null"),
		"an empty request":         of("admission.k8s.io/v1", "{}"),
		"a request that is a list": of("admission.k8s.io/v1", "[]"),
		"another operation":        of("admission.k8s.io/v1", strings.Replace(request, "UPDATE", "EXPLODE", 1)),
		"a connection":             of("admission.k8s.io/v1", strings.Replace(request, "UPDATE", "CONNECT", 1)),
		"no body":                  "",
		"no JSON":                  "\x1f\x8b\x08\x00",
		"JSON that does not end":   of("admission.k8s.io/v1", request)[:100],
		"JSON that is deep":        of("admission.k8s.io/v1", strings.Repeat("[", 1<<20)),
		"a body of 16 MiB":         of("admission.k8s.io/v1", fmt.Sprintf("%q", strings.Repeat("x", 16<<20))),
	} {
		out = append(out, inputs.Value{Name: name, JSON: json.RawMessage(body)})
	}
	return out
}

// review sends something to each webhook of the operator, without an API server.
func (s *stage) review(ctx context.Context, _ int, c inputs.Change) error {
	a, err := s.admin.insist(ctx, http.MethodGet, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", asJSON, nil)
	if err != nil {
		return err
	}
	var configurations admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := json.Unmarshal(a.body, &configurations); err != nil {
		return err
	}
	asked := 0
	for _, configuration := range configurations.Items {
		for _, hook := range configuration.Webhooks {
			if hook.ClientConfig.URL == nil || !strings.HasSuffix(hook.Name, "kausality.io") {
				continue
			}
			asked++
			a, err := send(ctx, hook.ClientConfig, c.Value.JSON)
			if err != nil {
				s.report.add("sending "+c.Value.Name, a, err.Error())
				continue
			}
			s.report.add("sending "+c.Value.Name, a, a.unasked())
		}
	}
	if asked == 0 {
		return errors.New("the API server is to ask no webhook of Kausality at an address of its own")
	}
	return nil
}

// unasked says what is wrong with the answer of a webhook to something that no API server
// sends.
func (a *answer) unasked() string {
	switch {
	case a.took > enough:
		return fmt.Sprintf("it takes %s", a.took)
	case len(a.body) > longest:
		return fmt.Sprintf("the answer is %d bytes long", len(a.body))
	case broken.Match(a.body):
		return "the answer is " + string(a.body)
	}
	return ""
}

func send(ctx context.Context, to admissionregistrationv1.WebhookClientConfig, body []byte) (answer, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(to.CABundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	return (&requester{http: &http.Client{Transport: transport}, host: *to.URL}).do(ctx, http.MethodPost, "", asJSON, body)
}
