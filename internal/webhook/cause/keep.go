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

package cause

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
	"kausality.io/operator/internal/metrics"
)

// requestsKept counts the requests that a policy takes as its triggers.
var requestsKept = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
	Namespace: metrics.Namespace,
	Name:      "generating_requests_total",
	Help:      "Number of requests that were to be kept as triggers of a GeneratingPolicy, by result: kept, too_large or failed.",
}, []string{"generatingpolicy", "result"})

// Keeper keeps requests for GeneratingPolicies.
type Keeper interface {
	// Keep keeps a request; uid is that of the admission request.
	Keep(ctx context.Context, request *kept.Request, uid types.UID) error
}

// Secrets keeps requests in Secrets.
type Secrets struct {
	// Writer creates and patches them.
	Writer client.Client
	// Namespace is the operator's.
	Namespace string
}

var _ Keeper = Secrets{}

// Keep implements Keeper. A request that the API server sends again is kept as it is then.
func (s Secrets) Keep(ctx context.Context, request *kept.Request, uid types.UID) error {
	secret, err := request.InSecret(s.Namespace, uid)
	if err != nil {
		return err
	}
	content := secret.Data
	if err = s.Writer.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
		again := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}}
		before := again.DeepCopy()
		again.Data = content
		err = s.Writer.Patch(ctx, again, client.MergeFrom(before))
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// keep keeps a request for each policy that takes it as a trigger, and returns what to warn of.
func (h *Hook) keep(ctx context.Context, req *admission.Request) []string {
	if req.DryRun != nil && *req.DryRun || req.Name == "" {
		return nil
	}
	log := logFor(ctx, req)
	policies, err := h.policies(ctx)
	if err != nil {
		log.Error(err, "Cannot tell whether a request is a trigger of GeneratingPolicies; it is not kept")
		return nil
	}
	request, err := h.requestOf(req)
	if err != nil {
		log.Error(err, "Cannot keep a request for GeneratingPolicies")
		return nil
	}
	if request.Namespace != "" {
		request.NamespaceLabels = h.Namespaces.Labels(ctx, request.Namespace)
	}
	trigger := request.Trigger(nil)
	var warnings []string
	for _, p := range policies {
		if !p.policy.TakesRequests() || !p.policy.TakesRequest(ctx, trigger) {
			continue
		}
		if err := h.keepFor(ctx, req, p, request); err != nil {
			warnings = append(warnings, h.notKept(ctx, req, p.policy.Name, err))
		}
	}
	return warnings
}

// keepFor keeps a request for a policy.
func (h *Hook) keepFor(ctx context.Context, req *admission.Request, p compiled, request *kept.Request) error {
	request.Policy, request.PolicyUID = p.policy.Name, p.uid
	err := h.Requests.Keep(ctx, request, req.UID)
	requestsKept.WithLabelValues(p.policy.Name, resultOf(err)).Inc()
	return err
}

// withOld returns the request as an object keeps it for a policy. Where that needs what the object was
// before, this is kept apart, and the request has its UID for it to be found: one that fails later leaves
// what is known of the one before.
func (h *Hook) withOld(ctx context.Context, req *admission.Request, p compiled, trigger *generate.Trigger) (map[string]any, error) {
	if !p.policy.NeedsOld() || trigger.OldObject == nil {
		return trigger.Request, nil
	}
	if req.DryRun == nil || !*req.DryRun {
		request, err := h.requestOf(req)
		if err != nil {
			return nil, err
		}
		request.Object = nil // It is there.
		if err := h.keepFor(ctx, req, p, request); err != nil {
			return nil, err
		}
	}
	out := maps.Clone(trigger.Request)
	out["uid"] = string(req.UID)
	return out, nil
}

// notKept logs that a request is not kept, and returns what to warn of.
func (h *Hook) notKept(ctx context.Context, req *admission.Request, policy string, err error) string {
	logFor(ctx, req).Error(err, "A request is not kept that a GeneratingPolicy asks about; nothing is generated for it", "policy", policy)
	return warningOf(policy, err)
}

func logFor(ctx context.Context, req *admission.Request) logr.Logger {
	return logf.FromContext(ctx).WithValues("operation", req.Operation, "resource", req.Resource.Resource, "subresource", req.SubResource,
		"namespace", req.Namespace, "name", req.Name)
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return "kept"
	case errors.Is(err, kept.ErrTooLarge):
		return "too_large"
	default:
		return "failed"
	}
}

// warningOf says to whoever made a request that it is not kept, and what can be done. What the API server
// answered is in the operator's log.
func warningOf(policy string, err error) string {
	why := "the operator could not keep the request"
	switch {
	case errors.Is(err, kept.ErrTooLarge):
		why = err.Error()
	case apierrors.IsForbidden(err):
		why = "the operator may not keep requests: see the status of the policy"
	}
	return fmt.Sprintf("GeneratingPolicy %s generates nothing for this request: %s", policy, why)
}

// requestOf returns what to keep of an admission request, for no policy yet.
func (h *Hook) requestOf(req *admission.Request) (*kept.Request, error) {
	kind, served := h.KindFor(schema.GroupVersionResource(req.Resource))
	if !served {
		return nil, fmt.Errorf("%s is not known to be served", req.Resource.Resource)
	}
	asked, err := generate.RequestOf(&req.AdmissionRequest)
	if err != nil {
		return nil, err
	}
	out := &kept.Request{
		Resource: schema.GroupVersionResource(req.Resource), Kind: kind.GroupKind(), Subresource: req.SubResource,
		Operation: admissionregistrationv1.OperationType(req.Operation),
		Namespace: req.Namespace, Name: req.Name, Time: metav1.NewMicroTime(h.Clock.Now()), Asked: asked,
	}
	if kind == namespaceKind {
		out.Namespace = "" // That of the request is the Namespace itself.
	}
	if out.Object, err = contentOf(req.Object.Raw, out); err != nil {
		return nil, err
	}
	if out.OldObject, err = contentOf(req.OldObject.Raw, out); err != nil {
		return nil, err
	}
	if req.Operation == admissionv1.Delete && req.SubResource == "" {
		out.UID = (&unstructured.Unstructured{Object: out.OldObject}).GetUID()
	}
	return out, nil
}

// contentOf decodes an object of a request, nil where there is none. Options, as those of exec, do not say
// of which object they are: they get the name that the URL has.
func contentOf(raw []byte, of *kept.Request) (map[string]any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, errors.New("an object of the request cannot be read") // What is wrong may tell values.
	}
	if object.GetName() == "" {
		object.SetName(of.Name)
	}
	if object.GetNamespace() == "" && of.Namespace != "" {
		object.SetNamespace(of.Namespace)
	}
	object.SetManagedFields(nil)
	return object.Object, nil
}
