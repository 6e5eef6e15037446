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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// +kubebuilder:rbac:groups=kausality.io,resources=generatingpolicies,verbs=list;watch;patch
// +kubebuilder:rbac:groups=kausality.io,resources=generatingpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// refusedError says that a policy cannot work, which its status tells.
type refusedError struct{ reason, message string }

// Error implements error.
func (e *refusedError) Error() string { return e.message }

// reconcilePolicy sets a policy up where that is due, and says in its status what has become of it.
func (r *Reconciler) reconcilePolicy(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.triggerQueue.hasStarted() {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	p := &v1alpha1.GeneratingPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, p); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("reading GeneratingPolicy %s: %w", req.Name, err)
		}
		return ctrl.Result{}, r.forget(ctx, req.Name, false)
	}
	if p.DeletionTimestamp != nil {
		return r.end(ctx, p)
	}
	e := r.book.get(p.Name)
	if e == nil || e.generation != p.Generation || e.UID != p.UID || e.more {
		switch err := r.setUp(ctx, p, e); {
		case errors.Is(err, errNotSynced):
			return ctrl.Result{RequeueAfter: again}, nil
		case apierrors.IsConflict(err):
			return ctrl.Result{RequeueAfter: requeue.AfterConflict}, nil
		case err != nil:
			return r.refuse(ctx, p, e, err)
		}
		e = r.book.get(p.Name)
	}
	r.causeChanged(p, e)
	if err := r.trimRequests(ctx, p.Name); err != nil {
		return ctrl.Result{}, err
	}
	err := r.report(ctx, p, e)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: requeue.AfterConflict}, nil
	}
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if needed, known := r.book.needs(e); known {
		err = r.objects.keep(ctx, p.Name, needed)
	}
	if e.more {
		return ctrl.Result{RequeueAfter: r.Retry}, err
	}
	// No watch shows that the kind of a trigger is not served any more.
	return ctrl.Result{RequeueAfter: seldom * r.Retry}, err
}

// causeChanged looks again at the triggers with objects that AllowancePolicies refuse, where what the
// policy allows has changed.
func (r *Reconciler) causeChanged(p *v1alpha1.GeneratingPolicy, e *entry) {
	ledger, withheld := p.Annotations[v1alpha1.AnnotationAllowances], p.Annotations[v1alpha1.AnnotationApproved]
	if e.ledger == ledger && e.withheld == withheld {
		return
	}
	e.ledger, e.withheld = ledger, withheld
	r.look(r.book.uncausedOf(e)...)
}

// forget ends all that is done for a policy.
func (r *Reconciler) forget(ctx context.Context, name string, exists bool) error {
	r.book.endsWith(name, nil)
	r.look(r.book.drop(name, exists)...)
	none := func(schema.GroupVersionKind) bool { return false }
	if !exists {
		forgetMetrics(name)
	}
	return errors.Join(r.objects.keep(ctx, name, none), r.results.keep(ctx, name, none), r.kept.keep(ctx, name, none))
}

// refuse says that a policy cannot work now. What it made stays as it is.
func (r *Reconciler) refuse(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry, err error) (ctrl.Result, error) {
	refusal := &refusedError{}
	var right *missingRightError
	var account *missingImpersonationError
	switch {
	case errors.As(err, &refusal):
	case errors.As(err, &right), errors.As(err, &account):
		refusal = &refusedError{v1alpha1.ReasonForbidden, err.Error()}
	default:
		return ctrl.Result{}, err
	}
	if e == nil || e.generation != p.Generation || e.UID != p.UID {
		r.look(r.book.drop(p.Name, true)...)
	}
	after := p.DeepCopy()
	setCondition(after, v1alpha1.ConditionAccepted, false, refusal.reason, refusal.message)
	setCondition(after, v1alpha1.ConditionEnforced, false, refusal.reason, "It is not accepted.")
	result := ctrl.Result{}
	switch refusal.reason {
	case v1alpha1.ReasonInvalid:
	case v1alpha1.ReasonPending:
		result.RequeueAfter = afterPending
	default:
		result.RequeueAfter = r.Retry
	}
	return result, client.IgnoreNotFound(r.patchStatus(ctx, p, after))
}

// setUp accepts a policy: from then on nothing is missed.
func (r *Reconciler) setUp(ctx context.Context, p *v1alpha1.GeneratingPolicy, before *entry) error {
	e := r.entryOf(p)
	isKnown := before != nil && before.generation == e.generation && before.UID == e.UID
	if isKnown {
		e.compiled = before.compiled
	} else {
		compiled, _, errs := generate.Compile(p.Name, &p.Spec)
		if len(errs) > 0 {
			return &refusedError{v1alpha1.ReasonInvalid, eventrecorder.Shortened(errs.ToAggregate().Error())}
		}
		e.compiled = compiled
	}
	what, err := r.serving.get(ctx)
	if err != nil {
		return err
	}
	e.resources, e.more = what.matching(e.compiled.WatchedRules())
	e.more = e.more || len(e.compiled.Unserved(what.serves)) > 0
	if isKnown && slices.Equal(before.resources, e.resources) && before.more == e.more {
		return nil
	}
	if len(e.resources) > maxResources {
		return &refusedError{v1alpha1.ReasonInvalid, fmt.Sprintf("spec.matchConstraints.resourceRules: they match %d resources, and %d may be watched: name them", len(e.resources), maxResources)}
	}
	if err := r.rights.requireImpersonation(ctx, e.account); err != nil {
		return err
	}
	if err := r.follow(ctx, p, e, what); err != nil {
		return err
	}
	if err := r.noteSince(ctx, p, e); err != nil {
		return err
	}
	if err := r.setFinalizer(ctx, p, e); err != nil {
		return err
	}
	return r.begin(ctx, e)
}

func refOf(p *v1alpha1.GeneratingPolicy) plan.PolicyRef {
	return plan.PolicyRef{Name: p.Name, UID: p.UID, Created: p.CreationTimestamp.UTC()}
}

func (r *Reconciler) entryOf(p *v1alpha1.GeneratingPolicy) *entry {
	e := &entry{
		Policy: plan.Policy{
			PolicyRef:            refOf(p),
			GeneratingEvaluation: p.Spec.Evaluation, Deleted: p.DeletionTimestamp != nil,
		},
		generation: p.Generation, begun: r.Clock.Now(), account: cmp.Or(p.Spec.ServiceAccount, r.DefaultAccount), since: sinceOf(&p.Status, p.UID),
		pending: map[generate.ID]bool{}, deferred: map[generate.ID]bool{}, triggers: map[generate.ID]*outcome{}, readers: readers{},
		wants: map[generate.ID]map[generate.ID]bool{}, wantedBy: map[generate.ID]map[generate.ID]bool{},
		readKinds: map[schema.GroupVersionKind]bool{}, kinds: map[schema.GroupVersionKind]bool{}, toMake: map[schema.GroupVersionKind]bool{},
	}
	for _, kind := range p.Status.Kinds {
		e.kinds[schema.GroupVersionKind(kind)] = true
	}
	return e
}

// follow watches what the policy needs.
func (r *Reconciler) follow(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry, what *served) error {
	var errs []error
	namespaced := false
	for _, of := range e.resources {
		errs = append(errs, r.objects.follow(ctx, of, p.Name))
		namespaced = namespaced || of.namespaced
	}
	if namespaced || e.compiled.KeepsRequests() {
		errs = append(errs, r.objects.follow(ctx, what.byGVK[namespaceKind], p.Name))
	}
	r.followSources(ctx, e, what)
	errs = append(errs, r.followMade(ctx, e, what), r.followRequests(ctx, e, what))
	return worst(errs)
}

// followSources begins to watch what the policy is known to read, before what it has made of the same kinds: one
// watch serves both then. Whether it may be read matters once it is.
func (r *Reconciler) followSources(ctx context.Context, e *entry, what *served) {
	for _, s := range e.compiled.Sources() {
		if of, ok, err := what.ofResource(s.Resource); ok && err == nil {
			_ = r.objects.follow(ctx, of, e.Name)
		}
	}
}

// followMade watches what the policy has made.
func (r *Reconciler) followMade(ctx context.Context, e *entry, what *served) error {
	errs := make([]error, 0, len(e.kinds))
	for kind := range e.kinds {
		of, ok, err := what.ofKind(kind)
		if ok {
			err = r.results.follow(ctx, of, e.Name)
		}
		errs = append(errs, err)
	}
	return worst(errs)
}

// worst returns an error that does not pass by itself, if there is one.
func worst(errs []error) error {
	var out error
	for _, err := range errs {
		if err != nil && (out == nil || errors.Is(out, errNotSynced)) {
			out = err
		}
	}
	return out
}

// noteSince notes from when on a trigger counts.
func (r *Reconciler) noteSince(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry) error {
	accepted := conditionOf(p, v1alpha1.ConditionAccepted)
	// What comes to be served after the policy was accepted is not there before it.
	later := len(e.since) > 0 && accepted != nil && accepted.Status == metav1.ConditionTrue && accepted.ObservedGeneration == p.Generation
	since := map[string]v1alpha1.GeneratingSince{}
	for _, of := range e.resources {
		name := of.gvr.GroupResource().String()
		if known, ok := e.since[name]; ok {
			since[name] = known
			continue
		}
		note := v1alpha1.GeneratingSince{PolicyUID: p.UID, Resource: name, Time: metav1.NewTime(r.Clock.Now()).Rfc3339Copy()}
		if !later {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(of.gvk.GroupVersion().WithKind(of.gvk.Kind + "List"))
			if err := r.Live.List(ctx, list, client.Limit(1)); err != nil {
				return fmt.Errorf("listing %s: %w", of.gvr.GroupResource(), err)
			}
			note.ResourceVersion = list.ResourceVersion
		}
		since[name] = note
	}
	e.since = since
	after := p.DeepCopy()
	after.Status.Since = nil
	for _, name := range slices.Sorted(maps.Keys(since)) {
		after.Status.Since = append(after.Status.Since, since[name])
	}
	return r.patchStatus(ctx, p, after)
}

// setFinalizer has the policy wait for its end where its deletion deletes, and nowhere else.
func (r *Reconciler) setFinalizer(ctx context.Context, p *v1alpha1.GeneratingPolicy, e *entry) error {
	after := p.DeepCopy()
	if e.Synchronize && !e.OrphanDownstreamOnPolicyDelete {
		controllerutil.AddFinalizer(after, v1alpha1.FinalizerGenerating)
	} else {
		controllerutil.RemoveFinalizer(after, v1alpha1.FinalizerGenerating)
	}
	return r.patchFinalizers(ctx, p, after)
}

func (r *Reconciler) patchFinalizers(ctx context.Context, p, after *v1alpha1.GeneratingPolicy) error {
	if slices.Equal(p.Finalizers, after.Finalizers) {
		return nil
	}
	if err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the finalizer of GeneratingPolicy %s: %w", p.Name, err)
	}
	after.DeepCopyInto(p)
	return nil
}

// begin looks at all triggers that there are, and at those for which something was made.
func (r *Reconciler) begin(ctx context.Context, e *entry) error {
	pending := map[generate.ID]bool{}
	for _, of := range e.resources {
		found, err := r.objects.list(ctx, of.gvk, "", labels.Everything())
		if err != nil {
			return err
		}
		for i := range found {
			pending[idOf(&found[i])] = true
		}
	}
	for kind := range e.kinds {
		if !r.results.isSynced(kind) {
			continue
		}
		found, err := r.results.list(ctx, kind, "", labels.SelectorFromSet(labels.Set{v1alpha1.LabelGeneratedBy: plan.LabelOf(e.Name)}))
		if err != nil {
			return err
		}
		for i := range found {
			id := idOf(&found[i])
			marks, _ := plan.MarksOf(id, found[i].Object)
			r.book.noteMade(id, kind, marks)
			if marks == nil || marks.Policy.Name != e.Name {
				continue
			}
			for _, trigger := range marks.Triggers {
				pending[trigger] = true
			}
		}
	}
	r.requests.addTo(pending, e.Name)
	r.book.put(e, pending)
	for _, trigger := range r.book.pendingOf(e) {
		r.look(request{e.Name, trigger})
	}
	r.look(r.book.releasedNow()...)
	return nil
}

// patchStatus writes the status of a policy where it has changed.
func (r *Reconciler) patchStatus(ctx context.Context, p, after *v1alpha1.GeneratingPolicy) error {
	if equality.Semantic.DeepEqual(p.Status, after.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the status of GeneratingPolicy %s: %w", p.Name, err)
	}
	after.DeepCopyInto(p)
	return nil
}
