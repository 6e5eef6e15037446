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
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/marks"
)

// Looping says that the operator does not write an object again and again.
const Looping Promise = "an object that the operator writes again and again"

// Invalid says that the API server takes what the operator writes: what it does not take is written never.
const Invalid Promise = "a write of the operator's that is invalid"

// At most the operator writes an object a few times for each request of anybody else about it, and some times in any case. What
// is far beyond that is a loop. Records are written for what happens to others, and are not looked at.
const (
	perRequest = 2
	anyway     = 200
)

// checkLoops counts the operator's writes of each object against the requests of others for what has its name.
func (c *checker) checkLoops() {
	own, others := map[types.UID]int{}, map[string]int{}
	for _, w := range c.Log.Writes {
		switch {
		case w.User != c.Operator:
			others[w.Namespace+"/"+w.Name]++
		case w.UID != "" && w.Resource != events:
			own[w.UID]++
		}
	}
	c.checkRestless()
	for _, l := range c.all {
		v := l.First()
		if controllers[v.Kind] == "" {
			continue
		}
		if most := anyway + perRequest*others[v.Namespace+"/"+v.Name]; own[l.UID] > most {
			c.findf(Looping, l.Last().By.Received, l, nil, "the operator has written it %d times, and others have asked about it %d times", own[l.UID], others[v.Namespace+"/"+v.Name])
		}
	}
}

const (
	// calm is how long after the last request of anybody else the operator may have something to do, and idle for how long it has
	// to be without any before its writes are counted.
	calm, idle = 10 * time.Second, 10 * time.Second
	// resting is how often it may write an object, or its record, in the time after that.
	resting = 10
)

// checkRestless counts the operator's writes of an object, and of its record, while nobody else asks about it, its children or its
// parent, and no policy comes or goes.
func (c *checker) checkRestless() {
	if c.Said == "" {
		return
	}
	for _, l := range c.all {
		kind := l.First().Kind
		target := l
		if kind == kinds[records] {
			uid, _ := l.First().At("spec", "targetRef", "uid").(string)
			target = c.lives[types.UID(uid)]
		}
		if target == nil || controllers[target.First().Kind] == "" {
			continue
		}
		c.checkRestlessOne(l, target)
	}
}

func (c *checker) checkRestlessOne(l, target *audit.Life) {
	own := map[time.Time]bool{}
	for _, v := range l.Versions {
		for _, w := range v.Writers() {
			if w.User == c.Operator {
				own[w.Received] = true
			}
		}
	}
	if len(own) <= resting {
		return
	}
	last := target.First().By.Received
	var quietly []time.Time
	for _, t := range append(c.othersAbout(target), audit.Forever) {
		quietly = quietly[:0]
		for at := range own {
			if at.After(last.Add(calm)) && at.Before(t) && !target.GoneBefore(at) {
				quietly = append(quietly, at)
			}
		}
		slices.SortFunc(quietly, time.Time.Compare)
		if n := len(quietly); n > resting {
			from, to := last, quietly[n-1]
			restarted := slices.ContainsFunc(c.started, func(t time.Time) bool { return t.After(from.Add(-calm)) && t.Before(to) })
			if !restarted && to.Sub(quietly[0]) < time.Duration(n)*idle && !c.disturbed(target, from, to) {
				c.findf(Looping, to, l, target, "the operator has written it %d times since %s, while nobody else asked about %s", n, quietly[0].Format(audit.Clock), target)
				return
			}
		}
		last = t
	}
}

// othersAbout returns when others than the operator asked about an object, its children, or its parent, in order.
func (c *checker) othersAbout(l *audit.Life) []time.Time {
	if times, known := c.asked[l.UID]; known {
		return times
	}
	uids := map[types.UID]bool{l.UID: true}
	for _, v := range l.Versions {
		for _, o := range v.Owners {
			uids[o.UID] = true
		}
	}
	var times []time.Time
	for _, w := range c.Log.Writes {
		if w.User == c.Operator || w.Resource == events || w.Resource == records {
			continue
		}
		if w.Namespace == l.First().Namespace && (w.Name == "" || w.Verb == audit.VerbDeleteCollection) {
			times = append(times, w.Received)
			continue
		}
		for _, one := range c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name] {
			if uids[one.UID] || slices.ContainsFunc(one.FoundAt(w.Answered).Owners, func(o audit.Owner) bool { return o.UID == l.UID }) {
				times = append(times, w.Received)
				break
			}
		}
	}
	c.asked[l.UID] = slices.Clip(times)
	return c.asked[l.UID]
}

// otherUID is of what the API server says where a patch names the UID of another object, so as to change that one and no other.
const otherUID = "metadata.uid: Invalid value"

// checkInvalid looks for what the operator wrote and the API server found invalid, once for each object. Where that names what a
// stranger has written, it is the object that is invalid, whatever is written to it.
func (c *checker) checkInvalid() {
	times, last := map[*audit.Life]int{}, map[*audit.Life]*audit.Write{}
	for _, w := range c.Log.Writes {
		if w.User != c.Operator || w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Message, otherUID) || len(marks.In(w.Message)) > 0 {
			continue
		}
		for _, l := range c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name] {
			if !l.First().By.Received.After(w.Received) && !l.GoneBefore(w.Received) {
				times[l]++
				last[l] = w
			}
		}
	}
	for _, l := range c.all {
		if w := last[l]; w != nil {
			c.findf(Invalid, w.Received, l, nil, "%d times, the last one: %s: %s", times[l], w, w.Message)
		}
	}
}
