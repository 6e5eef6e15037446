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

package can

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xlab/treeprint"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

// mostChildren is how many children are listed to which the same may happen, unless
// people want to see more.
const mostChildren = 5

// render turns a report into text.
func render(r *Report, t text.Terminal, wide bool, now time.Time) string {
	var out strings.Builder
	out.WriteString(cluster.Banner(t, now, r.SwitchedOff, r.Unenforced))
	out.WriteString(t.Wrap("", r.sentence(t)))
	if r.Message != "" {
		out.WriteString("\n" + t.Wrap("  ", r.Message))
	}
	if who := phrase.Who(r.Initiators); r.Outcome == Withheld || r.Outcome == Refused {
		out.WriteString("\n" + t.Wrap("", "Who may initiate changes of it: "+who))
	}
	if len(r.Granted) > 0 {
		out.WriteString("\n" + drawing{terminal: t, wide: wide}.tree(r))
	}
	if len(r.Generated) > 0 {
		out.WriteString("\n" + renderGenerated(r.Generated, t, wide))
	}
	for _, w := range r.Warnings {
		out.WriteString("\n" + t.Wrap("", "Warning: "+w))
	}
	for _, note := range r.Notes {
		out.WriteString("\n" + t.Wrap("", note))
	}
	return out.String()
}

// sentence returns the answer in short.
func (r *Report) sentence(t text.Terminal) string {
	object := phrase.Target(r.Object) + phrase.In(r.Object.Namespace)
	change := "change " + strings.Join(r.Paths, ", ") + " of " + object
	if slices.Equal(r.Paths, []string{v1alpha1.FieldCreated}) {
		change = "create " + object
	}
	switch r.Outcome {
	case Initiates:
		return t.Paint(text.Good, "Yes: ") + r.User + " may " + change + ". What follows is below."
	case Waits:
		return t.Paint(text.Wait, "Waits: ") + r.User + " may " + change + ", but nothing follows from it while " + held(r.Held) +
			" of the same object. What follows once that is approved or taken back is below."
	case Withheld:
		return t.Paint(text.Wait, "Withheld: ") + r.User + " may " + change + ", but nothing follows from that of " + strings.Join(r.Withheld, ", ") + "."
	case Refused:
		return t.Paint(text.Bad, "Refused: ") + r.User + " may not " + change + "."
	case Invalid:
		return t.Paint(text.Bad, "Invalid: ") + "nobody may " + change + " like that. The API server does not take it, whoever asks:"
	case Unchanged:
		if r.Gated {
			return t.Paint(text.Bad, "No: ") + "Kausality sets " + strings.Join(r.Dropped, ", ") + " of " + object + " itself, by what is allowed: it is the switch of " +
				"its gate. What is written there is at most a limit to what it lets through: " +
				"\"What becomes of spec.managementPolicies\" in docs/crossplane.md says more."
		}
		if len(r.Status) > 0 {
			return t.Paint(text.Bad, "No: ") + strings.Join(r.Status, ", ") + " of " + object + " is not written like that: a change of an object leaves its status as it is. " +
				"Controllers write it by a sub-resource, and no policy is about it."
		}
		if len(r.Dropped) > 0 {
			return t.Paint(text.Bad, "No: ") + "the API server does not take " + strings.Join(r.Dropped, ", ") + " of " + object + ": nothing would change."
		}
		return object + " is like that already: nothing would change."
	default:
		said := t.Paint(text.Good, "Yes: ") + r.User + " may " + change + "."
		switch {
		case r.SwitchedOff != nil:
			return said + " Nobody is asked about it now, and no policy counts: nothing of what follows is bounded."
		case len(r.Named) > 0:
			return said + " It allows nothing below, although " + "AllowancePolicy " + strings.Join(r.Named, ", ") + " names it: its conditions do not hold, it would " +
				"withhold that and only warns or audits, or the API server did not ask, as where the operator is down."
		case len(r.Generated) > 0:
			return said + " It triggers no rule of an AllowancePolicy."
		}
		return said + " It triggers no rule, so that it allows nothing below."
	}
}

// held says what is withheld already.
func held(of []v1alpha1.Allowance) string {
	out := make([]string, 0, len(of))
	for _, a := range of {
		out = append(out, "the change of "+a.Mutation+" by "+phrase.Author(a.Initiator)+" is withheld")
	}
	return strings.Join(out, " and ")
}

// drawing draws trees.
type drawing struct {
	terminal text.Terminal
	wide     bool
}

func (d drawing) tree(r *Report) string {
	tree := treeprint.NewWithRoot(d.terminal.Paint(text.Strong, r.User))
	label := d.terminal.Paint(text.Strong, phrase.Target(r.Object)) + "  " + strings.Join(r.Paths, ", ")
	if len(r.Follows) == 0 {
		label += d.terminal.Paint(text.Faint, ": it has no children of the kinds that it may change")
	}
	d.draw(tree.AddBranch(label), r.Follows)
	return tree.String()
}

func (d drawing) draw(onto treeprint.Tree, nodes []*Node) {
	for len(nodes) > 0 {
		alike := 1
		for alike < len(nodes) && nodes[0].alike(nodes[alike]) {
			alike++
		}
		shown := alike
		if !d.wide && alike > mostChildren {
			shown = mostChildren - 1
		}
		for _, n := range nodes[:shown] {
			if len(n.Next) == 0 {
				onto.AddNode(d.label(n))
				continue
			}
			d.draw(onto.AddBranch(d.label(n)), n.Next)
		}
		if rest := alike - shown; rest > 0 {
			onto.AddNode(d.terminal.Paint(text.Faint, fmt.Sprintf("and %d more of kind %s (-o wide lists them)", rest, nodes[0].Kind)))
		}
		nodes = nodes[alike:]
	}
}

// alike reports whether the same may happen to two objects of a kind that exist.
func (n *Node) alike(other *Node) bool {
	return n.Kind == other.Kind && n.Name != "" && other.Name != "" && strings.Join(n.What, ",") == strings.Join(other.What, ",")
}

func (d drawing) label(n *Node) string {
	label := phrase.Object(n.Kind, n.Name) + "  " + strings.Join(n.What, ", ")
	if n.External {
		label = "gate  " + strings.Join(n.What, ", ")
	}
	if n.Readers {
		label = "what reads it  " + strings.Join(n.What, ", ")
	}
	var aside []string
	if n.Possible {
		aside = append(aside, "possible")
	}
	for _, c := range n.Conditions {
		aside = append(aside, "if "+c)
	}
	if len(aside) > 0 {
		label += d.terminal.Paint(text.Faint, " ("+strings.Join(aside, ", ")+")")
	}
	return label
}
