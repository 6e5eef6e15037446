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

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
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

func (c *checker) keepsAlive(w *audit.Write) bool {
	return w.User == c.Operator || slices.Contains(w.Groups, nodes) ||
		slices.ContainsFunc(platform, func(user string) bool { return strings.HasPrefix(w.User, user) })
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
	*audit.Write
	life    *audit.Life
	found   *audit.Object // Nil where it is created.
	child   *audit.Object
	changes []audit.Change
	// strict is true where nothing is granted to it that may have ended.
	strict bool
	// above is the parent that it is judged by, nil for the one that bounds it first.
	above *audit.Life
}

// childVersion returns what a writer of a version did to it, or nil where there is nothing that it
// could be a child of.
func (c *checker) childVersion(l *audit.Life, v *audit.Version, w *audit.Write) *childWrite {
	out := &childWrite{Write: w, life: l, child: v.Object}
	switch {
	case v.Before == nil && !w.Creates():
		return nil // It was there before the log.
	case v.Before == nil:
		out.changes = []audit.Change{{Verb: audit.Makes}}
	case w.Removes():
		return nil // Its end is judged as such.
	default:
		out.found = v.Before.Object
		out.changes = slices.Concat(audit.ContentChanges(v.Before.Object, v.Object), c.owning(w, v), c.leaving(v), c.telling(v))
	}
	if c.parentOf(out) == nil {
		return nil
	}
	return out
}

// owning returns the changes of who owns the object that count: of controllers, and of others that
// bound it.
func (c *checker) owning(w *audit.Write, v *audit.Version) []audit.Change {
	return slices.DeleteFunc(audit.OwnerChanges(v.Before.Object, v.Object), func(ch audit.Change) bool {
		o, ok := ch.Before.(audit.Owner)
		if !ok {
			o, _ = ch.After.(audit.Owner)
		}
		return !o.Controller && !c.bounds(c.lives[o.UID], w)
	})
}

// bounds reports whether an owner that does not control an object bounds it: it is there, and policies
// that are in effect for it name the resource.
func (c *checker) bounds(above *audit.Life, w *audit.Write) bool {
	from, to := w.Received.Add(-lag), w.Answered
	if above == nil || above.GoneBefore(to) || c.orphaned(above, to) {
		return false
	}
	governing := c.rulesOf(above).During(above.First().Kind, len(above.FoundAt(to).Owners) > 0, from, to)
	return slices.ContainsFunc(governing, func(p *policylog.Policy) bool { return p.Bounds(w.Resource, nil) })
}

// leaving returns changes of labels by which the parent lets go of the object.
func (c *checker) leaving(v *audit.Version) []audit.Change {
	above := v.Before.Controller()
	if above == nil || c.lives[above.UID] == nil {
		return nil
	}
	selector := c.lives[above.UID].Last().At("spec", "selector")
	if len(audit.AsMap(audit.ValueAt(selector, "matchLabels"))) == 0 || !audit.Matches(selector, v.Before.Labels) || audit.Matches(selector, v.Labels) {
		return nil
	}
	return []audit.Change{{Path: audit.LabelsPath, Verb: audit.Mutates}}
}

// telling returns changes of what sets tell by of which revision their Pods are.
func (c *checker) telling(v *audit.Version) []audit.Change {
	const label = "controller-revision-hash"
	above := v.Before.Controller()
	if above == nil || c.lives[above.UID] == nil || v.Before.Labels[label] == v.Labels[label] {
		return nil
	}
	set, history := c.lives[above.UID].First().Kind, v.Kind == kinds[revisions]
	if set != kinds[daemonSets] && (set != kinds[statefulSets] || history) {
		return nil
	}
	return []audit.Change{{Path: append(slices.Clone(audit.LabelsPath), label), Verb: audit.Mutates}}
}

// parentOf returns the object that bounds a child: the controller of what the request found, or
// of what it made where that one bounds nothing.
func (c *checker) parentOf(w *childWrite) *audit.Life {
	if w.above != nil {
		return w.above
	}
	var parent *audit.Life
	for _, o := range []*audit.Object{w.found, w.child} {
		if o == nil {
			continue
		}
		above := o.Controller()
		if above == nil || c.lives[above.UID] == nil {
			continue
		}
		if parent == nil || c.boundsNothing(parent, w) {
			parent = c.lives[above.UID]
		}
	}
	return parent
}

// boundsNothing reports whether it is certain that an object bounds no children of the resource of a
// request: it was gone for a while, or no policies in effect for it name that.
func (c *checker) boundsNothing(l *audit.Life, w *childWrite) bool {
	from, to := w.Received.Add(-lag), w.Answered
	return l.GoneBefore(from) || c.orphaned(l, from) && c.orphaned(l, to) || !slices.ContainsFunc(c.rulesOf(l).Ever(l.First().Kind, from, to), func(p *policylog.Policy) bool {
		return slices.ContainsFunc(append(p.Sections(), nil), func(s *policylog.Section) bool { return p.Bounds(w.Resource, s) })
	})
}

// checkChildren looks whether the model grants each change of a child.
func (c *checker) checkChildren() {
	for _, l := range c.all {
		if !slices.Contains(childKinds, l.First().Kind) {
			continue
		}
		for _, v := range l.Versions {
			c.checkVersion(l, v)
		}
		c.checkEnds(l)
		c.checkVanished(l)
	}
}

// childKinds are those of which policies of the campaign bound any.
var childKinds = []string{kinds[replicaSets], kinds[pods], kinds[jobs], kinds[revisions], kinds[configMaps], kinds[things]}

func (c *checker) checkVersion(l *audit.Life, v *audit.Version) {
	var refused *childWrite
	for _, w := range v.Writers() {
		if c.keepsAlive(w) {
			return
		}
		if v.Approves(w) && v.ApprovesOwners() && c.initiates(l, v, w) {
			delete(c.strays, l.UID)
		}
		child := c.childVersion(l, v, w)
		if child == nil || len(child.changes) == 0 {
			return
		}
		if why := c.grants(child); why != "" {
			c.report.Children[why]++
			if why == stray {
				c.checkAdopted(child)
			}
			if !slices.Contains([]string{unbounded, origin, finishing, stray, deletes, adopting}, why) {
				c.checkLoss(child, why)
			}
			return
		}
		refused = child
	}
	c.uncovered(refused)
}

// releasing is what the operator says of a request by which a parent lets go of a child.
const releasing = "Released"

// checkLoss looks whether it was told that a parent let go of a child, in whatever way: what is somebody else's, or
// nobody's, can be changed, and adopted again. Of a history it is not told.
func (c *checker) checkLoss(w *childWrite, why string) {
	parent := c.parentOf(w)
	told := slices.Contains(w.Reasons, releasing) || w.Resource == revisions && slices.Contains(w.Reasons, "Bookkeeping")
	exempt := c.excused(w.Write, parent) || c.adopting(parent, w.Answered) || c.disturbed(parent, w.Received.Add(-lag), w.Answered)
	exempt = exempt || why == initializing && slices.ContainsFunc(c.rulesOf(parent).Ever(parent.First().Kind, w.Received.Add(-lag), w.Answered), func(p *policylog.Policy) bool {
		return p.Initializing == nil || !p.Bounds(w.Resource, p.Initializing) // It restricts nothing.
	})
	if c.Whole && w.loses(parent) && !told && !exempt {
		c.findf(Uncovered, w.Received, w.life, parent, "its parent lets go of it by %s, for %s, which the operator takes for %v, and no release", w, why, w.Reasons)
	}
}

// loses reports whether a change takes away that an object owns the child, or a part of how that is said.
func (w *childWrite) loses(parent *audit.Life) bool {
	return slices.ContainsFunc(w.changes, func(ch audit.Change) bool {
		before, ok := ch.Before.(audit.Owner)
		return ok && before.UID == parent.UID && ch.Verb == audit.Drops
	})
}

// checkEnds judges that the end of an object was asked for by who may. Of several who asked at the
// same time any may have ended it: the API server grants the others what is ending already, also
// after they had been denied it.
func (c *checker) checkEnds(l *audit.Life) {
	var denied *childWrite
	for _, w := range firstEnds(l) {
		if c.keepsAlive(w) {
			return
		}
		found := l.FoundAt(w.Received)
		child := &childWrite{Write: w, life: l, found: found.Object, child: found.Object, changes: []audit.Change{{Verb: audit.Ends}}}
		if c.parentOf(child) == nil {
			c.checkSharers(child)
			return
		}
		if why := c.grants(child); why != "" {
			c.report.Children[why]++
			c.checkSharers(child)
			return
		}
		if denied == nil {
			denied = child
		}
	}
	if denied != nil {
		c.uncovered(denied)
	}
}

// checkSharers looks whether the other parents of a child let a controller end it as well: each of them bounds it, whether it controls
// the child or not.
func (c *checker) checkSharers(w *childWrite) {
	first := c.parentOf(w)
	if !carriesOut(w.Write) || w.found.Deleting {
		return
	}
	for _, o := range w.found.Owners {
		above := c.lives[o.UID]
		// What nobody has changed for a while it had when it was asked about.
		had := !slices.ContainsFunc(w.life.Current(w.Received.Add(-lag), w.Answered), func(i int) bool {
			return !slices.ContainsFunc(w.life.Versions[i].Owners, func(other audit.Owner) bool { return other.UID == o.UID })
		})
		if above == nil || above == first || !had || !c.bounds(above, w.Write) || c.disturbed(above, w.Received.Add(-lag-policylog.Moment), w.Answered) {
			continue
		}
		shared := *w
		if shared.above = above; c.grants(&shared) == "" {
			c.uncovered(&shared)
		}
	}
}

// firstEnds returns the requests that may have ended an object: those that came before any of them was
// answered, the earliest first.
func firstEnds(l *audit.Life) []*audit.Write {
	if len(l.Ends) == 0 {
		return nil
	}
	ends := slices.SortedStableFunc(slices.Values(l.Ends), func(a, b *audit.Write) int { return a.Received.Compare(b.Received) })
	answered := slices.MinFunc(ends, func(a, b *audit.Write) int { return a.Answered.Compare(b.Answered) }).Answered
	return slices.DeleteFunc(ends, func(w *audit.Write) bool { return w.Received.After(answered) })
}

// Unasked is why what nothing covers is known of: nobody could be asked, or could tell, and
// policies had it that work goes on then.
const Unasked = "nobody was asked, and failurePolicy is Ignore"

// couldNotTell is what the operator says of a request of which it could not find out what it
// depends on.
const couldNotTell = "Unjudged"

// excused reports whether work went on as nobody could be asked, or could tell, below or about an
// object. Where policies have it that nothing does, what the operator says is no excuse.
func (c *checker) excused(w *audit.Write, l *audit.Life) bool {
	if c.lapsed(w.Received, w.Answered) {
		return true
	}
	return (w.Unasked || slices.Contains(w.Reasons, couldNotTell)) && !c.rulesOf(l).Closes(l.First().Kind, w.Received.Add(-lag), w.Answered)
}

func (c *checker) uncovered(w *childWrite) {
	parent := c.parentOf(w)
	if c.excused(w.Write, parent) {
		c.report.Known[Unasked]++
		return
	}
	var what []string
	for _, ch := range w.changes {
		what = append(what, ch.String())
	}
	c.findf(Uncovered, w.Received, w.life, parent, "%s %s (%s) by %s has neither a cause nor a section",
		strings.Join(what, ", "), w.Verb, w.Subresource, w.User)
}

// grants says what lets a change of a child through, or nothing.
func (c *checker) grants(w *childWrite) string {
	parent := c.parentOf(w)
	from, to := w.Received.Add(-lag), w.Answered
	kind := parent.First().Kind
	governing := c.rulesOf(parent).During(kind, parent.FoundAt(to).Controller() != nil, from, to)
	if !slices.ContainsFunc(governing, func(p *policylog.Policy) bool {
		return slices.ContainsFunc(append(p.Sections(), nil), func(s *policylog.Section) bool { return p.Bounds(w.Resource, s) })
	}) {
		return unbounded
	}
	switch {
	case parent.GoneBefore(to) || c.orphaned(parent, to):
		return unbounded // An orphan.
	case policylog.Knows(c.rulesOf(w.life).Ever(w.child.Kind, from, to), w.Write, true):
		return origin
	case c.keepsBooks(w, kind):
		return bookkeeping
	case w.found != nil && !w.Removes() && w.child.Deleting:
		return finishing // That it ends was admitted, and nobody can ask for it in an update.
	case w.found != nil && w.found.Deleting:
		return finishing
	case c.adopts(w, kind):
		return stray // Also by a kind that selects nothing.
	case c.lets(w, parent):
		return released
	}
	// One that may be in effect beside those that certainly are lets through what it says.
	if why := c.byPhase(w, parent, c.rulesOf(parent).Ever(kind, from, to), from, to); why != "" {
		return why
	}
	if c.adopting(parent, to) {
		return adopting
	}
	return ""
}

// orphaned reports whether an object whose policies name nobody who may begin has nothing above
// it from which it could go on.
func (c *checker) orphaned(l *audit.Life, at time.Time) bool {
	if slices.ContainsFunc(c.rulesOf(l).Ever(l.First().Kind, at, at), func(p *policylog.Policy) bool { return p.Initiates() }) {
		return false
	}
	return !slices.ContainsFunc(l.FoundAt(at).Owners, func(o audit.Owner) bool {
		above := c.lives[o.UID]
		return above != nil && !above.GoneBefore(at) && slices.ContainsFunc(c.rulesOf(above).Ever(above.First().Kind, at, at), func(p *policylog.Policy) bool {
			return p.Bounds(resourceOf(l.First().Kind), nil)
		})
	})
}

// resourceOf returns the resource of a kind.
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
	if w.User != controllers[kind] {
		return false
	}
	// The API server asks again where an object has changed meanwhile.
	return w.Resource == revisions && !w.loses(c.parentOf(w)) || w.Resource == replicaSets && w.Removes() &&
		slices.ContainsFunc(w.life.Current(w.Received.Add(-lag), w.Answered), func(i int) bool {
			return w.life.Versions[i].Replicas() == 0 && w.life.Versions[i].Status.Replicas == 0
		})
}

// lets reports whether a controller lets go of what it does not select, or a Pod is set aside
// of which another one takes the place, or anything else by who may initiate above it.
func (c *checker) lets(w *childWrite, parent *audit.Life) bool {
	kind := parent.First().Kind
	for _, ch := range w.changes {
		switch {
		case audit.Within(ch.Path, audit.OwnersPath) && !ch.Whole() && of(ch, parent) && c.mayUse(w, kind) && !selects(parent.FoundAt(w.Received).Object, w.found):
		case slices.Equal(ch.Path, audit.LabelsPath) && !ch.Whole() && (w.Resource == pods && c.heals(kind, w) || c.mayAbove(w) && c.mayUse(w, kind)):
		default:
			return false
		}
	}
	return true
}

// of reports whether a change is one of the reference to an object.
func of(ch audit.Change, parent *audit.Life) bool {
	before, _ := ch.Before.(audit.Owner)
	after, _ := ch.After.(audit.Owner)
	return before.UID == parent.UID || after.UID == parent.UID
}

// mayUse reports whether policies name somebody who carries out what changes of a kind cause.
func (c *checker) mayUse(w *childWrite, kind string) bool {
	from, to := w.Received.Add(-lag), w.Answered
	return policylog.Knows(slices.Concat(c.rulesOf(c.parentOf(w)).Ever(kind, from, to), c.rulesOf(w.life).Ever(w.child.Kind, from, to)), w.Write, false)
}

// selects reports whether an object takes a child for its own by a selector. StatefulSets take Pods
// by their names, too.
func selects(parent, child *audit.Object) bool {
	if ordinal, ok := strings.CutPrefix(child.Name, parent.Name+"-"); parent.Kind == kinds[statefulSets] && child.Kind == kinds[pods] {
		if _, err := strconv.ParseUint(ordinal, 10, 31); !ok || err != nil {
			return false
		}
	}
	selector := parent.At("spec", "selector")
	return !parent.Deleting && len(audit.AsMap(audit.ValueAt(selector, "matchLabels"))) > 0 && audit.Matches(selector, child.Labels)
}

// heals reports whether policies let Pods that are missing be made again.
func (c *checker) heals(kind string, w *childWrite) bool {
	return slices.ContainsFunc(c.rulesOf(c.parentOf(w)).Ever(kind, w.Received.Add(-lag), w.Answered), func(p *policylog.Policy) bool {
		return p.Maintaining != nil && slices.ContainsFunc(p.Maintaining.Policies, func(e policylog.Permission) bool {
			return e.Lets(w.Resource, audit.Change{Verb: audit.Makes})
		})
	})
}

// adopts reports whether a controller takes what nobody controls. That is a stray, but where the object
// had the parent for an owner already.
func (c *checker) adopts(w *childWrite, kind string) bool {
	if w.User != controllers[kind] || w.found == nil || w.found.Controller() != nil || w.child.Controller() == nil {
		return false
	}
	parent := c.parentOf(w)
	if slices.ContainsFunc(w.changes, func(ch audit.Change) bool {
		before, dropped := ch.Before.(audit.Owner)
		named := dropped && before.UID == parent.UID // It is named as the controller now.
		return !audit.Within(ch.Path, audit.OwnersPath) || ch.Verb != audit.Inserts && !named
	}) {
		return false
	}
	if slices.ContainsFunc(w.found.Owners, func(o audit.Owner) bool { return o.UID == parent.UID }) {
		return true
	}
	states, seen := c.statesOf(parent), parent.Current(w.Received.Add(-lag), w.Answered)
	mayBe, is := isYounger(w.life, parent)
	perhaps, surely := len(seen) == 0, true
	for _, i := range seen {
		initializes := i < len(states) && states[i].initializing
		perhaps, surely = perhaps || !initializes || mayBe || len(states[i].held) > 0, surely && (!initializes || is)
	}
	c.adopted[w.life.UID] = true
	if perhaps {
		c.strays[w.life.UID] = adoption{at: w.Received, by: parent.UID, sure: surely && !c.mayHaveReturned(w.life, parent)}
	}
	return true
}

// isYounger reports whether a child may have been made after a parent that takes what it selects, and whether it certainly was: what
// was left behind for what is new it takes over, and not what somebody makes for it. They tell by seconds.
func isYounger(child, parent *audit.Life) (mayBe, is bool) {
	if len(audit.AsMap(parent.First().At("spec", "selector", "matchLabels"))) == 0 {
		return false, false
	}
	made, was := child.First().By, parent.First().By
	return made.Answered.After(was.Received), made.Creates() && was.Creates() && made.Received.After(was.Answered.Add(time.Second))
}

// mayHaveReturned reports whether somebody wrote a child while it was nobody's who may initiate on its parent, or
// above that: who puts back what was released, or makes what is adopted, has caused the adoption.
func (c *checker) mayHaveReturned(child, parent *audit.Life) bool {
	initiates := func(w *audit.Write) bool { return c.initiatesOn(parent, w) }
	return slices.ContainsFunc(child.Versions, func(v *audit.Version) bool {
		return v.Controller() == nil && slices.ContainsFunc(v.Writers(), initiates)
	})
}

// initiatesOn reports whether somebody may initiate on an object, or above it.
func (c *checker) initiatesOn(l *audit.Life, w *audit.Write) bool {
	for depth := 0; l != nil && depth < deepest; depth++ {
		if policylog.Knows(c.rulesOf(l).Ever(l.First().Kind, w.Received.Add(-lag), w.Answered), w, true) {
			return true
		}
		l = c.parentAt(l, w.Received)
	}
	return false
}

// byPhase looks at the versions of the parent that were current.
func (c *checker) byPhase(w *childWrite, parent *audit.Life, policies []*policylog.Policy, from, to time.Time) string {
	states := c.statesOf(parent)
	if states == nil {
		return unbounded // Owners in a ring.
	}
	counts := c.counting(parent, from, to)
	for _, i := range parent.Current(from, to) {
		s := counts(states[i])
		for _, p := range policies {
			if why := c.byPolicy(w, parent.Versions[i], s, p); why != "" {
				return why
			}
		}
	}
	return ""
}

// counting returns what counts of a state in an interval: while a policy comes or goes, what rules of no other one are about waits.
func (c *checker) counting(parent *audit.Life, from, to time.Time) func(*state) *state {
	if !c.disturbed(parent, from, to) {
		return func(s *state) *state { return s }
	}
	governing := c.rulesOf(parent).During(parent.First().Kind, parent.FoundAt(to).Controller() != nil, from, to)
	return func(s *state) *state {
		out := *s
		out.held = slices.DeleteFunc(slices.Clone(s.held), func(h held) bool { return !triggers(governing, audit.Change{Path: h.path}) })
		return &out
	}
}

// byPolicy returns what lets the change through in one version of the parent.
func (c *checker) byPolicy(w *childWrite, v *audit.Version, s *state, p *policylog.Policy) string {
	mayUse := policylog.Knows([]*policylog.Policy{p}, w.Write, false) || policylog.Knows(c.rulesOf(w.life).Ever(w.child.Kind, w.Received, w.Answered), w.Write, false)
	every := func(let func(audit.Change) bool) bool {
		return !slices.ContainsFunc(w.changes, func(ch audit.Change) bool { return !let(ch) })
	}
	in := func(sec *policylog.Section) bool {
		return every(func(ch audit.Change) bool {
			return slices.ContainsFunc(sec.Policies, func(e policylog.Permission) bool {
				return e.Lets(w.Resource, ch) && c.may(w, e.Subjects, sec != p.Maintaining || mayUse || c.initiatesAbove(w))
			})
		})
	}
	asStray := c.ofStray(w, p, mayUse)
	switch {
	case v.Deleting && (p.Deleting == nil || !p.Deleting.Names(w.Resource)):
		return deletes
	case v.Deleting && in(p.Deleting):
		return deletes
	case v.Deleting:
		return ""
	case c.isStray(w) && (asStray != "" || c.strays[w.life.UID].sure):
		// Neither causes nor healing reach what was adopted without a cause.
		return asStray
	case len(s.held) > 0:
		return c.whileHeld(w, s, p, in)
	case s.initializing && p.Initializing == nil, s.initializing && !p.Bounds(w.Resource, p.Initializing), s.initializing && in(p.Initializing):
		return initializing
	case mayUse && every(func(ch audit.Change) bool {
		return slices.ContainsFunc(s.causes, func(x cause) bool {
			return c.counts(x, w) && slices.ContainsFunc(x.entries, func(e policylog.Permission) bool { return e.Lets(w.Resource, ch) })
		})
	}):
		return covered
	case p.Maintaining != nil && in(p.Maintaining), c.evicts(w, p):
		return maintaining
	}
	return ""
}

// counts reports whether a cause counts for a change of a child.
func (c *checker) counts(x cause, w *childWrite) bool {
	switch {
	case w.strict:
		return x.over.IsZero() && w.Received.Sub(x.at) < untimed
	case x.over.IsZero():
		return true
	default:
		return c.lasts(x, c.parentOf(w), w.Received)
	}
}

// initiatesAbove reports whether somebody may begin something with the parent, or above it: certainly, where nothing is granted to
// a request that may have ended.
func (c *checker) initiatesAbove(w *childWrite) bool {
	if w.strict {
		return c.surelyAbove(w)
	}
	return c.mayAbove(w)
}

// mayAbove reports whether somebody may begin something with the parent, or above it: what is lost
// is made again for them, too.
func (c *checker) mayAbove(w *childWrite) bool {
	l := c.parentOf(w)
	for depth := 0; l != nil && depth < deepest; depth++ {
		if policylog.Knows(c.rulesOf(l).Ever(l.First().Kind, w.Received.Add(-lag), w.Answered), w.Write, true) {
			return true
		}
		l = c.parentAt(l, w.Received)
	}
	return false
}

// may reports whether somebody is among those whom an entry names; where it names nobody, it
// is those who may anyway.
func (c *checker) may(w *childWrite, named []policylog.Subject, otherwise bool) bool {
	if len(named) == 0 {
		return otherwise
	}
	return slices.ContainsFunc(named, func(s policylog.Subject) bool { return s.Is(w.User, w.Groups) })
}

// whileHeld returns what goes on while something is withheld of the parent: what is lost is made
// again as it was approved, and evictions.
func (c *checker) whileHeld(w *childWrite, s *state, p *policylog.Policy, in func(*policylog.Section) bool) string {
	creates := len(w.changes) == 1 && w.changes[0].Verb == audit.Makes
	switch {
	case w.Subresource == audit.SubEviction && s.initializing && (p.Initializing == nil || in(p.Initializing)):
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

// wasSuspended reports whether what was there before something was withheld is the switch that suspends.
func wasSuspended(h held) bool {
	suspended, _ := h.before.(bool)
	return suspended && slices.Equal(h.path, []string{"spec", "suspend"})
}

// isSuspended reports whether the parent was suspended in each version that there was around a request.
func (c *checker) isSuspended(w *childWrite) bool {
	parent := c.parentOf(w)
	found := parent.Current(w.Received.Add(-lag), w.Answered)
	return len(found) > 0 && !slices.ContainsFunc(found, func(i int) bool {
		suspended, _ := parent.Versions[i].At("spec", "suspend").(bool)
		return !suspended
	})
}

// tooMany reports whether more Pods are there than were approved, where a number is withheld, or any while there are to be none.
func (c *checker) tooMany(w *childWrite, s *state) bool {
	if c.isSuspended(w) {
		return true
	}
	for _, h := range s.held {
		if c.surges(w, h) || wasSuspended(h) {
			return true
		}
		if len(h.path) != 2 || h.path[1] != "replicas" {
			continue
		}
		approved, ok := h.before.(float64)
		if !ok {
			continue
		}
		return float64(c.living(w)) >= approved || isBeyond(w, s, c.parentOf(w), int64(approved))
	}
	return false
}

// surges reports whether a Pod comes beside those that a DaemonSet wants, by an update strategy that is withheld.
func (c *checker) surges(w *childWrite, h held) bool {
	parent := c.parentOf(w)
	if parent.First().Kind != kinds[daemonSets] || !audit.Related(h.path, []string{"spec", "updateStrategy", "rollingUpdate", "maxSurge"}) {
		return false
	}
	wanted := int64(0)
	for _, i := range parent.Current(w.Received.Add(-lag), w.Answered) {
		v := parent.Versions[i]
		if surge := v.At("spec", "updateStrategy", "rollingUpdate", "maxSurge"); surge == nil || surge == float64(0) {
			return false
		}
		wanted = max(wanted, v.Status.DesiredNumberScheduled)
	}
	return wanted > 0 && int64(c.living(w)) >= wanted
}

// isBeyond reports whether a Pod of a StatefulSet has a number that those which were approved have not.
func isBeyond(w *childWrite, s *state, parent *audit.Life, approved int64) bool {
	if parent.First().Kind != kinds[statefulSets] || slices.ContainsFunc(s.held, func(h held) bool { return audit.Within(h.path, []string{"spec", "ordinals"}) }) {
		return false
	}
	number, named := strings.CutPrefix(w.child.Name, parent.First().Name+"-")
	ordinal, err := strconv.ParseInt(number, 10, 32)
	if !named || err != nil {
		return false
	}
	first := int64(0)
	for _, i := range parent.Current(w.Received.Add(-lag), w.Answered) {
		start, _ := parent.Versions[i].At("spec", "ordinals", "start").(float64)
		first = max(first, int64(start))
	}
	return ordinal >= first+approved
}

// living returns how many others the parent had that were to stay, when a child was made. What it has let
// go of is none of them.
func (c *checker) living(w *childWrite) int {
	n := 0
	parent := c.parentOf(w)
	for _, l := range c.all {
		if l.UID == w.life.UID || l.First().Kind != w.child.Kind || !l.First().By.Answered.Before(w.Received) {
			continue
		}
		above := l.FoundAt(w.Received).Controller()
		if above == nil || above.UID != parent.UID || l.GoneBefore(w.Received) {
			continue
		}
		if l.Asked.IsZero() || l.Asked.After(w.Answered) {
			n++
		}
	}
	return n
}

// evicts reports whether an eviction is everybody's.
func (c *checker) evicts(w *childWrite, p *policylog.Policy) bool {
	return w.Subresource == audit.SubEviction && p.Maintaining != nil && slices.ContainsFunc(p.Maintaining.Policies, func(e policylog.Permission) bool {
		return e.Lets(w.Resource, audit.Change{Verb: audit.Ends})
	})
}

// isStray reports whether its parent had adopted the child without a cause, surely or not, before a request.
func (c *checker) isStray(w *childWrite) bool {
	adopted, ok := c.strays[w.life.UID]
	return ok && w.Received.After(adopted.at) && adopted.by == c.parentOf(w).UID
}

// ofStray returns what lets a change of a stray through.
func (c *checker) ofStray(w *childWrite, p *policylog.Policy, mayUse bool) string {
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
	return mayUse && !slices.ContainsFunc(w.changes, func(ch audit.Change) bool {
		before, _ := ch.Before.(float64)
		after, _ := ch.After.(float64)
		// By its labels its parent lets go of it.
		return ch.Verb != audit.Ends && !slices.Equal(ch.Path, audit.LabelsPath) && (!audit.Within(ch.Path, []string{"spec", "replicas"}) || after >= before)
	})
}

// adopting reports whether an object was in the middle of something when a policy came by which
// it is governed, and has not settled since. One of which something is withheld adopts nothing.
func (c *checker) adopting(l *audit.Life, at time.Time) bool {
	if c.holdsBack(l, at) {
		return false
	}
	rules := c.rulesOf(l).For(l.First().Kind)
	if above := l.FoundAt(at).Controller(); above != nil && c.lives[above.UID] != nil && !slices.ContainsFunc(c.rulesOf(l).Ever(l.First().Kind, at, at), (*policylog.Policy).Initiates) {
		rules = append(rules, c.rulesOf(c.lives[above.UID]).For(above.Kind)...)
	}
	for _, p := range rules {
		if l.First().By.Received.After(p.From) || p.Since.After(at) || p.Until.Before(at) {
			continue
		}
		if !slices.ContainsFunc(l.Versions, func(v *audit.Version) bool {
			return v.Until.After(p.From) && v.By.Answered.Before(at.Add(-lag)) && settled(v) && settledAt(v, v.Generation)
		}) {
			return true
		}
	}
	return false
}

// holdsBack reports whether something is withheld of every version of an object that may count at a time.
func (c *checker) holdsBack(l *audit.Life, at time.Time) bool {
	states, found := c.statesOf(l), l.Current(at.Add(-lag), at)
	return states != nil && len(found) > 0 && !slices.ContainsFunc(found, func(i int) bool { return len(states[i].held) == 0 })
}

// checkVanished looks for what is gone without anybody having asked for it.
func (c *checker) checkVanished(l *audit.Life) {
	if c.Final == nil || c.Final[string(l.UID)] || !l.Asked.IsZero() || !l.Gone.IsZero() && !c.vanished[l.UID] {
		return
	}
	above := l.Last().Controller()
	if above == nil || c.lives[above.UID] == nil || c.evicted(l) {
		return
	}
	c.report.Vanished++
}

// evicted reports whether an eviction asked for the end of a Pod: its answer does not say
// of which.
func (c *checker) evicted(l *audit.Life) bool {
	v := l.Last()
	return slices.ContainsFunc(c.Log.Writes, func(w *audit.Write) bool {
		return w.Subresource == audit.SubEviction && w.Succeeded() && w.Namespace == v.Namespace && w.Name == v.Name && !w.Received.Before(l.First().By.Received)
	})
}
