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

package explain

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
)

// Report explains an object.
type Report struct {
	// SwitchedOff is there while everything is switched off: nothing counts then.
	SwitchedOff *cluster.Off `json:"switchedOff,omitempty"`
	// Unenforced are the policies about it that are not enforced.
	Unenforced []cluster.Unenforced `json:"unenforced,omitempty"`
	// Object that is explained.
	Object v1alpha1.TargetReference `json:"object"`
	// Phase of the object, and the generation that it has.
	Phase      v1alpha1.Phase `json:"phase"`
	Generation int64          `json:"generation,omitempty"`
	// Progress says how far its controllers are, where a policy is in effect.
	Progress string `json:"progress,omitempty"`
	// AsParent is what holds for its children.
	AsParent Parent `json:"asParent"`
	// AsChild is what holds for it as a child; nil where it has no parent.
	AsChild *Child `json:"asChild,omitempty"`
	// Generated is there where a GeneratingPolicy made the object.
	Generated *Generated `json:"generated,omitempty"`
	// Gate of the object; nil where it has none.
	Gate *Gate `json:"gate,omitempty"`
	// You are who asks, and what you may do.
	You *You `json:"you,omitempty"`
	// PoliciesUntold is true where the policies may not be read: of what they say nothing is here then.
	PoliciesUntold bool `json:"policiesUntold,omitempty"`
	// ParentUntold is true where the parent may not be read.
	ParentUntold bool `json:"parentUntold,omitempty"`
	// Notes say what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Parent is an object as a parent.
type Parent struct {
	// Policies for its kind.
	Policies []Policy `json:"policies"`
	// Bounds of its children, one for each kind of child that a policy in effect
	// names.
	Bounds []Bound `json:"bounds"`
	// Rules of the policies in effect.
	Rules []Rule `json:"rules"`
	// Obstacles keep it from allowing more.
	Obstacles []Obstacle `json:"obstacles"`
	// Upgrades are the UpgradeAllowances that select it and would let through changes of its
	// children.
	Upgrades []Upgrade `json:"upgrades,omitempty"`
	// Initiators are who may initiate changes of it, and Approvers who, further up,
	// may approve such as are there.
	Initiators []string `json:"initiators"`
	Approvers  []string `json:"approvers"`
}

// Policy is a policy for the kind of an object.
type Policy struct {
	// Name of the policy.
	Name string `json:"name"`
	// InEffect is true where it counts for the object; WhyNot says why it does not.
	InEffect bool   `json:"inEffect"`
	WhyNot   string `json:"whyNot,omitempty"`
	// Action is what happens to a change that nothing covers.
	Action v1alpha1.ValidationAction `json:"action"`
	// Initiators that it names.
	Initiators []string `json:"initiators"`
}

// Bound is what may be done to children of a kind right now.
type Bound struct {
	// Kind of the children.
	Kind string `json:"kind"`
	// Policies that bound them in the present phase; where there are none, anything
	// is allowed.
	Policies []string `json:"policies"`
	// Action on what is not allowed, the strictest of the policies'.
	Action v1alpha1.ValidationAction `json:"action,omitempty"`
	// Permissions are what is allowed.
	Permissions []Permission `json:"permissions"`
}

// Permission is something that is allowed, and why.
type Permission struct {
	What    string `json:"what"`
	Because string `json:"because"`
	// Allowance is the entry of the ledger that allows it, where one does.
	Allowance *v1alpha1.Allowance `json:"allowance,omitempty"`
	// When is the condition of a policy that ends the allowance, where one does.
	When *When `json:"when,omitempty"`
}

// When is the condition of a policy that ends an allowance, asked of the object as it is.
type When struct {
	// Policy that has the condition, and Field which one it is.
	Policy string `json:"policy"`
	Field  string `json:"field"`
	// Holds is true where it does.
	Holds bool `json:"holds"`
	// Problem says why it cannot be evaluated, or what it compares in vain.
	Problem string `json:"problem,omitempty"`
}

// Rule is what a change of the object would allow.
type Rule struct {
	Policy     string   `json:"policy"`
	Trigger    string   `json:"trigger"`
	Conditions []string `json:"conditions,omitempty"`
	Captures   []string `json:"captures,omitempty"`
	Allows     []string `json:"allows"`
}

// Obstacle keeps an object from allowing more.
type Obstacle struct {
	// What it is, in a word: Withheld, Waiting, Adopting, Blocked, BlockedBelow, Strays, Overdue, or
	// the condition of a policy.
	What string `json:"what"`
	// Since when, where that is known.
	Since *metav1.Time `json:"since,omitempty"`
	// Message says more.
	Message string `json:"message"`
	// NotMet are the conditions of policies that do not hold of the object as it is, so that nobody can approve
	// a withheld change before they do.
	NotMet []string `json:"conditionsNotMet,omitempty"`
	// Command that helps, and who may run it.
	Command string   `json:"command,omitempty"`
	By      []string `json:"by,omitempty"`
}

// Child is an object as a child.
type Child struct {
	// Parent of the object.
	Parent v1alpha1.TargetReference `json:"parent"`
	// Found is false where the parent does not exist.
	Found bool `json:"found"`
	// Phase of the parent, which is what bounds the object.
	Phase v1alpha1.Phase `json:"phase,omitempty"`
	// Bound of objects of its kind.
	Bound Bound `json:"bound"`
	// Stray is there where the parent adopted the object without a cause.
	Stray *Stray `json:"stray,omitempty"`
	// Obstacles keep the parent from allowing more.
	Obstacles []Obstacle `json:"obstacles"`
	// Initiators are who may initiate on the parent, or else further up.
	Initiators []string `json:"initiators"`
}

// You are who asks.
type You struct {
	Name        string `json:"name"`
	MayInitiate bool   `json:"mayInitiate"`
	MayApprove  bool   `json:"mayApprove"`
}

// Gate is the switch of an object that stands for something outside the cluster.
type Gate struct {
	// Lets are the verbs that it lets through right now.
	Lets []string `json:"lets"`
	// Openers are what opens it, or would if the object said what it was allowed for.
	Openers []Opener `json:"openers"`
	// Reason and Message are those of its condition, and Since is when that began.
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// Waits says what an open gate waits for.
	Waits string `json:"waits,omitempty"`
	// Held is what a deletion waits for; nil where none does.
	Held *Held `json:"held,omitempty"`
}

// Opener is an allowance that opens the gate.
type Opener struct {
	// Verbs that it opens.
	Verbs []string `json:"verbs"`
	// Field whose change it goes with, at which Generation.
	Field      string `json:"field"`
	Generation int64  `json:"generation,omitempty"`
	// Initiator of the change.
	Initiator string `json:"initiator,omitempty"`
	// Since when it was seen.
	Since *metav1.Time `json:"since,omitempty"`
}

// Held is a deletion that is held back.
type Held struct {
	// User who asked for it, and Initiator who caused it, where that is known.
	User      string `json:"user"`
	Initiator string `json:"initiator,omitempty"`
	// Allowed is true where what is outside may be deleted as well.
	Allowed bool `json:"allowed,omitempty"`
	// Refused says that the object is not being deleted, as something else has refused that; empty where it is.
	Refused string `json:"refused,omitempty"`
	// Command lets the object go without what is outside.
	Command string `json:"command,omitempty"`
}
