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

// Package ledger reads and writes the list of allowances that an object carries
// in an annotation. The encoding is deterministic: the same allowances give the
// same bytes, whatever the order in which they were granted (D4).
package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
)

// Entry is one entry of a ledger. It is a value that does not change; fields
// that this version of Kausality does not know survive in its raw form.
type Entry struct {
	v1alpha1.Allowance

	raw json.RawMessage
	key string
}

// NewEntry makes an entry of an allowance that was just granted.
func NewEntry(a v1alpha1.Allowance) Entry {
	raw, err := json.Marshal(a)
	if err != nil {
		// An Allowance is made of strings, numbers, and lists and maps of them.
		panic("ledger: an allowance that cannot be encoded: " + err.Error())
	}
	return Entry{Allowance: a, raw: raw, key: KeyOf(&a)}
}

// Key returns KeyOf the entry's allowance. Ledgers are sorted and searched by it all the
// time, so it is made once.
func (e Entry) Key() string { return e.key }

// KeyOf returns what the allowance permits, or withholds: allowances with equal keys
// are about the same thing, whoever they come from.
func KeyOf(a *v1alpha1.Allowance) string {
	var b strings.Builder
	b.Grow(len(a.Relation) + len(a.APIGroup) + len(a.Kind) + len(a.Mutation) + 3)
	b.WriteString(string(a.Relation))
	if a.Through != "" {
		b.WriteString("|through=" + a.Through)
	}
	for _, s := range [...]string{a.APIGroup, a.Kind, a.Mutation} {
		b.WriteByte('|')
		b.WriteString(s)
	}
	for _, v := range ordered(a.Verbs) {
		b.WriteByte('|')
		b.WriteString(string(v))
	}
	if len(a.External) > 0 {
		for _, k := range slices.Sorted(maps.Keys(a.External)) {
			b.WriteString("|" + k + "=" + a.External[k])
		}
	}
	for _, m := range ordered(a.Mutations) {
		b.WriteString("|" + m)
	}
	return b.String()
}

// ordered returns the list itself where it is in order already, as it mostly is.
func ordered[T cmp.Ordered](list []T) []T {
	if slices.IsSorted(list) {
		return list
	}
	return slices.Sorted(slices.Values(list))
}

// ID names the entry in an AllowanceRecord: a short hash of all it says.
func (e Entry) ID() string {
	sum := sha256.Sum256(e.raw)
	return hex.EncodeToString(sum[:8])
}

// IsWithheld reports whether the entry marks a withheld change.
func (e Entry) IsWithheld() bool {
	return e.Relation == v1alpha1.RelationWithheld
}

// IsExternal reports whether the entry is about a system outside the cluster.
func (e Entry) IsExternal() bool {
	return e.Relation == v1alpha1.RelationExternal
}

// IsGate reports whether the entry opens the gate of its own holder: it is about the
// system outside that the holder itself stands for (D16).
func (e Entry) IsGate() bool {
	return e.IsExternal() && len(e.External) == 0
}

// IsCreation reports whether the entry was granted by the creation of its holder:
// while it has one that is not consumed, the holder is initializing (D9).
func (e Entry) IsCreation() bool {
	hop, ok := e.LastHop()
	return ok && hop.Field == v1alpha1.FieldCreated && !e.IsWithheld()
}

// IsForReaders reports whether the entry allows changes of objects that read the holder, or
// of what their controllers make: nothing that the holder says of itself tells whether that
// has happened.
func (e Entry) IsForReaders() bool {
	return e.Through != ""
}

// LastHop returns the hop of the holder itself.
func (e Entry) LastHop() (v1alpha1.TraceHop, bool) {
	if len(e.Trace) == 0 {
		return v1alpha1.TraceHop{}, false
	}
	return e.Trace[len(e.Trace)-1], true
}

// Across returns the trace of an object in one namespace as an object in another one carries it
// on: its last hop names its namespace then. An empty namespace is that of an object in none.
func Across(trace []v1alpha1.TraceHop, from, to string) []v1alpha1.TraceHop {
	last := len(trace) - 1
	if from == "" || from == to || last < 0 {
		return trace
	}
	trace = slices.Clone(trace)
	trace[last].Namespace = from
	return trace
}

// compare orders entries by what they are about, then by who and when.
func compare(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.Key(), b.Key()),
		cmp.Compare(a.Initiator, b.Initiator),
		cmp.Compare(a.Generation, b.Generation),
		cmp.Compare(string(a.raw), string(b.raw)),
	)
}
