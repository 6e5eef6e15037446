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

// Package policy reconciles the status of AllowancePolicies: their conditions after GEP-713,
// the adoption of the objects that they come into effect for, and their metrics.
package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/controller/updates"
	"kausality.io/operator/internal/eventrecorder"
	knowngates "kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// +kubebuilder:rbac:groups=kausality.io,resources=allowancepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=kausality.io,resources=allowancepolicies/status,verbs=patch
// +kubebuilder:rbac:groups=kausality.io,resources=allowancerecords,verbs=get;list;watch

// eventAction is what the operator does to policies of which Events tell.
const eventAction = "Enforce"

// Rendering knows what the API server has been told to ask about.
type Rendering interface {
	// Rendered says whether that includes what a policy names.
	Rendered(p *policy.Policy) bool
	// ToldAt returns the write from which on it asks about that, the zero Moment where it did before,
	// and where this process has not made the write.
	ToldAt(p *policy.Policy) record.Moment
	// Begun says whether this process has told it anything.
	Begun() bool
	// Off says that it is told nothing, as what is installed for that has been taken away.
	Off() bool
	// Failing says what could not be written of what it is told, empty where all was, and whether something
	// that it had been told is not there any more, or is another one.
	Failing() (why string, gone bool)
}

// OwnRights knows what the operator cannot do whatever policies say, as rights that come with its installation
// are missing. *ownrights.Reviewer is the one.
type OwnRights interface {
	// Lacks returns that, and false while it is not known.
	Lacks() (lacks []access.Lack, known bool)
}

// Reconciler puts policies into effect and says in their status how far they
// are (D19). Before a policy becomes active, the holders that are in the middle
// of something are recorded as adopting (D20). Tell it with Catalog.NotifyAll
// when an answer of Rendering changes.
type Reconciler struct {
	Adoption

	// Client reads policies and records from a cache, and writes the status of
	// policies.
	Client client.Client
	// Catalog has the policies compiled, and says what has to be known of them.
	Catalog *catalog.Catalog
	// Kinds are the served kinds.
	Kinds catalog.Kinds
	// Rendering says which policies the API server knows of.
	Rendering Rendering
	// OwnRights knows which rights of its own the operator lacks; nil where it lacks none. Tell of changes as of
	// those of Rendering.
	OwnRights OwnRights
	// Events are about policies; nil where nobody wants them.
	Events events.EventRecorder

	// arrivals has the policies that are coming into effect, by name. Reconcile alone uses it.
	arrivals map[string]arrival
}

// SetupWithManager adds the reconciler to mgr. It handles one policy at a time:
// whether one is new to a holder depends on those before it.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if err := indexAttention(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("allowancepolicy").
		For(&v1alpha1.AllowancePolicy{}, builder.WithPredicates(updates.OfSpec())).
		WatchesRawSource(r.attentionSource(mgr.GetCache())).
		WatchesRawSource(r.Catalog.Source()).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	live := &v1alpha1.AllowancePolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, live); err != nil {
		if apierrors.IsNotFound(err) {
			forgetPolicy(req.Name)
			delete(r.arrivals, req.Name)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	known, ok := r.Catalog.View(live.Name)
	if !ok || known.UID != live.UID || known.Policy.Generation != live.Generation {
		// Once it is compiled, the catalog has it reconciled again.
		return reconcile.Result{}, nil
	}
	lacks, reviewed := r.lacks()
	if isSettled(live) && (!r.Catalog.Begun() || !r.Rendering.Begun() || !reviewed) {
		// What was found out before this process started stands until it knows as much.
		return reconcile.Result{}, nil
	}
	obj := live.DeepCopy()
	unread := unreadFor(known, r.Catalog)

	adoptErr := r.ensureAdopted(ctx, obj, known.Entry, unread)
	soon, lateErr := r.arrive(ctx, known.Entry)
	again, err := r.setConditions(ctx, obj, known, unread, lacks)
	if err != nil {
		return reconcile.Result{}, err
	}
	adopting, err := r.concerned(ctx, known, adoptingField)
	if err != nil {
		return reconcile.Result{}, err
	}
	obj.Status.Adopting = int64(len(adopting))
	measurePolicy(obj)

	switch err := r.patchStatus(ctx, live, obj); {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: requeue.AfterConflict}, nil
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case err != nil:
		if apierrors.IsForbidden(err) {
			r.announce(live, obj) // An Event is all that can tell of it.
		}
		return reconcile.Result{}, fmt.Errorf("writing the status of policy %s: %w", obj.Name, err)
	}
	r.announce(live, obj)
	if obj.Status.AdoptedGeneration == known.Policy.Generation {
		r.judgedFrom(obj)
		r.Catalog.MarkAdopted(known.Policy)
	}
	if err := errors.Join(adoptErr, lateErr); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: sooner(again, soon)}, nil
}

// sooner returns the shorter one of two times, of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// isSettled reports whether the status of a policy says how far its generation is in effect,
// and not that this is still to come.
func isSettled(obj *v1alpha1.AllowancePolicy) bool {
	enforced := apimeta.FindStatusCondition(obj.Status.Conditions, v1alpha1.ConditionEnforced)
	return obj.Status.AdoptedGeneration == obj.Generation &&
		enforced != nil && enforced.ObservedGeneration == obj.Generation && enforced.Reason != v1alpha1.ReasonPending
}

// ensureAdopted records the holders that are midway, where that was not done for
// this generation of the policy.
func (r *Reconciler) ensureAdopted(ctx context.Context, obj *v1alpha1.AllowancePolicy, entry catalog.Entry, unread unread) error {
	p := entry.Policy
	if obj.Status.AdoptedGeneration == p.Generation || !entry.Served || !entry.MayRead() || !entry.Stands() || len(unread.awaited) > 0 {
		return nil
	}
	if entry.Adopted != p {
		before := r.Catalog.Baseline()
		after := []*policy.Policy{p}
		for _, other := range before {
			if other.Name != p.Name {
				after = append(after, other)
			}
		}
		to := arrival{policy: p, before: policy.NewIndex(before), after: policy.NewIndex(after), wantedAt: record.ChangeOf(obj)}
		var err error
		if to.recorded, err = r.adopt(ctx, to.before, to.after, p); err != nil {
			return fmt.Errorf("adopting what policy %s is new to: %w", p.Name, err)
		}
		if r.arrivals == nil {
			r.arrivals = map[string]arrival{}
		}
		r.arrivals[p.Name] = to
	}
	obj.Status.AdoptedGeneration = p.Generation
	return nil
}

// judgedFrom notes the write by which each replica came to know that a policy was adopted.
func (r *Reconciler) judgedFrom(obj *v1alpha1.AllowancePolicy) {
	if to, ok := r.arrivals[obj.Name]; ok && to.judgedAt == (record.Moment{}) {
		to.judgedAt = record.WriteOf(obj)
		r.arrivals[obj.Name] = to
	}
}

// unread are the kinds that matter to a policy and whose objects are not all in the cache.
type unread struct {
	// awaited are the kinds for which the policy waits: its own, and before it is in effect also those of others that
	// are still being read.
	awaited []schema.GroupKind
	// failing are the kinds of other policies that cannot be read. They may never be, so nothing waits for them.
	failing []schema.GroupKind
}

// reading knows which objects are in the cache. *catalog.Catalog is the one.
type reading interface {
	// Watches reports whether all objects of a kind are.
	Watches(kind schema.GroupKind) bool
	// Fails reports whether they cannot be read.
	Fails(kind schema.GroupKind) bool
}

// unreadFor returns the kinds that matter to a policy and are not read yet.
func unreadFor(known catalog.View, r reading) unread {
	var out unread
	own := known.Policy.For.GroupKind()
	for _, kind := range related(known.Usable, own) {
		if r.Watches(kind) {
			continue
		}
		fails := r.Fails(kind)
		if fails && kind != own {
			out.failing = append(out.failing, kind)
		}
		if kind == own || !fails && known.Adopted != known.Policy {
			out.awaited = append(out.awaited, kind)
		}
	}
	return out
}

// setConditions says in the status what is known about the policy, and returns after how
// long more may be known, 0 where only an event can tell.
func (r *Reconciler) setConditions(ctx context.Context, obj *v1alpha1.AllowancePolicy, known catalog.View,
	unread unread, lacks []access.Lack,
) (time.Duration, error) {
	p, entry := known.Policy, known.Entry
	found, err := r.standingOf(ctx, known.Usable, p)
	if err != nil {
		return 0, err
	}
	notes, err := r.notes(ctx, obj, known, found)
	if err != nil {
		return 0, err
	}
	obj.Status.Affected = &found.affected
	canStart, parents := startable(known.Usable, p)
	// Policies through which chains come may still be on their way.
	started, _ := startable(known.InEffect, p)
	failing, gone := r.Rendering.Failing()
	apimeta.SetStatusCondition(&obj.Status.Conditions, accepted(p, acceptance{
		errs: entry.Errors, served: entry.Served, unwatchable: entry.Unwatchable, clashes: entry.Clashes, standing: found, notes: notes,
	}))
	for _, condition := range enforced(p, enforcement{
		off:         r.Rendering.Off(),
		failing:     failing,
		gone:        gone,
		served:      entry.Served,
		unwatchable: entry.Unwatchable,
		clashes:     entry.Clashes,
		missing:     entry.Missing,
		lacks:       lacks,
		unread:      unread,
		active:      entry.Active && (started || !canStart),
		adopted:     entry.Adopted == p,
		waiting:     !canStart,
		parents:     parents,
		rendered:    r.Rendering.Rendered(p),
		standing:    found,
	}) {
		apimeta.SetStatusCondition(&obj.Status.Conditions, condition)
	}
	if found.whens.awaited() || found.silence.awaited {
		return askAgain, nil
	}
	return 0, nil
}

// announce tells of a policy that is not enforced any more as the API server does not ask, or as the operator lacks rights of
// its own, and of one that is again.
func (r *Reconciler) announce(before, after *v1alpha1.AllowancePolicy) {
	was := trouble(apimeta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionEnforced))
	enforced := apimeta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionEnforced)
	is := trouble(enforced)
	if r.Events == nil || enforced == nil || was == is {
		return
	}
	kind, reason := corev1.EventTypeWarning, is
	if is == "" {
		kind, reason = corev1.EventTypeNormal, enforced.Reason
	}
	r.Events.Eventf(after, nil, kind, reason, eventAction, "%s", eventrecorder.Shortened(enforced.Message))
}

// trouble returns the reason of an Event about what a condition says, empty where it is no matter for one. A right may be
// missing without which all of the policy is enforced.
func trouble(enforced *metav1.Condition) string {
	switch {
	case enforced == nil:
		return ""
	case enforced.Reason == v1alpha1.ReasonNotIntercepted:
		return enforced.Reason
	case strings.Contains(enforced.Message, strings.TrimSpace(lackIntro)):
		return v1alpha1.ReasonImpaired
	default:
		return ""
	}
}

// lacks returns what the operator cannot do as rights of its own are missing, and false while that is not known.
func (r *Reconciler) lacks() ([]access.Lack, bool) {
	if r.OwnRights == nil {
		return nil, true
	}
	return r.OwnRights.Lacks()
}

// notes gathers what notesOn needs.
func (r *Reconciler) notes(ctx context.Context, obj *v1alpha1.AllowancePolicy, known catalog.View, s standing) ([]string, error) {
	p := known.Policy
	var unserved []schema.GroupVersionResource
	for _, resource := range policy.NamedResources(&obj.Spec) {
		if _, served := r.Kinds.KindFor(resource); !served {
			unserved = append(unserved, resource)
		}
	}
	overdue, err := r.concerned(ctx, known, overdueField)
	if err != nil {
		return nil, err
	}
	overdueObjects.WithLabelValues(p.Name).Set(float64(len(overdue)))
	declared := declaredKinds{r.Kinds}
	doubts := doubts{
		unserved:  unserved,
		unmatched: slices.Concat(policy.Unmatched(&obj.Spec, declared), knowngates.Drivers().Unmatched(p)),
		misjudged: withMore(policy.Misjudged(&obj.Spec, declared), s.whens.misjudged()),
		uncovered: s.uncovered,
	}
	return slices.Concat(notesOn(known.Usable, p, obj.Spec.Subjects, doubts), s.silence.notes(p), overdueNotes(p, overdue)), nil
}

// patchStatus writes what changed of the status, if anything did.
func (r *Reconciler) patchStatus(ctx context.Context, live, obj *v1alpha1.AllowancePolicy) error {
	if equality.Semantic.DeepEqual(live.Status, obj.Status) {
		return nil
	}
	return r.Client.Status().Patch(ctx, obj, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}))
}
