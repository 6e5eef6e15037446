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
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Target is what an object stands for outside the cluster: a value for each key
// that its system knows. A value that nobody knows is left out.
type Target map[string]string

// Matches reports whether an External target, as a policy or an entry of a ledger
// names it, is about t: all the keys that it gives must match, and one that is not
// known never does.
func (t Target) Matches(external map[string]string) bool {
	for key, want := range external {
		if have, known := t[key]; !known || have != want {
			return false
		}
	}
	return true
}

// Standing says what policies want for the gate of an object.
type Standing struct {
	// Denying are the policies that gate it.
	Denying []*policy.Policy
	// Reporting are those that would if they said Deny.
	Reporting []*policy.Policy
}

// Gated reports whether the object has a gate.
func (s Standing) Gated() bool { return len(s.Denying) > 0 }

// Stand asks the policies in effect for the parent of an object, and for the object
// itself, whether they name what it stands for, in any section (D16).
func Stand(t Target, policies ...*policy.Policy) Standing {
	var s Standing
	for _, p := range policies {
		switch {
		case !slices.ContainsFunc(p.Entries(), func(e policy.Entry) bool { return e.IsExternal() && t.Matches(e.External) }):
		case p.Action == v1alpha1.ActionDeny:
			s.Denying = append(s.Denying, p)
		default:
			s.Reporting = append(s.Reporting, p)
		}
	}
	return s
}

// Unmatched says of the External entries of a policy what can never match or open
// anything, once each: keys and verbs that no system knows.
func (d Drivers) Unmatched(p *policy.Policy) []string {
	var out []string
	say := func(text string) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, e := range p.Entries() {
		if !e.IsExternal() {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(e.External)) {
			if !d.know(key, Driver.Keys) {
				say(fmt.Sprintf("no system knows the key %q of target.external, so that the entry is about nothing; there are %s",
					key, strings.Join(d.all(Driver.Keys), ", ")))
			}
		}
		for _, verb := range e.ExternalVerbs {
			if verb != v1alpha1.Any && !d.know(verb, Driver.Verbs) {
				say(fmt.Sprintf("no system knows the verb %q of relation External, so that it allows nothing; there are %s",
					verb, strings.Join(d.all(Driver.Verbs), ", ")))
			}
		}
	}
	return out
}

func (d Drivers) know(word string, words func(Driver) []string) bool {
	return slices.Contains(d.all(words), word)
}

func (d Drivers) all(words func(Driver) []string) []string {
	out := make([]string, 0, len(d))
	for _, driver := range d {
		out = append(out, words(driver)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Place is what an object stands for, and what policies want for its gate.
type Place struct {
	Standing

	// Kind has the provider that counts.
	Kind Kind
	// Target is what the object stands for as one of that kind.
	Target Target
}

// PlaceOf asks policies about an object as Stand does. Who provides its kind is told by other
// objects, which somebody may change or lose: an object does not leave its gate by that, and
// so the provider counts under which a policy gates it, of the one that the kind has now, the
// one that was noted on the object, and those that the kind had before. Where none does, what
// was noted counts.
func PlaceOf(driver Driver, obj *unstructured.Unstructured, kind Kind, noted string, policies ...*policy.Policy) Place {
	var none *Place
	for _, k := range kind.alternatives(noted) {
		p := Place{Kind: k, Target: driver.Target(obj, k)}
		p.Standing = Stand(p.Target, policies...)
		if p.Gated() {
			return p
		}
		if none == nil || noted != "" && k.Provider == noted {
			none = &p
		}
	}
	return *none
}

// Provider returns the provider under which a policy gates the object, empty where none does.
func (p Place) Provider() string {
	if !p.Gated() {
		return ""
	}
	return p.Kind.Provider
}

// alternatives returns the kind with each provider that it may be named by, the present one
// first.
func (k Kind) alternatives(noted string) []Kind {
	out := []Kind{k}
	for _, provider := range append([]string{noted}, k.Former...) {
		if provider == "" || slices.ContainsFunc(out, func(other Kind) bool { return other.Provider == provider }) {
			continue
		}
		other := k
		other.Provider = provider
		out = append(out, other)
	}
	return out
}

// NamedBy returns the provider under which an External entry of a policy may be about some
// object of a kind, and false where none is.
func (k Kind) NamedBy(driver Driver, p *policy.Policy) (provider string, ok bool) {
	for _, other := range k.alternatives("") {
		if slices.ContainsFunc(p.Entries(), func(e policy.Entry) bool {
			return e.IsExternal() && driver.MayMatch(e.External, other)
		}) {
			return other.Provider, true
		}
	}
	return "", false
}

// PlaceIn is PlaceOf by the policies in effect for the first of a chain of objects, which is
// the object, and for its parent, the oldest first.
func PlaceIn(index *policy.Index, chain []policy.Holder, driver Driver, obj *unstructured.Unstructured, kind Kind) Place {
	inEffect := slices.Clone(index.InEffect(chain))
	if len(chain) > 1 {
		inEffect = append(inEffect, index.InEffect(chain[1:])...)
	}
	slices.SortFunc(inEffect, policy.ByAge)
	return PlaceOf(driver, obj, kind, ReadState(obj.GetAnnotations()).Provider, inEffect...)
}
