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

package crossplane

import (
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/gate"
)

// The conditions by which providers that are made with Upjet tell of what goes on
// in the background.
const (
	// typeAsyncOperation is False with reason Ongoing while an operation goes on.
	typeAsyncOperation xpv2.ConditionType = "AsyncOperation"
	// typeLastAsyncOperation says how the last one ended.
	typeLastAsyncOperation xpv2.ConditionType = "LastAsyncOperation"
)

const (
	// reasonOngoing is the reason of an operation that has not ended.
	reasonOngoing xpv2.ConditionReason = "Ongoing"
	// reasonNone stands for the reason of a condition that gives none.
	reasonNone xpv2.ConditionReason = "None"
	// notFoundMessage is in the message of Synced where a provider that may only
	// observe found nothing.
	notFoundMessage = "external resource does not exist"
)

// creation is how far the calls are that create.
type creation int

const (
	createNone creation = iota
	createPending
	createSucceeded
	createFailed
)

// signals are what a managed resource says about its provider's work.
type signals struct {
	generation int64
	isPaused   bool
	notFound   bool
	create     creation
	// handled is the token of the last pass that was asked for and made.
	handled                                   string
	synced, ready, upToDate, async, lastAsync xpv2.Condition
	forProvider, atProvider                   map[string]any
}

func signalsOf(mr *unstructured.Unstructured) signals {
	status := section(mr.Object, "status")
	s := signals{
		generation:  mr.GetGeneration(),
		isPaused:    meta.IsPaused(mr) || pausedByPolicies(mr),
		create:      creationOf(mr),
		atProvider:  section(status, "atProvider"),
		forProvider: section(section(mr.Object, "spec"), "forProvider"),
	}
	s.handled, _ = status["lastHandledReconcileAt"].(string)
	list, _ := status["conditions"].([]any)
	s.synced = conditionOf(list, xpv2.TypeSynced)
	s.ready = conditionOf(list, xpv2.TypeReady)
	s.upToDate = conditionOf(list, xpv2.TypeUpToDate)
	s.async = conditionOf(list, typeAsyncOperation)
	s.lastAsync = conditionOf(list, typeLastAsyncOperation)
	s.notFound = s.synced.Status == corev1.ConditionFalse && strings.Contains(s.synced.Message, notFoundMessage)
	return s
}

// pausedByPolicies reports whether an empty list of management policies, which is how
// providers are told to do nothing, stands in the resource.
func pausedByPolicies(mr *unstructured.Unstructured) bool {
	policies, ok := section(mr.Object, "spec")["managementPolicies"].([]any)
	return ok && len(policies) == 0
}

// creationOf reads the annotations that the runtime of providers keeps about the
// call that creates. Where times are equal, as they are in whole seconds, what ends
// a call comes after its begin.
func creationOf(mr *unstructured.Unstructured) creation {
	begun, succeeded, failed := meta.GetExternalCreatePending(mr), meta.GetExternalCreateSucceeded(mr), meta.GetExternalCreateFailed(mr)
	latest := func(t time.Time, others ...time.Time) bool {
		return !t.IsZero() && !slices.ContainsFunc(others, t.Before)
	}
	switch {
	case latest(succeeded, begun, failed):
		return createSucceeded
	case latest(failed, begun, succeeded):
		return createFailed
	case !begun.IsZero():
		return createPending
	default:
		return createNone
	}
}

// section returns a map within a map, nil where there is none.
func section(fields map[string]any, name string) map[string]any {
	below, _ := fields[name].(map[string]any)
	return below
}

// conditionOf returns the condition of a type; one that is not there is Unknown without a
// reason.
func conditionOf(list []any, conditionType xpv2.ConditionType) xpv2.Condition {
	c := xpv2.Condition{Type: conditionType, Status: corev1.ConditionUnknown}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		if fields["type"] != string(conditionType) {
			continue
		}
		text := func(name string) string {
			value, _ := fields[name].(string)
			return value
		}
		c.Status = corev1.ConditionStatus(text("status"))
		c.Reason = xpv2.ConditionReason(text("reason"))
		c.Message = text("message")
		// One that cannot be read is the zero time.
		_ = c.LastTransitionTime.UnmarshalQueryParameter(text("lastTransitionTime"))
		c.ObservedGeneration, _ = fields["observedGeneration"].(int64)
		if c.Reason == "" {
			c.Reason = reasonNone
		}
		return c
	}
	return c
}

// known reports whether there is such a condition.
func known(c xpv2.Condition) bool { return c.Reason != "" }

func isTrue(c xpv2.Condition) bool { return c.Status == corev1.ConditionTrue }

// success tells of Synced whether the last pass succeeded.
func success(c xpv2.Condition) bool {
	return isTrue(c) && c.Reason == xpv2.ReasonReconcileSuccess
}

// pending tells of an asynchronous operation whether it goes on. One that is
// neither True nor known to have failed is taken to.
func pending(c xpv2.Condition) bool {
	return known(c) && !isTrue(c) && !failed(c)
}

// failed tells of an asynchronous operation whether it failed.
func failed(c xpv2.Condition) bool {
	return c.Status == corev1.ConditionFalse && c.Reason != reasonOngoing
}

// current reports whether a condition is about the present generation. One that says
// none may be.
func (s signals) current(c xpv2.Condition) bool {
	return c.ObservedGeneration == 0 || c.ObservedGeneration == s.generation
}

// answered reports whether the provider has made the pass that it was asked for.
func (s signals) answered(c gate.Change) bool {
	return c.Pass != "" && s.handled == c.Pass
}

// passed reports whether the provider has certainly made a pass at the present
// generation, so that the rest of the status is not about an older one.
func (s signals) passed(c gate.Change) bool {
	return s.answered(c) || s.synced.ObservedGeneration != 0 && s.current(s.synced)
}
