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

package trace

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// grow puts links together that tell of the same chain. Chains differ in who started
// them, with which change of which object. Further down, an object that was changed
// several times for the same cause is one. Since when there is a chain may be told by
// links of it that are on other ways: all are those that are known.
func grow(links, all []link) []*Cause {
	var causes []*Cause
	for _, l := range links {
		at := slices.IndexFunc(causes, func(c *Cause) bool { return c.begins(l) })
		if at < 0 {
			at = len(causes)
			causes = append(causes, &Cause{Initiator: l.initiator, Why: l.why, First: newNode(l.hops[0])})
		}
		causes[at].add(l)
	}
	for _, c := range causes {
		for _, l := range all {
			if l.since != nil && c.begins(l) && (c.Since == nil || l.since.Before(c.Since)) {
				c.Since = l.since
			}
		}
	}
	for _, c := range causes {
		c.First.tidy()
	}
	slices.SortStableFunc(causes, func(a, b *Cause) int { return sinceOf(b).Compare(sinceOf(a).Time) })
	return causes
}

// sinceOf returns when a cause was first heard of; nothing where no record tells.
func sinceOf(c *Cause) *metav1.Time {
	if c.Since == nil {
		return &metav1.Time{}
	}
	return c.Since
}

func (c *Cause) begins(l link) bool {
	first := l.hops[0]
	return c.Initiator == l.initiator && c.Why == l.why && c.First.is(first) &&
		slices.Contains(c.First.Generations, first.Generation)
}

func (c *Cause) add(l link) {
	if l.time != nil && (c.Time == nil || c.Time.Before(l.time)) {
		c.Time = l.time
	}
	node := c.First
	node.Namespace = cmp.Or(node.Namespace, l.hops[0].Namespace)
	node.attest(l.hops[0])
	for _, hop := range l.hops[1:] {
		node = node.follow(hop)
	}
	node.Active = node.Active || l.active
	node.Withheld = node.Withheld || l.withheld
	node.CarriedOut = node.CarriedOut || l.carriedOut
	for _, name := range l.names {
		end := v1alpha1.TraceHop{Kind: l.kind, Name: name, Namespace: l.in, Field: l.what}
		at := node.follow(end)
		at.end = true
		if at.last == nil || l.time != nil && at.last.Before(l.time) {
			at.last = l.time
		}
	}
}

// markReplaced says of the ends at which an object was deleted that it has been made again under its name: it is there,
// and its creation is among the ends beside them, and not known to be the earlier one.
func (n *Node) markReplaced() {
	for _, gone := range n.Next {
		if !gone.end || gone.Gone || gone.What != whatDeleted && gone.What != whatEvicted {
			continue
		}
		gone.Again = slices.ContainsFunc(n.Next, func(made *Node) bool {
			return made.end && made.What == whatCreated && made.Kind == gone.Kind && made.Name == gone.Name && mayBeOne(made.Namespace, gone.Namespace) &&
				!made.last.Before(gone.last)
		})
	}
}

func newNode(h v1alpha1.TraceHop) *Node {
	n := &Node{Kind: h.Kind, Name: h.Name, Namespace: h.Namespace, What: h.Field}
	// A change without a generation is one like any other.
	n.Generations = []int64{h.Generation}
	return n
}

func (n *Node) is(h v1alpha1.TraceHop) bool {
	return n.Kind == h.Kind && n.Name == h.Name && mayBeOne(n.Namespace, h.Namespace) && n.What == h.Field
}

// follow returns the node of the next object.
func (n *Node) follow(h v1alpha1.TraceHop) *Node {
	at := slices.IndexFunc(n.Next, func(next *Node) bool { return next.is(h) })
	if at < 0 {
		at = len(n.Next)
		n.Next = append(n.Next, newNode(h))
	}
	next := n.Next[at]
	next.Namespace = cmp.Or(next.Namespace, h.Namespace)
	if !slices.Contains(next.Generations, h.Generation) {
		next.Generations = append(next.Generations, h.Generation)
	}
	next.attest(h)
	return next
}

func (n *Node) attest(h v1alpha1.TraceHop) {
	if len(h.Attestations) == 0 {
		return
	}
	if n.Attestations == nil {
		n.Attestations = map[string]string{}
	}
	maps.Copy(n.Attestations, h.Attestations)
}

// tidy puts the objects in order, and leaves out ends of which a hop tells more.
func (n *Node) tidy() {
	n.Next = slices.DeleteFunc(n.Next, func(next *Node) bool {
		return next.end && slices.ContainsFunc(n.Next, func(other *Node) bool {
			return !other.end && other.Kind == next.Kind && other.Name == next.Name && mayBeOne(other.Namespace, next.Namespace)
		})
	})
	n.Generations = slices.DeleteFunc(n.Generations, func(g int64) bool { return g == 0 })
	slices.Sort(n.Generations)
	slices.SortStableFunc(n.Next, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What), cmp.Compare(a.Name, b.Name))
	})
	for _, next := range n.Next {
		next.tidy()
	}
}

// visit shows each node from here on.
func (n *Node) visit(show func(*Node)) {
	show(n)
	for _, next := range n.Next {
		next.visit(show)
	}
}
