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

import "kausality.io/operator/api/v1alpha1"

// WasOfProvider begins what the condition says of a gate that stays though its kind is not
// of the provider any more that policies name.
const WasOfProvider = "The kind was of Provider "

// NotOutside begins what the condition says of a gate that keeps from being created what was never there.
const NotOutside = "What the object stands for is not outside"

// Undeleted says that a deletion was refused that Kausality held back, and would have let go on.
const Undeleted = "It is not being deleted: after Kausality was asked, something else has refused that, such as another admission webhook; " +
	"whoever asks for the deletion is told which."

// sentences say what the reasons of a progress mean.
var sentences = map[Reason]string{
	ReasonObserved:       "The system has seen it outside.",
	ReasonAvailable:      "What was created is ready.",
	ReasonConfirmed:      "The system had its chance, and reports success.",
	ReasonNotReconciled:  "The system has not said that it succeeded with the object as it is now.",
	ReasonAsyncPending:   "An operation goes on in the background.",
	ReasonNotUpToDate:    "The system says that the outside is not up to date.",
	ReasonCreating:       "The creation has not finished.",
	ReasonNotObserved:    "The system has last seen another value.",
	ReasonUnconfirmed:    "All seems done; nothing in the status shows that it is.",
	ReasonSeenBefore:     "All seems done; the status shows it, and did so before the change.",
	ReasonAsyncForgotten: "The status shows it, and tells of an operation in the background all the same, which seems to have been forgotten.",
	ReasonReconcileError: "The system reports an error: see its own conditions.",
	ReasonAsyncFailed:    "The last operation in the background failed: see the object's conditions.",
	ReasonCreateFailed:   "The creation failed: see the object's events.",
	ReasonNotFound:       "What the object stands for is not outside any more; nothing recreates it without an allowance.",
	ReasonPaused:         "The object is paused, and stays as it is until it is not.",
}

// Describe says it in a sentence, or two.
func (p Progress) Describe() string {
	sentence := sentences[p.Reason]
	if p.Path != nil {
		sentence += " It is about " + p.Path.String() + "."
	}
	return sentence
}

// Waits is in what is said of a gate behind which something waits that somebody allowed.
const Waits = " waits: "

// Keeps says by what the author of an object keeps what it stands for when the object is deleted.
func Keeps(s State) string {
	if s.Ceiling != nil {
		return "the ceiling that its author has set (" + v1alpha1.AnnotationGateCeiling + ") does not let Delete through"
	}
	return "its spec says so"
}
