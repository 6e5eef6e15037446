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
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// entry is what matters of one allowance of a ledger.
type entry struct {
	Relation   string `json:"relation"`
	Generation int64  `json:"generation"`
	Initiator  string `json:"initiator"`
	Trace      []struct {
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		Generation int64  `json:"generation"`
		Field      string `json:"field"`
	} `json:"trace"`
}

// withheldRelation is that of entries for what is withheld: they allow nothing.
const withheldRelation = "Withheld"

// created is the field of what was created.
const created = "(created)"

// The annotations with ledgers. ReplicaSets that a Deployment controls have one of their own.
const (
	ledgerKey           = "kausality.io/allowances"
	replicaSetLedgerKey = "replicaset.kausality.io/allowances"
)

func (o *object) ledger() string {
	if above := o.controller(); o.kind == kinds[replicaSets] && above != nil && above.Kind == kinds[deployments] {
		return o.annotations[replicaSetLedgerKey]
	}
	return o.annotations[ledgerKey]
}

// checkTraces looks whether those whom ledgers name have begun what they are said to.
func (c *checker) checkTraces() {
	for _, l := range c.all {
		if controllers[l.first().kind] == "" {
			continue
		}
		for _, v := range l.versions {
			if text := v.ledger(); text != "" && (v.before == nil || v.before.ledger() != text) {
				c.checkLedger(l, v, text)
			}
		}
	}
	for _, l := range c.all {
		if l.first().kind == kinds[records] {
			c.checkRecord(l)
		}
	}
}

func (c *checker) checkLedger(l *life, v *version, text string) {
	if c.disturbed(l, v.by.received.Add(-moment), v.by.answered) || len(c.rules.during(v.kind, true, v.by.received, v.by.answered)) == 0 {
		return // Nobody keeps a ledger from being written, and it counts for nothing.
	}
	var entries []entry
	if err := yaml.Unmarshal([]byte(text), &entries); err != nil {
		c.findf(Forged, v.by.received, l, nil, "its ledger does not parse, as %s left it", v.by)
		return
	}
	for i := range entries {
		e := &entries[i]
		if e.Relation == withheldRelation {
			continue
		}
		c.report.Entries++
		if len(e.Trace) == 0 || !c.began(v, e) {
			c.findf(Forged, v.by.received, l, nil, "its ledger says that %s began it at generation %d, which the log does not have; written by %s",
				e.Initiator, e.Generation, v.by)
		}
	}
}

// began reports whether the one whom an entry names has written what the first hop says, and
// may begin with it: with what was created, or let through by a section, anybody may.
func (c *checker) began(at *version, e *entry) bool {
	first := e.Trace[0]
	phase := strings.HasPrefix(first.Field, "(")
	return slices.ContainsFunc(c.byName[first.Kind+"/"+at.namespace+"/"+first.Name], func(l *life) bool {
		if phase && first.Field != created {
			return c.acted(at, e)
		}
		return slices.ContainsFunc(l.versions, func(v *version) bool {
			return slices.ContainsFunc(v.writers(), func(w *write) bool {
				if w.user != e.Initiator || w.received.After(at.by.answered) {
					return false
				}
				if first.Field == created {
					return w.creates()
				}
				// A scale shows no generation, and is folded in with a later one.
				right := v.generation == first.Generation || (w.sub == subScale || w.approves) && v.generation <= first.Generation
				return right && (c.initiates(l, v, w) || c.adopting(l, w.answered))
			})
		})
	})
}

// acted reports whether somebody has written one of the objects that a trace names, or the one
// that has it.
func (c *checker) acted(at *version, e *entry) bool {
	uids := []types.UID{at.uid}
	for _, hop := range e.Trace {
		for _, l := range c.byName[hop.Kind+"/"+at.namespace+"/"+hop.Name] {
			uids = append(uids, l.uid)
		}
	}
	return slices.ContainsFunc(c.Log.writes, func(w *write) bool {
		return w.user == e.Initiator && w.succeeded() && !w.received.After(at.by.answered) && slices.Contains(uids, w.uid)
	})
}

// checkRecord looks whether those whom a record names have asked for anything, and whether
// anybody but the operator wrote it.
func (c *checker) checkRecord(l *life) {
	for _, v := range l.versions {
		if v.by.user == c.Operator || c.keepsAlive(v.by) || v.before == nil {
			continue
		}
		if v.by.sub == "status" || len(contentChanges(v.before.object, v.object)) > 0 {
			c.findf(Forged, v.by.received, l, nil, "its record was written by %s", v.by.user)
		}
	}
	for _, w := range l.ends {
		if !c.keepsAlive(w) {
			c.findf(Forged, w.received, l, nil, "its record was deleted by %s", w.user)
		}
	}
	for _, h := range l.last().status.History {
		if h.User == "" || h.User == c.Operator {
			continue
		}
		c.report.Entries++
		if !c.users[h.User] {
			c.findf(Forged, l.last().by.received, l, nil, "its history names %s, who has asked for nothing", h.User)
		}
	}
}
