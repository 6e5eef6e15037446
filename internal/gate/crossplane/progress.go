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

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
)

// Progress implements gate.Driver: what the provider of a managed resource has done
// shows in the resource's conditions, and in status.atProvider (D16).
func (Driver) Progress(mr *unstructured.Unstructured, c gate.Change) gate.Progress {
	s := signalsOf(mr)
	for _, check := range []func(gate.Change) (gate.Progress, bool){s.paused, s.failing, s.working, s.operating} {
		if p, ok := check(c); ok {
			return p
		}
	}
	if c.Created {
		if p := s.created(c); p.Stage != gate.Applied || len(c.Paths) == 0 {
			return p
		}
	}
	return s.changed(c)
}

// paused tells of a resource that its provider does not look at. A gate is never
// closed meanwhile, as the change may be still to come.
func (s signals) paused(gate.Change) (gate.Progress, bool) {
	return gate.Progress{Stage: gate.Paused, Reason: gate.ReasonPaused}, s.isPaused
}

// failing tells of a provider that tries again and again.
func (s signals) failing(gate.Change) (gate.Progress, bool) {
	switch {
	case s.notFound && s.current(s.synced):
		return gate.Progress{Stage: gate.Vanished, Reason: gate.ReasonNotFound}, true
	case s.current(s.synced) && s.synced.Reason == xpv2.ReasonReconcileError:
		return gate.Progress{Stage: gate.Failing, Reason: gate.ReasonReconcileError}, true
	case failed(s.async), failed(s.lastAsync):
		return gate.Progress{Stage: gate.Failing, Reason: gate.ReasonAsyncFailed}, true
	case s.create == createFailed:
		return gate.Progress{Stage: gate.Failing, Reason: gate.ReasonCreateFailed}, true
	default:
		return gate.Progress{}, false
	}
}

// working tells of a provider that has something left to do, or has not looked yet.
func (s signals) working(gate.Change) (gate.Progress, bool) {
	switch {
	case !s.current(s.synced), !success(s.synced):
		return gate.Progress{Stage: gate.Working, Reason: gate.ReasonNotReconciled}, true
	case s.create == createPending:
		return gate.Progress{Stage: gate.Working, Reason: gate.ReasonCreating}, true
	case known(s.upToDate) && !isTrue(s.upToDate):
		return gate.Progress{Stage: gate.Working, Reason: gate.ReasonNotUpToDate}, true
	default:
		return gate.Progress{}, false
	}
}

// operating tells of a provider that has said that it works in the background. One
// that dies meanwhile, and finds all up to date when it is back, never takes that back.
// What it could not have seen while it worked shows that it does not any more: while
// an operation goes on a provider does not look. Time is to pass besides.
func (s signals) operating(c gate.Change) (gate.Progress, bool) {
	switch {
	case !pending(s.async) && !pending(s.lastAsync):
		return gate.Progress{}, false
	case !s.lookedSince(c):
		return gate.Progress{Stage: gate.Working, Reason: gate.ReasonAsyncPending}, true
	case !c.Waited:
		return gate.Progress{Stage: gate.Settling, Reason: gate.ReasonAsyncForgotten}, true
	default:
		return gate.Progress{}, false
	}
}

// lookedSince reports whether the provider has looked at the cloud since it began to
// work there, and found all that was changed.
func (s signals) lookedSince(c gate.Change) bool {
	becameReady := isTrue(s.ready) && s.current(s.ready) && s.isSinceOperation(s.ready)
	if c.Created && !becameReady {
		return false
	}
	return s.passed(c) && (c.Created || len(c.Paths) > 0) && !slices.ContainsFunc(c.Paths, func(path change.Path) bool {
		return s.observed(path) != equal || !isUnseen(path, c)
	})
}

// isSinceOperation reports whether a condition became what it is after the operations
// began that are said to go on.
func (s signals) isSinceOperation(c xpv2.Condition) bool {
	return !slices.ContainsFunc([]xpv2.Condition{s.async, s.lastAsync}, func(operation xpv2.Condition) bool {
		begun := operation.LastTransitionTime
		return pending(operation) && (begun.IsZero() || !c.LastTransitionTime.After(begun.Time))
	})
}

// isUnseen reports whether the status did not show a field as it should be when that was
// changed, so that it shows the change where it does now.
func isUnseen(path change.Path, c gate.Change) bool {
	return slices.Contains(c.Unseen, path.String())
}

// created judges a creation: what became ready is there. What differs of it is not
// looked at, since no creation makes it equal.
func (s signals) created(c gate.Change) gate.Progress {
	switch {
	case isTrue(s.ready) && s.current(s.ready):
		return gate.Progress{Stage: gate.Applied, Reason: gate.ReasonAvailable}
	case known(s.ready):
		return gate.Progress{Stage: gate.Working, Reason: gate.ReasonCreating}
	default:
		return s.unseen(c, gate.ReasonUnconfirmed, nil)
	}
}

// changed judges a change by the fields that it changed.
func (s signals) changed(c gate.Change) gate.Progress {
	var unseen, before []change.Path
	for _, path := range c.Paths {
		switch s.observed(path) {
		case differs:
			if s.asksAgain(c) && !s.tellsOfWork() {
				return gate.Progress{Stage: gate.Confirm, Reason: gate.ReasonNotObserved, Path: path}
			}
			return gate.Progress{Stage: gate.Working, Reason: gate.ReasonNotObserved, Path: path}
		case unknown:
			unseen = append(unseen, path)
		case equal:
			if !isUnseen(path, c) {
				before = append(before, path)
			}
		}
	}
	switch {
	case len(unseen) > 0:
		return s.unseen(c, gate.ReasonUnconfirmed, unseen[0])
	case len(c.Paths) == 0, !s.passed(c):
		return s.unseen(c, gate.ReasonUnconfirmed, nil)
	case len(before) > 0:
		return s.unseen(c, gate.ReasonSeenBefore, before[0])
	default:
		return gate.Progress{Stage: gate.Applied, Reason: gate.ReasonObserved}
	}
}

// asksAgain reports whether a pass should be asked for, of a change that does not show. A
// provider looks first and writes then, so that what it wrote shows in its next pass
// only. Where conditions say no generation, the pass that was asked for first may be
// the one that wrote.
func (s signals) asksAgain(c gate.Change) bool {
	return c.Passes == 0 || c.Passes == 1 && s.synced.ObservedGeneration == 0 && s.answered(c)
}

// tellsOfWork reports whether the provider says when what it does in the background has ended,
// and looks again then: to ask it before would be two events for Crossplane's circuit
// breaker, for nothing.
func (s signals) tellsOfWork() bool { return known(s.async) || known(s.lastAsync) }

// unseen judges what nothing in the status shows, for a reason: by one more pass, and
// by time. A pass alone would not do: a silent asynchronous provider answers it with
// success while it works.
func (s signals) unseen(c gate.Change, why gate.Reason, path change.Path) gate.Progress {
	switch {
	case c.Pass == "":
		return gate.Progress{Stage: gate.Confirm, Reason: why, Path: path}
	case s.handled != "" && !s.answered(c):
		return gate.Progress{Stage: gate.Working, Reason: why, Path: path}
	case !c.Waited:
		return gate.Progress{Stage: gate.Settling, Reason: why, Path: path}
	default:
		return gate.Progress{Stage: gate.Applied, Reason: gate.ReasonConfirmed, Path: path}
	}
}
