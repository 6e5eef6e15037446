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

// Condition types and reasons of an AllowancePolicy, after GEP-713.
const (
	// ConditionAccepted is True where the policy can work.
	ConditionAccepted = "Accepted"
	// ReasonAccepted is the reason of Accepted=True.
	ReasonAccepted = "Accepted"
	// ReasonInvalid is the reason of Accepted=False where something in the spec
	// does not compile; what does not is left out.
	ReasonInvalid = "Invalid"
	// ReasonTargetNotFound is the reason of Accepted=False where the kind that
	// the policy is for is not served.
	ReasonTargetNotFound = "TargetNotFound"
	// ReasonConflicted is the reason of Accepted=False where older policies decide
	// all that this one would, or it names a kind in another version than policies that
	// are in effect, so that it has no effect.
	ReasonConflicted = "Conflicted"

	// ConditionEnforced is True where the API server asks Kausality about all
	// that the policy names, and no other policy decides any of it. Together with
	// ConditionPartiallyEnforced and ConditionOverridden it is one answer: at most
	// one of them is True, and the reason is the same in all three.
	ConditionEnforced = "Enforced"
	// ConditionPartiallyEnforced is True where older policies decide a part of what
	// this one says, for some of its objects.
	ConditionPartiallyEnforced = "PartiallyEnforced"
	// ConditionOverridden is True where older policies decide all of it.
	ConditionOverridden = "Overridden"
	// ReasonEnforced is the reason of Enforced=True.
	ReasonEnforced = "Enforced"
	// ReasonPartiallyEnforced is the reason of PartiallyEnforced=True.
	ReasonPartiallyEnforced = "PartiallyEnforced"
	// ReasonOverridden is the reason of Overridden=True.
	ReasonOverridden = "Overridden"
	// ReasonPending is the reason of Enforced=False while the policy takes
	// effect.
	ReasonPending = "Pending"
	// ReasonForbidden is the reason of Enforced=False where the operator may not read what
	// the policy is about; the message says which rights it lacks.
	ReasonForbidden = "Forbidden"
	// ReasonSwitchedOff is the reason of Enforced=False where nothing is intercepted, as
	// the ValidatingWebhookConfiguration of the webhook for AllowancePolicies is not
	// installed.
	ReasonSwitchedOff = "SwitchedOff"
	// ReasonNotIntercepted is the reason of Enforced=False where that by which the API server asks
	// about what policies name is not as it is to be, and cannot be written.
	ReasonNotIntercepted = "NotIntercepted"
	// ReasonImpaired is the reason of Enforced=False where the operator lacks rights that come with its
	// installation, without which it cannot do all that follows from the policy. The message says which, and what
	// is so meanwhile. Requests are judged as far as that goes.
	ReasonImpaired = "Impaired"
	// ReasonWaiting is the reason of Enforced=False where nobody can start a
	// chain that the policy continues.
	ReasonWaiting = "Waiting"
)

// The condition type, and its reasons, of an AllowancePolicy that is derived from a
// ResourceGraphDefinition of kro (D17).
const (
	// ConditionDerived is True where the policy allows what follows from the graph that kro
	// serves, and False where it is not kept in step with that, and why.
	ConditionDerived = "Derived"
	// ReasonDerived is the reason of Derived=True where all that the graph says is bounded.
	ReasonDerived = "Derived"
	// ReasonPartlyDerived is the reason of Derived=True where something could not be derived,
	// or is allowed more than it needs.
	ReasonPartlyDerived = "PartlyDerived"
	// ReasonTakenOver is the reason of Derived=False where somebody keeps the policy.
	ReasonTakenOver = "TakenOver"
	// ReasonNotDerived is the reason of Derived=False where nothing follows from the graph, as it
	// cannot be read, or its annotations cannot.
	ReasonNotDerived = "NotDerived"
)

// Condition types and reasons of an UpgradeAllowance, which has ConditionAccepted and
// ConditionEnforced as well.
const (
	// ReasonUnstamped is the reason of Accepted=False where the spec was changed while
	// nobody asked the webhook, so that it is not known by whom.
	ReasonUnstamped = "Unstamped"
	// ReasonNothingBounded is the reason of Enforced=False where no policy bounds what the
	// UpgradeAllowance is about.
	ReasonNothingBounded = "NothingBounded"
	// ReasonIdentityUnknown is the reason of Enforced=False where nothing that runs as the
	// service account is known by its Pod.
	ReasonIdentityUnknown = "IdentityUnknown"

	// ConditionUpgraded is True where parents were upgraded, none is being upgraded, and no
	// request of the service account waits.
	ConditionUpgraded = "Upgraded"
	// ReasonUpgraded is the reason of Upgraded=True.
	ReasonUpgraded = "Upgraded"
	// ReasonWaitingForVersion is the reason of Upgraded=False where no parent was upgraded yet.
	ReasonWaitingForVersion = "WaitingForVersion"
	// ReasonMoving is the reason of Upgraded=False while parents are being upgraded.
	ReasonMoving = "Moving"
	// ReasonBlocked is the reason of Upgraded=False where something was denied.
	ReasonBlocked = "Blocked"
)

// ReasonGeneratingFailed is the reason of Enforced=False of a GeneratingPolicy where it cannot be
// evaluated for a trigger, or an object cannot be written. GeneratingPolicies have ConditionAccepted and
// ConditionEnforced.
const ReasonGeneratingFailed = "Failed"

// ReasonDeleting is the reason of Accepted=False and Enforced=False of a GeneratingPolicy that is being
// deleted, while objects that go with it cannot be.
const ReasonDeleting = "Deleting"

// Condition types and reasons of an AllowanceRecord.
const (
	// ConditionOverdue is True while an allowance of the target is open for longer
	// than maxOpen. It stays usable (D8).
	ConditionOverdue = "Overdue"
	// ReasonMaxOpen is the reason of Overdue=True.
	ReasonMaxOpen = "MaxOpen"

	// ConditionLedgerFull is True where the last change of the target that would have
	// allowed something allows nothing, as the ledger has no room for it (D4).
	ConditionLedgerFull = "LedgerFull"
	// ReasonTooLarge is the reason of LedgerFull=True.
	ReasonTooLarge = "TooLarge"

	// ConditionLedgerUnreadable is True while the annotation with the target's ledger
	// does not hold one. It counts as empty (D4).
	ConditionLedgerUnreadable = "LedgerUnreadable"
	// ReasonNoLedger is the reason of LedgerUnreadable=True.
	ReasonNoLedger = "NoLedger"

	// ConditionParentIgnored is True while a parent of the target bounds and covers
	// nothing, as it was given to it while no operator looked (D5).
	ConditionParentIgnored = "ParentIgnored"
	// ReasonAttachedUnseen is the reason of ParentIgnored=True.
	ReasonAttachedUnseen = "AttachedUnseen"
)

// Reasons of the condition ConditionGate, which is True while something can change
// outside.
const (
	// ReasonGateClosed is the reason of Gate=False where nothing is allowed.
	ReasonGateClosed = "Closed"
	// ReasonGateOpen is the reason of Gate=True while what was allowed is carried out.
	ReasonGateOpen = "Open"
	// ReasonGateSettling is the reason of Gate=True where that seems done, and is being
	// made sure of.
	ReasonGateSettling = "Settling"
	// ReasonGateStuck is the reason of Gate=True where it fails, cannot go on, or has
	// not been done within maxOpen.
	ReasonGateStuck = "Stuck"
	// ReasonGateHeld is the reason of Gate=False where the object's deletion is held
	// back.
	ReasonGateHeld = "Held"
	// ReasonGateAdopting is the reason of Gate=True while an object from before its
	// policy finishes what it is in the middle of.
	ReasonGateAdopting = "Adopting"
)
