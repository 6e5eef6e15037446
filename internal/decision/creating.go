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
	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

// creating returns the entries that allow to create what a child stands for, where that was not allowed when
// the child was created. Nothing changes in the child when it is allowed later, so that the operator asks
// (Uncreated). Create is allowed by External entries of the parent's ledger, and of an UpgradeAllowance by
// which the parent is being upgraded. What was created outside and lost is never created again by this.
func (in *Input) creating() []v1alpha1.Allowance {
	if !in.Uncreated || isWithheldOf(in.Referents) {
		return nil
	}
	sources := in.sources(in.outsideEntries(), func(e ledger.Entry) bool { return gate.Creates(e.Mutations) })
	if in.MayUpgrade() {
		for i := range in.Upgrades {
			if in.Upgrades[i].Moves {
				sources = append(sources, in.upgradeSources(&in.Upgrades[i])...)
			}
		}
	}
	var grant Grant
	for _, s := range sources {
		if gate.Creates(s.verbs) {
			s.verbs = []string{gate.VerbCreate}
			grant.add(in.opening(s, Act{Operation: Create}))
		}
	}
	return grant.Allowances
}
