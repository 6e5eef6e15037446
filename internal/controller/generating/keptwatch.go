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

package generating

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate/kept"
)

// afterPending is when to look again whether the API server asks about the requests of a policy.
const afterPending = time.Second

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	secrets    = schema.GroupResource{Resource: "secrets"}
)

// secretChanged looks at the trigger that a Secret keeps.
func (r *Reconciler) secretChanged(_ resource, before, after *unstructured.Unstructured) {
	if after == nil {
		if req, ok := r.requests.forget(before.GetName()); ok {
			r.look(req)
		}
		return
	}
	asked, err := keptOn(after)
	if err != nil {
		return // Somebody else's, or made up. What a policy keeps goes with it.
	}
	req := request{asked.Policy, asked.ID()}
	r.requests.note(after.GetName(), req, asked.Time.Time)
	r.look(req)
}

// keptOn returns the request that a Secret keeps.
func keptOn(object *unstructured.Unstructured) (*kept.Request, error) {
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", object.GetName(), err)
	}
	return kept.On(secret.Data)
}

// followRequests watches the requests that are kept for a policy, once it may keep them and the API server
// asks about them.
func (r *Reconciler) followRequests(ctx context.Context, e *entry, what *served) error {
	if !e.compiled.KeepsRequests() {
		return r.kept.keep(ctx, e.Name, func(schema.GroupVersionKind) bool { return false })
	}
	for _, verb := range []string{verbList, verbWatch, verbCreate, verbPatch, verbDelete} {
		may, err := r.rights.allows(ctx, right{verb: verb, GroupResource: secrets, namespace: r.Namespace})
		if err != nil {
			return err
		}
		if !may {
			return &refusedError{v1alpha1.ReasonForbidden, fmt.Sprintf("The operator may not %s Secrets in namespace %s, in which it keeps the requests that are triggers: "+
				"it takes a Role with verbs [create, delete, get, list, patch, watch]. docs/generatingpolicy.md has the commands, and in the Helm chart it is access.requests.", verb, r.Namespace)}
		}
	}
	asks, err := r.asksAbout(ctx, e.compiled.KeptRules())
	if err != nil {
		return err
	}
	if !asks {
		return &refusedError{reason: v1alpha1.ReasonPending, message: fmt.Sprintf(
			"The API server is not told yet to ask about the requests that are triggers: MutatingWebhookConfiguration %s has no rules for them.", r.Asked)}
	}
	return r.kept.follow(ctx, what.byGVK[secretKind], e.Name)
}

// asksAbout reports whether the API server asks about requests.
func (r *Reconciler) asksAbout(ctx context.Context, rules []admissionregistrationv1.NamedRuleWithOperations) (bool, error) {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Asked}, config); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", r.Asked, err)
	}
	var asked []string
	for i := range config.Webhooks {
		for _, rule := range config.Webhooks[i].Rules {
			asked = append(asked, rule.String())
		}
	}
	return !slices.ContainsFunc(rules, func(rule admissionregistrationv1.NamedRuleWithOperations) bool {
		return !slices.Contains(asked, rule.RuleWithOperations.String())
	}), nil
}
