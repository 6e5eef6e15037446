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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
)

// errNotCarriedOut says that a request may still be carried out.
var errNotCarriedOut = errors.New("the request may not be carried out yet")

// request returns the request that is a trigger, nil where none is kept any more, and drops those that
// it came in place of. For one look it is the same.
func (l *look) request(ctx context.Context, id generate.ID) (*kept.Request, error) {
	if known, ok := l.asked[id]; ok {
		return known, nil
	}
	latest, err := l.latest(ctx, id)
	if err == nil {
		l.asked[id] = latest
	}
	return latest, err
}

func (l *look) latest(ctx context.Context, id generate.ID) (*kept.Request, error) {
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
		asked.Secret, asked.Made = name, l.requests.made(name, asked.Made)
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
	if err := l.rights.require(ctx, right{verb: verbGet, GroupResource: of.gvr.GroupResource()}); err != nil {
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
	if gone != l.req.trigger || !l.of.Synchronize || !l.of.compiled.TakesRequests() {
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
	in, err := l.namespaceOf(ctx, asked)
	if err != nil {
		return t, err
	}
	trigger := asked.Trigger(in)
	if of, served := l.served.byGVR[asked.Resource]; served {
		trigger.Equivalent = l.served.equivalent(of)
	}
	result, err := l.evaluateFor(ctx, trigger, id, asked.Namespace != "", out)
	if err != nil {
		return t, err
	}
	t.State = plan.Evaluated
	for i := range result.Objects {
		if where := asked.Namespace; where != "" && result.Objects[i].ID.Namespace == where && isEnding(in) {
			continue // Nothing can be made there any more.
		}
		t.Wanted = append(t.Wanted, result.Objects[i])
	}
	out.matched, out.unserved, out.elsewhere = result.Matched, result.NotServed, result.Elsewhere
	out.later = result.LeftOut[generate.LeftOutSourceGone]+result.LeftOut[generate.LeftOutNothing] > 0
	l.noteKinds(t.Wanted)
	return t, nil
}

// namespaceOf returns the Namespace of the object that a request is about, nil where it has none or that is
// gone.
func (l *look) namespaceOf(ctx context.Context, asked *kept.Request) (map[string]any, error) {
	if asked.Namespace == "" {
		return nil, nil
	}
	if err := l.objects.current(namespaceKind); err != nil {
		return nil, err
	}
	object, err := l.objects.get(ctx, namespaceKind, "", asked.Namespace)
	if err != nil || object == nil {
		return nil, err
	}
	return object.Object, nil
}

// isEnding reports whether a Namespace, nil where it is not there, is gone or about to be.
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
