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

package certs

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// announcements knows by which authorities the API server trusts the webhooks.
type announcements struct {
	live client.Reader
	// own reports whether a configuration is an installed one; nil where none is.
	own func(client.Object) bool
	// admission is the name of those that are written as policies need.
	admission string
}

// have reports whether all webhook configurations that there are have an authority.
func (a announcements) have(ctx context.Context, ca []byte) bool {
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	for _, list := range []client.ObjectList{&validating, &mutating} {
		if err := a.live.List(ctx, list); err != nil {
			logf.FromContext(ctx).Error(err, "Cannot read whether the API server knows the next authority; the certificate stays as it was")
			return false
		}
	}
	var bundles []*[]byte
	for i := range validating.Items {
		if c := &validating.Items[i]; c.Name == a.admission || a.own != nil && a.own(c) {
			bundles = append(bundles, bundlesOf(c)...)
		}
	}
	for i := range mutating.Items {
		if c := &mutating.Items[i]; c.Name == a.admission || a.own != nil && a.own(c) {
			bundles = append(bundles, bundlesOf(c)...)
		}
	}
	for _, bundle := range bundles {
		if !contains(*bundle, ca) {
			return false
		}
	}
	return true
}

// bundlesOf returns the CA bundles of a webhook configuration, to be changed.
func bundlesOf(obj client.Object) []*[]byte {
	var out []*[]byte
	switch configuration := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range configuration.Webhooks {
			out = append(out, &configuration.Webhooks[i].ClientConfig.CABundle)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range configuration.Webhooks {
			out = append(out, &configuration.Webhooks[i].ClientConfig.CABundle)
		}
	}
	return out
}
