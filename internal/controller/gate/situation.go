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
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/policy"
)

// Reasons of the condition kausality.io/Gate.
const (
	reasonClosed   = v1alpha1.ReasonGateClosed
	reasonOpen     = v1alpha1.ReasonGateOpen
	reasonSettling = v1alpha1.ReasonGateSettling
	reasonStuck    = v1alpha1.ReasonGateStuck
	reasonHeld     = v1alpha1.ReasonGateHeld
	reasonAdopting = v1alpha1.ReasonGateAdopting
)

// Reasons of events about gates.
const (
	eventClosed          = "GateClosed"
	eventReclosed        = "GateReclosed"
	eventStuck           = "GateStuck"
	eventAdopted         = "GateAdopted"
	eventReleased        = "GateReleased"
	eventDeletionHeld    = "DeletionHeld"
	eventDeletionAllowed = "DeletionAllowed"
	eventOrphaned        = "Orphaned"
	eventUndeleted       = "DeletionFailed"
	eventUncreated       = "NotCreated"
)

// situation is what the condition of an object says.
type situation struct {
	reason, message string
}

// status of the condition: whether anything can change outside.
func (s situation) status() metav1.ConditionStatus {
	switch s.reason {
	case reasonOpen, reasonSettling, reasonStuck, reasonAdopting:
		return metav1.ConditionTrue
	default:
		return metav1.ConditionFalse
	}
}

// isUrgent reports whether it is said at once. Anything else is said when it has lasted
// for a moment: most gates are open for less, and each write counts for somebody.
func (s situation) isUrgent() bool {
	return s.reason == reasonClosed || s.reason == reasonHeld
}

func (v view) situation(reason, message string) *situation {
	return &situation{reason: reason, message: message}
}

// closedSituation says that nothing changes outside, and what waits.
func (v view) closedSituation(want gate.Setting) *situation {
	message := v.driver.System() + " observes, and changes nothing outside." + v.uncreatedNote() + v.providerNote() + v.lostNote()
	if !v.driver.IsNamed(v.obj, want.State.Name) {
		return v.situation(reasonStuck, v.renamedMessage()+" Nothing is changed outside until it is put back, or approved.")
	}
	waiting := v.entries()
	if len(waiting) == 0 || want.State.Content == v.driver.Content(v.obj) && len(want.Unsupported) == 0 && len(v.driver.Lets(v.obj)) > 0 {
		return v.situation(reasonClosed, message)
	}
	initiators, paths := v.causes()
	what := fmt.Sprintf(" What %s allowed (%s)"+gate.Waits, strings.Join(initiators, ", "), listing.Paths(paths))
	switch {
	case len(want.Unsupported) > 0:
		return v.unsupportedSituation(want)
	case want.State.Content != v.driver.Content(v.obj):
		what += "the object was changed since by a change that nobody allowed. Approve that, or take it back."
	default:
		what += v.limitedMessage(want.State.Ceiling)
	}
	return v.situation(reasonClosed, message+what)
}

// limitedMessage says what else keeps a gate closed that something is allowed for: the ceiling, and
// how to lift it, or that a change is withheld.
func (v view) limitedMessage(ceiling []string) string {
	switch {
	case ceiling == nil:
		return "a change is withheld."
	case metav1.GetControllerOf(v.obj) != nil:
		return fmt.Sprintf("what composes the object limits that to [%s], or a change is withheld. Change the template.", listing.Paths(ceiling))
	default:
		return fmt.Sprintf("who may initiate on the object has limited that to [%s], or a change is withheld. They may apply other management policies.", listing.Paths(ceiling))
	}
}

// providerNote says that the kind is not of the provider that policies name it by, as far as
// anybody can tell, and how to go on; nothing where it is.
func (v view) providerNote() string {
	if len(v.policies) == 0 || v.provider == v.kind.Provider {
		return ""
	}
	now := "nobody can tell whose it is now"
	if v.provider != "" {
		now = "it is said to be of Provider " + v.provider + " now"
	}
	return fmt.Sprintf(" %s%s, and %s; the gate stays, as %s names it so. Put the owner and its label right, or name in the policy the provider that it has now.",
		gate.WasOfProvider, v.kind.Provider, now, v.policyNames())
}

// lostNote says that the object has kept its gate though it has lost its parent, and who frees it; nothing
// where that is not so.
func (v view) lostNote() string {
	if len(v.keeping) == 0 {
		return ""
	}
	kinds := make([]string, 0, len(v.state.Parent.Kinds))
	for _, kind := range v.state.Parent.Kinds {
		kinds = append(kinds, schema.ParseGroupKind(kind).Kind)
	}
	return fmt.Sprintf(" %s, and keeps its gate, as %s gates what such a parent has: it goes on under that of another one, and is free once "+
		"who may initiate on the object, or on %s, sets %s: %q on it.",
		gate.Lost, namesOf(v.keeping), listing.Join(kinds, " or "), v1alpha1.AnnotationReleaseGate, "true")
}

// renamedMessage says that the object stands for something else than it should.
func (v view) renamedMessage() string {
	return "The object stands for something else outside than it should: somebody who may not has given it another name (" + v.driver.Identity()[0].String() + ")."
}

// unsupportedSituation says that no setting lets through just what is allowed.
func (v view) unsupportedSituation(want gate.Setting) *situation {
	return v.situation(reasonStuck, listing.Join(want.Unsupported, " and ")+
		" is allowed, and closed all the same: the provider supports no setting that lets through that and nothing more.")
}

// openSituation says who opened the gate for what, and how far the system is.
func (v view) openSituation(p gate.Progress, overdue bool) *situation {
	initiators, paths := v.causes()
	reason := reasonOpen
	switch p.Stage {
	case gate.Failing, gate.Vanished, gate.Paused:
		reason = reasonStuck
	case gate.Confirm, gate.Settling:
		reason = reasonSettling
	case gate.Working, gate.Applied:
	}
	var late string
	if overdue {
		reason = reasonStuck
		late = fmt.Sprintf(" It has been open for longer than %s, and stays so until the change has arrived.", v.maxOpen())
	}
	return v.situation(reason, fmt.Sprintf("Open for %s, caused by %s: %s. %s%s%s",
		listing.Join(v.driver.Lets(v.obj), " and "), strings.Join(initiators, ", "), listing.Paths(paths), p.Describe(), late, v.uncreatedNote()+v.providerNote()+v.lostNote()))
}

// adoptingSituation says what an object waits for that is not under its gate yet.
func (v view) adoptingSituation(p gate.Progress) *situation {
	return v.situation(reasonAdopting, "Not closed yet: what was going on before the policy finishes first. "+p.Describe())
}

// closedNote says what came of what was allowed.
func (v view) closedNote(p gate.Progress) string {
	initiators, paths := v.causes()
	return fmt.Sprintf("Closed: what %s caused (%s) is done. %s", strings.Join(initiators, ", "), listing.Paths(paths), p.Describe())
}

// policyNames of the policies that gate the object.
func (v view) policyNames() string { return namesOf(v.policies) }

func namesOf(policies []*policy.Policy) string {
	names := make([]string, 0, len(policies))
	for _, p := range policies {
		names = append(names, "AllowancePolicy "+p.Name)
	}
	return strings.Join(names, ", ")
}
