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

package why

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

// beyond is what may let a change of a child through apart from the policies of its parent.
type beyond struct {
	// parent is its kind.
	parent schema.GroupKind
	// policies are all that there are: some may be for what the parent reads.
	policies []*policy.Policy
	// upgrades are the UpgradeAllowances that select the parent.
	upgrades []cluster.Upgrade
}

// beyondPolicies returns what there is beyond the policies of the target of a record.
func (s scene) beyondPolicies(rec *v1alpha1.AllowanceRecord, parent live) beyond {
	ref := rec.Spec.TargetRef
	out := beyond{parent: schema.GroupKind{Group: ref.Group, Kind: ref.Kind}}
	if s.Index != nil {
		out.policies = s.Index.Policies()
	}
	if len(parent.chain) == 0 {
		return out
	}
	for _, u := range s.upgrades {
		if u.Allowance.Selects(parent.chain[0].Labels, parent.chain[0].NamespaceLabels) {
			out.upgrades = append(out.upgrades, u)
		}
	}
	return out
}

// throughRead returns the remedies by which a change of what the parent reads allows an act on children of a kind.
func (b beyond) throughRead(kind, act string) []Remedy {
	var out []Remedy
	for _, p := range b.policies {
		for _, r := range p.Rules {
			for _, e := range r.Through {
				if e.Readers.Kind == b.parent && covers(e.Entry, kind, act) {
					remedy := remedyOf(p, r)
					remedy.Read = p.For.Kind
					out = append(out, remedy)
					break
				}
			}
		}
	}
	return out
}

// upgraded returns the remedies by UpgradeAllowances that cover a part of a refused change. One that was asked did not let
// it through, and says why in the message.
func (b beyond) upgraded(d v1alpha1.HistoryEntry, act string) []Remedy {
	if upgrade.Told(d.Message) != "" {
		return nil
	}
	var out []Remedy
	for _, u := range b.upgrades {
		if u.Allowance.User != d.User {
			continue
		}
		for _, e := range u.Allowance.Entries {
			if covers(e, d.Kind, act) {
				out = append(out, Remedy{Upgrade: u.Name})
				break
			}
		}
	}
	return out
}
