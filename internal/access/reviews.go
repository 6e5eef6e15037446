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

package access

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=selfsubjectaccessreviews,verbs=create

const (
	// grantedFor is for how long a right that was there is not asked about again.
	grantedFor = 20 * time.Second
	// missingFor is the same of one that was not.
	missingFor = 5 * time.Second
	// Interval is how often to ask, so that what has changed is noticed within half a minute.
	Interval = 5 * time.Second
)

// Reviews asks the API server what the operator itself may. It is for one caller at a time.
type Reviews struct {
	// Client makes SelfSubjectAccessReviews, to which everybody has the right.
	Client client.Client
	// Clock tells the time.
	Clock clock.PassiveClock
	// Always says that a right that was there is asked about again each time, too.
	Always bool

	answers map[Need]answer
}

// answer is one that was given.
type answer struct {
	allowed bool
	at      time.Time
}

func (a answer) isFresh(now time.Time) bool {
	if a.allowed {
		return now.Sub(a.at) < grantedFor
	}
	return !a.at.IsZero() && now.Sub(a.at) < missingFor
}

// Missing returns the rights that the operator lacks.
func (r *Reviews) Missing(ctx context.Context, needs []Need) ([]Need, error) {
	if r.answers == nil {
		r.answers = map[Need]answer{}
	}
	var missing []Need
	for _, need := range needs {
		now := r.Clock.Now()
		if r.asks(need, now) {
			allowed, err := r.ask(ctx, need)
			if err != nil {
				return nil, err
			}
			r.answers[need] = answer{allowed, now}
		}
		if !r.answers[need].allowed {
			missing = append(missing, need)
		}
	}
	return missing, nil
}

// asks reports whether to ask about a right again.
func (r *Reviews) asks(need Need, now time.Time) bool {
	return r.Always || !r.answers[need].isFresh(now)
}

func (r *Reviews) ask(ctx context.Context, need Need) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: need.Group, Resource: need.Resource, Subresource: need.Subresource, Verb: need.Verb,
			Namespace: need.Namespace, Name: need.Name,
		},
	}}
	if err := r.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether the operator may %s: %w", need, err)
	}
	return review.Status.Allowed, nil
}
