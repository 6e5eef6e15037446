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

package plan

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/generate"
)

// PolicyRef identifies a policy. Its JSON is part of the annotation of generated objects.
type PolicyRef struct {
	// Name of the policy.
	Name string `json:"name"`
	// UID tells it from an earlier policy of that name.
	UID types.UID `json:"uid"`
	// Created is when it was created.
	Created time.Time `json:"created"`
}

// OlderThan reports whether the policy decides where both want the same object.
func (p PolicyRef) OlderThan(other PolicyRef) bool {
	return cmp.Or(p.Created.Compare(other.Created), cmp.Compare(p.Name, other.Name)) < 0
}

// isNamed reports whether it has the name of the other policy: it is that policy, or another one
// that came in its place, or the same in a cluster that was restored from a backup.
func (p PolicyRef) isNamed(other PolicyRef) bool { return p.Name == other.Name }

// is reports whether it is that very policy.
func (p PolicyRef) is(other PolicyRef) bool { return p.isNamed(other) && p.UID == other.UID }

// Policy is a policy as it is.
type Policy struct {
	PolicyRef
	// Evaluation is what its spec says.
	v1alpha1.GeneratingEvaluation
	// Deleted is true where it is being deleted.
	Deleted bool
}

// State is what is known of a trigger.
type State int

const (
	// Unknown is a trigger that could not be evaluated, or that nobody has looked at: what
	// there is for it stays.
	Unknown State = iota
	// Evaluated is a trigger of which is known what the policy wants for it, which is
	// nothing where it does not match.
	Evaluated
	// Gone is a trigger that is not there any more.
	Gone
)

// Trigger is a trigger of the policy, and what the policy wants for it. A trigger that is not
// among those that a plan is made for is Unknown.
type Trigger struct {
	// ID is which object it is.
	ID generate.ID
	// State is what is known of it.
	State State
	// Wanted is what the policy wants for it, where it is Evaluated.
	Wanted []generate.Wanted
	// Made is what was made for it before, as its record remembers, whether it is still there
	// or not.
	Made map[generate.ID]bool
}

// Marks are what an object that was made says of how it came to be.
type Marks struct {
	// Policy that made it.
	Policy PolicyRef
	// Triggers that it was made for, the one that decides its content first.
	Triggers []generate.ID
	// Source is the object that it is a clone of, nil where it is data.
	Source *generate.ID
	// Synchronized is true where it was last applied in order to be kept so. What was made
	// once, and left alone, is never deleted.
	Synchronized bool
	// Digest is that of the content that was last applied. It is for whoever may read the
	// object only: who can guess the content can tell that it is of it.
	Digest string
}

// Existing is an object that is there.
type Existing struct {
	// ID is which object it is.
	ID generate.ID
	// Content is the object, with its managedFields.
	Content map[string]any
	// Marks are nil where no policy made it. A copy of what a policy made has none: its
	// annotation names another object.
	Marks *Marks
}

// Verb is what to do with an object.
type Verb string

const (
	// Create an object that is not there. If it is there after all, that is a conflict.
	Create Verb = "Create"
	// Apply the content to an object, on the server's side and by force.
	Apply Verb = "Apply"
	// Delete an object, on condition that it is still the one that was looked at.
	Delete Verb = "Delete"
	// Leave an object as it is.
	Leave Verb = "Leave"
)

// Reason is why something is done or not.
type Reason string

const (
	// Wanted means that the policy wants the object, and it is not there.
	Wanted Reason = "Wanted"
	// WantedOtherwise means that the policy, the trigger or the source say now that the object
	// is to be otherwise.
	WantedOtherwise Reason = "WantedOtherwise"
	// Modified means that somebody else has changed what the policy made.
	Modified Reason = "Modified"
	// TakenOver means that another policy has made the object, and this one decides now.
	TakenOver Reason = "TakenOver"
	// TriggerGone means that no trigger is there any more that the object was made for.
	TriggerGone Reason = "TriggerGone"
	// NotWanted means that the policy does not want the object any more: its triggers do not
	// match, its source is gone, or the policy says otherwise.
	NotWanted Reason = "NotWanted"
	// PolicyDeleted means that the policy is being deleted.
	PolicyDeleted Reason = "PolicyDeleted"

	// InPlace means that there is nothing to do.
	InPlace Reason = "InPlace"
	// MadeOnce means that the policy does not synchronize: what it made is not its own any more.
	MadeOnce Reason = "MadeOnce"
	// Retained means that the policy is being deleted, and leaves what it made.
	Retained Reason = "Retained"
	// NotKnown means that a trigger that the object was made for could not be evaluated.
	NotKnown Reason = "NotKnown"
	// BeingDeleted means that the object is on its way out. It is made again after that.
	BeingDeleted Reason = "BeingDeleted"
	// HandedOver means that another policy wants the object, and takes it over.
	HandedOver Reason = "HandedOver"
	// NotOurs is a conflict: the object is there, and no policy made it.
	NotOurs Reason = "NotOurs"
	// Overruled is a conflict: an older policy wants the object too, and decides.
	Overruled Reason = "Overruled"
)

// IsConflict reports whether the reason is that somebody else has the object.
func (r Reason) IsConflict() bool { return r == NotOurs || r == Overruled }

// Step is what to do with one object.
type Step struct {
	// ID is which object it is.
	ID generate.ID
	// Do is what to do.
	Do Verb
	// Reason is why.
	Reason Reason
	// By is the other policy where there is one.
	By *PolicyRef
	// Content is what to create or apply, without the marks.
	Content map[string]any
	// Remove are fields of data that somebody else put beside what is wanted. They are his,
	// so that applying leaves them.
	Remove []change.Path
	// Marks are what it is to say of how it came to be.
	Marks *Marks
	// MadeFor are the triggers that the object counts as made for from now on, which their
	// records remember.
	MadeFor []generate.ID
}
