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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
	"kausality.io/operator/internal/generate/plan"
)

// dropRequest drops a trigger that is a request: all is made for it, or will never be. One of the same kind
// about the same object that came meanwhile stays.
func (l *look) dropRequest(ctx context.Context, id generate.ID) error {
	if asked := l.asked[id]; asked != nil {
		return l.dropSecret(ctx, asked.Secret)
	}
	return nil
}

func (r *Reconciler) dropSecret(ctx context.Context, name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, secret)); err != nil {
		return fmt.Errorf("deleting Secret %s, which keeps a request that is done with: %w", name, err)
	}
	return nil
}

// rememberRequest has the Secret of a request remember that an object was made for it.
func (l *look) rememberRequest(ctx context.Context, trigger generate.ID, note v1alpha1.GeneratedObject) error {
	asked, err := l.request(ctx, trigger)
	if err != nil || asked == nil || slices.Contains(asked.Made, note) {
		return err
	}
	asked.Made = l.requests.made(asked.Secret, asked.Made, note)
	data, err := kept.MadePatch(asked.Made)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: asked.Secret}}
	before := secret.DeepCopy()
	secret.Data = data
	if err := client.IgnoreNotFound(l.Client.Patch(ctx, secret, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("remembering in Secret %s what was made: %w", asked.Secret, err)
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
	return o.failure == nil && len(o.unserved) == 0 && !o.later
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
