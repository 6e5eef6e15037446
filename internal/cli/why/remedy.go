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
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// remedies returns what would have let a refused change of a child through. For each of its paths: the triggers of the
// policies that bound the child which allow it, and who may do it without one; and who may whatever the parent allows.
// Where no policy does, an UpgradeAllowance may.
func remedies(policies []*policy.Policy, beyond beyond, d v1alpha1.HistoryEntry) []Remedy {
	var out []Remedy
	if len(d.ChildInitiators) > 0 {
		out = append(out, Remedy{Paths: d.Paths, OfChild: true, Initiators: d.ChildInitiators})
	}
	for _, path := range d.Paths {
		found := false
		for _, p := range policies {
			for _, r := range p.Rules {
				if allows(r, d.Kind, path) {
					out = addTo(out, path, remedyOf(p, r))
					found = true
				}
			}
		}
		for _, steady := range slices.Concat(maintained(policies, d.Kind, path), beyond.throughRead(d.Kind, path)) {
			out = addTo(out, path, steady)
			found = true
		}
		upgrades := beyond.upgraded(d, path)
		switch {
		case found || len(policies) == 0:
		case isLetGo(d, path):
			out = addTo(out, path, lettingGo(policies, path))
		case len(upgrades) > 0:
			for _, u := range upgrades {
				out = addTo(out, path, u)
			}
		default:
			out = addTo(out, path, Remedy{})
		}
	}
	return out
}

// maintained returns the remedies where policies need no allowance for an act while the parent is steady, and
// who may do it: it was refused all the same, as somebody else asked, a condition did not hold, something of the parent
// was withheld then, or it was not steady.
func maintained(policies []*policy.Policy, kind, act string) []Remedy {
	var out []Remedy
	for _, m := range decision.MaintainersOf(policies, func(e policy.Entry) bool { return covers(e, kind, act) }) {
		who := m.Who
		if len(who) == 0 {
			who = policy.Exercisers(policies, nil)
		}
		remedy := Remedy{Policy: m.Policy, Initiators: slices.Sorted(slices.Values(who))}
		for _, c := range m.Conditions {
			remedy.Conditions = append(remedy.Conditions, c.Source())
		}
		// Who may do it by several entries is told at once.
		i := slices.IndexFunc(out, func(old Remedy) bool { return slices.Equal(old.Conditions, remedy.Conditions) })
		if i < 0 {
			out = append(out, remedy)
			continue
		}
		out[i].Initiators = slices.Compact(slices.Sorted(slices.Values(slices.Concat(out[i].Initiators, remedy.Initiators))))
	}
	return out
}

// isLetGo reports whether a part of a refused change lets go of the child, or has it adopted, as admission found. Of what
// an earlier version has recorded the message tells.
func isLetGo(d v1alpha1.HistoryEntry, act string) bool {
	if slices.Contains(d.LettingGo, act) {
		return true
	}
	path, err := change.ParsePath(act)
	return err == nil && d.Operation == "Update" && lineage.IsLineage(path) && strings.Contains(d.Message, decision.ToLetGo)
}

// lettingGo is the remedy for what takes no rule: for who may use what the parent allows, but by labels only for who may
// initiate on it.
func lettingGo(policies []*policy.Policy, act string) Remedy {
	who := policy.Exercisers(policies, nil)
	if path, err := change.ParsePath(act); err == nil && !lineage.IsReference(path) {
		who = policy.InitiatorsIn(policies)
	}
	return Remedy{LetGo: true, Initiators: slices.Compact(slices.Sorted(slices.Values(who)))}
}

// addTo adds a path to the remedy that says the same, or a new one.
func addTo(all []Remedy, path string, r Remedy) []Remedy {
	i := slices.IndexFunc(all, func(old Remedy) bool {
		return old.Policy == r.Policy && old.Trigger == r.Trigger && old.Upgrade == r.Upgrade && old.LetGo == r.LetGo && !old.OfChild &&
			(r.Trigger != "" || slices.Equal(old.Conditions, r.Conditions) && slices.Equal(old.Initiators, r.Initiators))
	})
	if i < 0 {
		r.Paths = []string{path}
		return append(all, r)
	}
	all[i].Paths = append(all[i].Paths, path)
	return all
}

func remedyOf(p *policy.Policy, r policy.Rule) Remedy {
	remedy := Remedy{Policy: p.Name, Trigger: r.Trigger.String(), Initiators: p.Initiators()}
	for _, c := range r.Conditions {
		remedy.Conditions = append(remedy.Conditions, c.Source())
	}
	return remedy
}

// allows reports whether a rule allows an act, named as in a ledger, on children of a
// kind. A record does not keep the verbs, so any of them will do.
func allows(r policy.Rule, kind, act string) bool {
	return r.AllowsAnything() || slices.ContainsFunc(r.Entries, func(e policy.Entry) bool { return covers(e, kind, act) })
}

func covers(e policy.Entry, kind, act string) bool {
	if e.Kind == (schema.GroupKind{}) || e.Kind.Kind != kind {
		return false
	}
	switch act {
	case v1alpha1.MutationCreateObject:
		return e.Create
	case v1alpha1.MutationDeleteObject:
		return e.Delete
	}
	path, err := change.ParsePath(act)
	return err == nil && slices.ContainsFunc([]change.Verb{change.Mutate, change.Insert, change.Delete}, func(v change.Verb) bool {
		return e.AllowsField(change.Change{Path: path, Verb: v})
	})
}
