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

package pathkey

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Renewal renews the keys of a Keeper on the replica that leads. It is to be added to the
// manager.
type Renewal struct{ *Keeper }

// NeedLeaderElection is true: one replica renews.
func (Renewal) NeedLeaderElection() bool { return true }

// Start renews keys until ctx ends. The first renewal is at once: where nobody answered
// before, the API server has told those whom it refused what it could not reach, key
// included.
func (r Renewal) Start(ctx context.Context) error {
	log := logf.FromContext(ctx).WithName("path-key")
	step := func(ring Ring) Ring { return r.Schedule.Renew(ring, r.now(), fresh) }
	for {
		wait, err := r.advance(ctx, step)
		switch {
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
			continue // A replica that has led before, or starts, was faster.
		case err != nil && ctx.Err() == nil:
			log.Error(err, "Cannot renew the key of the webhooks' paths; it is tried again", "secret", r.name())
			wait = retryInterval
		default:
			step = func(ring Ring) Ring { return ring }
		}
		timer := r.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.gone:
			timer.Stop()
		case <-timer.C():
		}
	}
}

// advance writes the ring that follows first and the schedule, and returns how long it
// stays. Of a Secret that is gone, or was emptied, what this replica knows goes on as the
// previous key: no API server is refused that has not heard of the new one.
func (r Renewal) advance(ctx context.Context, first func(Ring) Ring) (wait time.Duration, err error) {
	secret, err := r.read(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the keys: %w", err)
	}
	stored := ringOf(secret)
	next, wait, _ := r.Schedule.Step(first(stored), r.now(), fresh)
	if known := r.known(); stored.Current == "" {
		next.Previous = known.Current
	}
	if next == stored {
		r.apply(secret)
		return wait, nil
	}
	if secret, err = r.write(ctx, secret, next); err != nil {
		return 0, fmt.Errorf("writing the keys: %w", err)
	}
	r.apply(secret)
	return wait, nil
}
