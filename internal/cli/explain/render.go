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

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

const indent = "  "

// itself is the title of what holds for an object as a child.
const itself = "ITSELF, AS A CHILD"

// page is what a report is rendered on.
type page struct {
	out      strings.Builder
	terminal text.Terminal
	now      time.Time
}

// render turns a report into text.
func render(r *Report, t text.Terminal, now time.Time) string {
	p := &page{terminal: t, now: now}
	p.put(cluster.Banner(t, now, r.SwitchedOff, r.Unenforced))
	p.heading(r)
	if r.PoliciesUntold {
		p.untold(r)
	} else {
		p.policies(r)
		p.children(r)
		p.rules(r.AsParent.Rules)
		p.upgrades(r.AsParent.Upgrades)
		p.itself(r)
	}
	p.gate(r.Gate)
	p.obstacles("WHY NOT MORE", r.AsParent.Obstacles)
	if r.AsChild != nil {
		p.obstacles("WHY ITS PARENT DOES NOT ALLOW MORE", r.AsChild.Obstacles)
	}
	for _, note := range r.Notes {
		p.put("\n" + t.Wrap("", note))
	}
	return p.out.String()
}

// untold shows what the object itself says, where the policies may not be read.
func (p *page) untold(r *Report) {
	p.section("POLICIES FOR IT")
	p.put(p.terminal.Wrap(indent, "You may not read them: what follows is what the object itself says."))
	if len(r.AsParent.Bounds) > 0 {
		p.section("WHAT ITS LEDGER HAS")
		var table text.Table
		table.Header("KIND", "ALLOWS", "BECAUSE")
		for _, b := range r.AsParent.Bounds {
			addBound(&table, b)
		}
		p.put(table.Render(p.terminal, indent))
	}
	if r.Generated != nil {
		p.section(itself)
		p.put(p.terminal.Wrap(indent, r.Generated.text(r.Object)))
	}
}

func (p *page) heading(r *Report) {
	line := p.terminal.Paint(text.Strong, phrase.Target(r.Object)) + phrase.In(r.Object.Namespace)
	line += ", " + string(r.Phase)
	if r.Generation > 0 {
		line += fmt.Sprintf(", generation %d", r.Generation)
	}
	p.put(line + "\n")
	if r.Progress != "" {
		p.put(p.terminal.Wrap("", "It is "+r.Progress+"."))
	}
	if r.You == nil || len(r.AsParent.Policies) == 0 {
		return
	}
	may := "may neither initiate nor approve changes of it"
	switch {
	case r.You.MayInitiate:
		may = "may initiate changes of it"
	case r.You.MayApprove:
		may = "may approve changes of it, and not initiate them"
	}
	p.put(p.terminal.Wrap("", "You are "+r.You.Name+", and "+may+"."))
}

// put adds text.
func (p *page) put(text string) { p.out.WriteString(text) }

func (p *page) section(title string) {
	p.put("\n" + p.terminal.Paint(text.Strong, title) + "\n")
}

func (p *page) policies(r *Report) {
	p.section("POLICIES FOR IT")
	if len(r.AsParent.Policies) == 0 {
		p.put(p.terminal.Wrap(indent, "None: what its controllers do to its children is not restricted."))
		return
	}
	var table text.Table
	table.Header("POLICY", "ACTION", "MAY INITIATE")
	for _, policy := range r.AsParent.Policies {
		if !policy.InEffect {
			table.Cells(text.Cell{Text: policy.Name}, text.Cell{Text: "none"}, text.Cell{Text: "not in effect: " + policy.WhyNot, Style: text.Faint})
			continue
		}
		table.Row(policy.Name, string(policy.Action), phrase.Who(policy.Initiators))
	}
	p.put(table.Render(p.terminal, indent))
	if len(r.AsParent.Approvers) > 0 {
		p.put(p.terminal.Wrap(indent, "What is there already may also be approved by "+strings.Join(r.AsParent.Approvers, " or ")+"."))
	}
}

func (p *page) children(r *Report) {
	if len(r.AsParent.Bounds) == 0 {
		return
	}
	p.section("ITS CHILDREN, RIGHT NOW")
	var table text.Table
	table.Header("KIND", "ALLOWED", "BECAUSE")
	for _, b := range r.AsParent.Bounds {
		addBound(&table, b)
	}
	p.put(table.Render(p.terminal, indent))
}

// addBound adds what is allowed of a kind.
func addBound(table *text.Table, b Bound) {
	kind := b.Kind
	for _, permission := range b.Permissions {
		table.Cells(text.Cell{Text: kind}, text.Cell{Text: permission.What, Style: text.Good}, text.Cell{Text: permission.Because})
		kind = ""
		if permission.When != nil {
			table.Cells(text.Cell{}, text.Cell{}, permission.When.told())
		}
	}
	if len(b.Permissions) == 0 {
		consequence := map[v1alpha1.ValidationAction]string{
			v1alpha1.ActionDeny: "is denied", v1alpha1.ActionWarn: "gets a warning", v1alpha1.ActionAudit: "is recorded",
		}[b.Action]
		table.Cells(text.Cell{Text: kind}, text.Cell{Text: "nothing", Style: text.Bad},
			text.Cell{Text: "no allowance counts now; anything " + consequence + " (AllowancePolicy " + strings.Join(b.Policies, ", ") + ")"})
	}
}

// rules names the policy of each where several have some.
func (p *page) rules(rules []Rule) {
	if len(rules) == 0 {
		return
	}
	p.section("WHAT A CHANGE OF IT WOULD ALLOW")
	several := slices.ContainsFunc(rules, func(r Rule) bool { return r.Policy != rules[0].Policy })
	row := func(policy string, cells ...string) []string {
		if several {
			return append([]string{policy}, cells...)
		}
		return cells
	}
	var table text.Table
	table.Header(row("POLICY", "CHANGE OF", "ALLOWS")...)
	for _, r := range rules {
		allows := strings.Join(r.Allows, "; ")
		if len(r.Conditions) > 0 {
			allows += ", if " + strings.Join(r.Conditions, " and ")
		}
		table.Row(row(r.Policy, r.Trigger, allows)...)
	}
	p.put(table.Render(p.terminal, indent))
}

func (p *page) upgrades(upgrades []Upgrade) {
	if len(upgrades) == 0 {
		return
	}
	p.section("WHAT AN UPGRADE MAY CHANGE, ONCE")
	var table text.Table
	table.Header("UPGRADEALLOWANCE", "LETS THROUGH")
	for _, u := range upgrades {
		table.Row(u.Name, strings.Join(u.LetsThrough, "; ")+", for "+u.about())
		if u.WhyNot != "" {
			table.Cells(text.Cell{}, text.Cell{Text: "nothing now: " + u.WhyNot, Style: text.Faint})
		}
		table.Row("", u.Parent)
	}
	p.put(table.Render(p.terminal, indent))
}

// itself says what may be done to the object as a child.
func (p *page) itself(r *Report) {
	p.section(itself)
	if r.Generated != nil {
		p.put(p.terminal.Wrap(indent, r.Generated.text(r.Object)))
	}
	c := r.AsChild
	if r.ParentUntold {
		p.put(p.terminal.Wrap(indent, "You may not read its parent."))
		return
	}
	if c == nil {
		text := "It has no parent: whoever RBAC lets may change it."
		if len(r.AsParent.Initiators) > 0 {
			text += " Nothing follows from what triggers a rule, unless an initiator does it."
		}
		p.put(p.terminal.Wrap(indent, text))
		return
	}
	if !c.Found {
		p.put(p.terminal.Wrap(indent, "Its parent "+phrase.Target(c.Parent)+" does not exist: nothing bounds it."))
		return
	}
	p.put(p.terminal.Wrap(indent, "Its parent is "+phrase.Target(c.Parent)+", "+string(c.Phase)+"; initiators there: "+strings.Join(orNobody(c.Initiators), " or ")+"."))
	var table text.Table
	table.Header("KIND", "ALLOWED", "BECAUSE")
	addBound(&table, c.Bound)
	p.put(table.Render(p.terminal, indent))
	p.stray(c)
	if len(r.AsParent.Initiators) > 0 {
		p.put(p.terminal.Wrap(indent, "Besides, its own initiators may change it: "+strings.Join(r.AsParent.Initiators, " or ")+"."))
	}
}

func orNobody(initiators []string) []string {
	if len(initiators) == 0 {
		return []string{"nobody"}
	}
	return initiators
}

func (p *page) obstacles(title string, obstacles []Obstacle) {
	if len(obstacles) == 0 {
		return
	}
	p.section(title)
	var table text.Table
	for _, o := range obstacles {
		what := text.Cell{Text: o.What, Style: text.Wait}
		if o.Since != nil {
			what.Text += ", " + phrase.Ago(o.Since.Time, p.now)
		}
		table.Cells(what, text.Cell{Text: o.Message})
		if len(o.By) > 0 {
			then := ""
			if len(o.NotMet) > 0 {
				then = " then"
			}
			table.Row("", strings.Join(o.By, " or ")+" may approve it"+then+":")
		}
		if o.Command != "" {
			table.Cells(text.Cell{}, text.Cell{Text: o.Command, Unbroken: true})
		}
	}
	p.put(table.Render(p.terminal, indent))
}
