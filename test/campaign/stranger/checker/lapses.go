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
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// Unnoticed says that what is changed while the API server asks nobody is withheld once somebody is asked again.
const Unnoticed Promise = "what was changed while nobody was asked, and is withheld by nobody"

const (
	// heard is how long an API server may take to follow webhooks that were written or taken away.
	heard = 3 * time.Second
	// noticed is for how long an operator may look for what was changed meanwhile.
	noticed = 20 * time.Second
)

// lapsesIn returns the times in which the API server may have asked nobody: from when somebody else took webhooks away that the
// operator had written, until that has heard of its next ones.
func lapsesIn(log *audit.Log, operator string) []span {
	away, written := map[string]time.Time{}, map[string]bool{}
	var out []span
	for _, w := range log.Writes {
		if w.Resource != validatingWebhooks && w.Resource != mutatingWebhooks || !w.Succeeded() {
			continue
		}
		if w.User != operator {
			if _, known := away[w.Resource]; !known && w.Removes() && written[w.Resource+w.Name] {
				away[w.Resource] = w.Received
			}
			continue
		}
		if w.Creates() {
			written[w.Resource+w.Name] = true
		}
		if from, known := away[w.Resource]; known && w.Creates() {
			delete(away, w.Resource)
			out = append(out, span{from, w.Answered.Add(heard)})
		}
	}
	for _, from := range away {
		out = append(out, span{from, audit.Forever})
	}
	return out
}

// lapsed reports whether nobody may have been asked at some time of an interval.
func (c *checker) lapsed(from, to time.Time) bool {
	return slices.ContainsFunc(c.lapses, func(s span) bool { return !s.from.After(to) && !s.to.Before(from) })
}

// checkLapses looks for changes by who may not that nobody was asked about, and that are there long after somebody was asked again
// while their ledger does not tell of them. Of what a report may prove to be carried out nobody can tell.
func (c *checker) checkLapses() {
	if !c.Kept || !c.Whole || len(c.Log.Writes) == 0 {
		return
	}
	end := c.Log.Writes[len(c.Log.Writes)-1].Answered
	for _, l := range c.all {
		if !slices.Contains(reporting, l.First().Kind) {
			continue
		}
		for i, v := range l.Versions {
			if i > 0 && c.isUnasked(l, v) {
				c.checkUnnoticed(l, i, end)
			}
		}
	}
}

// isUnasked reports whether a version of what has no owner was certainly made by who may not, and by nobody who was asked about.
func (c *checker) isUnasked(l *audit.Life, v *audit.Version) bool {
	w := v.By
	return c.lapsed(w.Received, w.Answered) && len(v.Also) == 0 && strings.Join(w.Reasons, "") == "" && w.Subresource == "" && !w.Removes() &&
		!v.Deleting && len(v.Owners) == 0 && !carriesOut(w) && !c.keepsAlive(w) && !c.initiates(l, v, w)
}

func (c *checker) checkUnnoticed(l *audit.Life, i int, end time.Time) {
	v := l.Versions[i]
	at := v.By.Answered
	for _, s := range c.lapses {
		if !s.from.After(v.By.Answered) && s.to.After(at) {
			at = s.to
		}
	}
	late := at.Add(noticed)
	from := v.By.Received.Add(-policylog.Moment - lag)
	rules, states := c.rulesOf(l), c.statesOf(l)
	ends := l.GoneBefore(late) || !l.Asked.IsZero() && l.Asked.Before(late)
	if late.After(end) || ends || c.startedIn(from, late) || rules.Came(v.Kind, from, late) || c.lapsed(at.Add(time.Millisecond), late) || states == nil || states[i].initializing {
		return
	}
	governing := rules.During(v.Kind, false, from, late)
	for _, ch := range audit.ContentChanges(v.Before.Object, v.Object) {
		if !triggers(governing, ch) || slices.ContainsFunc(provable, func(field []string) bool { return audit.Related(ch.Path, field) }) || c.isTold(l, i, ch, late) {
			continue
		}
		c.findf(Unnoticed, late, l, nil, "its ledger withholds nothing of %s, which %s changed, and nobody was asked about", strings.Join(ch.Path, "."), v.By)
	}
}

// provable are the fields of which a report may prove that they are carried out.
var provable = [][]string{{"spec", "template"}, numbers}

// isTold reports whether what a version changed is told of as withheld by some time, or is there no more, or may have been approved
// or changed again.
func (c *checker) isTold(l *audit.Life, i int, ch audit.Change, by time.Time) bool {
	for _, v := range l.Versions[i+1:] {
		if v.By.Received.After(by) {
			return false
		}
		told := slices.ContainsFunc(entriesOf(v), func(e entry) bool { return e.Relation == withheldRelation && alike(fieldPath(e.Mutation), ch.Path) })
		approves := slices.ContainsFunc(v.Writers(), v.Approves)
		if told || approves || len(v.Owners) > 0 || !equality.Semantic.DeepEqual(audit.Absent(v.At(ch.Path...)), audit.Absent(ch.After)) {
			return true
		}
	}
	return false
}
