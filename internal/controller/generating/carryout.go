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
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/valuefree"
)

// Reasons of failures, beside those of evaluations.
const (
	reasonFailed      = "Failed"
	reasonRefused     = "Refused"
	reasonConflicting = "Conflicting"
	reasonWaiting     = "Waiting"
	// reasonGivenUp is that of an event about a request that is kept no more, though not all was made.
	reasonGivenUp = "GivenUp"
)

// carryOut plans for the objects that a look at a trigger is about, and does what is planned.
func (l *look) carryOut(ctx context.Context, trigger plan.Trigger) error {
	about, existing, err := l.gather(ctx, trigger)
	if err != nil {
		return err
	}
	others, err := l.others(ctx, trigger, about)
	if errors.Is(err, errNotSynced) {
		l.unseen = true
		return nil
	}
	if err != nil {
		return err
	}
	replan := func(there ...plan.Existing) []plan.Step {
		return l.plan(trigger, others, about, slices.Concat(existing, there))
	}
	defer func() { l.endWrites(replan) }()
	for _, step := range l.plan(trigger, others, about, existing) {
		k, ok := about[step.ID]
		if !ok {
			continue
		}
		err := l.take(ctx, step, k)
		if errors.Is(err, errExists) {
			// Somebody has it, and the watch does not show it.
			there, lookErr := l.live(ctx, step.ID)
			if lookErr != nil {
				return lookErr
			}
			if there != nil {
				err = l.takeAgain(ctx, step.ID, k, replan(*there))
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			l.failed(step.ID, k, err)
		}
	}
	return nil
}

// endWrites compares what the API server made of the writes with what is wanted. Where that is the same, the look
// need not run again when the watch shows it.
func (l *look) endWrites(replan func(...plan.Existing) []plan.Step) {
	asWanted := map[generate.ID]bool{}
	if len(l.wrote) > 0 {
		for _, step := range replan(l.wrote...) {
			asWanted[step.ID] = step.Reason == plan.InPlace || step.Reason == plan.MadeOnce
		}
	}
	for _, id := range l.writing {
		if l.written.end(id, l.req, asWanted[id]) {
			l.look(l.req)
		}
	}
}

// takeAgain takes the step for an object as it is planned once it is known that somebody has it.
func (l *look) takeAgain(ctx context.Context, id generate.ID, k known, steps []plan.Step) error {
	for _, step := range steps {
		if step.ID == id {
			return l.take(ctx, step, k)
		}
	}
	return errExists
}

// gather returns the objects that a look at a trigger is about, and those of them that are there.
// What is about to be known is left out.
func (l *look) gather(ctx context.Context, trigger plan.Trigger) (map[generate.ID]known, []plan.Existing, error) {
	ids := l.concerned(trigger, l.book.wantedFor(l.of, trigger.ID))
	for _, id := range l.book.outcomes(l.of, trigger.ID) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	about := make(map[generate.ID]known, len(ids))
	var existing []plan.Existing
	for _, id := range ids {
		k := l.book.of(l.req, id)
		there, ok, err := l.existing(ctx, id, k)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		about[id] = k
		if there != nil {
			existing = append(existing, *there)
		}
	}
	return about, existing, nil
}

func (l *look) plan(trigger plan.Trigger, others []plan.Trigger, about map[generate.ID]known, existing []plan.Existing) []plan.Step {
	rivals := map[generate.ID][]plan.PolicyRef{}
	for id, k := range about {
		rivals[id] = k.rivals
	}
	return plan.For(l.of.Policy, append([]plan.Trigger{trigger}, others...), existing, rivals)
}

// existing returns an object as it is, nil where it is not there. It is not ok where that is about to be
// known, and where the trigger does not want the object and no policy made it: then other looks see to it.
func (l *look) existing(ctx context.Context, id generate.ID, k known) (there *plan.Existing, ok bool, err error) {
	kind, isWanted := l.kinds[id]
	if !isWanted {
		if kind, ok = l.book.kind(id); !ok {
			return nil, false, nil
		}
	}
	of, served, err := l.served.ofKind(kind)
	if err != nil {
		l.failed(id, k, err)
		return nil, false, nil
	}
	if !served {
		return nil, true, nil
	}
	switch err := l.results.follow(ctx, of, l.of.Name); {
	case errors.Is(err, errNotSynced):
		l.unseen = true
		return nil, false, nil
	case err != nil:
		l.failed(id, k, err)
		return nil, false, nil
	}
	if isWanted && !l.book.wantsKind(l.of, kind) {
		// The status of the policy has to name it first: else nobody knows where to look for it later.
		l.policyQueue.put(requestOf(l.of.Name), 0)
		l.unseen = true
		return nil, false, nil
	}
	object, err := l.results.get(ctx, kind, id.Namespace, id.Name)
	if err != nil {
		return nil, false, err
	}
	if l.written.isBehind(id, object) {
		l.unseen = true
		return nil, false, nil
	}
	if object == nil && k.before != nil && k.before.state == conflicting {
		there, err := l.live(ctx, id)
		return there, err == nil, err
	}
	return existingOf(id, object), true, nil
}

func existingOf(id generate.ID, object *unstructured.Unstructured) *plan.Existing {
	if object == nil {
		return nil
	}
	marks, _ := plan.MarksOf(id, object.Object)
	return &plan.Existing{ID: id, Content: object.Object, Marks: marks}
}

// live reads an object from the API server.
func (l *look) live(ctx context.Context, id generate.ID) (*plan.Existing, error) {
	kind, ok := l.kinds[id]
	if !ok {
		return nil, nil
	}
	object := objectOf(kind)
	if err := l.Live.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, object); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("looking for %s: %w", id, err)
	}
	return existingOf(id, object), nil
}

// errExists says that an object that was to be created is there.
var errExists = errors.New("the object is there already")

// errChanged says that an object was changed after it was looked at.
var errChanged = errors.New("the object was changed meanwhile")

// take takes one step.
func (l *look) take(ctx context.Context, step plan.Step, k known) error {
	isKnown, err := l.knowsOthers(ctx, step, k)
	if err != nil {
		return err
	}
	if !isKnown {
		return nil
	}
	switch step.Do {
	case plan.Create, plan.Apply:
		err = l.write(ctx, step, k)
	case plan.Delete:
		err = l.delete(ctx, step)
	case plan.Leave:
		l.left(step, k)
		if step.Reason != plan.MadeOnce {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if !l.of.Synchronize {
		return l.remember(ctx, step.ID, step.MadeFor)
	}
	return nil
}

// knowsOthers reports whether all is known of other policies that a step depends upon. Where it is not, the
// step is planned anew later.
func (l *look) knowsOthers(ctx context.Context, step plan.Step, k known) (bool, error) {
	if step.Do == plan.Leave {
		return true, nil
	}
	// Whatever else an older policy wants it takes over later. What it made once it does not: that stays as
	// it is, also where somebody deleted it.
	matters := l.isOlderAndMakesOnce
	if step.Do == plan.Delete || step.Reason == plan.TakenOver {
		matters = func(*v1alpha1.GeneratingPolicy) bool { return true }
	}
	if mayTake, err := l.mayTake(ctx, step, k, matters); !mayTake {
		return false, err
	}
	if step.Do != plan.Delete && l.isAboutToBeOverruled(ctx, step.ID, k) {
		l.unseen = true
		return false, nil
	}
	if !k.hasRivals(l.book.of(l.req, step.ID).rivals) {
		// Another policy has begun to want the object, and may have made it, after it was asked who does.
		l.unseen = true
		return false, nil
	}
	return true, nil
}

// mayTake reports whether all is known that says what some of the policies want.
func (l *look) mayTake(ctx context.Context, step plan.Step, k known, of func(*v1alpha1.GeneratingPolicy) bool) (bool, error) {
	policies := &v1alpha1.GeneratingPolicyList{}
	if err := l.Client.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing GeneratingPolicies: %w", err)
	}
	var names []string
	for i := range policies.Items {
		if of(&policies.Items[i]) {
			names = append(names, policies.Items[i].Name)
		}
	}
	if l.book.mayTake(l.of, l.req.trigger, names) {
		return true, nil
	}
	l.became(step.ID, k, waiting, l.failure(step.ID, reasonWaiting, "other GeneratingPolicies have yet to say whether they want it"))
	return false, nil
}

// isOlderAndMakesOnce reports whether a policy decides before this one, and does not synchronize.
func (l *look) isOlderAndMakesOnce(p *v1alpha1.GeneratingPolicy) bool {
	return !p.Spec.Evaluation.Synchronize && refOf(p).OlderThan(l.of.PolicyRef)
}

// isAboutToBeOverruled reports whether an older policy that does not synchronize wants an object for the same
// trigger, and has not come to look at it yet.
func (l *look) isAboutToBeOverruled(ctx context.Context, id generate.ID, k known) bool {
	if l.older == nil {
		l.older = map[generate.ID][]*entry{}
		for _, e := range l.book.all() {
			if e.Synchronize || !e.OlderThan(l.of.PolicyRef) || !e.isOf(l.req.trigger.GroupKind()) {
				continue
			}
			other := l.newLook(e, request{e.Name, l.req.trigger}, l.served)
			trigger, err := other.evaluate(ctx, l.req.trigger, other.out)
			if err != nil {
				continue // Nobody can tell, and what it made stays.
			}
			for i := range trigger.Wanted {
				wanted := trigger.Wanted[i].ID
				l.older[wanted] = append(l.older[wanted], e)
			}
		}
	}
	isAbout := false
	for _, e := range l.older[id] {
		if !slices.Contains(k.rivals, e.PolicyRef) {
			l.look(request{e.Name, l.req.trigger})
			isAbout = true
		}
	}
	return isAbout
}

// left notes what became of an object that is left as it is.
func (l *look) left(step plan.Step, k known) {
	switch {
	case step.Reason.IsConflict():
		message := "it is there, and no GeneratingPolicy made it: delete it, give the policy's another name, or have the policy take it over: " +
			"kubectl kausality takeover " + kubectl.Name(l.of.Name)
		if step.By != nil {
			message = fmt.Sprintf("GeneratingPolicy %s is older, wants it too, and decides", step.By.Name)
		}
		l.became(step.ID, k, conflicting, l.failure(step.ID, reasonConflicting, message))
	case step.Reason == plan.BeingDeleted:
		l.became(step.ID, k, waiting, l.failure(step.ID, reasonWaiting, "it is being deleted, and is made again once it is gone: "+
			"see who ends its finalizers, and whether the owners that it names exist"))
	case step.Reason == plan.InPlace, step.Reason == plan.NotKnown, step.Reason == plan.MadeOnce && len(step.MadeFor) > 0:
		l.became(step.ID, k, made, nil)
	}
}

// write creates or applies an object.
func (l *look) write(ctx context.Context, step plan.Step, k known) error {
	of := l.served.byGVK[l.kinds[step.ID]]
	if of.gvk.Empty() {
		of = l.served.byGVK[(&unstructured.Unstructured{Object: step.Content}).GroupVersionKind()]
	}
	if k.before != nil && k.before.state == refused {
		// What was refused is tried again once it may be written.
		for _, verb := range []string{verbPatch, verbCreate} {
			if err := l.rights.require(ctx, l.right(verb, of, step.ID)); err != nil {
				return err
			}
		}
	}
	content, err := plan.Marked(step, l.above[step.Marks.Triggers[0]], l.causes(ctx, step))
	if err != nil {
		return err
	}
	l.written.begin(step.ID, l.req)
	l.writing = append(l.writing, step.ID)
	var object *unstructured.Unstructured
	if step.Do == plan.Create {
		object, err = l.writer.create(ctx, l.of.account, of, content)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return errExists
		}
	} else {
		object, err = l.writer.update(ctx, l.of.account, of, content, pointers(step.Remove))
	}
	writes.WithLabelValues(l.of.Name, strings.ToLower(string(step.Do)), resultOfWrite(err)).Inc()
	if err != nil {
		return l.explained(ctx, string(step.Do), of, step.ID, err)
	}
	l.written.note(step.ID, object.GetResourceVersion(), "")
	l.wrote = append(l.wrote, *existingOf(step.ID, object))
	l.became(step.ID, k, made, nil)
	return nil
}

// delete deletes an object.
func (l *look) delete(ctx context.Context, step plan.Step) error {
	kind, _ := l.book.kind(step.ID)
	of := l.served.byGVK[kind]
	object, err := l.results.get(ctx, kind, step.ID.Namespace, step.ID.Name)
	if err != nil || object == nil {
		return err
	}
	err = l.deleteObject(ctx, l.of, of, step, object)
	if errors.Is(err, errChanged) {
		l.unseen = true
		return nil
	}
	return err
}

// deleteObject deletes an object, unless it has changed since it was read.
func (r *Reconciler) deleteObject(ctx context.Context, e *entry, of resource, step plan.Step, object *unstructured.Unstructured) error {
	err := r.writer.delete(ctx, e.account, of, object)
	writes.WithLabelValues(e.Name, verbDelete, resultOfWrite(err)).Inc()
	switch {
	case apierrors.IsConflict(err):
		return errChanged
	case err != nil:
		return r.explain(ctx, e, verbDelete, of, step.ID, err)
	}
	r.written.note(step.ID, "", object.GetUID())
	r.tell(e.Name, corev1.EventTypeNormal, "Deleted", "Delete", fmt.Sprintf("%s was deleted: %s", step.ID, step.Reason))
	return nil
}

func (l *look) right(verb string, of resource, id generate.ID) right {
	return rightTo(l.of, verb, of, id)
}

func rightTo(e *entry, verb string, of resource, id generate.ID) right {
	return right{user: e.account, verb: verb, GroupResource: of.gvr.GroupResource(), namespace: id.Namespace}
}

func (l *look) explained(ctx context.Context, verb string, of resource, id generate.ID, err error) error {
	return l.explain(ctx, l.of, strings.ToLower(verb), of, id, err)
}

// explain says which right is missing, where that is why something was refused.
func (r *Reconciler) explain(ctx context.Context, e *entry, verb string, of resource, id generate.ID, err error) error {
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err
	}
	if missing := r.rights.requireImpersonation(ctx, e.account); missing != nil {
		return missing
	}
	verbs := []string{verbPatch, verbCreate}
	if verb == verbDelete {
		verbs = []string{verb}
	}
	for _, verb := range verbs {
		if missing := r.rights.require(ctx, rightTo(e, verb, of, id)); missing != nil {
			return missing
		}
	}
	return err
}

// uncaused matches a refusal by AllowancePolicies, with its message, which has no values of fields.
var uncaused = regexp.MustCompile(`admission webhook "verdict[^"]*\.kausality\.io" denied the request: (?s:(.*))`)

// verdict says what a write that failed means.
type verdict struct {
	state           state
	reason, message string
	// uncaused is true where AllowancePolicies refuse it.
	uncaused bool
}

// verdictOn says why a write failed. Its message has no values of fields.
func verdictOn(err error) verdict {
	var missing *missingRightError
	var account *missingImpersonationError
	cause := uncaused.FindStringSubmatch(err.Error())
	switch {
	case cause != nil:
		return verdict{refused, reasonRefused, cause[1], true}
	case errors.As(err, &missing), errors.As(err, &account):
		return verdict{state: refused, reason: v1alpha1.ReasonForbidden, message: err.Error()}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return verdict{state: waiting, reason: reasonWaiting, message: "its namespace is being deleted"}
	case apierrors.IsNotFound(err):
		return verdict{state: waiting, reason: reasonWaiting, message: "its namespace, or its kind, is not there"}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), valuefree.NamesFields(err):
		return verdict{state: refused, reason: reasonRefused, message: "the API server refuses it: " + valuefree.Why(err)}
	case errors.Is(err, errExists):
		return verdict{state: waiting, reason: reasonWaiting, message: "it comes and goes"}
	default:
		return verdict{state: failed, reason: reasonFailed, message: valuefree.Text(err)}
	}
}

// failed notes that a step could not be taken.
func (l *look) failed(id generate.ID, k known, err error) {
	v := verdictOn(err)
	l.became(id, k, v.state, l.failure(id, v.reason, v.message))
	l.out.objects[id].uncaused = v.uncaused
}

func (l *look) failure(id generate.ID, reason, message string) *v1alpha1.GeneratingFailure {
	return &v1alpha1.GeneratingFailure{Trigger: referenceTo(&l.req.trigger), Object: referenceTo(&id), Reason: reason, Message: eventrecorder.Shortened(message)}
}

// became notes what became of an object, and tells of it where that is news.
func (l *look) became(id generate.ID, k known, is state, why *v1alpha1.GeneratingFailure) {
	l.out.objects[id] = &objectOutcome{state: is, failure: why}
	if (is == refused || is == conflicting) && (k.before == nil || k.before.state != is) {
		l.tell(l.of.Name, corev1.EventTypeWarning, why.Reason, "Generate", fmt.Sprintf("%s for %s: %s", id, l.req.trigger, why.Message))
	}
}

// tell tells an event on a policy.
func (r *Reconciler) tell(policy, kind, reason, action, note string) {
	on := &v1alpha1.GeneratingPolicy{}
	if err := r.Client.Get(context.Background(), nameOf(policy), on); err != nil {
		return // It is gone.
	}
	r.Events.Eventf(on, nil, kind, reason, action, "%s", eventrecorder.Shortened(note))
}

// pointers returns JSON pointers to fields of data.
func pointers(paths []change.Path) []string {
	out := make([]string, 0, len(paths))
	for _, path := range paths {
		var b strings.Builder
		for _, segment := range path {
			b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(segment.Field))
		}
		out = append(out, b.String())
	}
	return out
}
