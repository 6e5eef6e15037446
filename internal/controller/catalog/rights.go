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

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
)

// Rights knows what the operator may. *access.Reviews is the one.
type Rights interface {
	// Missing returns the rights that the operator lacks.
	Missing(ctx context.Context, needs []access.Need) ([]access.Need, error)
}

// review finds out which rights are missing for each policy, before anything of its kind is
// watched. What cannot be found out stays as it was.
func (r *Reconciler) review(ctx context.Context) error {
	if r.Rights == nil {
		return nil
	}
	var errs []error
	log, reviewed := logf.FromContext(ctx), map[*policy.Policy][]access.Need{}
	for _, p := range r.Catalog.servedPolicies() {
		var gated []discovery.Resource
		if slices.ContainsFunc(p.Entries(), policy.Entry.IsExternal) {
			gated = r.Gates.Behind(ctx, p)
		}
		missing, err := r.Rights.Missing(ctx, access.Of(p, r.Kinds, gated))
		if err != nil {
			errs = append(errs, fmt.Errorf("finding out whether the operator may read what policy %s is about: %w", p.Name, err))
			continue
		}
		if entry, ok := r.Catalog.Get(p.Name); ok && len(missing) > 0 && !slices.Equal(entry.Missing, missing) {
			log.Info("The operator lacks rights, and does not enforce a policy", "policy", p.Name, "missing", missing)
		}
		reviewed[p] = missing
	}
	r.Catalog.review(reviewed)
	return errors.Join(errs...)
}

// reviewAgain returns when to do so again, zero where nobody has to: nobody tells of rights that
// come and go.
func (r *Reconciler) reviewAgain() time.Duration {
	if r.Rights == nil || len(r.Catalog.servedPolicies()) == 0 {
		return 0
	}
	return access.Interval
}
