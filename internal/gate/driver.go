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
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

// Driver knows one system outside the cluster: how to name what is outside, and how
// to set the switches of the objects that stand for it. See the package for what it
// promises.
type Driver interface {
	Follower

	// System is its name, for messages.
	System() string
	// Category is that of the kinds whose objects have a gate of this system.
	Category() string
	// Keys are the keys of an External target that the system understands, sorted.
	Keys() []string
	// Verbs are those of External entries that it understands, sorted; "*" is all
	// of them.
	Verbs() []string

	// Target is what an object stands for outside, by key.
	Target(obj *unstructured.Unstructured, kind Kind) Target
	// MayMatch reports whether an External target may be about some object of a kind.
	MayMatch(external map[string]string, kind Kind) bool
	// Identity are the fields that say which thing outside an object stands for, by whose
	// credentials the system gets there, where it leaves what it finds, and whether the
	// thing goes with the object. They are part of the Content.
	Identity() []change.Pattern
	// NameOf is a hash of the name that an object's metadata gives to what it stands for.
	NameOf(obj *unstructured.Unstructured) string
	// IsNamed reports whether an object's metadata gives it the name that a hash is of; the
	// empty one is of any.
	IsNamed(obj *unstructured.Unstructured, hash string) bool
	// SharesName reports whether the metadata of two objects of a kind give the same name to what they stand for.
	SharesName(a, b *unstructured.Unstructured) bool
	// IsOutside reports whether what an object stands for is there, as far as the object
	// shows.
	IsOutside(obj *unstructured.Unstructured) bool
	// NeverOutside reports whether what an object stands for was never there, as far as the object
	// shows: the system has looked, and nothing tells of anything that it found, or created.
	NeverOutside(obj *unstructured.Unstructured) bool
	// Has reports whether what an object stands for has what the object says at a path, as
	// far as the object shows.
	Has(obj *unstructured.Unstructured, path change.Path) bool
	// Content is a hash of everything in an object that tells the system what to do
	// outside, without the switch.
	Content(obj *unstructured.Unstructured) string
	// Lets are the verbs that the switch of an object lets through as it is, sorted.
	Lets(obj *unstructured.Unstructured) []string
	// HasSwitch reports whether an object says how far its gate is open.
	HasSwitch(obj *unstructured.Unstructured) bool
	// IsLateInitialization reports whether an update fills in nothing but what the
	// system has found out, where before there was nothing.
	IsLateInitialization(old, updated *unstructured.Unstructured) bool
	// Compute returns what the switch and the gate's annotations are after a write.
	Compute(w Write) Setting
	// Set puts a setting into an object, in place.
	Set(obj *unstructured.Unstructured, s Setting)
	// Patch is what gives an object the switch of a setting; nothing where it has it.
	Patch(obj *unstructured.Unstructured, s Setting) []jsonpatch.Operation
	// ComputeDeletion returns the setting by which the system deletes what an object
	// that is being deleted stands for, as far as its ceiling lets it; the hold is
	// over then.
	ComputeDeletion(obj *unstructured.Unstructured, kind Kind) Setting
	// Finalizer is the one by which the system usually keeps an object until it has done with what that stands
	// for. A system may use others.
	Finalizer() string
	// DeletesOutside reports whether the author of an object wants what it stands for to go with it, as far as
	// the ceiling says.
	DeletesOutside(obj *unstructured.Unstructured) bool
	// Annotations, besides Kausality's own, are those whose change matters.
	Annotations() []string
	// SwitchPath is the field that is the switch, by which an author says what the ceiling is.
	SwitchPath() change.Pattern
	// IsSwitch reports whether a field is the switch, or below it. Its changes are
	// nobody's to judge.
	IsSwitch(path change.Path) bool
}

// Kind is what is known of a kind whose objects have a gate.
type Kind struct {
	// GVK of the objects.
	GVK schema.GroupVersionKind
	// Resource is its name in the plural.
	Resource string
	// Provider is what runs the system for the kind; empty where nobody knows.
	Provider string
	// Former are the providers under which policies have named the kind before. What tells
	// the provider may be lost or changed while the kind stays.
	Former []string
}

// Write is a write of a gated object, as the mutating webhook sees it, or the object
// as it is where the controller looks at it: then Old and New are the same.
type Write struct {
	// Old and New are the object before and after; Old is nil on creation. They are
	// not changed.
	Old, New *unstructured.Unstructured
	// Kind of the object.
	Kind Kind
	// Ledger that the object has after the write.
	Ledger ledger.Ledger
	// Brings is true where the write brings External entries into the ledger: what
	// the object says now is what they were granted for.
	Brings bool
	// BySystem is true where the requester is the system itself, such as a provider:
	// only from there is late initialization one.
	BySystem bool
	// ByAuthor is true where the requester is who says what the object is to be like:
	// whoever composes it, or may initiate on it. Only an author has a say in the ceiling.
	ByAuthor bool
	// Again is true where the setting of the very request was computed before: what the new object says of
	// the ceiling, and its switch, are from that.
	Again bool
	// User who asks; empty where the controller looks.
	User string
	// FieldManager of the request, as which an author applies; empty where it has none.
	FieldManager string
	// Names is true where the request changes the object's identity, or approves it, and
	// may: what the object stands for now is what it should.
	Names bool
	// Provider is the one under which a policy gates the object; empty where none does, and
	// what is known stays.
	Provider string
	// Parent is the parent because of which policies gate the object; nil where none does, and
	// what is known stays.
	Parent *Parent
	// Releases is true where the request frees the object of the gate that it has kept since it lost its
	// parent, and may.
	Releases bool
	// Approved is what of the new object is approved, without what is withheld of it; nil
	// where nothing is withheld. It is shared and not changed.
	Approved map[string]any
}

// Setting is what a gate is set to by a write.
type Setting struct {
	// Switch is the value of the switch.
	Switch []string
	// State is what the annotations say.
	State State
	// Unsupported are verbs that the ledger opens and that stay closed, as the system
	// has no setting for them that lets no more through; sorted.
	Unsupported []string
	// KeptBack are verbs that the ceiling does not let through, whatever the ledger does; sorted.
	KeptBack []string
	// Unheeded is the field of the switch where the requester wanted it to let through what the
	// ceiling, or the gate, does not, or less, and has no say in that; empty where not.
	Unheeded string
}

// Drivers are the systems that there are gates for.
type Drivers []Driver

// For returns the driver of a kind by the categories that its definition has.
func (d Drivers) For(categories []string) (Driver, bool) {
	for _, driver := range d {
		for _, c := range categories {
			if c == driver.Category() {
				return driver, true
			}
		}
	}
	return nil, false
}

// Behind returns the driver of an object that is under a gate, or whose deletion is held back, by its switch: the
// definition of its kind may have lost the category since.
func (d Drivers) Behind(obj *unstructured.Unstructured) (Driver, bool) {
	if state := ReadState(obj.GetAnnotations()); !state.Adopted() && state.Held == nil {
		return nil, false
	}
	for _, driver := range d {
		if driver.HasSwitch(obj) {
			return driver, true
		}
	}
	return nil, false
}
