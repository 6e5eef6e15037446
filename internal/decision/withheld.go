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

package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Withheld are the withheld changes of a ledger that count: those that a rule of
// the policies in effect for its holder is about (D2).
func Withheld(l ledger.Ledger, policies []*policy.Policy) ledger.Ledger {
	return l.Without(func(e ledger.Entry) bool {
		if !e.IsWithheld() {
			return true
		}
		path, err := change.ParsePath(e.Mutation)
		if err != nil {
			return true
		}
		return !slices.ContainsFunc(policies, func(p *policy.Policy) bool {
			return p.HasRuleFor(path)
		})
	})
}

func (p *Parent) withheld() ledger.Ledger {
	return Withheld(p.Ledger, p.Policies)
}

// withhold makes the entry that marks a change as withheld.
func (in *Input) withhold(c change.Change) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Relation:   v1alpha1.RelationWithheld,
		Mutation:   c.Path.String(),
		Generation: in.Child.Generation,
		Initiator:  in.Requester.Username,
		Replaced:   in.fingerprint(c.Old),
	}
}

// fingerprint identifies a value without telling it: numbers, which are counts,
// stand for themselves; anything else becomes a short hash keyed by the object.
// No value has no fingerprint, and an empty one has: what is withheld may be that it
// is there.
func (in *Input) fingerprint(value any) string {
	return fingerprint(in.Child.UID, value)
}

func fingerprint(uid string, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case int64, float64, int:
		return fmt.Sprint(v)
	}
	sum := sha256.Sum256([]byte(uid + "|" + change.StrictHash(value)))
	return "#" + hex.EncodeToString(sum[:6])
}

// restored tells whether the request leaves the withheld field as it was before
// the withheld change.
func (in *Input) restored(e ledger.Entry) bool {
	path, err := change.ParsePath(e.Mutation)
	if err != nil {
		return false
	}
	value, _ := path.Value(in.Child.New)
	return in.fingerprint(value) == e.Replaced
}
