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
)

// platform keep the cluster alive: nothing above their objects causes what they do.
var platform = []string{
	"system:kube-scheduler", "system:node:", "system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller", "system:serviceaccount:kube-system:pod-garbage-collector",
	"system:serviceaccount:kube-system:node-controller", "system:serviceaccount:kube-system:taint-eviction-controller",
	"system:serviceaccount:kube-system:ttl-after-finished-controller",
}

// nodes is the group of those who run Pods.
const nodes = "system:nodes"

func (c *checker) keepsAlive(w *write) bool {
	return w.user == c.Operator || slices.Contains(w.groups, nodes) ||
		slices.ContainsFunc(platform, func(user string) bool { return strings.HasPrefix(w.user, user) })
}

// Why a change of a child passes.
const (
	unbounded    = "unbounded"
	origin       = "origin"
	bookkeeping  = "bookkeeping"
	finishing    = "finishing"
	deletes      = "deleting"
	initializing = "initializing"
	covered      = "covered"
	maintaining  = "maintaining"
	adopting     = "adopting"
	stray        = "stray"
	released     = "released"
)

// childWrite is what a request does to a child.
type childWrite struct {
	*write
	life    *life
	found   *object // Nil where it is created.
	child   *object
	changes []change
}

// childVersion is what a writer of a version did to it, or nil where there is nothing that it
// could be a child of.
func (c *checker) childVersion(l *life, v *version, w *write) *childWrite {
	out := &childWrite{write: w, life: l, child: v.object}
	switch {
	case v.before == nil && !w.creates():
		return nil // It was there before the log.
	case v.before == nil:
		out.changes = []change{{verb: makes}}
	case w.removes():
		return nil // Its end is judged as such.
	default:
		out.found = v.before.object
		out.changes = slices.Concat(contentChanges(v.before.object, v.object), c.owning(w, v), c.leaving(v))
	}
	if c.parentOf(out) == nil {
		return nil
	}
	return out
}

// owning are the changes of who owns the object that count: of controllers, and of owners whose
// policies name its resource.
func (c *checker) owning(w *write, v *version) []change {
	return slices.DeleteFunc(ownerChanges(v.before.object, v.object), func(ch change) bool {
		o, ok := ch.before.(owner)
		if !ok {
			o, _ = ch.after.(owner)
		}
		above := c.lives[o.UID]
		return !o.Controller && (above == nil || !slices.ContainsFunc(c.rules.ever(above.first().kind, w.received, w.answered), func(p *policy) bool {
			return p.bounds(w.resource, nil)
		}))
	})
}

// leaving are changes of labels by which the parent lets go of the object.
func (c *checker) leaving(v *version) []change {
	above := v.before.controller()
	if above == nil || c.lives[above.UID] == nil {
		return nil
	}
	selector := c.lives[above.UID].last().at("spec", "selector")
	if len(asMap(valueAt(selector, "matchLabels"))) == 0 || !matches(selector, v.before.labels) || matches(selector, v.labels) {
		return nil
	}
	return []change{{path: labelsPath, verb: mutates}}
}

// parentOf is the object that bounds a child: the controller of what the request found, or
// of what it made.
func (c *checker) parentOf(w *childWrite) *life {
	for _, o := range []*object{w.found, w.child} {
		if o == nil {
			continue
		}
		if above := o.controller(); above != nil {
			return c.lives[above.UID]
		}
	}
	return nil
}

// checkChildren looks whether the model grants each change of a child.
func (c *checker) checkChildren() {
	for _, l := range c.all {
		if !slices.Contains(childKinds, l.first().kind) {
			continue
		}
		for _, v := range l.versions {
			c.checkVersion(l, v)
		}
		for _, w := range l.ends {
			c.checkEnd(l, w)
		}
		c.checkVanished(l)
	}
}

// childKinds are those of which policies of the campaign bound any.
var childKinds = []string{kinds[replicaSets], kinds[pods], kinds[jobs], kinds[revisions], kinds[configMaps], kinds[things]}

func (c *checker) checkVersion(l *life, v *version) {
	var refused *childWrite
	for _, w := range v.writers() {
		if c.keepsAlive(w) {
			return
		}
		if w.approves && c.initiates(l, v, w) {
			delete(c.strays, l.uid)
		}
		child := c.childVersion(l, v, w)
		if child == nil || len(child.changes) == 0 {
			return
		}
		if why := c.grants(child); why != "" {
			c.report.Children[why]++
			return
		}
		refused = child
	}
	c.uncovered(refused)
}

// checkEnd judges that the end of an object was asked for. Once is enough.
func (c *checker) checkEnd(l *life, w *write) {
	if c.keepsAlive(w) || w.received.After(l.asked) {
		return
	}
	found := l.foundAt(w.received)
	child := &childWrite{write: w, life: l, found: found.object, child: found.object, changes: []change{{verb: ends}}}
	if c.parentOf(child) == nil {
		return
	}
	if why := c.grants(child); why != "" {
		c.report.Children[why]++
		return
	}
	c.uncovered(child)
}

// foundAt is the version that a request found.
func (l *life) foundAt(t time.Time) *version {
	found := l.first()
	for _, v := range l.versions {
		if v.by.answered.Before(t) {
			found = v
		}
	}
	return found
}

func (c *checker) uncovered(w *childWrite) {
	if w.unasked {
		c.report.Known["nobody was asked, and failurePolicy is Ignore"]++
		return
	}
	parent := c.parentOf(w)
	var what []string
	for _, ch := range w.changes {
		what = append(what, ch.String())
	}
	c.findf(Uncovered, w.received, w.life, parent, "%s %s (%s) by %s has neither a cause nor a section",
		strings.Join(what, ", "), w.verb, w.sub, w.user)
}

// grants says what lets a change of a child through, or nothing.
func (c *checker) grants(w *childWrite) string {
	parent := c.parentOf(w)
	from, to := w.received.Add(-lag), w.answered
	kind := parent.first().kind
	governing := c.rules.during(kind, parent.foundAt(to).controller() != nil, from, to)
	if !slices.ContainsFunc(governing, func(p *policy) bool {
		return slices.ContainsFunc(append(p.sections(), nil), func(s *section) bool { return p.bounds(w.resource, s) })
	}) {
		return unbounded
	}
	switch {
	case parent.goneBefore(to) || c.orphaned(parent, to):
		return unbounded // An orphan.
	case knows(c.rules.ever(w.child.kind, from, to), w.write, true):
		return origin
	case c.keepsBooks(w, kind):
		return bookkeeping
	case w.found != nil && !w.removes() && w.child.deleting:
		return finishing // That it ends was admitted, and nobody can ask for it in an update.
	case w.found != nil && w.found.deleting:
		return finishing
	case c.lets(w, parent):
		return released
	case c.adopts(w, kind):
		return stray
	}
	if why := c.byPhase(w, parent, governing, from, to); why != "" {
		return why
	}
	if c.adopting(parent, to) {
		return adopting
	}
	return ""
}

// orphaned reports whether an object whose policies name nobody who may begin has nothing above
// it from which it could go on.
func (c *checker) orphaned(l *life, at time.Time) bool {
	if slices.ContainsFunc(c.rules.ever(l.first().kind, at, at), func(p *policy) bool { return p.initiates() }) {
		return false
	}
	return !slices.ContainsFunc(l.foundAt(at).owners, func(o owner) bool {
		above := c.lives[o.UID]
		return above != nil && !above.goneBefore(at) && slices.ContainsFunc(c.rules.ever(above.first().kind, at, at), func(p *policy) bool {
			return p.bounds(resourceOf(l.first().kind), nil)
		})
	})
}

// resourceOf is the resource of a kind.
func resourceOf(kind string) string {
	for resource, known := range kinds {
		if known == kind {
			return resource
		}
	}
	return ""
}

// keepsBooks reports whether a controller tidies up, or writes its history.
func (c *checker) keepsBooks(w *childWrite, kind string) bool {
	if w.user != controllers[kind] {
		return false
	}
	// The API server asks again where an object has changed meanwhile.
	return w.resource == revisions || w.resource == replicaSets && w.removes() &&
		slices.ContainsFunc(w.life.current(w.received.Add(-lag), w.answered), func(i int) bool {
			return w.life.versions[i].replicas() == 0 && w.life.versions[i].status.Replicas == 0
		})
}

// lets reports whether a controller lets go of what it does not select, or a Pod is set aside
// of which another one takes the place.
func (c *checker) lets(w *childWrite, parent *life) bool {
	kind := parent.first().kind
	for _, ch := range w.changes {
		switch {
		case within(ch.path, ownersPath) && !ch.whole() && of(ch, parent) && c.mayUse(w, kind) && !selects(parent.foundAt(w.received).object, w.found):
		case within(ch.path, labelsPath) && !ch.whole() && w.resource == pods && c.heals(kind, w):
		default:
			return false
		}
	}
	return true
}

// of reports whether a change is one of the reference to an object.
func of(ch change, parent *life) bool {
	before, _ := ch.before.(owner)
	after, _ := ch.after.(owner)
	return before.UID == parent.uid || after.UID == parent.uid
}

// mayUse reports whether policies name somebody who carries out what changes of a kind cause.
func (c *checker) mayUse(w *childWrite, kind string) bool {
	from, to := w.received.Add(-lag), w.answered
	return knows(slices.Concat(c.rules.ever(kind, from, to), c.rules.ever(w.child.kind, from, to)), w.write, false)
}

// selects reports whether an object takes a child for its own by a selector.
func selects(parent, child *object) bool {
	selector := parent.at("spec", "selector")
	return !parent.deleting && len(asMap(valueAt(selector, "matchLabels"))) > 0 && matches(selector, child.labels)
}

// heals reports whether policies let Pods that are missing be made again.
func (c *checker) heals(kind string, w *childWrite) bool {
	return slices.ContainsFunc(c.rules.ever(kind, w.received.Add(-lag), w.answered), func(p *policy) bool {
		return p.Maintaining != nil && slices.ContainsFunc(p.Maintaining.Policies, func(e permission) bool {
			return e.lets(w.resource, change{verb: makes})
		})
	})
}

// adopts reports whether a controller takes what nobody has, as a stray.
func (c *checker) adopts(w *childWrite, kind string) bool {
	if w.user != controllers[kind] || w.found == nil || w.found.controller() != nil || w.child.controller() == nil {
		return false
	}
	if slices.ContainsFunc(w.changes, func(ch change) bool { return !within(ch.path, ownersPath) || ch.verb != inserts }) {
		return false
	}
	parent := c.parentOf(w)
	states := c.statesOf(parent)
	caused := len(states) > 0 && slices.ContainsFunc(parent.current(w.received.Add(-lag), w.answered), func(i int) bool {
		return states[i].initializing
	})
	if !caused {
		c.strays[w.life.uid] = w.received
	}
	return true
}

// byPhase looks at the versions of the parent that were current.
func (c *checker) byPhase(w *childWrite, parent *life, governing []*policy, from, to time.Time) string {
	states := c.statesOf(parent)
	if states == nil {
		return unbounded // Owners in a ring.
	}
	for _, i := range parent.current(from, to) {
		for _, p := range governing {
			if why := c.byPolicy(w, parent.versions[i], states[i], p); why != "" {
				return why
			}
		}
	}
	return ""
}

// byPolicy is what lets the change through in one version of the parent.
func (c *checker) byPolicy(w *childWrite, v *version, s *state, p *policy) string {
	mayUse := knows([]*policy{p}, w.write, false) || knows(c.rules.ever(w.child.kind, w.received, w.answered), w.write, false)
	every := func(let func(change) bool) bool {
		return !slices.ContainsFunc(w.changes, func(ch change) bool { return !let(ch) })
	}
	in := func(sec *section) bool {
		return every(func(ch change) bool {
			return slices.ContainsFunc(sec.Policies, func(e permission) bool {
				return e.lets(w.resource, ch) && c.may(w, e.Subjects, sec != p.Maintaining || mayUse)
			})
		})
	}
	switch {
	case v.deleting && (p.Deleting == nil || !p.Deleting.names(w.resource)):
		return deletes
	case v.deleting && in(p.Deleting):
		return deletes
	case v.deleting:
		return ""
	case c.isStray(w):
		// Neither causes nor healing reach what was adopted without a cause.
		return c.ofStray(w, p, mayUse)
	case len(s.held) > 0:
		return c.whileHeld(w, s, p, in)
	case s.initializing && p.Initializing == nil, s.initializing && !p.bounds(w.resource, p.Initializing), s.initializing && in(p.Initializing):
		return initializing
	case mayUse && every(func(ch change) bool {
		return slices.ContainsFunc(s.causes, func(x cause) bool {
			return slices.ContainsFunc(x.entries, func(e permission) bool { return e.lets(w.resource, ch) })
		})
	}):
		return covered
	case p.Maintaining != nil && in(p.Maintaining), c.evicts(w, p):
		return maintaining
	}
	return ""
}

// may reports whether somebody is among those whom an entry names; where it names nobody, it
// is those who may anyway.
func (c *checker) may(w *childWrite, named []subject, otherwise bool) bool {
	if len(named) == 0 {
		return otherwise
	}
	return slices.ContainsFunc(named, func(s subject) bool { return s.is(w.user, w.groups) })
}

// whileHeld is what goes on while something is withheld of the parent: what is lost is made
// again as it was approved, and evictions.
func (c *checker) whileHeld(w *childWrite, s *state, p *policy, in func(*section) bool) string {
	creates := len(w.changes) == 1 && w.changes[0].verb == makes
	switch {
	case w.sub == subEviction && s.initializing && (p.Initializing == nil || in(p.Initializing)):
		return initializing
	case c.evicts(w, p):
		return maintaining
	case !creates || c.tooMany(w, s):
		return ""
	case p.Maintaining != nil && in(p.Maintaining):
		return maintaining
	case s.initializing && (p.Initializing == nil || in(p.Initializing)):
		return initializing
	}
	return ""
}

// tooMany reports whether more Pods are there than were approved, where a number is withheld.
func (c *checker) tooMany(w *childWrite, s *state) bool {
	for _, h := range s.held {
		if len(h.path) != 2 || h.path[1] != "replicas" {
			continue
		}
		approved, ok := h.before.(float64)
		if !ok {
			continue
		}
		return float64(c.living(w)) >= approved
	}
	return false
}

// living is how many others the parent had that were to stay, when a child was made.
func (c *checker) living(w *childWrite) int {
	n := 0
	parent := c.parentOf(w)
	for _, l := range c.all {
		if l.uid == w.life.uid || l.first().kind != w.child.kind {
			continue
		}
		above := l.first().controller()
		if above == nil || above.UID != parent.uid || !l.first().by.answered.Before(w.received) {
			continue
		}
		if l.asked.IsZero() || l.asked.After(w.answered) {
			n++
		}
	}
	return n
}

// evicts reports whether an eviction is everybody's.
func (c *checker) evicts(w *childWrite, p *policy) bool {
	return w.sub == subEviction && p.Maintaining != nil && slices.ContainsFunc(p.Maintaining.Policies, func(e permission) bool {
		return e.lets(w.resource, change{verb: ends})
	})
}

// isStray reports whether a request finds the child adopted without a cause.
func (c *checker) isStray(w *childWrite) bool {
	since, ok := c.strays[w.life.uid]
	return ok && w.received.After(since)
}

// ofStray is what lets a change of a stray through.
func (c *checker) ofStray(w *childWrite, p *policy, mayUse bool) string {
	switch {
	case c.evicts(w, p):
		return maintaining
	case c.discards(w, mayUse):
		return stray
	}
	return ""
}

// discards reports whether somebody gets rid of a stray.
func (c *checker) discards(w *childWrite, mayUse bool) bool {
	return mayUse && !slices.ContainsFunc(w.changes, func(ch change) bool {
		before, _ := ch.before.(float64)
		after, _ := ch.after.(float64)
		return ch.verb != ends && (!within(ch.path, []string{"spec", "replicas"}) || after >= before)
	})
}

// adopting reports whether an object was in the middle of something when a policy came by which
// it is governed, and has not settled since.
func (c *checker) adopting(l *life, at time.Time) bool {
	governing := []string{l.first().kind}
	if above := l.foundAt(at).controller(); above != nil && !slices.ContainsFunc(c.rules.ever(l.first().kind, at, at), (*policy).initiates) {
		governing = append(governing, above.Kind)
	}
	for _, p := range c.rules {
		if !slices.Contains(governing, p.For.Kind) || l.first().by.received.After(p.from) || p.since.After(at) || p.until.Before(at) {
			continue
		}
		if !slices.ContainsFunc(l.versions, func(v *version) bool {
			return v.until.After(p.from) && v.by.answered.Before(at.Add(-lag)) && v.settled() && v.settledAt(v.generation)
		}) {
			return true
		}
	}
	return false
}

// checkVanished looks for what is gone without anybody having asked for it.
func (c *checker) checkVanished(l *life) {
	if c.Final == nil || c.Final[string(l.uid)] || !l.asked.IsZero() || !l.gone.IsZero() {
		return
	}
	above := l.last().controller()
	if above == nil || c.lives[above.UID] == nil || c.evicted(l) {
		return
	}
	c.report.Vanished++
}

// evicted reports whether an eviction asked for the end of a Pod: its answer does not say
// of which.
func (c *checker) evicted(l *life) bool {
	v := l.last()
	return slices.ContainsFunc(c.Log.writes, func(w *write) bool {
		return w.sub == subEviction && w.succeeded() && w.namespace == v.namespace && w.name == v.name && !w.received.Before(l.first().by.received)
	})
}
