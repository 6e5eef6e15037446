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
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
	"kausality.io/operator/internal/generate/plan"
)

const (
	// carriedOutWithin is how long the API server may take to carry out what it has asked about.
	carriedOutWithin = time.Minute
	// afterAsked is when to look again whether a request was carried out.
	afterAsked = time.Second
	// afterPending is when to look again whether the API server asks about the requests of a policy.
	afterPending = time.Second
)

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	secrets    = schema.GroupResource{Resource: "secrets"}
)

// errNotCarriedOut says that a request may still be carried out.
var errNotCarriedOut = errors.New("the request may not be carried out yet")

// requests knows which Secrets keep the requests that are triggers. It is the index of a watch, and is made
// anew with it.
type requests struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// by has the Secrets of each trigger, of the trigger of each Secret.
	by map[request]map[string]*keptIn
	of map[string]request
}

// keptIn is what is known of a Secret without its content.
type keptIn struct {
	// asked is the time of the request, seen the one when the Secret was seen first.
	asked, seen time.Time
	// looked is true once it is known what the policy wants for the request.
	looked bool
	// made has what was noted in the Secret, which its watch may not show yet.
	made []v1alpha1.GeneratedObject
}

func newRequests(c clock.PassiveClock) *requests {
	return &requests{clock: c, by: map[request]map[string]*keptIn{}, of: map[string]request{}}
}

// note remembers that a Secret keeps a request.
func (r *requests) note(secret string, req request, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by[req] == nil {
		r.by[req] = map[string]*keptIn{}
	}
	if _, known := r.by[req][secret]; !known {
		r.by[req][secret] = &keptIn{asked: asked, seen: r.clock.Now()}
	}
	r.of[secret] = req
}

// forget forgets a Secret, and returns the trigger that it kept.
func (r *requests) forget(secret string) (request, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	req, ok := r.of[secret]
	delete(r.of, secret)
	delete(r.by[req], secret)
	if len(r.by[req]) == 0 {
		delete(r.by, req)
	}
	return req, ok
}

// secretsOf returns the Secrets that keep a trigger, the latest first: that one counts.
func (r *requests) secretsOf(req request) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.by[req]
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(all[b].asked.Compare(all[a].asked), cmp.Compare(b, a))
	})
}

// seen returns since when a Secret is known.
func (r *requests) seen(secret string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in := r.by[r.of[secret]][secret]; in != nil {
		return in.seen
	}
	return r.clock.Now()
}

// made returns what was made for the request in a Secret: what that says, and what was noted since, with
// a further one.
func (r *requests) made(secret string, says []v1alpha1.GeneratedObject, further ...v1alpha1.GeneratedObject) []v1alpha1.GeneratedObject {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(says)
	in := r.by[r.of[secret]][secret]
	if in == nil {
		in = &keptIn{}
	}
	for _, note := range slices.Concat(in.made, further) {
		if !slices.Contains(out, note) {
			out = append(out, note)
		}
	}
	in.made = out
	return out
}

// noteLooked notes that it is known what the policy wants for a request.
func (r *requests) noteLooked(req request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range r.by[req] {
		in.looked = true
	}
}

// isOpen reports whether a policy has a request about an object of which is not known what it wants for it.
func (r *requests) isOpen(policy string, object generate.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for req, all := range r.by {
		if req.policy != policy || req.trigger.Request == "" || req.trigger.Of() != object {
			continue
		}
		for _, in := range all {
			if !in.looked {
				return true
			}
		}
	}
	return false
}

// has reports whether a Secret is known.
func (r *requests) has(secret string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.of[secret]
	return ok
}

// triggersOf returns the triggers of a policy that are requests.
func (r *requests) triggersOf(policy string) []generate.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []generate.ID
	for req := range r.by {
		if req.policy == policy {
			out = append(out, req.trigger)
		}
	}
	return out
}

// tooMany returns the oldest Secrets of a policy of those that are too many.
func (r *requests) tooMany(policy string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := map[string]time.Time{}
	for req, all := range r.by {
		if req.policy == policy {
			for secret, in := range all {
				asked[secret] = in.asked
			}
		}
	}
	oldest := slices.SortedFunc(maps.Keys(asked), func(a, b string) int { return asked[a].Compare(asked[b]) })
	return oldest[:max(0, len(oldest)-kept.MaxRequests)]
}

// secretChanged looks at the trigger that a Secret keeps.
func (r *Reconciler) secretChanged(_ resource, before, after *unstructured.Unstructured) {
	if after == nil {
		if req, ok := r.requests.forget(before.GetName()); ok {
			r.look(req)
		}
		return
	}
	asked, err := keptOn(after)
	if err != nil {
		return // Somebody else's, or made up. What a policy keeps goes with it.
	}
	req := request{asked.Policy, asked.ID()}
	r.requests.note(after.GetName(), req, asked.Time.Time)
	r.look(req)
}

// keptOn returns the request that a Secret keeps.
func keptOn(object *unstructured.Unstructured) (*kept.Request, error) {
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", object.GetName(), err)
	}
	return kept.On(secret.Data)
}

// followRequests watches the requests that are kept for a policy, once it may keep them and the API server
// asks about them.
func (r *Reconciler) followRequests(ctx context.Context, e *entry, what *served) error {
	if !e.compiled.KeepsRequests() {
		return r.kept.keep(ctx, e.Name, func(schema.GroupVersionKind) bool { return false })
	}
	for _, verb := range []string{"list", "watch", "create", "patch", "delete"} {
		may, err := r.rights.allows(ctx, right{verb: verb, GroupResource: secrets, namespace: r.Namespace})
		if err != nil {
			return err
		}
		if !may {
			return &refusedError{v1alpha1.ReasonForbidden, fmt.Sprintf("The operator may not %s Secrets in namespace %s, in which it keeps the requests that are triggers: "+
				"it takes a Role with verbs [create, delete, get, list, patch, watch]. docs/generatingpolicy.md has the commands, and in the Helm chart it is access.requests.", verb, r.Namespace)}
		}
	}
	asks, err := r.asksAbout(ctx, e.compiled.KeptRules())
	if err != nil {
		return err
	}
	if !asks {
		return &refusedError{reason: v1alpha1.ReasonPending, message: fmt.Sprintf(
			"The API server is not told yet to ask about the requests that are triggers: MutatingWebhookConfiguration %s has no rules for them.", r.Asked)}
	}
	return r.kept.follow(ctx, what.byGVK[secretKind], e.Name)
}

// asksAbout reports whether the API server asks about requests.
func (r *Reconciler) asksAbout(ctx context.Context, rules []admissionregistrationv1.RuleWithOperations) (bool, error) {
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Asked}, config); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", r.Asked, err)
	}
	var asked []string
	for i := range config.Webhooks {
		for _, rule := range config.Webhooks[i].Rules {
			asked = append(asked, rule.String())
		}
	}
	return !slices.ContainsFunc(rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return !slices.Contains(asked, rule.String())
	}), nil
}

// request returns the request that is a trigger, nil where none is kept any more, and drops those that
// it came in place of.
func (l *look) request(ctx context.Context, id generate.ID) (*kept.Request, error) {
	if err := l.kept.current(secretKind); err != nil {
		return nil, err
	}
	var latest *kept.Request
	for _, name := range l.requests.secretsOf(request{l.of.Name, id}) {
		object, err := l.kept.get(ctx, secretKind, l.Namespace, name)
		if err != nil {
			return nil, err
		}
		if object == nil {
			continue
		}
		asked, err := keptOn(object)
		if err != nil || asked.PolicyUID != l.of.UID {
			continue // It is of a policy that was there before.
		}
		counts := false
		if latest == nil {
			if counts, err = l.carriedOut(ctx, asked, name); err != nil {
				return nil, err
			}
		}
		if !counts {
			if err := l.dropSecret(ctx, name); err != nil {
				return nil, err
			}
			continue
		}
		asked.Made = l.requests.made(name, asked.Made)
		latest = asked
	}
	return latest, nil
}

// carriedOut reports whether an object has ended that a request ends, or nobody can tell. The error is
// errNotCarriedOut where it may end still.
func (l *look) carriedOut(ctx context.Context, asked *kept.Request, secret string) (bool, error) {
	of, served := l.served.byGVR[asked.Resource]
	if !asked.EndsObject() || !served {
		return true, nil
	}
	if err := l.rights.require(ctx, right{verb: "get", GroupResource: of.gvr.GroupResource()}); err != nil {
		return false, err
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(of.gvk)
	err := l.Live.Get(ctx, client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking for %s: %w", asked.ID().Of(), err)
	case object.DeletionTimestamp != nil,
		asked.UID != "" && object.UID != asked.UID,
		asked.UID == "" && asked.Time.Time.Before(object.CreationTimestamp.Time):
		return true, nil
	case l.Clock.Since(l.requests.seen(secret)) < carriedOutWithin:
		return false, errNotCarriedOut
	}
	return false, nil
}

// requestsBehind returns errNotSynced where there may be a request about an object that is gone of which is
// not known what the policy wants for it: what the object was a trigger for may be wanted still. Only a look
// at that object waits: the one at the request plans for both.
func (l *look) requestsBehind(ctx context.Context, gone generate.ID) error {
	if gone != l.req.trigger || !l.of.Synchronize || !l.of.compiled.KeepsRequests() {
		return nil
	}
	if err := l.kept.current(secretKind); err != nil {
		return err
	}
	// The watch of Secrets may be behind the one that has shown that the object is gone.
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(secretKind)
	labeled := client.MatchingLabels{v1alpha1.LabelRequestFor: plan.LabelOf(l.of.Name)}
	if err := l.Live.List(ctx, all, client.InNamespace(l.Namespace), labeled); err != nil {
		return fmt.Errorf("listing the requests that are kept: %w", err)
	}
	for i := range all.Items {
		if !l.requests.has(all.Items[i].Name) {
			return errNotSynced
		}
	}
	if l.requests.isOpen(l.of.Name, gone) {
		return errNotSynced
	}
	return nil
}

// dropRequest drops a trigger that is a request: all is made for it, or will never be.
func (l *look) dropRequest(ctx context.Context, id generate.ID) error {
	var errs []error
	for _, name := range l.requests.secretsOf(request{l.of.Name, id}) {
		errs = append(errs, l.dropSecret(ctx, name))
	}
	return errors.Join(errs...)
}

func (r *Reconciler) dropSecret(ctx context.Context, name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}}
	if err := r.Client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Secret %s, which keeps a request that is done with: %w", name, err)
	}
	return nil
}

// evaluateRequest says what the policy wants for a trigger that is a request. An error is about a trigger
// that is Unknown.
func (l *look) evaluateRequest(ctx context.Context, id generate.ID, out *outcome) (plan.Trigger, error) {
	t := plan.Trigger{ID: id}
	asked, err := l.request(ctx, id)
	if err != nil {
		return t, err
	}
	if asked == nil {
		t.State = plan.Gone
		return t, nil
	}
	if !l.of.Synchronize {
		t.Made = madeOnceOf(asked)
	}
	of, served := l.served.byGVR[asked.Resource]
	var in map[string]any
	if !served || of.namespaced {
		if in, err = l.namespaceNow(ctx, asked.Namespace); err != nil {
			return t, err
		}
	}
	trigger := asked.Trigger(in)
	if asked.Kind == namespaceKind.GroupKind() {
		trigger.Namespace = asked.OldObject
	}
	if served {
		trigger.Equivalent = l.served.equivalent(of)
	}
	result, err := l.evaluateFor(ctx, trigger, id, served && of.namespaced, out)
	if err != nil {
		return t, err
	}
	t.State = plan.Evaluated
	for i := range result.Objects {
		if ends := asked.Namespace; ends != "" && result.Objects[i].ID.Namespace == ends && isEnding(in) {
			continue // Nothing can be made there any more.
		}
		t.Wanted = append(t.Wanted, result.Objects[i])
	}
	out.matched, out.waits = result.Matched, len(result.NotServed)
	out.later = result.LeftOut[generate.LeftOutSourceGone]+result.LeftOut[generate.LeftOutNothing] > 0
	l.noteKinds(t.Wanted)
	return t, nil
}

// old returns what an object was before a request that it keeps, nil where that has created it.
func (l *look) old(ctx context.Context, asked map[string]any) (map[string]any, error) {
	uid, _ := asked["uid"].(string)
	if uid == "" {
		return nil, nil
	}
	if err := l.kept.current(secretKind); err != nil {
		return nil, err
	}
	object, err := l.kept.get(ctx, secretKind, l.Namespace, kept.NameFor(types.UID(uid), l.of.UID))
	if err != nil {
		return nil, err
	}
	if object != nil {
		before, err := keptOn(object)
		if err == nil {
			return before.OldObject, nil
		}
	}
	return nil, &generate.Error{Reason: generate.ReasonRead, Detail: "the policy generates from what the trigger was before, and nobody has kept that: change the trigger"}
}

// settleOld drops what is kept of an object before requests other than the one that the object keeps: it is
// gone, was changed since, or a request failed. It reports whether to look again, as a request may be under
// way.
func (l *look) settleOld(ctx context.Context, trigger generate.ID, object *unstructured.Unstructured) (again bool, err error) {
	counts := ""
	if object != nil {
		uid, _ := generate.RequestsOn(object.Object)[l.of.Name]["uid"].(string)
		counts = kept.NameFor(types.UID(uid), l.of.UID)
	}
	var errs []error
	for _, name := range l.requests.secretsOf(request{l.of.Name, trigger}) {
		switch {
		case name == counts:
		case object != nil && l.Clock.Since(l.requests.seen(name)) < carriedOutWithin:
			again = true
		default:
			errs = append(errs, l.dropSecret(ctx, name))
		}
	}
	return again, errors.Join(errs...)
}

// namespaceNow returns a Namespace, nil where it is not there.
func (l *look) namespaceNow(ctx context.Context, name string) (map[string]any, error) {
	if name == "" {
		return nil, nil
	}
	if err := l.objects.current(namespaceKind); err != nil {
		return nil, err
	}
	object, err := l.objects.get(ctx, namespaceKind, "", name)
	if err != nil || object == nil {
		return nil, err
	}
	return object.Object, nil
}

// isEnding reports whether a Namespace is gone or about to be.
func isEnding(namespace map[string]any) bool {
	return namespace == nil || (&unstructured.Unstructured{Object: namespace}).GetDeletionTimestamp() != nil
}

func madeOnceOf(asked *kept.Request) map[generate.ID]bool {
	out := map[generate.ID]bool{}
	for _, made := range asked.Made {
		out[generate.ID{Group: made.Group, Kind: made.Kind, Namespace: made.Namespace, Name: made.Name}] = true
	}
	return out
}

// rememberRequest has the Secrets of a request remember that an object was made for it.
func (l *look) rememberRequest(ctx context.Context, trigger generate.ID, note v1alpha1.GeneratedObject) error {
	asked, err := l.request(ctx, trigger)
	if err != nil || asked == nil || slices.Contains(asked.Made, note) {
		return err
	}
	name := l.requests.secretsOf(request{l.of.Name, trigger})[0]
	data, err := kept.MadePatch(l.requests.made(name, asked.Made, note))
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name}}
	before := secret.DeepCopy()
	secret.Data = data
	if err := l.Client.Patch(ctx, secret, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remembering in Secret %s what was made: %w", name, err)
	}
	return nil
}

// settleRequest drops a trigger that is a request once it is done with: of a policy that does not
// synchronize, when all is made; and of any, when it does not match, or can never be evaluated.
func (l *look) settleRequest(ctx context.Context, trigger plan.Trigger) error {
	id := trigger.ID
	if trigger.State == plan.Gone {
		return nil
	}
	if why := l.out.failure; why != nil && (why.Reason == string(generate.ReasonEvaluation) || why.Reason == string(generate.ReasonLimit)) {
		l.tell(l.of.Name, corev1.EventTypeWarning, reasonGivenUp, "Generate", fmt.Sprintf("%s is given up: %s", id, why.Message))
		return l.dropRequest(ctx, id)
	}
	if trigger.State == plan.Evaluated && (!l.out.matched || !l.of.Synchronize && l.out.isDone()) {
		return l.dropRequest(ctx, id)
	}
	return l.giveUpExpired(ctx, id)
}

// giveUpExpired drops a request for which not all could be made for a day.
func (l *look) giveUpExpired(ctx context.Context, id generate.ID) error {
	if l.out.isDone() {
		return nil
	}
	asked, err := l.request(ctx, id)
	if err != nil || asked == nil || !asked.Expired(l.Clock.Now()) {
		return err
	}
	l.tell(l.of.Name, corev1.EventTypeWarning, reasonGivenUp, "Generate", fmt.Sprintf("%s is given up: not all that it asks for could be made within a day", id))
	return l.dropRequest(ctx, id)
}

// isDone reports whether all that a trigger wants is there.
func (o *outcome) isDone() bool {
	for _, object := range o.objects {
		if object.state != made {
			return false
		}
	}
	return o.failure == nil && o.waits == 0 && !o.later
}

// trimRequests gives up the oldest requests of a policy that has too many.
func (r *Reconciler) trimRequests(ctx context.Context, policy string) error {
	oldest := r.requests.tooMany(policy)
	if len(oldest) == 0 {
		return nil
	}
	r.tell(policy, corev1.EventTypeWarning, reasonGivenUp, "Generate", fmt.Sprintf("%d requests are given up, the oldest, as at most %d are kept", len(oldest), kept.MaxRequests))
	var errs []error
	for _, name := range oldest {
		errs = append(errs, r.dropSecret(ctx, name))
	}
	return errors.Join(errs...)
}

// causeOf returns who made a request that is a trigger.
func (l *look) causeOf(ctx context.Context, trigger generate.ID) []plan.Cause {
	asked, err := l.request(ctx, trigger)
	if err != nil || asked == nil {
		return nil
	}
	user, _, _ := unstructured.NestedString(asked.Asked, "userInfo", "username")
	if user == "" {
		return nil
	}
	return []plan.Cause{{Object: trigger, User: user, Time: new(metav1.NewTime(asked.Time.Time))}}
}
