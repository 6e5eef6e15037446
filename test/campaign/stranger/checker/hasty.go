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
	"encoding/json"
	"slices"
	"strings"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// cannotWait are the fields that are carried out otherwise than by a change of children. Where a rule is about one,
// a change of it by who may not is refused. docs/kinds.md tells why.
var cannotWait = map[string][][]string{
	kinds[deployments]:  {{"spec", "revisionHistoryLimit"}},
	kinds[statefulSets]: {{"spec", "persistentVolumeClaimRetentionPolicy"}, {"spec", "revisionHistoryLimit"}, {"spec", "ordinals"}},
	kinds[daemonSets]: {
		{"spec", "revisionHistoryLimit"}, {"spec", "template", "spec", "affinity"}, {"spec", "template", "spec", "nodeName"},
		{"spec", "template", "spec", "nodeSelector"}, {"spec", "template", "spec", "tolerations"},
	},
	kinds[jobs]: {
		{"spec", "activeDeadlineSeconds"}, {"spec", "backoffLimit"}, {"spec", "completions"}, {"spec", "maxFailedIndexes"},
		{"spec", "podReplacementPolicy"}, {"spec", "suspend"}, lifetime,
	},
}

// podCounts are the numbers by which objects make Pods themselves. One that is smaller than what was approved is
// carried out as Pods end.
var podCounts = map[string][]string{
	kinds[replicaSets]:  numbers,
	kinds[statefulSets]: numbers,
	kinds[jobs]:         {"spec", "parallelism"},
}

// wantsFewer reports whether a change has an object that nothing controls make fewer Pods than were approved: while a number waits,
// that is what was there before it.
func (c *checker) wantsFewer(l *audit.Life, i int, ch audit.Change) bool {
	v, states, field := l.Versions[i], c.statesOf(l), podCounts[l.First().Kind]
	if field == nil || v.Before.Controller() != nil || !slices.Equal(ch.Path, field) || i > len(states) {
		return false
	}
	if slices.ContainsFunc(states[i-1].doubtful, func(h held) bool { return audit.Related(h.path, field) }) {
		return false // It may wait.
	}
	approved := ch.Before
	for _, h := range states[i-1].held {
		switch {
		case !audit.Related(h.path, field):
		case h.loose || !slices.Equal(h.path, field):
			return false // Nobody can tell from the object what was approved.
		default:
			approved = h.before
		}
	}
	before, ok := approved.(float64)
	after, alsoOK := ch.After.(float64)
	return ok && alsoOK && after < before
}

// checkHasty looks for changes of such fields that passed. What is new, or whose policies just come or go, is not
// judged.
func (c *checker) checkHasty() {
	for _, l := range c.all {
		fields := cannotWait[l.First().Kind]
		if len(fields) == 0 && podCounts[l.First().Kind] == nil {
			continue
		}
		for i, v := range l.Versions {
			if i == 0 || v.By.Removes() || v.Deleting || c.keepsAlive(v.By) {
				continue
			}
			for _, ch := range audit.ContentChanges(v.Before.Object, v.Object) {
				if slices.ContainsFunc(fields, func(f []string) bool { return audit.Related(ch.Path, f) }) || c.wantsFewer(l, i, ch) {
					c.checkField(l, i, ch, Hasty)
				}
			}
		}
	}
}

// checkField finds fault with a change of a field that passed, by somebody who may not initiate on that.
func (c *checker) checkField(l *audit.Life, i int, ch audit.Change, promise Promise) {
	v, states := l.Versions[i], c.statesOf(l)
	from, to := v.By.Received.Add(-lag), v.By.Answered
	governing := c.rulesOf(l).During(v.Kind, v.Before.Controller() != nil, from, to)
	if len(states) == 0 || !triggers(governing, ch) || c.disturbed(l, from.Add(-policylog.Moment), to) || c.adopting(l, to) || c.orphaned(l, to) {
		return
	}
	rights := c.rightsTo(l, v)
	may := slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return c.initiates(l, v, w) && (!rights.less || rights.include(ch.Path)) })
	filled, _ := states[i-1].filledIn(c.rulesOf(l).Ever(v.Kind, from, to), v, []audit.Change{ch})
	if may || len(filled) > 0 || states[i-1].putsBack(ch) || c.isCovered(l, v) || c.excused(v.By, l) {
		return
	}
	c.findf(promise, v.By.Received, l, nil, "%s by %s", ch, v.By)
}

// ending are the numbers by which a Job fails, by the reasons that its controller says.
var ending = map[string][]string{
	"DeadlineExceeded":         {"spec", "activeDeadlineSeconds"},
	"BackoffLimitExceeded":     {"spec", "backoffLimit"},
	"MaxFailedIndexesExceeded": {"spec", "maxFailedIndexes"},
	"CompletionsReached":       {"spec", "completions"},
}

// sweeper deletes Jobs that have ended, as their lifetime is over.
const sweeper = "ttl-after-finished-controller"

var lifetime = []string{"spec", "ttlSecondsAfterFinished"}

// checkJobs looks for Jobs that ended, or went, by a number that was withheld.
func (c *checker) checkJobs() {
	for _, l := range c.all {
		if l.First().Kind != kinds[jobs] {
			continue
		}
		for i, v := range l.Versions {
			if i == 0 || !c.isReport(v) {
				continue
			}
			for _, reason := range ended(v.Object) {
				if field := ending[reason]; field != nil && !slices.Contains(ended(v.Before.Object), reason) && c.withholds(l, v.By, field) {
					c.findf(Hasty, v.By.Received, l, nil, "it ended (%s) by %s, which is withheld; %s", reason, strings.Join(field, "."), v.By)
				}
			}
		}
		for _, w := range l.Ends {
			if strings.HasSuffix(w.User, sweeper) && c.withholds(l, w, lifetime) {
				c.findf(Hasty, w.Received, l, nil, "it went by %s, which is withheld; %s", strings.Join(lifetime, "."), w)
			}
		}
	}
}

// withholds reports whether each version of an object that a request may have gone by has something of a field that
// is withheld.
func (c *checker) withholds(l *audit.Life, w *audit.Write, field []string) bool {
	states := c.statesOf(l)
	found := slices.DeleteFunc(l.Current(w.Received.Add(-lag), w.Received), func(i int) bool { return l.Versions[i].By == w })
	return states != nil && len(found) > 0 && !slices.ContainsFunc(found, func(i int) bool {
		return !slices.ContainsFunc(states[i].held, func(h held) bool { return audit.Within(h.path, field) })
	})
}

// ended returns the reasons for which a Job has failed, or is done.
func ended(o *audit.Object) []string {
	var status struct {
		Conditions []struct {
			Type, Status, Reason string
		} `json:"conditions"`
	}
	if json.Unmarshal(o.RawStatus, &status) != nil {
		return nil
	}
	var out []string
	for _, condition := range status.Conditions {
		if (condition.Type == "Failed" || condition.Type == "Complete") && condition.Status == "True" {
			out = append(out, condition.Reason)
		}
	}
	return out
}
