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

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HistoryEvent says what happened.
//
// +kubebuilder:validation:Enum=Granted;Withheld;Refused;Released;Approved;Restored;Consumed;Deleted;Exercised;Allowed;Warned;Audited;BreakGlass;Denied
type HistoryEvent string

// What happens to the target itself.
const (
	// EventGranted is a change of the target that gave it allowances.
	EventGranted HistoryEvent = "Granted"
	// EventWithheld is a change of the target by somebody who may not initiate it.
	EventWithheld HistoryEvent = "Withheld"
	// EventRefused is a change of the target that was refused, by somebody who may not
	// make it, or one of an object by which its controller would have scaled the target, or a
	// child of it.
	EventRefused HistoryEvent = "Refused"
	// EventReleased is the end of a withheld change: it was approved, changed or
	// taken back; or, by the reason CarriedOut, it was carried out all the same.
	EventReleased HistoryEvent = "Released"
	// EventApproved is the approval of what was there already (D20).
	EventApproved HistoryEvent = "Approved"
	// EventRestored is a request that wrote a ledger of its own, which was put back
	// (D10).
	EventRestored HistoryEvent = "Restored"
	// EventConsumed is the end of allowances: what they were for is done, or newer
	// ones have taken their place.
	EventConsumed HistoryEvent = "Consumed"
	// EventDeleted is the deletion of the target.
	EventDeleted HistoryEvent = "Deleted"
)

// ReasonCarriedOut is the reason of a Released entry whose change was carried out although nobody
// approved it.
const ReasonCarriedOut = "CarriedOut"

// ReasonNoRoom is the reason of a Denied or Refused entry whose change the API server refused, as the annotations of
// its object had no room for what Kausality keeps there.
const ReasonNoRoom = "NoRoom"

// What happens to a child of the target.
const (
	// EventExercised is a change of a child that an allowance, or the deletion of
	// the target, covers.
	EventExercised HistoryEvent = "Exercised"
	// EventAllowed is a change of a child that needs no allowance, such as healing.
	EventAllowed HistoryEvent = "Allowed"
	// EventWarned is a change of a child that nothing covers, or a change of the object
	// that would be withheld or refused, let through with a warning.
	EventWarned HistoryEvent = "Warned"
	// EventAudited is such a change that was let through without one.
	EventAudited HistoryEvent = "Audited"
	// EventBreakGlass is a change of a child that nothing covers, or one of the target that
	// would be withheld or refused, by somebody who broke the glass.
	EventBreakGlass HistoryEvent = "BreakGlass"
	// EventDenied is a change of a child that was refused.
	EventDenied HistoryEvent = "Denied"
)

// HistoryEntry is what happened to the target, or to a child of it. What happens
// again in the same way, as when a controller repeats what is denied, is counted.
type HistoryEntry struct {
	// time it happened, the last time where it happened several times.
	Time metav1.Time `json:"time"`
	// event is what happened.
	Event HistoryEvent `json:"event"`
	// count is how many times it happened, where that is more than once.
	// +optional
	Count int64 `json:"count,omitempty"`
	// firstTime is when it happened first, where it happened several times.
	// +optional
	FirstTime *metav1.Time `json:"firstTime,omitempty"`
	// user who made the request; left out where nobody's request was needed.
	// +optional
	User string `json:"user,omitempty"`
	// operation that was requested, such as Update.
	// +optional
	Operation string `json:"operation,omitempty"`
	// reason is the name of the check that decided about a child.
	// +optional
	Reason string `json:"reason,omitempty"`
	// kind of the child, or, of a Refused entry, of what would have scaled the target or a
	// child; left out where the entry is about the target itself.
	// +optional
	Kind string `json:"kind,omitempty"`
	// names of the objects of that kind, the latest first. There may have been more.
	// +optional
	// +listType=atomic
	Names []string `json:"names,omitempty"`
	// namespace of these objects, where it is another one than the target's.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// paths that changed, or, of a denial, those that nothing covers.
	// +optional
	// +listType=atomic
	Paths []string `json:"paths,omitempty"`
	// initiator of the chain that this belongs to.
	// +optional
	Initiator string `json:"initiator,omitempty"`
	// trace from the initiator to the target.
	// +optional
	// +listType=atomic
	Trace []TraceHop `json:"trace,omitempty"`
	// policies concerned.
	// +optional
	// +listType=atomic
	Policies []string `json:"policies,omitempty"`
	// message that the requester got, or what was granted.
	// +optional
	Message string `json:"message,omitempty"`
	// versions are what a denied request came from, where it could be part of an upgrade.
	// +optional
	// +listType=atomic
	Versions []RequestVersion `json:"versions,omitempty"`
	// childInitiators are who may make a denied change by the policies for the child itself, whatever
	// the target allows.
	// +optional
	// +listType=atomic
	ChildInitiators []string `json:"childInitiators,omitempty"`
	// lettingGo are the paths of a denied change by which the child is let go of, or adopted by the
	// target, as its controller does: that takes no rule, and is for who may use its allowances.
	// +optional
	// +listType=atomic
	LettingGo []string `json:"lettingGo,omitempty"`
}
