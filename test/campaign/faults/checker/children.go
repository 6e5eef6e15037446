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

	"k8s.io/apimachinery/pkg/types"
)

// lag is how much older than a request the version of the parent may be that covers it.
const lag = 2 * time.Second

// platform keep the cluster alive; nothing above their objects causes what they do.
var platform = []string{
	"system:kube-scheduler", "system:node:",
	"system:serviceaccount:kube-system:generic-garbage-collector", "system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:pod-garbage-collector", "system:serviceaccount:kube-system:node-controller",
	"system:serviceaccount:kube-system:taint-eviction-controller", "system:serviceaccount:kube-system:ttl-after-finished-controller",
}

// Who carries out what a change of a Deployment causes, and cleans up after it.
const deploymentController = "system:serviceaccount:kube-system:deployment-controller"

// childWrite is a request that changed a child.
type childWrite struct {
	*write
	child *object
	// found is the version that the request found; nil where it created the child.
	found   *version
	changes []change
	parent  types.UID
}

// checkChildren looks whether something covered each change of a child.
func (c *checker) checkChildren() {
	for _, w := range c.Log.writes {
		if !w.succeeded() || w.Resource != replicaSets && w.Resource != pods || w.User == c.Operator {
			continue
		}
		if slices.ContainsFunc(platform, func(user string) bool { return strings.HasPrefix(w.User, user) }) {
			continue
		}
		child, ok := c.childWrite(w)
		if !ok || len(child.changes) == 0 || child.parent == "" {
			continue
		}
		why := c.covered(child)
		if why == unbounded {
			continue
		}
		if why != "" {
			c.report.Children[why]++
			continue
		}
		c.report.Children["nothing"]++
		c.findf(Uncovered, w.Received, child.child.Kind+" "+w.Namespace+"/"+w.Name, "%s by %s (%s): %v", w.Verb, w.User, w.Subresource, child.changes)
		c.report.Findings[len(c.report.Findings)-1].Excused = w.Unasked
	}
}

// childWrite is what a write does to a child; false where it does nothing that counts.
func (c *checker) childWrite(w *write) (*childWrite, bool) {
	l := c.lives[w.UID]
	out := &childWrite{write: w}
	switch {
	case w.Verb == verbDelete || w.Subresource == "eviction":
		if l = c.living(l, w); l == nil {
			return nil, false
		}
		out.found = l.versions[len(l.versions)-1]
		// It was being deleted already, and that was judged.
		if !l.goneSince.IsZero() && l.goneSince.Before(w.Received) {
			return nil, false
		}
		out.child, out.changes = out.found.object, []change{{verbDelete, wholeObject}}
	case w.Subresource != "" && w.Subresource != "scale":
		return nil, false
	default:
		if l == nil {
			return nil, false
		}
		i := slices.IndexFunc(l.versions, func(v *version) bool { return v.by == w })
		if i < 0 {
			return nil, false
		}
		v := l.versions[i]
		out.child, out.found, out.changes = v.object, v.before, v.changes()
		if v.before == nil && w.Verb != verbCreate {
			return nil, false // It was there before the log.
		}
	}
	out.parent = out.child.ownerUID()
	if out.found != nil && out.found.ownerUID() != "" {
		out.parent = out.found.ownerUID()
	}
	return out, true
}

// living is the object that a request names: that of the answer, else the one of that
// name which was there.
func (c *checker) living(l *life, w *write) *life {
	if l != nil && len(l.versions) > 0 {
		return l
	}
	for _, other := range c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name] {
		if !other.versions[0].by.Received.After(w.Answered) && (other.goneSince.IsZero() || !other.goneSince.Before(w.Received)) {
			return other
		}
	}
	return nil
}

// unbounded says that no policy is about a change.
const unbounded = "unbounded"

// covered says what let a change through, or nothing.
func (c *checker) covered(w *childWrite) string {
	parent := c.lives[w.parent]
	if parent == nil || len(parent.versions) == 0 {
		return unbounded // An orphan, or a parent of a kind that no policy of a campaign is about.
	}
	from, to := w.Received.Add(-lag), w.Answered
	kind := parent.versions[0].Kind
	if !c.rules.bounded(kind, w.Resource, from, to) || c.orphaned(parent, to) {
		return unbounded
	}
	if mayInitiate(c.rules.ever(w.child.Kind, from, to), w.User, w.Groups) {
		return "origin"
	}
	if w.User == deploymentController && w.Verb == verbDelete && w.child.replicas() == 0 && w.found.Status.Replicas == 0 {
		return "bookkeeping"
	}
	// That it goes was admitted, which was judged: nothing comes of what is written now.
	if w.Verb != verbDelete && w.child.Metadata.DeletionTimestamp != nil {
		return "finishing"
	}
	if !parent.goneSince.IsZero() && parent.goneSince.Before(to) && !slices.ContainsFunc(parent.current(from, to), func(v *version) bool {
		return v.Metadata.DeletionTimestamp != nil
	}) {
		return "deleting" // It has gone at once, and what is left are orphans.
	}
	if why := c.coveredBy(parent, w, from, to); why != "" {
		return why
	}
	if c.adopting(parent.uid, from, to) {
		return "adopting"
	}
	return ""
}

// orphaned tells whether an object that cannot begin a chain has lost what was above it,
// from which alone it could continue one.
func (c *checker) orphaned(l *life, at time.Time) bool {
	above := c.lives[l.versions[len(l.versions)-1].ownerUID()]
	return above != nil && !above.goneSince.IsZero() && above.goneSince.Before(at)
}

// coveredBy looks at the versions of the parent that were current.
func (c *checker) coveredBy(parent *life, w *childWrite, from, to time.Time) string {
	kind := parent.versions[0].Kind
	for _, v := range parent.current(from, to) {
		policies := c.rules.ever(kind, from, to)
		if v.Metadata.DeletionTimestamp != nil {
			if slices.ContainsFunc(policies, func(p *policy) bool { return p.Deleting.lets(w.Resource, w.changes) }) {
				return "deleting"
			}
			continue
		}
		// A withheld change that is on its way into the ledger counts while it stands.
		pending := slices.DeleteFunc(c.pending(parent.uid, from, to), func(e entry) bool {
			return e.withheld() && e.Generation != v.Metadata.Generation
		})
		held := slices.Concat(v.ledger, pending)
		if slices.ContainsFunc(held, func(e entry) bool { return e.last().Field == created }) &&
			slices.ContainsFunc(policies, func(p *policy) bool { return p.Initializing.lets(w.Resource, w.changes) }) {
			return "initializing"
		}
		if c.exercised(held, w, kind, from, to) {
			return "covered"
		}
	}
	for _, p := range c.rules.ever(kind, from, to) {
		// Evictions are everybody's: drains need them, and budgets guard them.
		may := w.Subresource == "eviction" || p.subject(w.User, w.Groups, false) || c.rules.carries(w, from, to)
		if may && !slices.ContainsFunc(w.changes, func(ch change) bool { return !p.maintains(w.Resource, ch) }) {
			return "maintaining"
		}
	}
	return ""
}

// exercised tells whether a ledger covers all changes, for whoever makes them.
func (c *checker) exercised(held []entry, w *childWrite, kind string, from, to time.Time) bool {
	if slices.ContainsFunc(held, func(e entry) bool { return e.withheld() }) {
		return false
	}
	subject := c.rules.carries(w, from, to) ||
		slices.ContainsFunc(c.rules.ever(kind, from, to), func(p *policy) bool { return p.subject(w.User, w.Groups, false) })
	return subject && !slices.ContainsFunc(w.changes, func(ch change) bool {
		return !slices.ContainsFunc(held, func(e entry) bool { return e.covers(w.child.Kind, ch) })
	})
}

// carries tells whether a policy for the child itself names who changes it.
func (r rulebook) carries(w *childWrite, from, to time.Time) bool {
	return slices.ContainsFunc(r.ever(w.child.Kind, from, to), func(p *policy) bool { return p.subject(w.User, w.Groups, false) })
}

// recorded are the versions of an object's records that were current.
func (c *checker) recorded(uid types.UID, from, to time.Time) []*version {
	var out []*version
	for _, l := range c.recordsOf(uid) {
		out = append(out, l.current(from, to)...)
	}
	return out
}

// pending are the allowances that were on their way into a ledger. What the API server did
// not see stored may have been, and is there in what is written next.
func (c *checker) pending(uid types.UID, from, to time.Time) []entry {
	var out []entry
	for _, l := range c.recordsOf(uid) {
		for _, v := range l.versions {
			for _, grant := range v.Status.PendingGrants {
				begun := !v.by.Received.After(to) || !grant.Time.IsZero() && !grant.Time.After(to)
				if begun && !v.until.Before(from) {
					out = append(out, grant.Allowances...)
				}
			}
		}
	}
	return out
}

// adopting tells whether an object was finishing what it did when its policy came.
func (c *checker) adopting(uid types.UID, from, to time.Time) bool {
	return slices.ContainsFunc(c.recorded(uid, from, to), func(v *version) bool { return v.Status.adopting() })
}
