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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xlab/treeprint"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

// mostEnds is how many children are listed to which the same happened for the same
// cause, unless people want to see more.
const mostEnds = 5

// render turns a report into text.
func render(r *Report, t text.Terminal, wide bool, now time.Time) string {
	var out strings.Builder
	out.WriteString(cluster.Banner(t, now, r.SwitchedOff, r.Unenforced))
	out.WriteString(heading(r, t) + "\n")
	if d := r.Deletion; d != nil {
		out.WriteString(t.Paint(text.Bad, "Deleted "+phrase.Ago(d.Time.Time, now)) + " by " + d.User + way(d) + "\n")
	}
	d := drawing{terminal: t, namespace: r.Object.Namespace, wide: wide, now: now}
	if r.Origin != nil {
		tree := treeprint.NewWithRoot(originText(r.Origin))
		d.origin(tree, r.Origin)
		out.WriteString("\n" + tree.String())
	}
	for _, c := range r.Causes {
		out.WriteString("\n" + d.cause(c))
	}
	if len(r.Causes) == 0 && r.Deletion == nil && r.Origin == nil && !r.Unread {
		out.WriteString("\n" + t.Wrap("", "No ledger and no AllowanceRecord tells what caused it: it may be older than the policies, "+
			"or no policy is for what owns it ("+phrase.Command("explain", r.Object)+"). Records are written up to two seconds late: if it has just happened, ask again."))
	}
	if len(r.Made) > 0 {
		out.WriteString("\n" + d.made(r.Made))
	}
	if len(r.Unexplained) > 0 {
		out.WriteString("\n" + d.unexplained(r.Unexplained))
	}
	for _, note := range r.Notes {
		out.WriteString("\n" + t.Wrap("", note))
	}
	return out.String()
}

func heading(r *Report, t text.Terminal) string {
	line := t.Paint(text.Strong, phrase.Target(r.Object)) + phrase.In(r.Object.Namespace)
	switch {
	case r.Gone:
		line += ", " + t.Paint(text.Faint, "gone")
	case r.Phase != "":
		line += ", " + string(r.Phase)
	}
	return line
}

// way returns the way of a deletion that began further up.
func way(d *v1alpha1.Deletion) string {
	if d.Initiator == "" || len(d.Trace) == 0 {
		return ""
	}
	return ": " + phrase.Trace(d.Initiator, d.Trace)
}

// drawing draws trees.
type drawing struct {
	terminal text.Terminal
	// namespace is that of the object that was asked about: others are named.
	namespace string
	wide      bool
	now       time.Time
}

func (d drawing) cause(c *Cause) string {
	tree := treeprint.NewWithRoot(d.starter(c))
	d.draw(tree, c.First)
	return tree.String()
}

// starter says who started a chain, and when.
func (d drawing) starter(c *Cause) string {
	author := phrase.Author(c.Initiator)
	who := d.terminal.Paint(text.Strong, author) + strings.TrimPrefix(c.who(), author)
	if c.Since != nil {
		who += d.terminal.Paint(text.Faint, ", "+phrase.Ago(c.Since.Time, d.now))
	}
	return who
}

// who started it, and why that passed where it is no chain.
func (c *Cause) who() string {
	switch c.Why {
	case "":
		return phrase.Author(c.Initiator)
	case string(v1alpha1.EventWithheld):
		if c.Initiator == "" { // It may have been somebody who may.
			return phrase.Author(c.Initiator) + " (withheld)"
		}
		return c.Initiator + " (may not initiate it)"
	default:
		return phrase.Author(c.Initiator) + " (" + c.Why + ")"
	}
}

// draw draws a node and what is below it.
func (d drawing) draw(onto treeprint.Tree, n *Node) {
	attested := phrase.Attestations(n.Attestations)
	if len(n.Next)+len(attested) == 0 {
		onto.AddNode(d.label(n))
		return
	}
	branch := onto.AddBranch(d.label(n))
	for _, line := range attested {
		branch.AddNode(d.terminal.Paint(text.Faint, "attested: "+line))
	}
	// Ends of a kind to which the same happened stand together.
	for next := n.Next; len(next) > 0; {
		alike := 1
		for alike < len(next) && next[0].alike(next[alike]) {
			alike++
		}
		shown := alike
		if !d.wide && alike > mostEnds {
			shown = mostEnds - 1
		}
		// Which was asked about is never among those that are left out.
		for _, asked := range slices.Concat(next[:shown], asked(next[shown:alike])) {
			d.draw(branch, asked)
		}
		if rest := alike - shown - len(asked(next[shown:alike])); rest > 0 {
			branch.AddNode(d.terminal.Paint(text.Faint, fmt.Sprintf("and %d more of kind %s %s (-o wide lists them)", rest, next[0].Kind, next[0].What)))
		}
		next = next[alike:]
	}
}

// alike reports whether two nodes are ends to which the same happened.
func (n *Node) alike(other *Node) bool {
	return n.end && other.end && n.Kind == other.Kind && n.What == other.What
}

func asked(nodes []*Node) []*Node {
	var out []*Node
	for _, n := range nodes {
		if n.Asked {
			out = append(out, n)
		}
	}
	return out
}

func (d drawing) label(n *Node) string {
	name := phrase.Object(n.Kind, n.Name)
	if n.Asked {
		name = d.terminal.Paint(text.Strong, name)
	}
	label := name
	if n.Namespace != d.namespace {
		label += phrase.In(n.Namespace)
	}
	if n.What != "" {
		label += "  " + phrase.Change(n.Kind, n.What)
	}
	if n.Again {
		label += ", and made again"
	}
	if len(n.Generations) > 0 {
		label += d.terminal.Paint(text.Faint, ", "+generations(n.Generations))
	}
	switch {
	case n.Withheld:
		label += ", " + d.terminal.Paint(text.Wait, "withheld")
	case n.CarriedOut:
		label += ", " + d.terminal.Paint(text.Bad, "withheld, and carried out although nobody approved it")
	case n.Active:
		label += ", " + d.terminal.Paint(text.Good, "active")
	}
	switch {
	case n.Unproven:
		label += d.terminal.Paint(text.Faint, " (gone, or never there)")
	case n.Gone:
		label += d.terminal.Paint(text.Faint, " (gone)")
	}
	return label
}

func generations(of []int64) string {
	if len(of) == 1 {
		return "generation " + strconv.FormatInt(of[0], 10)
	}
	return fmt.Sprintf("generations %d to %d", of[0], of[len(of)-1])
}

// unexplained lists objects that no chain leads to.
func (d drawing) unexplained(children []Child) string {
	tree := treeprint.NewWithRoot("Below it, of unknown cause")
	shown := len(children)
	if !d.wide && shown > mostEnds {
		shown = mostEnds - 1
	}
	for _, c := range children[:shown] {
		label := phrase.Object(c.Kind, c.Name)
		if c.Namespace != d.namespace {
			label += phrase.In(c.Namespace)
		}
		tree.AddNode(label)
	}
	if rest := len(children) - shown; rest > 0 {
		tree.AddNode(d.terminal.Paint(text.Faint, fmt.Sprintf("and %d more (-o wide lists them)", rest)))
	}
	return tree.String()
}
