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
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
)

// An autoscaler goes on from the number that an object has, withheld or not, and may initiate: it would carry out what
// is withheld. *Observed* of a HorizontalPodAutoscaler: a stranger's 30 was withheld, and made the most that the
// autoscaler may have; her 0 switched it off. So a number that an autoscaler goes by cannot wait.
//
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list
// +kubebuilder:rbac:groups=keda.sh,resources=scaledobjects,verbs=list

// withheldNumber returns what the request leaves withheld of the number that a scale of the object sets, nil for nothing.
func (v *Validator) withheldNumber(r *request, withheld []v1alpha1.Allowance) []v1alpha1.Allowance {
	if len(withheld) == 0 {
		return nil
	}
	text := v.Kinds.ReplicasPath(r.resource, "")
	if text == "" {
		return nil // It cannot be scaled.
	}
	return ofField(withheld, text)
}

// ofField filters withheld changes to those of a field, of what is above it or below.
func ofField(withheld []v1alpha1.Allowance, field string) []v1alpha1.Allowance {
	path, err := change.ParsePath(field)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(withheld), func(a v1alpha1.Allowance) bool {
		at, err := change.ParsePath(a.Mutation)
		return err != nil || !at.Overlaps(path)
	})
}

// carriedOutBy names an autoscaler that goes by the number that the request changes and that would be withheld; empty
// where there is none. They are read live, as nothing else is asked of them.
func (v *Validator) carriedOutBy(ctx context.Context, r *request, o *outcome) (string, error) {
	if r.operation != decision.Update || r.subresource != "" || len(v.withheldNumber(r, o.grant.Withheld)) == 0 {
		return "", nil
	}
	for _, deputy := range deputies(o.index) {
		name, err := v.scalerOf(ctx, r, o.index, deputy)
		if name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}

// deputies are the kinds whose objects have others scaled, built in or by a policy for them.
func deputies(index *policy.Index) []policy.Deputy {
	kinds := make([]policy.Deputy, 0, len(policy.Deputies()))
	add := func(d policy.Deputy) {
		if !slices.ContainsFunc(kinds, func(has policy.Deputy) bool { return has.Kind == d.Kind }) {
			kinds = append(kinds, d)
		}
	}
	for _, p := range index.Policies() {
		if d, ok := index.DeputyOf(p.For.GroupKind()); ok {
			add(d)
		}
	}
	for _, d := range policy.Deputies() {
		add(d)
	}
	return kinds
}

// scalerOf names an object of a kind that has the object of the request scaled, empty where there is none, or nobody
// can tell, as the kind is not served, or the operator may not list it.
func (v *Validator) scalerOf(ctx context.Context, r *request, index *policy.Index, deputy policy.Deputy) (string, error) {
	gvk := deputy.Kind.WithVersion(deputy.Resource.Version) // No policy has to name it.
	found, err := v.Objects.ListLive(ctx, gvk, r.namespace)
	switch {
	case apimeta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return "", nil
	case apierrors.IsForbidden(err):
		logf.FromContext(ctx).Error(err, "Cannot find out whether something has an object scaled; a number of it that is withheld may be carried out",
			"kind", r.gvk.Kind, "namespace", r.namespace, "name", r.objectName(), "by", gvk.Kind)
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading what has %s %s/%s scaled: %w", r.gvk.Kind, r.namespace, r.objectName(), err)
	}
	for _, obj := range found {
		kind, name, ok := deputy.Target(obj.Object)
		called, known := index.Called(kind)
		if ok && known && called.GroupKind() == r.gvk.GroupKind() && name == r.objectName() {
			return objectText(gvk.Kind, obj.GetName()), nil
		}
	}
	return "", nil
}

// refusedNumber answers who changes a number that an autoscaler goes by.
func refusedNumber(f *facts, grant decision.Grant, by string) admission.Response {
	resp := refused(f, grant)
	resp.Result.Message += fmt.Sprintf(". It could not wait: %s goes on from the number that %s has, in the name of its own controller",
		by, objectText(f.Child.GVK.Kind, f.Child.Name))
	return resp
}

// waits returns what is withheld of the number of the object that would be scaled: the autoscaler goes on from that.
func (d *delegation) waits() []v1alpha1.Allowance {
	if d.verdict.Reason == decision.ReasonBreakGlass {
		return nil
	}
	return ofField(decision.Withheld(d.facts.Child.Standing).Allowances(), d.scale.scale.Path)
}

// refusal returns the answer where the requester may not have the object scaled, or nobody may now.
func (d *delegation) refusal(r *request) (admission.Response, bool) {
	switch {
	case d == nil:
		return admission.Response{}, false
	case !d.allowed:
		return refusedDelegation(r, d), true
	}
	if withheld := d.waits(); len(withheld) > 0 {
		return refusedWaiting(r, d, withheld), true
	}
	return admission.Response{}, false
}

// refusedWaiting answers who would have an object scaled whose number is withheld.
func refusedWaiting(r *request, d *delegation, withheld []v1alpha1.Allowance) admission.Response {
	target := objectText(d.scale.gvk.Kind, d.scale.name)
	message := fmt.Sprintf("%s would carry out what is withheld of %s, as its controller goes on from the number that is there: %s",
		objectText(r.gvk.Kind, r.objectName()), target, withheldText(withheld))
	if who := d.facts.approversOf(withheldPaths(withheld)); len(who) > 0 {
		message += fmt.Sprintf("; put the number back first, or %s may approve it: %s", anyOf(who), d.facts.approving(withheld))
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Deputy", auditTarget: d.text()}
	return resp
}
