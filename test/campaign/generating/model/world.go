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

package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kinds of objects.
const (
	ConfigMap = "ConfigMap"
	Seed      = "Seed"
)

// Namespaces that are always there.
const (
	// Targets is where policies make objects that are not beside their triggers.
	Targets = "targets"
	// Sources is where what is cloned is.
	Sources = "sources"
)

// ID identifies an object.
type ID struct{ Kind, Namespace, Name string }

// String returns it as people write it.
func (id ID) String() string { return id.Kind + " " + id.Namespace + "/" + id.Name }

// Compare orders IDs.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Kind, other.Kind), cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name))
}

// Shape is what a policy makes for what.
type Shape int

// Shapes of policies.
const (
	// Beside makes a ConfigMap beside each ConfigMap that is a trigger, named after it and the policy.
	Beside Shape = iota
	// Central makes a ConfigMap for each such trigger in the namespace Targets, named after the
	// trigger alone: two policies of this shape want the same.
	Central
	// Shared makes one ConfigMap for all such triggers, in Targets.
	Shared
	// Clone makes a clone of one source in each Namespace that is a trigger.
	Clone
	// Clones makes clones of all sources there.
	Clones
	// Shapes is how many there are.
	Shapes
)

// String returns its name.
func (s Shape) String() string {
	return [...]string{"Beside", "Central", "Shared", "Clone", "Clones"}[s]
}

// Spec is the spec of a policy, as far as the campaign varies it.
type Spec struct {
	Shape Shape
	// Rev is part of the content of data.
	Rev int
	// Index tells which source a Clone is of, and which object is Shared.
	Index                                 int
	Synchronize, GenerateExisting, Orphan bool
}

// Policy is a policy that was not deleted.
type Policy struct {
	Name string
	// Born tells it from earlier ones of that name: the time on the World's clock.
	Born int
	// Since is when it came to be about the kind of its triggers: Born, unless it was about another kind
	// before.
	Since int
	// Created is when the API server says that it was created.
	Created time.Time
	Spec
}

// isOfNamespaces reports whether triggers are Namespaces, not ConfigMaps.
func (s Shape) isOfNamespaces() bool { return s == Clone || s == Clones }

// olderThan reports whether it decides where both want the same object.
func (p *Policy) olderThan(other *Policy) bool {
	return cmp.Or(p.Created.Compare(other.Created), cmp.Compare(p.Name, other.Name)) < 0
}

// Namespace is one of a team.
type Namespace struct {
	// Labeled is true where it is one of a team's: it is a trigger, and so is what is in it.
	Labeled bool
	// Born and Written are when it was made and last written, on the World's clock.
	Born, Written int
}

// Trigger is a ConfigMap that policies are about.
type Trigger struct {
	// Labeled is true where it matches.
	Labeled       bool
	Value         string
	Born, Written int
}

// Name is that of a namespace and of what is in it.
type Name struct{ Namespace, Name string }

// ending is a policy that was deleted.
type ending struct {
	name string
	born int
}

// World is what people made.
type World struct {
	// Clock counts acts.
	Clock      int
	Namespaces map[string]Namespace
	Triggers   map[Name]Trigger
	// Sources are the values of what can be cloned.
	Sources  map[string]string
	Policies map[string]*Policy
	// MayNotWrite are the kinds that the policies' account may not write.
	MayNotWrite map[string]bool
	// Down is true while nobody carries out policies.
	Down bool

	ended map[ending]Spec
	// counted are the triggers that counted for a policy, by names.
	counted map[string]bool
}

// NewWorld returns a world with nothing in it.
func NewWorld() *World {
	return &World{
		Namespaces: map[string]Namespace{}, Triggers: map[Name]Trigger{}, Sources: map[string]string{}, Policies: map[string]*Policy{},
		MayNotWrite: map[string]bool{}, ended: map[ending]Spec{}, counted: map[string]bool{},
	}
}

// isThere reports whether a namespace is.
func (w *World) isThere(namespace string) bool {
	_, ok := w.Namespaces[namespace]
	return ok || namespace == Targets || namespace == Sources
}

// want is that a policy wants an object for a trigger.
type want struct {
	policy  *Policy
	id      ID
	trigger string
	data    string
	clone   bool
	// counts says whether the trigger is one.
	counts certainty
}

// certainty is how much is known.
type certainty int

const (
	no certainty = iota
	// maybe is a trigger from before that, which once counted since the policy made objects
	// for what exists, and does not any more. While there is something that was made for it, it does.
	maybe
	yes
)

// wants returns all that policies want.
func (w *World) wants() []want {
	var out []want
	for _, p := range w.Policies {
		if p.Shape.isOfNamespaces() {
			out = append(out, w.clones(p)...)
		} else {
			out = append(out, w.data(p)...)
		}
	}
	return out
}

func (w *World) data(p *Policy) []want {
	var out []want
	for name, t := range w.Triggers {
		if !t.Labeled || !w.Namespaces[name.Namespace].Labeled {
			continue
		}
		trigger := fmt.Sprintf("%s/%s@%d", name.Namespace, name.Name, t.Born)
		want := want{policy: p, trigger: trigger, counts: w.counts(p, trigger, t.Written)}
		rev := fmt.Sprintf("%s-%d", p.Name, p.Rev)
		switch p.Shape {
		case Beside:
			want.id = ID{ConfigMap, name.Namespace, p.Name + "-" + name.Name}
			want.data = Data{"value": t.Value, "rev": rev}.String()
		case Central:
			want.id = ID{ConfigMap, Targets, CentralName(name)}
			want.data = Data{"value": t.Value, "rev": rev}.String()
		default:
			want.id = ID{ConfigMap, Targets, SharedName(p.Index)}
			want.data = Data{"rev": rev}.String()
		}
		out = append(out, want)
	}
	return out
}

func (w *World) clones(p *Policy) []want {
	var out []want
	for name, ns := range w.Namespaces {
		if !ns.Labeled {
			continue
		}
		trigger := fmt.Sprintf("%s@%d", name, ns.Born)
		counts := w.counts(p, trigger, ns.Written)
		for source, value := range w.Sources {
			if p.Shape == Clones || source == SourceName(p.Index) {
				out = append(out, want{
					policy: p, id: ID{Seed, name, source}, trigger: trigger, clone: true, counts: counts, data: Data{"value": value}.String(),
				})
			}
		}
	}
	return out
}

// counts says whether an object is a trigger of a policy: with generateExisting each one that matches is,
// without it each that was written since the policy was accepted, with triggers of that kind.
func (w *World) counts(p *Policy, trigger string, written int) certainty {
	switch {
	case p.GenerateExisting || written > p.Since:
		return yes
	case w.counted[p.Name+" "+trigger]:
		return maybe
	}
	return no
}

// Make makes a policy.
func (w *World) Make(name string, created time.Time, spec Spec) {
	w.Policies[name] = &Policy{Name: name, Born: w.Clock, Since: w.Clock, Created: created, Spec: spec}
}

// Respecify changes the spec of a policy. What there was of another kind of triggers counts no more than what
// there was before the policy.
func (w *World) Respecify(name string, spec Spec) {
	next := *w.Policies[name]
	if next.Shape.isOfNamespaces() != spec.Shape.isOfNamespaces() {
		next.Since = w.Clock
	}
	next.Spec = spec
	w.Policies[name] = &next
}

// tick notes what counts, once an act is done.
func (w *World) tick() {
	for _, want := range w.wants() {
		if want.counts == yes {
			w.counted[want.policy.Name+" "+want.trigger] = true
		}
	}
}

// byAge sorts policies, the one first that decides.
func byAge(a, b want) int {
	switch {
	case a.policy == b.policy:
		return cmp.Compare(a.trigger, b.trigger)
	case a.policy.olderThan(b.policy):
		return -1
	}
	return 1
}

// wanting returns who wants an object, of the wants for which counts is true. The policy that decides
// comes first.
func wanting(wants []want, id ID, counts func(want) bool) []want {
	var out []want
	for _, want := range wants {
		if want.id == id && counts(want) {
			out = append(out, want)
		}
	}
	slices.SortFunc(out, byAge)
	return out
}

// CentralName returns the name of what policies of the shape Central make for a trigger.
func CentralName(trigger Name) string { return "for-" + trigger.Namespace + "-" + trigger.Name }

// SharedName returns the name of what policies of the shape Shared make.
func SharedName(index int) string { return fmt.Sprintf("shared-%d", index%2) }

// SourceName returns the name of a source.
func SourceName(index int) string { return fmt.Sprintf("seed-%d", index%3) }
