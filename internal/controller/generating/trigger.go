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
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
	"kausality.io/operator/internal/generate/plan"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/valuefree"
	"kausality.io/operator/internal/watchstate"
)

// look is one look at a trigger.
type look struct {
	*Reconciler
	of     *entry
	req    request
	served *served
	// above are the policies by which the trigger was made.
	above map[generate.ID][]string
	// kinds are the versions in which objects are wanted.
	kinds map[generate.ID]schema.GroupVersionKind
	// asked holds the requests that were looked up, nil for one that is not kept any more.
	asked map[generate.ID]*kept.Request
	// object is the trigger, nil where it is not there, or is a request.
	object *unstructured.Unstructured
	// older has the older policies that do not synchronize, and want an object for the same trigger. It is
	// nil until somebody asks.
	older map[generate.ID][]*entry
	// writing are the objects that it has begun to write, and wrote those it has written, as they are since.
	writing []generate.ID
	wrote   []plan.Existing
	// unseen is true where something is not known yet that is about to be.
	unseen bool
	out    *outcome
}

func (r *Reconciler) newLook(of *entry, req request, what *served) *look {
	return &look{
		Reconciler: r, of: of, req: req, served: what,
		above: map[generate.ID][]string{}, kinds: map[generate.ID]schema.GroupVersionKind{}, asked: map[generate.ID]*kept.Request{},
		out: &outcome{objects: map[generate.ID]*objectOutcome{}},
	}
}

// reconcileTrigger evaluates a policy for a trigger, and does what there is to do.
func (r *Reconciler) reconcileTrigger(ctx context.Context, req request) (ctrl.Result, error) {
	e, during := r.book.begin(req.policy)
	if e == nil {
		return ctrl.Result{}, nil
	}
	defer r.book.end(e, during)
	began := r.Clock.Now()
	what, err := r.serving.get(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	l := r.newLook(e, req, what)
	looking := r.requests.secretsOf(req)
	trigger, err := l.evaluate(ctx, req.trigger, l.out)
	switch {
	case ctx.Err() != nil:
		return ctrl.Result{}, ctx.Err()
	case errors.Is(err, errBehind):
		return ctrl.Result{RequeueAfter: afterBehind}, nil
	case errors.Is(err, errNotSynced):
		return ctrl.Result{RequeueAfter: again}, nil
	case errors.Is(err, errNotCarriedOut):
		return ctrl.Result{RequeueAfter: afterAsked}, nil
	case err != nil:
		l.out.failure = failureOf(&req.trigger, nil, err)
	}
	evaluations.WithLabelValues(e.Name, string(resultOf(l.out, err))).Inc()
	if trigger.State != plan.Unknown {
		r.look(r.book.wanted(e, req.trigger, trigger.Wanted)...)
	}
	err = l.carryOut(ctx, trigger)
	if err != nil || l.unseen {
		if ctx.Err() == nil && err == nil {
			return ctrl.Result{RequeueAfter: again}, nil
		}
		return ctrl.Result{}, err
	}
	if r.book.get(req.policy) != e {
		r.triggerQueue.put(req, 0) // The policy was changed meanwhile.
		return ctrl.Result{}, nil
	}
	r.requests.noteLooked(looking)
	r.look(r.book.looked(e, req.trigger, l.out, during)...)
	after, err := l.settle(ctx, trigger)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.say(e.Name)
	lag.WithLabelValues(e.Name).Observe(r.Clock.Since(began).Seconds())
	return ctrl.Result{RequeueAfter: cmp.Or(l.out.nextLook(r.Retry), after)}, nil
}

// settle drops the requests that need not be kept any more, and returns after how long to look again for
// others; zero if there are none.
func (l *look) settle(ctx context.Context, trigger plan.Trigger) (time.Duration, error) {
	switch {
	case trigger.ID.Request != "":
		return 0, l.settleRequest(ctx, trigger)
	case !l.of.compiled.NeedsOld() || trigger.State == plan.Unknown:
		return 0, nil
	}
	again, err := l.settleOld(ctx, trigger.ID, l.object)
	if err != nil || !again {
		return 0, err
	}
	return carriedOutWithin, nil
}

// nextLook returns after how long to look again for what no watch shows: a right that is given, a
// conflict that is gone, a kind that comes to be served. It is zero where there is no such thing.
//
// What AllowancePolicies refuse is looked at seldom: whoever causes it changes something that is
// watched.
func (o *outcome) nextLook(retry time.Duration) time.Duration {
	if o.failure != nil || len(o.unserved) > 0 {
		return retry
	}
	var after time.Duration
	for _, object := range o.objects {
		switch {
		case object.state == made:
		case !object.uncaused:
			return retry
		default:
			after = seldom * retry
		}
	}
	return after
}

// evaluate says what the policy wants for a trigger. An error is about a trigger that is Unknown.
func (l *look) evaluate(ctx context.Context, id generate.ID, out *outcome) (plan.Trigger, error) {
	if id.Request != "" {
		return l.evaluateRequest(ctx, id, out)
	}
	t := plan.Trigger{ID: id}
	of, ok := l.of.resource(id.GroupKind())
	if !ok {
		if l.of.more {
			return t, &generate.Error{Reason: generate.ReasonRead, Detail: fmt.Sprintf("%s is not served now", id.GroupKind())}
		}
		t.State = plan.Evaluated // The policy is not about such objects.
		return t, nil
	}
	if err := l.objects.current(of.gvk); err != nil {
		return t, err
	}
	object, err := l.objects.get(ctx, of.gvk, id.Namespace, id.Name)
	if err != nil {
		return t, err
	}
	if object == nil {
		if err := l.requestsBehind(ctx, id); err != nil {
			return t, err
		}
		t.State = plan.Gone
		return t, nil
	}
	if id == l.req.trigger {
		l.object = object
	}
	if t.Made, err = l.madeOnce(ctx, object); err != nil {
		return t, err
	}
	if !l.counts(of, object, t.Made) {
		t.State = plan.Evaluated
		return t, nil
	}
	result, err := l.ask(ctx, of, object, out)
	if err != nil {
		return t, err
	}
	t.State, t.Wanted = plan.Evaluated, result.Objects
	out.matched, out.unserved, out.elsewhere = result.Matched, result.NotServed, result.Elsewhere
	l.noteKinds(result.Objects)
	return t, nil
}

// noteKinds notes in which versions objects are wanted.
func (l *look) noteKinds(of []generate.Wanted) {
	for i := range of {
		wanted := &unstructured.Unstructured{Object: of[i].Content}
		l.kinds[of[i].ID] = wanted.GroupVersionKind()
	}
}

// ask evaluates the policy for a trigger that counts.
func (l *look) ask(ctx context.Context, of resource, object *unstructured.Unstructured, out *outcome) (*generate.Result, error) {
	id := idOf(object)
	trigger := &generate.Trigger{
		Resource: of.gvr, Equivalent: l.served.equivalent(of), Object: object.Object,
		Request: l.Notary.RequestsOn(id, object)[l.of.Name],
	}
	if l.of.compiled.NeedsRequest() && trigger.Request == nil && len(l.book.madeFor(request{l.of.Name, id})) == 0 {
		return &generate.Result{}, nil // No request has made it a trigger.
	}
	if l.of.compiled.NeedsOld() {
		old, err := l.old(ctx, trigger.Request)
		if err != nil {
			return nil, err
		}
		trigger.OldObject = old
	}
	trigger.Above = plan.Above(object.Object)
	switch {
	case of.gvk == namespaceKind:
		trigger.Namespace = object.Object
	case of.namespaced:
		if err := l.objects.current(namespaceKind); err != nil {
			return nil, err
		}
		namespace, err := l.objects.get(ctx, namespaceKind, "", object.GetNamespace())
		if err != nil {
			return nil, err
		}
		if namespace != nil {
			trigger.Namespace = namespace.Object
		}
	}
	return l.evaluateFor(ctx, trigger, id, of.namespaced, out)
}

// evaluateFor evaluates the policy for a trigger, if its service account may read that.
func (l *look) evaluateFor(ctx context.Context, trigger *generate.Trigger, id generate.ID, namespaced bool, out *outcome) (*generate.Result, error) {
	l.above[id] = trigger.Above
	from := snapshot{ctx: ctx, of: l.of, served: l.served, from: l.objects, rights: l.rights, followed: l.reads(l.of)}
	matches, err := l.of.compiled.Matches(trigger)
	if err != nil || !matches {
		return &generate.Result{}, err
	}
	// What the policy says about a trigger shows what is in it.
	if err := l.rights.requireRead(ctx, l.of.account, trigger.Resource.GroupResource(), id.Namespace, id.Name); err != nil {
		return nil, err
	}
	if l.of.compiled.UsesNamespace() && namespaced {
		if err := l.rights.requireRead(ctx, l.of.account, schema.GroupResource{Resource: "namespaces"}, "", id.Namespace); err != nil {
			return nil, err
		}
	}
	result, err := l.of.compiled.Evaluate(ctx, trigger, from)
	if err != nil {
		return nil, err
	}
	out.reads = result.Reads
	return result, nil
}

// counts reports whether an object is a trigger, whatever the policy says of it: with
// generateExisting each one is, and without it each that was written since the policy was accepted, its
// status apart. Once something was made for it, it stays one.
func (l *look) counts(of resource, object *unstructured.Unstructured, before map[generate.ID]bool) bool {
	since, ok := l.of.since[of.gvr.GroupResource().String()]
	if l.of.GenerateExisting || ok && since.ResourceVersion == "" || len(before) > 0 || len(l.book.madeFor(request{l.of.Name, idOf(object)})) > 0 {
		return true
	}
	if !ok || !watchstate.IsBefore(since.ResourceVersion, object.GetResourceVersion()) {
		return false
	}
	managers := object.GetManagedFields()
	for i := range managers {
		if m := &managers[i]; m.Subresource != "status" && (m.Time == nil || !m.Time.Before(&since.Time)) {
			return true
		}
	}
	return len(managers) == 0
}

// madeOnce returns what the record of a trigger remembers that was made for it.
func (l *look) madeOnce(ctx context.Context, object *unstructured.Unstructured) (map[generate.ID]bool, error) {
	if l.of.Synchronize {
		return nil, nil
	}
	rec, err := l.Records.Get(ctx, record.TargetOf(object))
	if err != nil {
		return nil, err
	}
	all := l.written.remembered(object.GetUID())
	if rec != nil {
		all = append(all, rec.Status.Generated...)
	}
	out := map[generate.ID]bool{}
	for _, made := range all {
		if made.Policy == l.of.Name {
			out[generate.ID{Group: made.Group, Kind: made.Kind, Namespace: made.Namespace, Name: made.Name}] = true
		}
	}
	return out, nil
}

// remember has the records of triggers remember that an object was made for them.
func (l *look) remember(ctx context.Context, object generate.ID, triggers []generate.ID) error {
	note := v1alpha1.GeneratedObject{Policy: l.of.Name, Group: object.Group, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name}
	for _, id := range triggers {
		if id.Request != "" {
			if err := l.rememberRequest(ctx, id, note); err != nil {
				return err
			}
			continue
		}
		of, ok := l.of.resource(id.GroupKind())
		if !ok {
			continue
		}
		trigger, err := l.objects.get(ctx, of.gvk, id.Namespace, id.Name)
		if err != nil || trigger == nil {
			return err
		}
		known, err := l.madeOnce(ctx, trigger)
		if err != nil {
			return err
		}
		if known[object] {
			continue
		}
		if err := l.Records.Update(ctx, record.TargetOf(trigger), true, func(status *v1alpha1.AllowanceRecordStatus) bool {
			if slices.Contains(status.Generated, note) {
				return false
			}
			status.Generated = append(status.Generated, note)
			return true
		}); err != nil {
			return fmt.Errorf("remembering that %s was made for %s: %w", object, id, err)
		}
		l.written.remember(trigger.GetUID(), note)
	}
	return nil
}

// concerned returns the objects that a look at the trigger is about: what is wanted for it, was
// wanted, or was made for it.
func (l *look) concerned(trigger plan.Trigger, before []generate.ID) []generate.ID {
	ids := map[generate.ID]bool{}
	for i := range trigger.Wanted {
		ids[trigger.Wanted[i].ID] = true
	}
	for _, id := range slices.Concat(before, l.book.madeFor(l.req)) {
		ids[id] = true
	}
	return slices.SortedFunc(maps.Keys(ids), generate.ID.Compare)
}

// others returns the other triggers that want one of the objects or that one was made for, as far as
// is known. Only of the one that decides what an object is like is asked what it wants.
func (l *look) others(ctx context.Context, trigger plan.Trigger, about map[generate.ID]known) ([]plan.Trigger, error) {
	wants := map[generate.ID][]generate.Wanted{}
	deciding := map[generate.ID]bool{}
	for id, k := range about {
		var order []generate.ID
		if k.marks != nil && k.marks.Policy.Name == l.of.Name {
			order = append(order, k.marks.Triggers...)
			for _, by := range order {
				wants[by] = slices.Clip(wants[by]) // It is looked at, if only to see whether it is there.
			}
		}
		for _, by := range slices.SortedFunc(maps.Keys(k.wants), generate.ID.Compare) {
			wants[by] = append(wants[by], generate.Wanted{ID: id})
			if !slices.Contains(order, by) {
				order = append(order, by)
			}
		}
		if i := slices.IndexFunc(order, func(by generate.ID) bool { return k.wants[by] }); i >= 0 {
			deciding[order[i]] = true
		}
	}
	delete(wants, trigger.ID)
	var out []plan.Trigger
	for _, id := range slices.SortedFunc(maps.Keys(wants), generate.ID.Compare) {
		other, err := l.other(ctx, id, wants[id], deciding[id])
		if errors.Is(err, errNotSynced) || ctx.Err() != nil {
			return nil, errNotSynced
		}
		if err != nil {
			other = plan.Trigger{ID: id} // It stays as it is.
		}
		out = append(out, other)
	}
	return out, nil
}

// other returns what is known of another trigger: what it wants as far as it was evaluated, and all of
// it where it decides.
func (l *look) other(ctx context.Context, id generate.ID, wants []generate.Wanted, decides bool) (plan.Trigger, error) {
	if decides || id.Request != "" {
		return l.evaluate(ctx, id, &outcome{})
	}
	t := plan.Trigger{ID: id}
	of, ok := l.of.resource(id.GroupKind())
	if !ok {
		return l.evaluate(ctx, id, &outcome{})
	}
	if err := l.objects.current(of.gvk); err != nil {
		return t, err
	}
	object, err := l.objects.get(ctx, of.gvk, id.Namespace, id.Name)
	if err != nil {
		return t, err
	}
	if object == nil {
		t.State = plan.Gone
		return t, nil
	}
	if !l.book.isEvaluated(l.of, id) {
		return t, nil
	}
	if t.Made, err = l.madeOnce(ctx, object); err != nil {
		return t, err
	}
	t.State, t.Wanted = plan.Evaluated, wants
	return t, nil
}

// reads returns what notes that the policy reads a kind.
func (r *Reconciler) reads(e *entry) func(schema.GroupVersionKind) {
	return func(kind schema.GroupVersionKind) { r.book.noteRead(e, kind) }
}

// failureOf describes a failure for the status.
func failureOf(trigger, object *generate.ID, err error) *v1alpha1.GeneratingFailure {
	out := &v1alpha1.GeneratingFailure{Trigger: referenceTo(trigger), Object: referenceTo(object), Reason: reasonFailed, Message: eventrecorder.Shortened(valuefree.Text(err))}
	var own *generate.Error
	var right *missingRightError
	var account *missingImpersonationError
	switch {
	case errors.As(err, &right), errors.As(err, &account):
		out.Reason = v1alpha1.ReasonForbidden
	case errors.As(err, &own):
		out.Reason = string(own.Reason)
	}
	return out
}

func referenceTo(id *generate.ID) *v1alpha1.GeneratingReference {
	if id == nil {
		return nil
	}
	return (*v1alpha1.GeneratingReference)(new(*id))
}

// nameOf returns the key of a policy.
func nameOf(policy string) types.NamespacedName { return types.NamespacedName{Name: policy} }

func requestOf(policy string) ctrl.Request { return ctrl.Request{NamespacedName: nameOf(policy)} }
