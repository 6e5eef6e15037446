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
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// delegation is a request that makes an object, or changes one, by which its controller
// scales another object.
type delegation struct {
	// scale is the scale of that object, as if the requester asked for it.
	scale *request
	// exists is false where there is no such object yet.
	exists bool
	// facts, verdict and allowed are what is decided on it.
	facts   *facts
	verdict decision.Verdict
	allowed bool
}

// targetError is why nobody can say whether a request may have an object of the kind
// scaled.
type targetError struct {
	error
	kind schema.GroupVersionKind
}

// judgeDelegation judges what the object of the request will have done to another one, and
// returns nil where that is nothing that a policy is about.
func (v *Validator) judgeDelegation(ctx context.Context, r *request, f *facts, verdict decision.Verdict) (*delegation, error) {
	deputy, ok := f.index.DeputyOf(r.gvk.GroupKind())
	if !ok || f.Operator || r.subresource != "" || r.new == nil || !v.changesDeputy(deputy, r) {
		return nil, nil
	}
	kind, name, ok := deputy.Target(r.new.Object)
	if !ok {
		return nil, nil
	}
	gvk, ok := f.index.Called(kind)
	if !ok {
		return nil, nil
	}
	d, err := v.delegate(ctx, r, f, verdict, gvk, name)
	if err != nil {
		return nil, targetError{err, gvk}
	}
	return d, nil
}

// delegate decides whether the requester may have an object scaled, nil where no policy is
// about that. It is read live before the answer is no.
func (v *Validator) delegate(ctx context.Context, r *request, f *facts, verdict decision.Verdict, gvk schema.GroupVersionKind, name string) (*delegation, error) {
	d, err := v.delegateOnce(ctx, r, f, verdict, gvk, name, doubtNone)
	if err != nil || d == nil || d.allowed {
		return d, err
	}
	sure, err := v.delegateOnce(ctx, r, f, verdict, gvk, name, doubtUncovered)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot look again whether a refusal is right; it stands",
			"kind", r.gvk.Kind, "namespace", r.namespace, "name", r.objectName(), "operation", r.operation, "user", r.requester.Username)
		return d, nil
	}
	return sure, nil
}

// changesDeputy reports whether the request changes what the object says of what it scales,
// and how. An object that is applied again as it is asks for nothing.
func (v *Validator) changesDeputy(deputy policy.Deputy, r *request) bool {
	if r.operation == decision.Create {
		return true
	}
	counts, declared := deputy.Metadata(r.gvk.Version), v.Kinds.Schema(r.gvk)
	found := change.Find(r.old.Object, r.new.Object, change.Options{
		Metadata: counts, Schema: declared, TolerateEmpty: !clientgoscheme.Scheme.Recognizes(r.gvk),
	})
	return len(named(found, counts, declared)) > 0
}

// delegateOnce judges it with what the cache knows, or, where there is a doubt, with what
// the API server says.
func (v *Validator) delegateOnce(ctx context.Context, r *request, f *facts, verdict decision.Verdict, gvk schema.GroupVersionKind, name string, why doubt) (*delegation, error) {
	resource, served := v.Kinds.ResourceFor(gvk)
	text := v.Kinds.ReplicasPath(resource, "")
	if !served || text == "" {
		return nil, nil // It cannot be scaled.
	}
	path, err := change.ParsePath(text)
	if err != nil {
		return nil, fmt.Errorf("replicas path of %s: %w", resource.Resource, err)
	}
	target, exists, err := v.target(ctx, gvk, types.NamespacedName{Namespace: r.namespace, Name: name}, why)
	if err != nil {
		return nil, err
	}
	d := &delegation{exists: exists}
	if d.scale, err = r.scaleOf(target, resource, path); err != nil {
		return nil, err
	}
	if d.facts, err = v.gather(ctx, d.scale, why, nil); err != nil {
		return nil, err
	}
	if len(d.facts.OwnPolicies) == 0 && len(d.facts.Bounding()) == 0 {
		return nil, nil // It is nobody's business.
	}
	d.verdict, d.allowed = decision.Delegate(ctx, &d.facts.Input)
	d.allowed = d.allowed || d.isSibling(f, verdict)
	return d, nil
}

// target reads the object that would be scaled. One that does not exist yet is taken for
// one without labels or owners, so that what waits for it is judged as well.
func (v *Validator) target(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName, why doubt) (target *unstructured.Unstructured, exists bool, err error) {
	if why == doubtNone {
		if target, err := v.Objects.Get(ctx, gvk, key); err == nil {
			return target, true, nil
		}
		why = doubtUncached
	}
	why.read()
	target, err = v.Objects.Live(ctx, gvk, key)
	switch {
	case apierrors.IsNotFound(err):
		target = &unstructured.Unstructured{Object: map[string]any{}}
		target.SetGroupVersionKind(gvk)
		target.SetNamespace(key.Namespace)
		target.SetName(key.Name)
		return target, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading what would be scaled, %s %s: %w", gvk.Kind, key, err)
	}
	return target, true, nil
}

// scaleOf returns the request with which whoever makes r would scale an object: to any other
// number than it has.
func (r *request) scaleOf(target *unstructured.Unstructured, resource schema.GroupVersionResource, path change.Path) (*request, error) {
	value, _ := path.Value(target.Object)
	before, _ := value.(int64)
	as := &request{
		gvk: target.GroupVersionKind(), resource: resource, subresource: subresourceScale,
		namespace: target.GetNamespace(), name: target.GetName(), operation: decision.Update,
		requester: r.requester, user: r.user, dryRun: r.dryRun, validating: true, noteTaken: true, ledgers: r.ledgers,
		old: target.DeepCopy(), new: target.DeepCopy(),
		scale: &record.Content{Path: path.String(), Value: before + 1},
	}
	if err := errors.Join(path.Set(as.old.Object, before), path.Set(as.new.Object, before+1)); err != nil {
		return nil, fmt.Errorf("replicas of %s %s/%s: %w", as.gvk.Kind, as.namespace, as.name, err)
	}
	return as, nil
}

// isSibling reports whether both objects are of one parent, or one of the other, which has
// this one made by who may use its allowances.
func (d *delegation) isSibling(f *facts, v decision.Verdict) bool {
	if f.ParentState != decision.ParentFound || !f.MayExercise() {
		return false
	}
	switch v.Reason {
	case decision.ReasonCovered, decision.ReasonInitializing, decision.ReasonMaintaining, decision.ReasonAdopting:
		return f.Parent.UID == d.facts.Child.UID ||
			d.facts.ParentState == decision.ParentFound && f.Parent.UID == d.facts.Parent.UID
	default:
		return false
	}
}

// refusedDelegation answers who may not have another object scaled.
func refusedDelegation(r *request, d *delegation) admission.Response {
	target := objectText(d.scale.gvk.Kind, d.scale.name)
	message := fmt.Sprintf("%s would scale %s in the name of its own controller, and is for who may do that: ",
		objectText(r.gvk.Kind, r.objectName()), target)
	if !d.verdict.Allowed {
		message += denial(d.facts, d.verdict)
	} else {
		message += fmt.Sprintf("%s may not initiate a change of %s of %s", r.requester.Username, d.scale.scale.Path, target)
		message += d.facts.whoMayInitiate([]string{d.scale.scale.Path})
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{
		auditReason: "Deputy", auditTarget: d.text(), auditPolicies: strings.Join(d.policies(), ","),
	}
	return resp
}

// text names what would be scaled.
func (d *delegation) text() string { return d.scale.gvk.Kind + "/" + d.scale.name }

// tellDelegation tells the people of an object who would have had it scaled by another, and the record that tells
// of refused scales of it: its own, or that of its parent where no policy of its own is about it.
func (v *Validator) tellDelegation(r *request, d *delegation, resp admission.Response) {
	if r.dryRun || !d.exists {
		return
	}
	v.Records.Observe(d.refused(r, resp.Result.Message))
	v.Notices.Post(eventrecorder.Notice{
		Reason: eventrecorder.Denied, Action: operationText(r), About: d.scale.target(),
		Text: r.requester.Username + " was refused: " + resp.Result.Message,
	})
}

// refused returns what is recorded of a refusal.
func (d *delegation) refused(r *request, message string) record.Outcome {
	e := v1alpha1.HistoryEntry{
		Event: v1alpha1.EventRefused, User: r.requester.Username, Operation: operationText(r),
		Kind: r.gvk.Kind, Names: []string{r.objectName()}, Policies: d.policies(), Message: message,
	}
	target := d.scale.target()
	if len(d.facts.OwnPolicies) == 0 {
		target = d.facts.parent // The field is none of it.
	} else {
		e.Paths = []string{d.scale.scale.Path}
	}
	return record.Outcome{Target: target, History: []v1alpha1.HistoryEntry{e}}
}

// policies are the names of the policies that refuse it.
func (d *delegation) policies() []string {
	if d.verdict.Allowed {
		return names(d.facts.OwnPolicies)
	}
	return names(d.verdict.Policies)
}

// noteDelegation notes with an object who has it scaled from now on: what its autoscaler
// does has the name of the autoscaler's controller.
func (v *Validator) noteDelegation(r *request, d *delegation) {
	if r.dryRun || !d.exists {
		return
	}
	v.Records.Observe(record.Outcome{Target: d.scale.target(), Decision: &v1alpha1.Decision{
		Result: result(d.verdict.Reason), Reason: string(d.verdict.Reason), Operation: operationText(r),
		User: r.requester.Username, Kind: r.gvk.Kind, Name: r.objectName(), Policies: names(d.facts.OwnPolicies),
	}})
}
