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

// imply adds what p bounds without naming it: the history of a kind whose children it
// bounds. StatefulSets make Pods from their revisions, not from spec.template, and "kubectl
// rollout undo" copies a revision into the template. Bounding only their Pods would leave it
// to anybody who may write revisions what the next Pods are. The entries allow nothing.
// Controllers write their history as bookkeeping (D5), for which they need no entry.
func (c *compiler) imply(p *Policy) {
	history := p.Known().History
	if history == nil || !slices.ContainsFunc(p.Entries(), func(e Entry) bool { return e.Resource.GroupResource() == history.Of }) {
		return
	}
	kind, served := c.kinds(history.Resource)
	if !served {
		return
	}
	p.implied = append(p.implied, Entry{Resource: history.Resource, Kind: kind.GroupKind()})
	if p.Initializing != nil {
		p.Initializing.implied = append(p.Initializing.implied, kind.GroupKind())
	}
}

// historyLabels returns the labels that count on the history of the policy's kind although no
// entry names them: they relate children to one of its templates, and a change of one makes
// the controller replace children.
func (p *Policy) historyLabels() []change.Pattern {
	history := p.Known().History
	if history == nil {
		return nil
	}
	out := make([]change.Pattern, 0, len(history.Labels))
	for _, name := range history.Labels {
		out = append(out, change.Pattern(change.Path{}.Field("metadata").Field("labels").Field(name)))
	}
	return out
}
