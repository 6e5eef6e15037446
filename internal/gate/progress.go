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

package gate

import (
	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// Stage says how far a system is with an allowed change.
type Stage string

const (
	// Applied means that the outside has the change: its gate can close.
	Applied Stage = "Applied"
	// Working means that the system has not finished, or not begun.
	Working Stage = "Working"
	// Confirm means that all seems done, and one more pass of the system has to
	// show it: ask for one.
	Confirm Stage = "Confirm"
	// Settling means that all seems done and that nothing but time can show it.
	Settling Stage = "Settling"
	// Failing means that the system says that it cannot, and tries again.
	Failing Stage = "Failing"
	// Vanished means that what the object stands for is not there any more.
	Vanished Stage = "Vanished"
	// Paused means that the system was told not to look at the object.
	Paused Stage = "Paused"
)

// Reason says why a stage is as it is.
type Reason string

const (
	// ReasonObserved : the system has seen the changed fields as they should be.
	ReasonObserved Reason = "Observed"
	// ReasonAvailable : what was created is ready.
	ReasonAvailable Reason = "Available"
	// ReasonConfirmed : another pass, or as long as no pass can be asked for time,
	// brought nothing new.
	ReasonConfirmed Reason = "Confirmed"

	// ReasonNotReconciled : the system has not looked at this generation yet.
	ReasonNotReconciled Reason = "NotReconciled"
	// ReasonSeenBefore : the status shows the changed field as it should be, and did
	// so before it was changed.
	ReasonSeenBefore Reason = "SeenBefore"
	// ReasonAsyncForgotten : the status tells of an asynchronous operation, and shows
	// what could not be known before that had ended.
	ReasonAsyncForgotten Reason = "AsyncForgotten"
	// ReasonAsyncPending : an asynchronous operation goes on.
	ReasonAsyncPending Reason = "AsyncPending"
	// ReasonNotUpToDate : the system says that the outside has something else.
	ReasonNotUpToDate Reason = "NotUpToDate"
	// ReasonCreating : the creation has not finished.
	ReasonCreating Reason = "Creating"
	// ReasonNotObserved : what the system has seen last is another value than the
	// changed field's.
	ReasonNotObserved Reason = "NotObserved"
	// ReasonUnconfirmed : nothing in the status shows the changed field.
	ReasonUnconfirmed Reason = "Unconfirmed"

	// ReasonReconcileError : the system's last pass failed.
	ReasonReconcileError Reason = "ReconcileError"
	// ReasonAsyncFailed : the last asynchronous operation failed.
	ReasonAsyncFailed Reason = "AsyncFailed"
	// ReasonCreateFailed : the last call that creates failed.
	ReasonCreateFailed Reason = "CreateFailed"

	// ReasonNotFound : the system did not find what the object stands for.
	ReasonNotFound Reason = "NotFound"
	// ReasonPaused : the object is paused.
	ReasonPaused Reason = "Paused"
)

// Change is what was allowed and done to an object, and what has been asked about it
// since.
type Change struct {
	// Created is set where the object was created by it.
	Created bool
	// Paths are the fields that changed. One that is no path, such as an
	// approval's, is nil: nothing in a status shows it.
	Paths []change.Path
	// Unseen are those of the fields that the status did not show as they should be
	// when they were changed. Where it did, it may still be showing what was there
	// before, or before an operation that goes on.
	Unseen []string
	// Pass is the token of the pass that the system was asked for at the object's
	// present generation, after it had first seemed done; empty where none was.
	Pass string
	// Passes is how many were asked for at that generation.
	Passes int
	// Waited is set once the object has seemed done for the time after which a
	// system that works in the background and says nothing is taken to have finished.
	Waited bool
}

// ChangeOf returns the change that the External entries in an object's own ledger go with.
func ChangeOf(l ledger.Ledger, s State) Change {
	c := Change{Unseen: s.Unseen}
	for _, e := range l {
		if !e.IsGate() {
			continue
		}
		hop, _ := e.LastHop()
		if hop.Field == v1alpha1.FieldCreated {
			c.Created = true
			continue
		}
		path, err := change.ParsePath(hop.Field)
		if err != nil {
			path = nil // such as (approved): nothing shows it
		}
		c.Paths = append(c.Paths, path)
	}
	return c
}

// Progress is how far a system is with a change.
type Progress struct {
	// Stage is how far.
	Stage Stage
	// Reason is why.
	Reason Reason
	// Path is the first field that the stage is about, where it is about one.
	Path change.Path
}

// SeemsDone reports whether nothing is left to do but to make sure.
func (p Progress) SeemsDone() bool {
	return p.Stage == Applied || p.Stage == Confirm || p.Stage == Settling
}
