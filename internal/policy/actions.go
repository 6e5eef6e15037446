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

import (
	"slices"

	"kausality.io/operator/internal/change"
)

// Acted returns the rules for an action that somebody has taken through the status of an object
// (D2): those with a trigger that is about the action, or else all that are about the object.
// Whoever acts does not say what of the object is to be carried out. Their trigger is the action.
func (p *Policy) Acted(action change.Path) []*Rule {
	var about, others []*Rule
	for i := range p.Rules {
		r, trigger := p.Rules[i], p.Rules[i].Trigger
		r.Trigger = change.Pattern(action)
		switch {
		case !isStatus(trigger):
			others = append(others, &r)
		case trigger.Touches(action):
			about = append(about, &r)
		}
	}
	if len(about) > 0 {
		return about
	}
	return others
}

// isStatus reports whether a pattern is about the status.
func isStatus(p change.Pattern) bool { return len(p) > 0 && p[0].Field == "status" }

// isAction reports whether what a trigger is about is something through which people act.
func isAction(trigger change.Pattern, actions []change.Pattern) bool {
	return slices.ContainsFunc(actions, trigger.Overlaps)
}

// HasReports reports whether only who reports them may write some fields of the status of
// objects of the policy's kind.
func (p *Policy) HasReports() bool { return len(p.Known().Reported) > 0 }

// HasProof reports whether a status proves something of objects of the policy's kind. Where it
// is a part of the object, only who reports it may write it.
func (p *Policy) HasProof() bool { return len(p.Known().Proves) > 0 }

// HasActions reports whether people act on objects of the policy's kind through the status,
// where the policy says what follows.
func (p *Policy) HasActions() bool { return len(p.Rules) > 0 && len(p.Known().Actions) > 0 }
