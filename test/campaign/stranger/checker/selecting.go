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

package checker

import (
	"slices"

	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// rulesOf returns the policies as they are in effect for an object: those that select by labels come and go
// with its labels and with those of its namespace.
func (c *checker) rulesOf(l *audit.Life) policylog.Log {
	if rules, known := c.selected[l]; known {
		return rules
	}
	rules := c.rules.Of(c.labelsOfNamespace(l.First().Namespace), policylog.LabelsOf(l))
	c.selected[l] = rules
	return rules
}

// rulesIn returns the policies as they are in effect in a namespace for whatever labels an object has.
func (c *checker) rulesIn(namespace string) policylog.Log {
	all := slices.DeleteFunc(slices.Clone(c.rules), func(p *policylog.Policy) bool { return p.ObjectSelector != nil })
	return all.Of(c.labelsOfNamespace(namespace), nil)
}

// labelsOfNamespace returns the labels that a namespace had, which is in none itself.
func (c *checker) labelsOfNamespace(name string) []policylog.Labels {
	var out []policylog.Labels
	for _, l := range c.byName[kinds[namespaces]+"//"+name] {
		out = append(out, policylog.LabelsOf(l)...)
	}
	return out
}

// entered returns the policies that an object comes under by the labels which a version gives it, and which have been in
// effect for others before: what the same request changes counts as changed under them.
func (c *checker) entered(l *audit.Life, v *audit.Version) []*policylog.Policy {
	if v.Before == nil || len(audit.LabelChanges(v.Before.Object, v.Object)) == 0 {
		return nil
	}
	var out []*policylog.Policy
	for _, p := range c.rules.For(v.Kind) {
		if p.ObjectSelector == nil || p.Selects(v.Before.Labels) || !p.Selects(v.Labels) {
			continue
		}
		all := *p
		all.ObjectSelector = nil
		in := policylog.Log{&all}.Of(c.labelsOfNamespace(l.First().Namespace), nil)
		if len(in.During(v.Kind, v.Controller() != nil, v.By.Received.Add(-lag), v.By.Answered)) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// checkEscapes looks for objects that left a policy by their labels, by who may not begin anything with them.
func (c *checker) checkEscapes() {
	for _, l := range c.all {
		if controllers[l.First().Kind] == "" {
			continue
		}
		for _, v := range l.Versions[1:] {
			if len(audit.LabelChanges(v.Before.Object, v.Object)) == 0 || v.Deleting || c.keepsAlive(v.By) {
				continue
			}
			from, to := v.By.Received.Add(-lag), v.By.Received
			for _, p := range c.rulesOf(l).During(v.Kind, v.Before.Controller() != nil, from, to) {
				if p.ObjectSelector == nil || p.Selects(v.Labels) || c.disturbed(l, from.Add(-policylog.Moment), from) {
					continue
				}
				// Each policy has a say about who leaves it.
				may := func(w *audit.Write) bool {
					if p.Initiates() {
						return policylog.Knows([]*policylog.Policy{p}, w, true)
					}
					return c.initiates(l, v, w)
				}
				if !slices.ContainsFunc(v.Writers(), may) && !c.excused(v.By, l) {
					c.findf(Escaped, v.By.Received, l, nil, "%s takes it out of AllowancePolicy %s by its labels", v.By, p.Name)
				}
			}
		}
	}
}

// checkArrivals looks for changes by who may that came together with labels by which an object came under a policy, and that
// its ledger does not know: its controller would be refused for ever what they ask for.
func (c *checker) checkArrivals() {
	for _, l := range c.all {
		if controllers[l.First().Kind] == "" {
			continue
		}
		for i, v := range l.Versions {
			entered := c.entered(l, v)
			if len(entered) == 0 || v.Deleting || c.statesOf(l)[i].initializing || c.excused(v.By, l) ||
				c.disturbedBut(l, v.By.Received.Add(-lag), v.By.Answered, entered) {
				continue
			}
			changes := audit.ContentChanges(v.Before.Object, v.Object)
			for _, p := range entered {
				if begins(p, v, changes) && !tellsOf(v) {
					c.findf(Lost, v.By.Received, l, nil, "it comes under AllowancePolicy %s by its labels, and its ledger has nothing for what changes with them; %s", p.Name, v.By)
				}
			}
		}
	}
}

// begins reports whether one who may has made a version, by a policy that is about some of its changes.
func begins(p *policylog.Policy, v *audit.Version, changes []audit.Change) bool {
	return policylog.Knows([]*policylog.Policy{p}, v.By, true) && slices.ContainsFunc(p.Rules, func(r policylog.Rule) bool {
		return r.Holds(v.Object) && slices.ContainsFunc(changes, func(ch audit.Change) bool { return audit.Within(ch.Path, policylog.PathOf(r.Trigger)) })
	})
}

// tellsOf reports whether the ledger of a version allows something for it.
func tellsOf(v *audit.Version) bool {
	var entries []entry
	return yaml.Unmarshal([]byte(ledgerOf(v.Object)), &entries) == nil && slices.ContainsFunc(entries, func(e entry) bool {
		return e.Relation != withheldRelation && e.Generation == v.Generation
	})
}
