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

// Package decision answers the two questions that every admission asks (D2):
// may this request make these changes to the child (Decide), and which entries
// does the child's own ledger get (Grants). It is pure: everything it needs is
// in an Input, which the admission webhook gathers.
package decision

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Operation is what a request does to an object, as admission names it.
type Operation string

const (
	// Create makes the object.
	Create Operation = "CREATE"
	// Update changes it.
	Update Operation = "UPDATE"
	// Delete removes it, or starts its deletion.
	Delete Operation = "DELETE"
)

// Input is everything that a decision depends on.
type Input struct {
	// Requester is who makes the request.
	Requester policy.Requester
	// Operator is true where the requester is Kausality itself.
	Operator bool
	// Platform are the user names that keep a cluster alive (D3).
	Platform Platform
	// Operation is what the request does to the child; a scale is an Update, an
	// eviction a Delete.
	Operation Operation
	// Eviction is true where a Delete comes from the eviction of a Pod.
	Eviction bool

	// Child is the object of the request.
	Child Child
	// Changes are what an Update changes of the child, those of lineage fields
	// included: what the verdict is about.
	Changes []change.Change
	// OwnChanges are what it changes of the object as a holder: what triggers the
	// rules of its own policies.
	OwnChanges []change.Change
	// Books are the changes of the same sort that OwnChanges does not have, as the object's
	// system keeps its books by them. They trigger nothing.
	Books []change.Change
	// Actions are what the requester does through the status of the object, where that is no
	// controller's report.
	Actions []change.Change
	// Reports are the changes of fields of its status that only who reports them writes, where
	// the requester is somebody else.
	Reports []change.Change
	// Command is what the request tells the controller of the object to replace in it, and Obeys
	// is the command that the request takes off it, as a controller that carries it out does;
	// nil where it does not.
	Command, Obeys *policy.Command
	// Approved are the fields that an initiator approves in this request; they
	// are treated as just changed (D20).
	Approved []change.Change
	// BreakGlass is the reason that the requester gave for breaking the glass,
	// where the requester may (D13).
	BreakGlass string
	// Bookkeeping is true where the lineage driver declares everything that the
	// request does as its own system's (D5). Where only some of the changes are and
	// the requester KeepsBooks, Changes and OwnChanges have the others alone.
	Bookkeeping bool
	// LateInitialization is true where an Update does nothing but fill in what the
	// system behind the child's gate has found out, and comes from that system (D16).
	LateInitialization bool
	// Release is true where the only lineage change takes the parent's own
	// reference off the child, or puts it on one that has none, or is one of labels
	// for which the parent's controller would do so (D5).
	Release bool
	// Leaves is true where an Update takes the child away from its parent: the reference goes, or
	// says something else than who that is, or the labels are such that its controller lets go (D5).
	Leaves bool
	// Groups are those of the requester as whose member they may initiate on what a system
	// takes for the child by its name; what the child begins attests them (D5).
	Groups []string
	// OwnPolicies are the policies in effect for the child as a holder.
	OwnPolicies []*policy.Policy
	// AncestorInitiator is true where the requester may initiate on an ancestor;
	// such a person may approve a descendant (D20).
	AncestorInitiator bool

	// Gate is what the child stands for outside the cluster, where that is behind a
	// gate; nil otherwise. Changes and OwnChanges do not have its switch (D16).
	Gate gate.Target

	// Renames are those of Changes by which a child behind a gate would stand for something
	// else outside, or be reached by other credentials, where somebody else than the system
	// behind the gate makes them.
	Renames []change.Change
	// Identity are the fields that say what the child stands for outside, where there are Renames.
	Identity []change.Pattern
	// Outside is true where what the child stands for is there, as far as the child shows.
	Outside bool
	// Uncreated is true where that was never there, as far as the child shows, its gate keeps it from
	// being created, and the operator asks whether anything allows it by now.
	Uncreated bool
	// GatedBy are the policies for which the child has a gate.
	GatedBy []*policy.Policy

	// ParentState says what is known of the parent.
	ParentState ParentState
	// Parent is the parent, where ParentState is ParentFound.
	Parent Parent
	// Adoption is what an Update does that gives the child another parent; nil
	// otherwise. It is the adopter's where Parent is the parent from before.
	Adoption *Adoption
	// Referents are what the parent reads without owning it, as far as policies say that it
	// has a bearing on children of the child's kind (policy.Through); OwnReferents are what
	// the child itself reads, as far as it has one on the child.
	Referents, OwnReferents []Referent
	// Readers are who reads the child, by its policies, before or after the request.
	Readers []Reader
	// Upgrades are what lets the requester through as part of an upgrade of the parent,
	// ordered by name (D12).
	Upgrades []Upgrade
	// Deletion is that of the parent, where it is going or gone and it is known
	// who deleted it; that explains what happens to the child (D9).
	Deletion *v1alpha1.Deletion
}

// ParentState says what is known of an object's parent.
type ParentState int

const (
	// NoParent means that the child names none.
	NoParent ParentState = iota
	// ParentGone means that the child names one that does not exist.
	ParentGone
	// ParentUngoverned means that no policy is for the parent's kind, so that it
	// was not looked up.
	ParentUngoverned
	// ParentFound means that Input.Parent is the parent.
	ParentFound
)

// Child is the object of a request.
type Child struct {
	// GVK of the object.
	GVK schema.GroupVersionKind
	// Resource of the object, for messages.
	Resource schema.GroupResource
	// Namespace and Name of the object; the name is empty where the API server
	// has yet to make it up.
	Namespace, Name string
	// UID keys the hashes of withheld values.
	UID string
	// Generation that the object has after the request, predicted where the API
	// server has not set it yet.
	Generation int64
	// Deleting is true where the object's deletion was admitted before.
	Deleting bool
	// Old and New are the object before and after; one is nil on Create and
	// Delete.
	Old, New map[string]any
	// Schema is what is declared about the object's fields, nil where nothing is
	// known of its kind.
	Schema change.Schema
	// Ledger is what counts of the object's ledger before the request, without what it
	// tells of withheld changes.
	Ledger ledger.Ledger
	// Blind is true where nothing tells whether the object is still new, so that only time
	// ends its initialization.
	Blind bool
	// Standing is how the object compares with its approved content before the request;
	// nil on Create, and where no policy is in effect for it.
	Standing *approved.Standing
}

// Phase of the child as a holder.
func (c *Child) Phase() v1alpha1.Phase {
	return phase(c.Deleting, c.Ledger)
}

// Parent is the holder whose allowances bound the child.
type Parent struct {
	// GVK of the parent.
	GVK schema.GroupVersionKind
	// Namespace and Name of the parent.
	Namespace, Name string
	// UID of the parent.
	UID string
	// Generation of the parent.
	Generation int64
	// Deleting is true where the parent has a deletionTimestamp.
	Deleting bool
	// OneSided is true where the child names the parent and the parent does not point
	// back, as it has to in its system: it bounds the child and covers nothing (D5).
	OneSided bool
	// Adopting is true where the parent finishes what it was doing when its
	// policy first took effect (D20).
	Adopting bool
	// Ledger is what counts of the parent's ledger, pending grants included, without
	// what it tells of withheld changes.
	Ledger ledger.Ledger
	// Standing is how the parent compares with its approved content, nil where no
	// policy is in effect for it.
	Standing *approved.Standing
	// TakenBack are how the parent compared with its approved content some moments ago,
	// when something of it was withheld: its controller may not have heard of what became
	// of that.
	TakenBack []*approved.Standing
	// Fields are what the parent holds now.
	Fields map[string]any
	// Policies are the policies in effect for the parent.
	Policies []*policy.Policy
	// CurrentRevision and UpdateRevision are from the status of a parent that makes its
	// children of either, such as a StatefulSet: the older revision, and that of its present template.
	CurrentRevision, UpdateRevision string
	// Short is true where fewer Pods of the parent are alive than it had before a
	// change of their number was withheld (Input.WithheldCount), or than it has
	// (Input.ReturningCount).
	Short bool
	// Returning is true where what was withheld of the parent was taken back after it may have been carried out in
	// part, and the parent, which had settled as it is, has not again.
	Returning bool
	// Beyond is true where more Pods of the parent are alive than it has (Input.ReturningCount).
	Beyond bool
	// Blind is true where nothing tells whether the parent is still new, so that only time
	// ends its initialization.
	Blind bool
	// Account is the user as which the GeneratingPolicy writes that made the child because of the
	// parent, and whom alone the parent's allowances are for; empty where none did.
	Account string
	// Strays are the UIDs of the children that it adopted without a cause (D5).
	Strays sets.Set[string]
	// Surplus are the names of strays of the child's kind that are alive, where the
	// request deletes a child that is none.
	Surplus []string
}

// MayExercise reports whether the requester may use allowances of the parent on the child. What a
// GeneratingPolicy made only its account keeps, whomever the policies name.
func (in *Input) MayExercise() bool {
	if in.Parent.Account != "" {
		return in.Requester.Username == in.Parent.Account
	}
	return policy.MayExercise(in.Requester, in.Parent.Policies, in.OwnPolicies)
}

// Exercisers names who may use allowances of the parent on the child, for messages.
func (in *Input) Exercisers() []string {
	if in.Parent.Account == "" {
		return policy.Exercisers(in.Parent.Policies, in.OwnPolicies)
	}
	return []string{policy.AccountText(in.Parent.Account)}
}

// Known returns what is known of the parent's kind.
func (p *Parent) Known() *knowledge.Kind { return policy.Known(p.GVK.GroupKind(), p.Policies) }

// Phase of the parent: it is what bounds the child (D9).
func (p *Parent) Phase() v1alpha1.Phase {
	return phase(p.Deleting, p.Ledger)
}

func phase(deleting bool, l ledger.Ledger) v1alpha1.Phase {
	switch {
	case deleting:
		return v1alpha1.PhaseDeleting
	case l.Initializing():
		return v1alpha1.PhaseInitializing
	default:
		return v1alpha1.PhaseSteady
	}
}

// Act is one thing that a request does to the child: it creates it, deletes it,
// or makes one change of a field.
type Act struct {
	// Operation is Create, Delete, or Update for a change of a field.
	Operation Operation
	// Change is what an Update changes.
	Change change.Change
}

// String names the act as a ledger entry would.
func (a Act) String() string {
	switch a.Operation {
	case Create:
		return v1alpha1.MutationCreateObject
	case Delete:
		return v1alpha1.MutationDeleteObject
	default:
		return a.Change.Path.String()
	}
}

// Acts returns all that the request does to the child.
func (in *Input) Acts() []Act {
	if in.Operation != Update {
		return []Act{{Operation: in.Operation}}
	}
	acts := make([]Act, 0, len(in.Changes))
	for _, c := range in.Changes {
		acts = append(acts, Act{Operation: Update, Change: c})
	}
	return acts
}
