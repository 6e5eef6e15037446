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
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// end deletes what goes with a policy, and lets it go.
func (r *Reconciler) end(ctx context.Context, p *v1alpha1.GeneratingPolicy) (ctrl.Result, error) {
	r.look(r.book.drop(p.Name, true)...)
	if !controllerutil.ContainsFinalizer(p, v1alpha1.FinalizerGenerating) {
		return ctrl.Result{}, nil
	}
	if r.book.isLooking(p.UID) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	e := r.entryOf(p)
	what, err := r.serving.get(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	switch err := r.followMade(ctx, e, what); {
	case errors.Is(err, errNotSynced):
		return ctrl.Result{RequeueAfter: again}, nil
	case err != nil:
		return r.refuse(ctx, p, nil, err)
	}
	// Who is to take over what is deleted otherwise has to be known.
	policies := &v1alpha1.GeneratingPolicyList{}
	if err := r.Client.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing GeneratingPolicies: %w", err)
	}
	for i := range policies.Items {
		if !r.book.isSetUp(policies.Items[i].Name) {
			return ctrl.Result{RequeueAfter: again}, nil
		}
	}
	left, err := r.deleteMade(ctx, p, e, what)
	switch {
	case errors.Is(err, errChanged):
		return ctrl.Result{RequeueAfter: again}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("deleting what GeneratingPolicy %s made: %w", p.Name, err)
	case len(left) > 0:
		return r.wait(ctx, p, e, what, left)
	}
	after := p.DeepCopy()
	controllerutil.RemoveFinalizer(after, v1alpha1.FinalizerGenerating)
	if err := r.patchFinalizers(ctx, p, after); err != nil && !apierrors.IsNotFound(err) {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: requeue.AfterConflict}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

// leftover is an object that goes with its policy, and cannot be deleted.
type leftover struct {
	failure *v1alpha1.GeneratingFailure
	verdict verdict
	err     error
}

// deleteMade deletes what a policy made that is being deleted, and returns what cannot be.
func (r *Reconciler) deleteMade(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry, what *served) ([]leftover, error) {
	type object struct {
		of   resource
		step plan.Step
		*unstructured.Unstructured
	}
	var all []object
	var errs []error
	waits := map[generate.ID]bool{}
	for kind := range e.kinds {
		of, ok, err := what.ofKind(kind)
		if !ok {
			errs = append(errs, err)
			continue
		}
		found, err := r.listMade(ctx, kind, e.Name)
		if err != nil {
			return nil, err
		}
		for i := range found {
			id := idOf(&found[i])
			rivals := map[generate.ID][]plan.PolicyRef{id: r.book.of(request{policy: e.Name}, id).rivals}
			for _, step := range plan.For(e.Policy, nil, []plan.Existing{*existingOf(id, &found[i])}, rivals) {
				if step.Do == plan.Delete {
					all = append(all, object{of, step, &found[i]})
					addAbove(waits, id, &found[i])
				}
			}
		}
	}
	// What is about to change wakes the policy, also if it does while its objects are being deleted.
	r.book.endsWith(p.Name, waits)
	var left []leftover
	for _, o := range all {
		err := r.deleteObject(ctx, e, o.of, o.step, o.Unstructured)
		switch {
		case err == nil:
		case errors.Is(err, errChanged):
			errs = append(errs, err)
		default:
			left = append(left, leftoverOf(o.step.ID, o.Unstructured, err))
		}
	}
	slices.SortFunc(left, func(a, b leftover) int {
		return generate.ID(*a.failure.Object).Compare(generate.ID(*b.failure.Object))
	})
	return left, errors.Join(errs...)
}

// addAbove adds an object, and what it was made from.
func addAbove(to map[generate.ID]bool, id generate.ID, object *unstructured.Unstructured) {
	to[id] = true
	marks, _ := plan.MarksOf(id, object.Object)
	if marks == nil {
		return
	}
	for _, trigger := range marks.Triggers {
		to[trigger] = true
	}
	if marks.Source != nil {
		to[*marks.Source] = true
	}
}

func leftoverOf(id generate.ID, object *unstructured.Unstructured, err error) leftover {
	out := leftover{verdict: verdictOn(err), err: err}
	out.failure = &v1alpha1.GeneratingFailure{
		Object: referenceTo(&id), Reason: out.verdict.reason, Message: eventrecorder.Shortened(out.verdict.message),
	}
	if marks, _ := plan.MarksOf(id, object.Object); marks != nil && len(marks.Triggers) > 0 {
		out.failure.Trigger = referenceTo(&marks.Triggers[0])
	}
	return out
}

// wait says that a policy that is being deleted waits for objects that cannot be, and looks again when
// what is above them changes, or somebody may have done something that no watch shows.
func (r *Reconciler) wait(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry, what *served, left []leftover) (ctrl.Result, error) {
	after := p.DeepCopy()
	after.Status.Failures = nil
	var errs []error
	result := ctrl.Result{RequeueAfter: seldom * r.Retry}
	for _, l := range left {
		if len(after.Status.Failures) < maxFailures {
			after.Status.Failures = append(after.Status.Failures, *l.failure)
		}
		if l.verdict.state == failed {
			errs = append(errs, l.err)
		}
		if !l.verdict.uncaused {
			result.RequeueAfter = r.Retry
		}
	}
	message := eventrecorder.Shortened(fmt.Sprintf("It is being deleted, and waits for %d objects that it made and that cannot be deleted: %s: %s",
		len(left), generate.ID(*left[0].failure.Object), left[0].failure.Message))
	setCondition(after, v1alpha1.ConditionAccepted, false, v1alpha1.ReasonDeleting, message)
	setCondition(after, v1alpha1.ConditionEnforced, false, v1alpha1.ReasonDeleting, message)
	said := conditionOf(p, v1alpha1.ConditionAccepted)
	isNews := said == nil || said.Reason != v1alpha1.ReasonDeleting || said.Message != message
	r.followAbove(ctx, p, e, what)
	if err := r.patchStatus(ctx, p, after); err != nil {
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: requeue.AfterConflict}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if isNews {
		r.tell(p.Name, corev1.EventTypeWarning, v1alpha1.ReasonDeleting, "Delete", message)
	}
	if len(errs) > 0 {
		return ctrl.Result{}, errors.Join(errs...)
	}
	return result, nil
}

// followAbove watches the triggers and sources of a policy that is being deleted. Where that is not possible,
// it is looked at again all the same, later.
func (r *Reconciler) followAbove(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry, what *served) {
	compiled, _, errs := generate.Compile(p.Name, &p.Spec)
	if len(errs) > 0 {
		return
	}
	e.compiled = compiled
	resources, _ := what.matching(compiled.WatchedRules())
	for _, of := range resources[:min(len(resources), maxResources)] {
		_ = r.objects.follow(ctx, of, p.Name)
	}
	r.followSources(ctx, e, what)
}

// wakeEnding has the policies looked at that are being deleted and wait for an object, or for one made from it.
func (r *Reconciler) wakeEnding(id generate.ID) {
	for _, policy := range r.book.endingWith(id) {
		r.policyQueue.put(requestOf(policy), 0)
	}
}

// listMade returns the objects of a kind that a policy made. It asks the API server: what was made a
// moment ago no watch shows yet, and nobody looks for it later.
func (r *Reconciler) listMade(ctx context.Context, kind schema.GroupVersionKind, policy string) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	page := &unstructured.UnstructuredList{}
	for {
		next := page.GetContinue()
		page = &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		labeled := client.MatchingLabels{v1alpha1.LabelGeneratedBy: plan.LabelOf(policy)}
		if err := r.Live.List(ctx, page, labeled, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
		}
		if out = append(out, page.Items...); page.GetContinue() == "" {
			return out, nil
		}
	}
}
