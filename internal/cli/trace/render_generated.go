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

package trace

import (
	"fmt"

	"github.com/xlab/treeprint"

	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

// originText says that a policy made an object, and whether it keeps it.
func originText(o *Origin) string {
	if o.Synchronized {
		return "Made by a GeneratingPolicy, which keeps it so"
	}
	return "Made once by a GeneratingPolicy"
}

// origin draws what a generated object follows from.
func (d drawing) origin(onto treeprint.Tree, o *Origin) {
	d.step(onto, "", &o.Policy)
	for i := range o.Triggers {
		d.step(onto, "for ", &o.Triggers[i])
	}
	if o.Source != nil {
		d.step(onto, "a clone of ", o.Source)
	}
	for i := range o.Others {
		d.step(onto, "because of ", &o.Others[i])
	}
}

// step draws one object that a generated one follows from, and below it how that came to be so.
func (d drawing) step(onto treeprint.Tree, as string, s *Step) {
	label := as + d.terminal.Paint(text.Strong, phrase.Reference(s.Object))
	switch {
	case s.Gone && s.Changed != nil:
		label += d.terminal.Paint(text.Faint, " (gone)"+d.changed(s.Changed))
	case s.Gone:
		label += d.terminal.Paint(text.Faint, " (gone)")
	case s.Changed != nil && len(s.Causes) == 0:
		label += d.terminal.Paint(text.Faint, d.changed(s.Changed))
	}
	if s.Note != "" {
		label += ". " + s.Note
	}
	if len(s.Causes) == 0 && s.Origin == nil {
		onto.AddNode(label)
		return
	}
	branch := onto.AddBranch(label)
	for _, c := range s.Causes {
		d.draw(branch.AddBranch(d.starter(c)), c.First)
	}
	if s.Origin != nil {
		d.origin(branch.AddBranch(originText(s.Origin)), s.Origin)
	}
}

// changed says what wrote an object of which no chain tells.
func (d drawing) changed(c *Changed) string {
	out := ", last written by " + c.Manager
	if c.User != "" {
		out = ", changed by " + c.User
	}
	if c.Time != nil {
		out += " " + phrase.Ago(c.Time.Time, d.now)
	}
	return out
}

// made lists what was made because of an object.
func (d drawing) made(all []Made) string {
	tree := treeprint.NewWithRoot("Made because of it")
	shown := len(all)
	if !d.wide && shown > mostEnds {
		shown = mostEnds - 1
	}
	for _, m := range all[:shown] {
		label := phrase.Reference(m.Object)
		if m.For != rolePolicy {
			label += d.terminal.Paint(text.Faint, fmt.Sprintf(", by GeneratingPolicy/%s, of which it is a %s", m.Policy, m.For))
		}
		tree.AddNode(label)
	}
	if rest := len(all) - shown; rest > 0 {
		tree.AddNode(d.terminal.Paint(text.Faint, fmt.Sprintf("and %d more (-o wide lists them)", rest)))
	}
	return tree.String()
}
