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

package interception

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/policy"
)

// trustedHost stands for certificates that are there, of an authority that the
// API server trusts anyway.
type trustedHost struct{ ready chan struct{} }

func (h trustedHost) Ready() <-chan struct{} { return h.ready }

func (trustedHost) CABundle() []byte { return nil }

// noPolicies are none, once that is known.
type noPolicies struct{ known bool }

func (p noPolicies) Known() bool { return p.known }

func (noPolicies) Policies() []*policy.Policy { return nil }

// A starting operator has no policies either; what the one before it rendered has
// to stay until it knows better.
func TestInterceptionKeepsWhatItDoesNotKnowToBeGone(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	ready := make(chan struct{})
	close(ready)
	for name, tc := range map[string]struct {
		installed, known bool
		gone             bool
	}{
		"nothing is known":             {installed: true},
		"there are known to be none":   {installed: true, known: true, gone: true},
		"the operator is switched off": {gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := &admissionregistrationv1.MutatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: interception.DefaultName},
			}
			build := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rendered)
			if tc.installed {
				build = build.WithObjects(&admissionregistrationv1.ValidatingWebhookConfiguration{
					ObjectMeta: metav1.ObjectMeta{Name: "installed"},
					Webhooks: []admissionregistrationv1.ValidatingWebhook{{ClientConfig: admissionregistrationv1.WebhookClientConfig{
						URL: new("https://localhost" + interception.PolicyPath),
					}}},
				})
			}
			c := build.Build()
			reconciler := &Reconciler{
				Gates:        controllertest.NoGates{},
				Client:       c,
				Policies:     noPolicies{tc.known},
				Certificates: trustedHost{ready},
				Config:       interception.Input{Name: interception.DefaultName},
			}
			if result, err := reconciler.Reconcile(t.Context(), ctrl.Request{}); err != nil || !result.IsZero() {
				t.Fatalf("Reconcile() = %v, %v, want to wait for changes", result, err)
			}
			err := c.Get(t.Context(), client.ObjectKeyFromObject(rendered), rendered)
			if gone := apierrors.IsNotFound(err); gone != tc.gone {
				t.Errorf("reading what was rendered: %v, want it to be gone: %t", err, tc.gone)
			}
		})
	}
}
