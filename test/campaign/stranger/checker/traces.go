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

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// entry is what matters of one allowance of a ledger.
type entry struct {
	Relation   string `json:"relation"`
	Generation int64  `json:"generation"`
	Initiator  string `json:"initiator"`
	Trace      []hop  `json:"trace"`
}

// hop is one object of a trace, in its own namespace where that is another one than that of
// what follows it.
type hop struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Generation int64  `json:"generation"`
	Field      string `json:"field"`
}

// withheldRelation is that of entries for what is withheld: they allow nothing.
const withheldRelation = "Withheld"

// created is the field of what was created.
const created = "(created)"

func ledgerOf(o *audit.Object) string { return o.Own("allowances") }

// checkTraces looks whether those whom ledgers name have begun what they are said to.
func (c *checker) checkTraces() {
	for _, l := range c.all {
		if controllers[l.First().Kind] == "" {
			continue
		}
		for _, v := range l.Versions {
			if text := ledgerOf(v.Object); text != "" && (v.Before == nil || ledgerOf(v.Before.Object) != text) {
				c.checkLedger(l, v, text)
			}
		}
	}
	for _, l := range c.all {
		if l.First().Kind == kinds[records] {
			c.checkRecord(l)
		}
	}
}

func (c *checker) checkLedger(l *audit.Life, v *audit.Version, text string) {
	if c.disturbed(l, v.By.Received.Add(-policylog.Moment), v.By.Answered) || len(c.rules.During(v.Kind, true, v.By.Received, v.By.Answered)) == 0 {
		return // Nobody keeps a ledger from being written, and it counts for nothing.
	}
	var entries []entry
	if err := yaml.Unmarshal([]byte(text), &entries); err != nil {
		c.findf(Forged, v.By.Received, l, nil, "its ledger does not parse, as %s left it", v.By)
		return
	}
	for i := range entries {
		e := &entries[i]
		if e.Relation == withheldRelation {
			continue
		}
		c.report.Entries++
		if len(e.Trace) == 0 || !c.began(v, e) {
			c.findf(Forged, v.By.Received, l, nil, "its ledger says that %s began it at generation %d, which the log does not have; written by %s",
				e.Initiator, e.Generation, v.By)
		}
	}
}

// began reports whether the one whom an entry names has written what the first hop says, and
// may begin with it: with what was created, or let through by a section, anybody may.
func (c *checker) began(at *audit.Version, e *entry) bool {
	first := e.Trace[0]
	phase := strings.HasPrefix(first.Field, "(")
	return slices.ContainsFunc(c.named(at, e.Trace), func(l *audit.Life) bool {
		if phase && first.Field != created {
			return c.acted(at, e)
		}
		return slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
			return slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
				if w.User != e.Initiator || w.Received.After(at.By.Answered) {
					return false
				}
				if first.Field == created {
					return w.Creates()
				}
				// A scale shows no generation, and is folded in with a later one.
				right := v.Generation == first.Generation || (w.Subresource == audit.SubScale || v.Approves(w)) && v.Generation <= first.Generation
				return right && (c.initiates(l, v, w) || c.adopting(l, w.Answered))
			})
		})
	})
}

// named returns the objects that the first hop of a trace, or of the rest of one, may be about. Its
// namespace is the next one that is named on the way to the object that has the trace.
func (c *checker) named(at *audit.Version, trace []hop) []*audit.Life {
	namespace := at.Namespace
	if i := slices.IndexFunc(trace, func(h hop) bool { return h.Namespace != "" }); i >= 0 {
		namespace = trace[i].Namespace
	}
	return c.byName[trace[0].Kind+"/"+namespace+"/"+trace[0].Name]
}

// acted reports whether somebody has written one of the objects that a trace names, or the one
// that has it.
func (c *checker) acted(at *audit.Version, e *entry) bool {
	uids := []types.UID{at.UID}
	for i := range e.Trace {
		for _, l := range c.named(at, e.Trace[i:]) {
			uids = append(uids, l.UID)
		}
	}
	return slices.ContainsFunc(c.Log.Writes, func(w *audit.Write) bool {
		return w.User == e.Initiator && w.Succeeded() && !w.Received.After(at.By.Answered) && slices.Contains(uids, w.UID)
	})
}

// checkRecord looks whether those whom a record names have asked for anything, and whether
// anybody but the operator wrote it.
func (c *checker) checkRecord(l *audit.Life) {
	for _, v := range l.Versions {
		if v.By.User == c.Operator || c.keepsAlive(v.By) || v.Before == nil {
			continue
		}
		if v.By.Subresource == "status" || len(audit.ContentChanges(v.Before.Object, v.Object)) > 0 {
			c.findf(Forged, v.By.Received, l, nil, "its record was written by %s", v.By.User)
		}
	}
	for _, w := range l.Ends {
		if !c.keepsAlive(w) {
			c.findf(Forged, w.Received, l, nil, "its record was deleted by %s", w.User)
		}
	}
	for _, h := range l.Last().Status.History {
		if h.User == "" || h.User == c.Operator {
			continue
		}
		c.report.Entries++
		if !c.users[h.User] {
			c.findf(Forged, l.Last().By.Received, l, nil, "its history names %s, who has asked for nothing", h.User)
		}
	}
}
