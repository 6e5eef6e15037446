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
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
)

// NotNamed says that whoever was refused may not use what the parent allows, as the policies in effect name others.
type NotNamed struct {
	// Subjects may use it, as the policies that bound the child say now.
	Subjects []string `json:"subjects,omitempty"`
	// Do says which policy has to name whom, where that is what makes the children.
	Do string `json:"do,omitempty"`
}

// notNamed returns that of a refusal; nil where it is something else. What else helps is for others, then, and nothing
// where the controller of the parent is not named.
func notNamed(with scene, parent v1alpha1.TargetReference, e v1alpha1.HistoryEntry) (named *NotNamed, alone bool) {
	if !strings.Contains(e.Message, decision.MayNotUse) {
		return nil, false
	}
	return &NotNamed{
		Subjects: policy.Exercisers(with.Named(e.Policies...), nil),
		Do:       policy.ToName(kindOf(parent), e.User, e.Policies),
	}, policy.MakerOf(kindOf(parent), e.User) == policy.IsMaker
}

// renderNotNamed adds what there is to say of it.
func renderNotNamed(facts *text.Table, r Refusal) {
	if r.NotNamed == nil {
		return
	}
	said := r.User + " may not use what " + phrase.Target(r.Parent) + " allows"
	if len(r.NotNamed.Subjects) > 0 {
		said += ": that is for " + phrase.Who(r.NotNamed.Subjects)
	}
	facts.Row("because", strings.TrimSpace(said+". "+r.NotNamed.Do))
}
