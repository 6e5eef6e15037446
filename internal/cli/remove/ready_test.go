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

package remove

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/internal/interception"
)

// TestWithoutInterceptionSaysWhatIsThere has a client refuse to begin what cannot be answered in
// time, as one does that limits how much it asks.
func TestWithoutInterceptionSaysWhatIsThere(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: interception.DefaultName},
	}).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, limited := ctx.Deadline(); limited {
				return errors.New("client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline")
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	err := withoutInterception(context.WithoutCancel(t.Context()), c, 2*lookInterval)
	if err == nil || !strings.Contains(err.Error(), "mutatingwebhookconfigurations "+interception.DefaultName) ||
		!strings.Contains(err.Error(), "at once: kubectl delete") {
		t.Errorf("it says %v; wanted what is there, and what to do", err)
	}
}

// TestWithoutInterceptionThatIsInterrupted shows that somebody who does not wait is not told that they
// have.
func TestWithoutInterceptionThatIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	c := fake.NewClientBuilder().WithObjects(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: interception.DefaultName},
	}).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			interrupt()
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	err := withoutInterception(ctx, c, 30*time.Minute)
	if err == nil || strings.Contains(err.Error(), "30m") || !strings.Contains(err.Error(), "still there") {
		t.Errorf("it says %v; wanted what is there, and not after a time that has not passed", err)
	}
}
