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
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/stranger/plan"
)

// unhooked is for how long nobody is asked.
const unhooked = 3 * time.Second

// unhook takes the webhooks away, again and again for some time, and has mallory change what is alice's meanwhile, by a field of which
// no report tells that it is carried out: where nothing is allowed or withheld, as that would tell of it, or for it.
func (p *performance) unhook(ctx context.Context) error {
	var quiet []unstructured.Unstructured
	for _, resource := range plan.Scaled {
		list := listOf(resource)
		if err := p.admin.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		quiet = append(quiet, slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
			withheld, allowed := ledgerOf(&o)
			return len(withheld)+len(allowed)+len(o.GetOwnerReferences()) > 0 || strings.HasPrefix(o.GetName(), "zq")
		})...)
	}
	until := time.Now().Add(unhooked)
	for n := 0; time.Now().Before(until); n++ {
		if err := p.withoutWebhooks(ctx); err != nil {
			return err
		}
		if n < len(quiet) {
			_ = p.people[plan.Mallory].Patch(ctx, &quiet[n], merge(fmt.Sprintf(`{"spec":{"minReadySeconds":%d}}`, 100+p.N%400))) // It may be asked about.
		}
	}
	return p.hooked(ctx)
}

// rendered is what the webhook configurations are called that the operator writes; others come with its installation.
var rendered = metav1.ObjectMeta{Name: "kausality-admission"}

// withoutWebhooks deletes what has the API server ask the operator.
func (p *performance) withoutWebhooks(ctx context.Context) error {
	return errors.Join(
		client.IgnoreNotFound(p.admin.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: rendered})),
		client.IgnoreNotFound(p.admin.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: rendered})),
	)
}

// hooked waits until the operator has them written again.
func (p *performance) hooked(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		key := client.ObjectKey{Name: rendered.Name}
		err := errors.Join(
			p.admin.Get(ctx, key, &admissionregistrationv1.ValidatingWebhookConfiguration{}),
			p.admin.Get(ctx, key, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the operator does not write its webhooks again: %w", err)
	}
	return nil
}
