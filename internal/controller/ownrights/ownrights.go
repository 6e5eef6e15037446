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

// Package ownrights finds out which of the rights that come with the installation the operator lacks: nobody
// tells it of rights that come and go.
package ownrights

import (
	"context"
	"sync"
	"time"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/access"
)

// Reviewer asks again and again. Each replica does: any may be the one that leads.
type Reviewer struct {
	// Duties are what the operator does with such rights.
	Duties []access.Duty
	// Rights knows which of them it has, and Urgent of those that are asked about each time.
	Rights, Urgent interface {
		Missing(ctx context.Context, needs []access.Need) ([]access.Need, error)
	}
	// Changed is called where the answer is another one, the first time included.
	Changed func()

	mu    sync.Mutex
	known bool
	lacks []access.Lack
}

// NeedLeaderElection is false: one that does not lead tells so in its log.
func (r *Reviewer) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (r *Reviewer) Start(ctx context.Context) error {
	ticker := time.NewTicker(access.Interval)
	defer ticker.Stop()
	for {
		r.review(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Lacks returns what the operator cannot do, and false while that is not known.
func (r *Reviewer) Lacks() ([]access.Lack, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lacks, r.known
}

// review asks once. What cannot be found out stays as it was.
func (r *Reviewer) review(ctx context.Context) {
	var lacks []access.Lack
	for _, duty := range r.Duties {
		rights := r.Rights
		if duty.Urgent {
			rights = r.Urgent
		}
		found, err := access.Lacking(ctx, rights, duty)
		if err != nil {
			logf.FromContext(ctx).V(1).Info("Cannot find out which rights the operator has", "reason", err.Error())
			return
		}
		lacks = append(lacks, found...)
	}
	r.mu.Lock()
	isNew := !r.known || !access.SameLacks(r.lacks, lacks)
	r.known, r.lacks = true, lacks
	r.mu.Unlock()
	if !isNew {
		return
	}
	for _, lack := range lacks {
		logf.FromContext(ctx).Info("The operator lacks rights of its own; apply the installation again", "missing", lack.Missing, "without", lack.Without)
	}
	r.Changed()
}
