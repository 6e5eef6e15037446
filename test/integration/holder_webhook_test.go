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

package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
)

// serveLedgers runs a webhook in a namespace that does to the ledger of a Deployment what
// follows from the ledger itself and the record, and grants nothing.
func serveLedgers(ctx context.Context, p *operatorParts, namespace string) {
	GinkgoHelper()
	handler, err := admission.StandaloneWebhook(
		&admission.Webhook{Handler: admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
			return rewritten(ctx, p.records, req)
		})}, admission.StandaloneOptions{})
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewTLSServer(handler)
	DeferCleanup(server.Close)
	apply(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "ledgers-" + namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "ledgers.kausality.io",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      new(server.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments/status"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	})
}

func rewritten(ctx context.Context, records *record.Store, req admission.Request) admission.Response {
	var before, after unstructured.Unstructured
	if err := json.Unmarshal(req.OldObject.Raw, &before); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if err := json.Unmarshal(req.Object.Raw, &after); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	stored, err := ledger.Decode(before.GetAnnotations()[ledgerKey])
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	rec, err := records.Live(ctx, record.TargetOf(&before))
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	next := record.Effective(rec, &before, stored)
	if lifecycle.Of(&after, nil).Settled {
		next = next.Without(func(e ledger.Entry) bool { return !e.IsWithheld() && e.Generation <= after.GetGeneration() })
	}
	annotations := after.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, ledgerKey)
	if text := next.Encode(); text != "" {
		annotations[ledgerKey] = text
	}
	after.SetAnnotations(annotations)
	raw, err := after.MarshalJSON()
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, raw)
}
