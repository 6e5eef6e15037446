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

package checker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/campaign/audit"
)

// What a ledger may hold.
const (
	maxEntries = 64
	maxBytes   = 32 * 1024
)

// entry is one allowance of a ledger, or a change that is withheld.
type entry struct {
	Relation   string   `json:"relation"`
	Kind       string   `json:"kind"`
	Mutation   string   `json:"mutation"`
	Verbs      []string `json:"verbs"`
	Generation int64    `json:"generation"`
	Initiator  string   `json:"initiator"`
	Trace      []hop    `json:"trace"`
}

// hop is one object on the way from who started it.
type hop struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
	Field      string `json:"field"`
}

// created is the field of what was created, and stands for any field.
const created = "(created)"

func (e *entry) withheld() bool { return e.Relation == "Withheld" }

// last returns the hop of the object that has the ledger.
func (e *entry) last() hop {
	if len(e.Trace) == 0 {
		return hop{}
	}
	return e.Trace[len(e.Trace)-1]
}

// what says what the entry is about: no two of one initiator say the same.
func (e *entry) what() string {
	return strings.Join([]string{e.Relation, e.Kind, e.Mutation, strings.Join(slices.Sorted(slices.Values(e.Verbs)), "+")}, "|")
}

// String says all of the entry.
func (e *entry) String() string {
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Sprintf("%#v", *e)
	}
	return string(raw)
}

// parseLedger reads an annotation.
func parseLedger(text string) ([]entry, error) {
	var entries []entry
	switch err := yaml.Unmarshal([]byte(text), &entries); {
	case err != nil:
		return nil, fmt.Errorf("it does not parse: %w", err)
	case len(text) > maxBytes || len(entries) > maxEntries:
		return entries, fmt.Errorf("%d entries and %d bytes are more than it may hold", len(entries), len(text))
	}
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		// What was changed while nobody looked is withheld from nobody who is known.
		if e.Generation <= 0 || e.Mutation == "" || !e.withheld() && (e.Initiator == "" || e.Kind == "" || len(e.Trace) == 0) {
			return entries, fmt.Errorf("entry %d lacks a field", i)
		}
		key := e.what() + "|" + e.Initiator
		if seen[key] && e.withheld() {
			return entries, fmt.Errorf("entry %d withholds again what is withheld", i)
		}
		seen[key] = true
	}
	return entries, nil
}

// ledger returns what a version of an object has in its annotation. Most have the same as the one
// before: it is read once.
func (c *checker) ledger(o *audit.Object) []entry {
	entries, _ := c.readLedger(o) // That it does not parse is found once.
	return entries
}

func (c *checker) readLedger(o *audit.Object) ([]entry, error) {
	text := o.Own("allowances")
	l, known := c.ledgers[text]
	if !known {
		l.entries, l.err = parseLedger(text)
		c.ledgers[text] = l
	}
	return l.entries, l.err
}

// ledgerText is an annotation as it reads.
type ledgerText struct {
	entries []entry
	err     error
}
