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

// Package cause is the webhook that notes on what GeneratingPolicies make objects from who changed it: on
// triggers, on what is read for them, and on the policies themselves. On triggers it also notes the request
// for policies that ask about it, and it keeps requests that are triggers themselves. It denies nothing (D21).
package cause

import (
	"context"
	"fmt"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/generate"
)

// Hook notes who changed an object, in v1alpha1.AnnotationChangedBy, and by which request, in
// v1alpha1.AnnotationRequests. What a request says about that counts for nothing.
type Hook struct {
	// Policies reads GeneratingPolicies from a cache.
	Policies client.Reader
	// Namespaces knows the labels of namespaces.
	Namespaces ancestry.Namespaces

	// Requests keeps requests that are triggers themselves.
	Requests Keeper
	// KindFor returns the kind of a resource, and false where it is not served.
	KindFor func(schema.GroupVersionResource) (schema.GroupVersionKind, bool)
	// Notary signs what is noted.
	Notary generate.Notary
	// Clock tells when requests were made, and what was noted.
	Clock clock.PassiveClock

	mu       sync.Mutex
	compiled map[types.UID]compiled
}

// compiled is a policy of one generation, nil where that is not accepted.
type compiled struct {
	uid        types.UID
	generation int64
	policy     *generate.Policy
}

var namespaceKind = ancestry.NewNamespace().GroupVersionKind()

// Handle implements admission.Handler.
func (h *Hook) Handle(ctx context.Context, req admission.Request) admission.Response {
	if generate.IsRequest(admissionregistrationv1.OperationType(req.Operation), req.SubResource) {
		return restored(ctx, &req).WithWarnings(h.keep(ctx, &req)...)
	}
	if req.Kind == bindingKind {
		return restored(ctx, &req)
	}
	object, before, err := objectsOf(&req)
	if err != nil {
		// It is not for this hook to refuse.
		logf.FromContext(ctx).Error(err, "Cannot note who changed an object", "kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name)
		return admission.Allowed("")
	}
	want, warnings := notes{}, []string(nil)
	if before != nil {
		want = notesOn(before)
	}
	if before == nil || !generate.SameContent(before.Object, object.Object) {
		want, warnings = h.notes(ctx, &req, object, before)
		want = h.signed(&req, object, want)
	}
	return admission.Patched("", want.patch(object.GetAnnotations())...).WithWarnings(warnings...)
}

// bindingKind is a Binding, whose annotations the API server merges into those of the Pod. It is created by
// a sub-resource, and as if it were an object of its own.
var bindingKind = metav1.GroupVersionKind{Version: "v1", Kind: "Binding"}

// restored answers a request about a sub-resource, which may write the annotations of the object: the notes
// stay as they were.
func restored(ctx context.Context, req *admission.Request) admission.Response {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	object, before, err := objectsOf(req)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot restore who changed an object", "kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name)
		return admission.Allowed("")
	}
	return admission.Patched("", notesOn(before).patch(object.GetAnnotations())...)
}

// notes returns what to note of a request that changes what an object says, and what to warn of.
func (h *Hook) notes(ctx context.Context, req *admission.Request, object, before *unstructured.Unstructured) (notes, []string) {
	changed := notes{changedBy: req.UserInfo.Username}
	var kept generate.Requests
	if before != nil {
		kept = h.Notary.RequestsOn(generate.IDOf(before.Object), before)
		if kept != nil {
			changed.requests = before.GetAnnotations()[v1alpha1.AnnotationRequests]
		}
	}
	if req.Resource.Group == v1alpha1.GroupVersion.Group {
		return changed, nil // A GeneratingPolicy: nothing else of the group is asked about.
	}
	policies, err := h.policies(ctx)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot tell whether an object is one that GeneratingPolicies make others from; who changed it is noted")
		return changed, nil
	}
	trigger, err := h.trigger(ctx, req, object, before)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot note the request that changed an object", "kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name)
		return changed, nil
	}
	if !slices.ContainsFunc(policies, func(p compiled) bool { return p.policy.Concerns(ctx, trigger) }) {
		return notes{}, nil
	}
	taken, warnings := h.taken(ctx, req, policies, trigger, kept)
	if changed.requests, err = taken.Encode(); err != nil {
		warnings = append(warnings, err.Error()+"; none is kept, and policies that ask about requests change nothing for this object")
	}
	return changed, warnings
}

// taken returns the requests that an object keeps from now on, and what to warn of: those it kept, and this
// one for each policy that takes it. What is kept for policies that are not there, or do not ask, goes.
func (h *Hook) taken(ctx context.Context, req *admission.Request, policies []compiled, trigger *generate.Trigger, before generate.Requests) (generate.Requests, []string) {
	out := generate.Requests{}
	var warnings []string
	for _, p := range policies {
		if !p.policy.NeedsRequest() {
			continue
		}
		if request, was := before[p.policy.Name]; was {
			out[p.policy.Name] = request
		}
		if !p.policy.TakesRequest(ctx, trigger) {
			continue
		}
		request, err := h.withOld(ctx, req, p, trigger)
		if err != nil {
			warnings = append(warnings, h.notKept(ctx, req, p.policy.Name, err))
			continue
		}
		out[p.policy.Name] = request
	}
	return out, warnings
}

// objectsOf decodes the object of a request, and what it was before, nil where it is created.
func objectsOf(req *admission.Request) (object, before *unstructured.Unstructured, err error) {
	decode := func(raw []byte) *unstructured.Unstructured {
		out := &unstructured.Unstructured{}
		if decodeErr := out.UnmarshalJSON(raw); decodeErr != nil {
			err = fmt.Errorf("reading the object of the request: %w", decodeErr)
		}
		return out
	}
	object = decode(req.Object.Raw)
	if req.Operation == admissionv1.Update {
		before = decode(req.OldObject.Raw)
	}
	if err == nil && object.GetNamespace() == "" && object.GroupVersionKind() != namespaceKind {
		object.SetNamespace(req.Namespace) // A request may leave it to its URL. That of a Namespace is its name.
	}
	return object, before, err
}

// trigger returns an object as policies see it, as it is and as it was.
func (h *Hook) trigger(ctx context.Context, req *admission.Request, object, before *unstructured.Unstructured) (*generate.Trigger, error) {
	request, err := generate.NoteOf(&req.AdmissionRequest)
	if err != nil {
		return nil, err
	}
	out := &generate.Trigger{Resource: schema.GroupVersionResource(req.Resource), Object: object.Object, Request: request}
	if before != nil {
		out.OldObject = before.Object
	}
	switch {
	case object.GroupVersionKind() == namespaceKind:
		out.Namespace = object.Object
	case req.Namespace != "":
		out.Namespace = generate.PartialNamespace(req.Namespace, h.Namespaces.Labels(ctx, req.Namespace))
	}
	return out, nil
}

// policies returns the policies that are accepted, each compiled once.
func (h *Hook) policies(ctx context.Context) ([]compiled, error) {
	list := &v1alpha1.GeneratingPolicyList{}
	if err := h.Policies.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing GeneratingPolicies: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	known := make(map[types.UID]compiled, len(list.Items))
	var out []compiled
	for i := range list.Items {
		p := &list.Items[i]
		c, ok := h.compiled[p.UID]
		if !ok || c.generation != p.Generation {
			c = compiled{uid: p.UID, generation: p.Generation}
			if policy, _, errs := generate.Compile(p.Name, &p.Spec); len(errs) == 0 {
				c.policy = policy
			}
		}
		known[p.UID] = c
		if c.policy != nil {
			out = append(out, c)
		}
	}
	h.compiled = known
	return out, nil
}
