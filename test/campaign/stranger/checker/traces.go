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
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// entry is what matters of one allowance of a ledger.
type entry struct {
	Relation string   `json:"relation"`
	Kind     string   `json:"kind"`
	Mutation string   `json:"mutation"`
	Verbs    []string `json:"verbs"`
	// Content is the digest of what is withheld.
	Content    string `json:"content,omitempty"`
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
			c.checkMirror(l)
		}
	}
}

func (c *checker) checkLedger(l *audit.Life, v *audit.Version, text string) {
	if c.disturbed(l, v.By.Received.Add(-policylog.Moment), v.By.Answered) || len(c.rulesOf(l).During(v.Kind, true, v.By.Received, v.By.Answered)) == 0 {
		return // Nobody keeps a ledger from being written, and it counts for nothing.
	}
	var entries []entry
	if err := yaml.Unmarshal([]byte(text), &entries); err != nil {
		c.findf(Forged, v.By.Received, l, nil, "its ledger does not parse, as %s left it", v.By)
		return
	}
	for i := range entries {
		e := &entries[i]
		c.report.Entries++
		switch {
		case e.Relation == withheldRelation && !c.disturbs(l, v, e):
			c.findf(Forged, v.By.Received, l, nil, "its ledger says that a change of %s by %q is withheld, which the log does not have; written by %s",
				e.Mutation, e.Initiator, v.By)
		case e.Relation == withheldRelation:
		case len(e.Trace) == 0 || !c.began(v, e):
			c.findf(Forged, v.By.Received, l, nil, "its ledger says that %s began it at generation %d, which the log does not have; written by %s",
				e.Initiator, e.Generation, v.By)
		case c.Whole && !c.isLed(l, v, e):
			c.findf(Forged, v.By.Received, l, nil, "its ledger says that it came by %s what %s began, which the log does not have; written by %s",
				way(e.Trace), e.Initiator, v.By)
		case c.Whole && c.isOlder(l, v, e):
			c.findf(Forged, v.By.Received, l, nil, "its ledger says that it came by %s, when a newer allowance of that had let it happen; written by %s",
				way(e.Trace), v.By)
		case !c.isForIt(v, e):
			c.findf(Forged, v.By.Received, l, nil, "its ledger allows %s of %s for a change of %s, which no policy does; written by %s",
				e.Mutation, e.Kind, e.Trace[len(e.Trace)-1].Field, v.By)
		}
	}
}

// isOlder reports whether an entry goes back to an allowance of the parent although all versions of that which may have counted had a
// newer one for the same: of several the newest is the cause.
func (c *checker) isOlder(l *audit.Life, at *audit.Version, e *entry) bool {
	n := len(e.Trace)
	if n < 2 || e.Generation != at.Generation || at.By.User == c.Operator || slices.ContainsFunc(at.Writers(), func(w *audit.Write) bool { return !carriesOut(w) }) {
		return false
	}
	above, last := e.Trace[n-2], e.Trace[n-1]
	owner := at.Controller()
	if owner == nil || c.lives[owner.UID] == nil || strings.HasPrefix(above.Field, "(") || above.Name != owner.Name || len(at.Owners) != 1 {
		return false
	}
	change := audit.Change{Path: fieldPath(last.Field), Verb: audit.Mutates}
	if last.Field == created {
		change = audit.Change{Verb: audit.Makes}
	} else if at.Before == nil || strings.HasPrefix(last.Field, "(") || len(audit.ContentChanges(at.Before.Object, at.Object)) != 1 {
		return false // Of several changes each has a cause of its own.
	}
	parent := c.lives[owner.UID]
	found := parent.Current(at.By.Received.Add(-lag), at.By.Answered)
	w := &childWrite{Write: at.By, life: l, child: at.Object}
	return len(found) > 0 && !slices.ContainsFunc(found, func(i int) bool {
		return !slices.ContainsFunc(entriesOf(parent.Versions[i]), func(p entry) bool {
			return p.Relation == "" && p.Generation > above.Generation && len(p.Trace) > 0 && p.Trace[len(p.Trace)-1].Field != created && p.lets(w, change)
		})
	})
}

// disturbs reports whether the one whom an entry names has changed the field that is withheld, without the right
// to all of it. It names nobody where that was done while no operator looked. What the API server drops of a
// request, as its feature is off, is in no version: webhooks see it and tell of the generation that it would have brought.
func (c *checker) disturbs(l *audit.Life, at *audit.Version, e *entry) bool {
	if !c.Whole {
		return true
	}
	later := func(t time.Time) bool { return t.After(l.First().By.Received) && t.Before(at.By.Answered) }
	if e.Initiator == "" && c.Said != "" && !slices.ContainsFunc(c.started, later) && !slices.ContainsFunc(c.lapses, func(s span) bool { return later(s.to) || later(s.from) }) {
		return false
	}
	if (e.Generation > at.Generation || e.Generation == at.Generation && isDropped(at, e.Mutation)) && slices.ContainsFunc(at.Writers(), func(w *audit.Write) bool { return w.User == e.Initiator }) {
		return true
	}
	path := fieldPath(e.Mutation)
	return slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
		return v.Before != nil && changesField(v, path) && slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
			if w.Received.After(at.By.Answered) {
				return false
			}
			return e.Initiator == "" || w.User == e.Initiator && !c.mayChange(l, v, w, path)
		})
	})
}

// isDropped reports whether the API server may have dropped a field of the request that made a version: neither that nor the one
// before has it, and a value that was asked for is in none.
func isDropped(at *audit.Version, field string) bool {
	return at.Before != nil && valueOf(at.Object, field) == nil && valueOf(at.Before.Object, field) == nil &&
		slices.ContainsFunc(slices.Concat(at.By.Valued, at.By.Named), func(n int) bool { return !slices.Contains(at.Marks, n) })
}

// isForIt reports whether a policy allows what an entry says for a change of the field in its last hop, or in the
// phase that is there. What is copied from a template may be allowed whatever the hop says.
func (c *checker) isForIt(at *audit.Version, e *entry) bool {
	field := e.Trace[len(e.Trace)-1].Field
	phase := strings.HasPrefix(field, "(")
	return slices.ContainsFunc(c.rules, func(p *policylog.Policy) bool {
		if p.For.Kind != at.Kind {
			return false
		}
		for _, r := range p.Rules {
			if (phase || alike(fieldPath(field), fieldPath(r.Trigger))) && slices.ContainsFunc(r.Policies, e.isOf) {
				return true
			}
		}
		return phase && slices.ContainsFunc(p.Sections(), func(s *policylog.Section) bool { return s != nil && slices.ContainsFunc(s.Policies, e.isOf) })
	})
}

// isOf reports whether an entry is one that a permission gives.
func (e *entry) isOf(p policylog.Permission) bool {
	if kinds[p.Target.Resource] != e.Kind && e.Kind != "*" {
		return false
	}
	has := func(verb string) bool { return slices.Contains(p.Verbs, verb) || slices.Contains(p.Verbs, "*") }
	switch e.Mutation {
	case "create":
		return has("Create")
	case "delete":
		return has("Delete")
	case "*":
		return len(p.Mutations) == 0
	}
	for _, m := range p.Mutations {
		if m.JSONPath == e.Mutation && !slices.ContainsFunc(mutating, func(verb string) bool { return among(e.Verbs, verb) && !among(m.Verbs, verb) }) {
			return true
		}
	}
	return false
}

// mutating are the verbs of mutations.
var mutating = []string{audit.Inserts, audit.Mutates, audit.Drops}

// among reports whether verbs of a mutation have one: where none are named all are meant.
func among(verbs []string, verb string) bool {
	return len(verbs) == 0 || slices.Contains(verbs, verb) || slices.Contains(verbs, "*")
}

// changesField reports whether a version changes something of a field, or around it.
func changesField(v *audit.Version, path []string) bool {
	before, after := v.Before.Object, v.Object
	changes := slices.Concat(
		audit.ContentChanges(before, after), audit.LabelChanges(before, after), audit.OwnerChanges(before, after), audit.AnnotationChanges(before, after))
	return slices.ContainsFunc(changes, func(ch audit.Change) bool { return alike(renamed(ch.Path), path) })
}

// renamed returns the path of the item whose name a change is about, as an item of another name is another item, with all
// that is in it; of other changes it returns their own.
func renamed(path []string) []string {
	last := len(path) - 1
	if last > 0 && path[last] == "name" && isPlace(path[last-1]) {
		return path[:last]
	}
	return path
}

// alike reports whether one path is within another, whatever the places in lists: these are told by keys, too.
func alike(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && !isPlace(a[i]) && !isPlace(b[i]) {
			return false
		}
	}
	return true
}

func isPlace(key string) bool {
	_, err := strconv.Atoi(key)
	return err == nil || key == "*" || strings.Contains(key, "=")
}

// fieldPath reads a path as the operator writes it: keys in brackets may have dots.
func fieldPath(text string) []string {
	var out []string
	for text != "" {
		end := strings.IndexAny(text, ".[")
		if text[0] == '[' {
			end = strings.IndexByte(text, ']')
			if end < 0 {
				return append(out, text)
			}
			out, text = append(out, strings.Trim(text[1:end], `'"`)), strings.TrimPrefix(text[end+1:], ".")
			continue
		}
		if end < 0 {
			return append(out, text)
		}
		out, text = append(out, text[:end]), strings.TrimPrefix(text[end:], ".")
	}
	return out
}

// approves reports whether a write that may have made a version approves of a field, or of something around or in it.
func approves(v *audit.Version, w *audit.Write, path []string) bool {
	return v.Approves(w) && slices.ContainsFunc(w.Approved(), func(text string) bool {
		field, _, _ := strings.Cut(strings.TrimSpace(text), "@")
		return field == "*" || alike(fieldPath(field), path)
	})
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
				path := fieldPath(first.Field)
				if c.Whole && !approves(v, w, path) && (v.Before == nil || !changesField(v, path) && !crossed(v, w, path)) {
					return false
				}
				// A scale shows no generation, and is folded in with a later one.
				right := v.Generation == first.Generation || bringsNone(v, path, first.Generation) || (w.Subresource == audit.SubScale || v.Approves(w)) && v.Generation <= first.Generation
				return right && (c.mayBegin(l, v, w, path) || c.adopting(l, w.Answered))
			})
		})
	})
}

// bringsNone reports whether a generation is the next one after that of a version, which changes a field that counts no generations: what
// comes of that is told of in the next one.
func bringsNone(v *audit.Version, path []string, generation int64) bool {
	return len(path) > 1 && path[0] == "metadata" && v.Generation+1 == generation
}

// crossed reports whether a scale or a patch asked for what somebody else brought about while it was being carried out: the
// operator was asked about the object as it was before, and the API server then wrote the same once more, or found nothing left
// to write, perhaps when there had been something else in between, as a status.
func crossed(v *audit.Version, w *audit.Write, path []string) bool {
	if w.Subresource != audit.SubScale && (w.Verb != audit.VerbPatch || w.Subresource != "") {
		return false
	}
	for other := v.Before; other.Before != nil && other.By.Answered.After(w.Received); other = other.Before {
		if changesField(other, path) {
			return true
		}
	}
	return false
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
	known := map[string]bool{}
	for _, v := range l.Versions {
		if v.By.User == c.Operator && (v.Before == nil || string(v.RawStatus) != string(v.Before.RawStatus)) {
			c.checkStory(l, v, known)
		}
	}
}
