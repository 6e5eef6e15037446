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

package why

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
)

// Report is what was found.
type Report struct {
	// SwitchedOff is there while everything is switched off: nothing counts then.
	SwitchedOff *cluster.Off `json:"switchedOff,omitempty"`
	// Unenforced are the policies about it that are not enforced.
	Unenforced []cluster.Unenforced `json:"unenforced,omitempty"`
	// Subject is what was asked about.
	Subject string `json:"subject"`
	// Refusals of changes, the latest first.
	Refusals []Refusal `json:"refusals"`
	// Spared are changes of objects themselves that their policies would have withheld or refused, if they
	// did not only warn or audit, the latest first.
	Spared []Refusal `json:"spared,omitempty"`
	// More is how many earlier refusals there are.
	More int `json:"more,omitempty"`
	// Blocked is what the object shows of what its controllers were refused, where no record can be read.
	Blocked string `json:"blocked,omitempty"`
	// Withheld changes, from which nothing follows.
	Withheld []Withheld `json:"withheld"`
	// CarriedOut are changes that were withheld and are carried out, although nobody approved them.
	CarriedOut []CarriedOut `json:"carriedOut,omitempty"`
	// Below is what waits below the subject.
	Below []Below `json:"below,omitempty"`
	// Unasked says, where nothing else is told of an object for which policies are in effect, that the operator was not
	// asked about a change of it just now: what passes meanwhile is neither refused, nor withheld, nor recorded.
	Unasked string `json:"unasked,omitempty"`
	// Generating is what GeneratingPolicies want and do not get.
	Generating []Generating `json:"generating,omitempty"`
	// Notes say what could not be read, or is left out.
	Notes []string `json:"notes,omitempty"`

	// everywhere is true of what is told of all namespaces, so that each object is told with its own.
	everywhere bool
}

// Below is an object below the subject that waits: its controllers were refused something, or a change
// of it is withheld.
type Below struct {
	// Object that waits.
	Object v1alpha1.TargetReference `json:"object"`
	// Refused is what its controllers were refused last, and Since when that was; empty where nothing was.
	Refused string       `json:"refused,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// ByItself is true where its own policies have refused that to a controller: whether that still waits is not known.
	ByItself bool `json:"byItself,omitempty"`
	// Withheld are the paths of what is withheld of it.
	Withheld []string `json:"withheld,omitempty"`
	// Command tells why.
	Command string `json:"command"`
}

// Generating is something that a GeneratingPolicy wants and does not get.
type Generating struct {
	// Policy that wants it.
	Policy string `json:"policy"`
	// Deleting is true where the policy is being deleted, and wants it gone.
	Deleting bool `json:"deleting,omitempty"`

	v1alpha1.GeneratingFailure `json:",inline"`
}

// Refusal is a change of an object, or of a child of it, that was refused, once or again
// and again.
type Refusal struct {
	v1alpha1.HistoryEntry `json:",inline"`

	// Parent is the object whose allowances do not cover the change, or the object itself
	// where its own policies refuse it.
	Parent v1alpha1.TargetReference `json:"parent"`
	// ParentGone is true where the parent does not exist any more: nothing can be done about it, and nothing bounds
	// the child now.
	ParentGone bool `json:"parentGone,omitempty"`
	// Initiators are who may make the change, where the object's own policies refuse it, or who may have the parent
	// adopt the child, where that is what was refused, and Conditions what has
	// to hold of the object then.
	Initiators []string `json:"initiators,omitempty"`
	Conditions []string `json:"conditions,omitempty"`
	// Record is the AllowanceRecord that tells of it.
	Record string `json:"record"`
	// Waiting is true while the change still waits for an answer.
	Waiting bool `json:"waiting"`
	// MayWait is true of an earlier one that may still wait as well: nothing tells which of several do.
	MayWait bool `json:"mayWait,omitempty"`
	// Passed is true where whoever was refused it was let through with it since.
	Passed bool `json:"passed,omitempty"`
	// PassedFor is somebody else who was let through with the same since, or, of a deletion, with which the child is gone.
	PassedFor string `json:"passedFor,omitempty"`
	// CarriedOut is whose withheld change was carried out since, although nobody approved it: then nothing waits for
	// what is refused here.
	CarriedOut *CarriedOut `json:"carriedOut,omitempty"`
	// Overwritten is a change of the same by somebody else that was let through before, where something still waits.
	Overwritten *Overwritten `json:"overwritten,omitempty"`
	// Ended is what was withheld of the parent then and is withheld no more, where nothing waits for what is refused here.
	Ended *Ended `json:"ended,omitempty"`
	// Held is true while something of the parent is withheld: no remedy helps before that has
	// ended.
	Held bool `json:"held,omitempty"`
	// Attaching is true where an object was refused what was asked about as its parent.
	Attaching bool `json:"attaching,omitempty"`
	// Adopting is true where the parent would have adopted the child without a cause, and more than that was
	// asked: no allowance of the parent covers it before Initiators have given it that parent.
	Adopting bool `json:"adopting,omitempty"`
	// Stray is true of a child that was adopted without a cause: no allowance covers a change of it until
	// an initiator approves it.
	Stray bool `json:"stray,omitempty"`
	// Strays are such children because of which it was refused: itself, or those of its kind for which none
	// is deleted; nil where there are none.
	Strays *Strays `json:"strays,omitempty"`
	// NotNamed says that it could not be allowed to who asked, as the policies in effect name others; nil where it could.
	NotNamed *NotNamed `json:"notNamed,omitempty"`
	// Remedies are what would have allowed it.
	Remedies []Remedy `json:"remedies"`
	// Upgrade says what it has to do with an upgrade of the parent; nil where nothing is known
	// of that.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
}

// CarriedOut is a withheld change that was carried out although nobody approved it.
type CarriedOut struct {
	// Time at which that was found.
	Time metav1.Time `json:"time"`
	// Object that was changed, Paths of it, and User who changed them, where that is known.
	Object v1alpha1.TargetReference `json:"object"`
	Paths  []string                 `json:"paths"`
	User   string                   `json:"user,omitempty"`
	// Message says why, as far as that is known.
	Message string `json:"message,omitempty"`
}

// Strays are children that were adopted without a cause.
type Strays struct {
	// Names of them.
	Names []string `json:"names"`
	// Initiators are who may approve that they are there, or delete them; where they are empty, whoever
	// may initiate further up.
	Initiators []string `json:"initiators,omitempty"`
	// Untold is true where that cannot be told, as the policies cannot be read.
	Untold bool `json:"initiatorsUntold,omitempty"`
	// Commands do so: for each namespace, the one that deletes them, and the one that approves them.
	Commands []string `json:"commands"`
}

// Upgrade is what a refusal has to do with an upgrade.
type Upgrade struct {
	// Told is which version the request comes from and which one the parent was made by, and
	// which UpgradeAllowances were asked and why they do not let it through.
	Told string `json:"told"`
	// Versions are the versions of what makes its children, as the parent remembers them.
	Versions []string `json:"versions,omitempty"`
	// Asked are the UpgradeAllowances, with their generations, that were asked last.
	Asked []string `json:"asked,omitempty"`
	// Command writes the UpgradeAllowance that would have let through what was refused.
	Command string `json:"command"`
}

// Remedy is what would have allowed a part of a refused change.
type Remedy struct {
	// Paths of the part, as in the refusal.
	Paths []string `json:"paths"`
	// Policy that would have, and Trigger whose change it asks for, empty where it needs none while the
	// parent is steady and nothing of it is withheld. Neither is there where no policy allows it in any
	// case.
	Policy  string `json:"policy,omitempty"`
	Trigger string `json:"trigger,omitempty"`
	// Initiators are who may make that change, or, where it needs none, do it themselves; where they are
	// empty, whoever may initiate further up.
	Initiators []string `json:"initiators,omitempty"`
	// LetGo is true where the part lets go of the child, or has the parent adopt it: that takes no rule, and is for who
	// may use what the parent allows, the Initiators, in a request that does nothing else.
	LetGo bool `json:"letGo,omitempty"`
	// OfChild is true where the Initiators may do it as who may initiate on the child itself, whatever the parent allows.
	OfChild bool `json:"ofChild,omitempty"`
	// Read is the kind of which the parent reads an object whose change of the Trigger it asks for; empty where it asks
	// for one of the parent.
	Read string `json:"read,omitempty"`
	// Upgrade is the UpgradeAllowance that covers the part, and was not asked as something of the parent was withheld.
	Upgrade string `json:"upgradeAllowance,omitempty"`
	// Conditions of the rule, or of the entry that needs none, which have to hold too.
	Conditions []string `json:"conditions,omitempty"`
}

// Withheld is a change of an object from which nothing follows: of one field, or of
// several items of a list by one person.
type Withheld struct {
	// Object that was changed.
	Object v1alpha1.TargetReference `json:"object"`
	// Paths that were changed.
	Paths []string `json:"paths"`
	// User who changed them, empty where nobody has seen it.
	User string `json:"user"`
	// Approvals are what approves them as they are.
	Approvals []string `json:"approvals"`
	// Since is when that was.
	Since *metav1.Time `json:"since,omitempty"`
	// Initiators are who may approve it.
	Initiators []string `json:"initiators,omitempty"`
	// WaitsForRule is true where no rule of a policy in effect that denies is about it: nothing is held back then, and
	// nobody can approve it. Initiators are who may change it so that what they write counts.
	WaitsForRule bool `json:"waitsForRule,omitempty"`
	// Unowned is true of an object without an owner: nobody may initiate further up.
	Unowned bool `json:"unowned,omitempty"`
	// NotMet are the conditions of policies that do not hold of the object as it is, so that nobody can approve it
	// before they do.
	NotMet []string `json:"conditionsNotMet,omitempty"`
	// Untold is true where that cannot be told, as the policies cannot be read.
	Untold bool `json:"initiatorsUntold,omitempty"`
}
