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

package cluster

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
)

// idleWhileOff says why a policy counts for nothing while everything is switched off.
const idleWhileOff = "everything is switched off"

// Off is that everything is switched off, so that the API server asks about nothing.
type Off struct {
	// Since when an operator has seen it so.
	Since metav1.Time `json:"since"`
}

// Text says so, and what to do about it.
func (o *Off) Text(now time.Time) string {
	return fmt.Sprintf("Everything is switched off, as the operator has found since %s (%s): the API server asks about nothing, so that nothing is "+
		"granted, withheld or denied. To switch it on, apply the installation again, its ValidatingWebhookConfiguration first of all: "+
		"\"Switch everything off\" in docs/troubleshooting.md says more.", o.Since.UTC().Format(time.RFC3339), phrase.Ago(o.Since.Time, now))
}

// Banner returns Text as the first lines of what a command prints; empty for nil.
func (o *Off) Banner(t text.Terminal, now time.Time) string {
	if o == nil {
		return ""
	}
	return t.Wrap("", t.Paint(text.Bad, o.Text(now))) + "\n"
}

// Off returns whether everything is switched off, as the policies tell; nil where it is not, or they do not tell.
func (c *Cluster) Off(ctx context.Context) *Off {
	var list v1alpha1.AllowancePolicyList
	if err := c.List(ctx, &list); err != nil {
		return nil
	}
	return offBy(list.Items)
}

// offBy returns the same as policies tell. Each of them says so.
func offBy(policies []v1alpha1.AllowancePolicy) *Off {
	var off *Off
	for i := range policies {
		enforced := current(&policies[i], v1alpha1.ConditionEnforced)
		if enforced == nil || enforced.Status != metav1.ConditionFalse || enforced.Reason != v1alpha1.ReasonSwitchedOff {
			continue
		}
		// A policy that was not in effect before, or was changed since, says so for a shorter time.
		if off == nil || enforced.LastTransitionTime.Before(&off.Since) {
			off = &Off{Since: enforced.LastTransitionTime}
		}
	}
	return off
}

// Now returns the policies as they count now: none does while everything is switched off.
func (p Policies) Now() Policies {
	if p.Off == nil || p.Index == nil {
		return p
	}
	out := Policies{Index: policy.NewIndex(nil), Objects: p.Objects, Off: p.Off, Idle: append([]Idle{}, p.Idle...)}
	for _, each := range p.Policies() {
		out.Idle = append(out.Idle, Idle{Policy: each, Why: idleWhileOff})
	}
	return out
}
