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

package policy

// Unruled returns the fields by which anybody steers what happens to the children of an object
// although the policy has rules about others: no rule touches them. A rollout is held back
// by some fields as much as it is started by others: a partition that somebody takes away
// finishes it, under the allowance of who began it. So rules that are about one such field
// of a kind have to be about all. A policy that only continues chains has none: who bounds
// its objects bounds all of their fields.
//
// Of the kinds of Kubernetes, fields that cannot be changed are left out, and those whose
// effect no allowance is needed for, such as revisionHistoryLimit: what it has deleted is
// bookkeeping (D5).
func (p *Policy) Unruled() []string {
	if len(p.Rules) == 0 || !p.HasInitiator() {
		return nil
	}
	var out []string
	for _, field := range p.Known().Steering {
		if !p.HasRuleFor(field) {
			out = append(out, field.String())
		}
	}
	return out
}
