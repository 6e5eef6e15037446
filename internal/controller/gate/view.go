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
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// belonging says whether an object belongs behind its gate.
type belonging int

const (
	// unsure: something that it depends on cannot be read just now. What is gated
	// stays so, and nothing else is.
	unsure belonging = iota
	// gated by a policy that says Deny.
	gated
	// free: certainly not.
	free
)

// view is one look at an object that may have a gate. What follows from it is
// decided by its methods, which read nothing else.
type view struct {
	obj    *unstructured.Unstructured
	driver gate.Driver
	kind   gate.Kind
	// ledger of the object, and the annotation that it is in.
	ledger    ledger.Ledger
	ledgerKey string
	state     gate.State
	belonging belonging
	// provider is the one that its kind has now; kind has the one that counts.
	provider string
	// policies are the policies that gate it.
	policies []*policy.Policy
	// gatedBy is the parent because of which they do; nil where that is not so.
	gatedBy *gate.Parent
	// keeping are the policies that keep the gate of an object that has lost its parent.
	keeping []*policy.Policy
	// since is when the oldest of the entries that open the gate was first seen.
	since time.Time
	// done is since when the system has seemed done with the present generation; zero
	// where it does not.
	done time.Time
	// heldSince is since when the object is seen held while it is not being deleted.
	heldSince time.Time
	// deletionAllowed says that a deletion is allowed that was not when it was held.
	deletionAllowed bool
	// deletionUntold says that what is above goes, is gone, or is about to go with its namespace, and
	// nobody has said yet by which policies.
	deletionUntold bool
	// stray says that the object is a stray of its parent, of whose deletion nothing outside may come, and strayNote
	// what it stands for.
	stray     bool
	strayNote string
	// uncreated says that what the object stands for was never there, and nothing in its ledger lets
	// it be created; mayCreate, that something above may do so by now.
	uncreated, mayCreate bool
	// parent is what composes the object, empty where nothing does.
	parent string
	limits limits
	now    time.Time
}

// limits are how long things may take.
type limits struct {
	// settle is the time that a system is given which does not say when it has finished.
	settle time.Duration
}

// look returns a look at an object; the caller fills in what is not in the object.
func look(obj *unstructured.Unstructured, driver gate.Driver, kind gate.Kind, now time.Time) view {
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	stored, err := ledger.Decode(obj.GetAnnotations()[key])
	if err != nil {
		stored = nil // What cannot be read opens nothing.
	}
	return view{
		obj:       obj,
		driver:    driver,
		kind:      kind,
		ledger:    stored,
		ledgerKey: key,
		state:     gate.ReadState(obj.GetAnnotations()),
		now:       now,
	}
}

// entries returns the entries that open the gate, or would if the object said what they were
// granted for.
func (v view) entries() ledger.Ledger {
	return v.ledger.Without(func(e ledger.Entry) bool { return !e.IsGate() })
}

// computed returns what the switch should be as the object is now.
func (v view) computed(l ledger.Ledger) gate.Setting {
	return v.driver.Compute(gate.Write{Old: v.obj, New: v.obj, Kind: v.kind, Ledger: l})
}

// change returns what was allowed, and what has been asked about it.
func (v view) change() gate.Change {
	c := gate.ChangeOf(v.ledger, v.state)
	c.Waited = !v.done.IsZero() && !v.done.Add(v.limits.settle).After(v.now)
	c.Pass, c.Passes = v.pass()
	return c
}

// maxOpen returns the time after which an open gate is reported as overdue.
func (v view) maxOpen() time.Duration { return policy.MaxOpen(v.policies) }

// causes names who the open entries go back to, and what they changed.
func (v view) causes() (initiators, paths []string) {
	for _, e := range v.entries() {
		hop, _ := e.LastHop()
		initiators = append(initiators, e.Initiator)
		paths = append(paths, hop.Field)
	}
	return unique(initiators), unique(paths)
}

func unique(words []string) []string {
	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(word string) bool { return word == "" })
}
