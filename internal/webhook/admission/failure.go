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

package admission

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	denials "kausality.io/operator/internal/denial"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/valuefree"
)

// reasonUnjudged is the reason in the audit log of a request that could not be judged.
const reasonUnjudged = "Unjudged"

// failed answers a request that could not be judged. To the API server an error
// in an answer is a refusal, whatever the failurePolicy of the webhook says; so it
// is followed here: the request passes, with a warning, unless a policy that is
// about its kind in its namespace says Fail. Where the operator may not read what it has to,
// it passes in any case: that a right was taken away is soon noticed, and the policies that
// need it are about nothing then.
func (g *Gatherer) failed(ctx context.Context, req admission.Request, err error) admission.Response {
	return g.failedAbout(ctx, req, g.concernedKind(req), err)
}

// failedAbout does so where the policies for another kind than that of the object say what
// becomes of it.
func (g *Gatherer) failedAbout(ctx context.Context, req admission.Request, kind schema.GroupVersionKind, err error) admission.Response {
	logf.FromContext(ctx).Error(err, "Cannot judge a request",
		"kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name, "operation", req.Operation, "user", req.UserInfo.Username)
	resp := admission.Allowed("").WithWarnings("kausality: not judged, and let through: " + valuefree.Text(err))
	if !apierrors.IsForbidden(err) && g.failsClosed(ctx, kind, req.Namespace) {
		resp = admission.Errored(http.StatusInternalServerError, errors.New(denials.Unjudged+": "+valuefree.Text(err)))
	}
	resp.AuditAnnotations = map[string]string{auditReason: reasonUnjudged}
	return resp
}

// lostError is that of writing down what else nobody would know: an allowance that the
// request earned, or that what it adopts is a stray.
type lostError struct{ error }

// Unwrap returns what failed.
func (e lostError) Unwrap() error { return e.error }

// lost answers a request that was judged, and of which that could not be written down. It
// is refused whatever the failurePolicy says: the operator is there to deny what would
// follow from it, and to cover what must not be covered. So it is where the API server has just refused
// the operator's credential, as it does for a moment where it starts. Where it goes on to, the operator is
// not there any more, and no request gets here: see internal/credential.
func lost(ctx context.Context, req admission.Request, err error) admission.Response {
	logf.FromContext(ctx).Error(err, "Cannot write down what a request allows; it is refused",
		"kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name, "operation", req.Operation, "user", req.UserInfo.Username)
	resp := admission.Errored(http.StatusInternalServerError,
		errors.New(denials.Unwritten+": "+valuefree.Text(err)))
	resp.AuditAnnotations = map[string]string{auditReason: reasonUnjudged}
	return resp
}

// concernedKind returns the kind of the object that a request is about: that of a request for
// a sub-resource is another one, such as Scale.
func (g *Gatherer) concernedKind(req admission.Request) schema.GroupVersionKind {
	if req.SubResource != "" {
		if kind, served := g.Kinds.KindFor(schema.GroupVersionResource(req.Resource)); served {
			return kind
		}
	}
	return schema.GroupVersionKind(req.Kind)
}

// failsClosed reports whether a policy for the kind, or one that bounds it or what its
// objects stand for, says Fail for objects of the namespace.
func (g *Gatherer) failsClosed(ctx context.Context, kind schema.GroupVersionKind, namespace string) bool {
	driver, gateKind, hasGate := g.Gates.Gate(ctx, kind)
	for _, p := range g.Policies.Index().Policies() {
		if p.FailurePolicy != v1alpha1.FailurePolicyFail {
			continue
		}
		if concerns(p, kind.GroupKind()) && (p.Naming() != nil || g.reaches(ctx, p, namespace)) ||
			hasGate && isNamed(gateKind, driver, p) {
			return true
		}
	}
	return false
}

func isNamed(kind gate.Kind, driver gate.Driver, p *policy.Policy) bool {
	_, ok := kind.NamedBy(driver, p)
	return ok
}

// reaches reports whether parents that a policy selects, or their children, may be in a
// namespace: children are where their parents are, and anywhere where these are nowhere.
func (g *Gatherer) reaches(ctx context.Context, p *policy.Policy, namespace string) bool {
	return namespace == "" || !g.Kinds.Namespaced(p.For) ||
		p.NamespaceSelector().Matches(labels.Set(g.Namespaces.Labels(ctx, namespace)))
}

func concerns(p *policy.Policy, kind schema.GroupKind) bool {
	return p.For.GroupKind() == kind || p.Bounds(kind)
}
