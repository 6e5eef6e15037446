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

// Package catalog has what each replica knows of the AllowancePolicies: compiled, with what
// the API server serves of what they name and what the operator may read of it. Its reconciler
// keeps that up to date, has the objects of their kinds cached, and tells the other
// reconcilers of changes.
package catalog

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/policy"
)

// Entry is what has become of one AllowancePolicy so far.
type Entry struct {
	// UID of the AllowancePolicy.
	UID types.UID
	// Policy is what compiled of the current generation.
	Policy *policy.Policy
	// Errors are what did not compile; it is left out of Policy (D14).
	Errors field.ErrorList
	// Served says whether the API server serves the kind that the policy is for, and lets it be watched.
	Served bool
	// Unwatchable says that it serves the kind, and lets nobody list and watch its objects.
	Unwatchable bool
	// Watched says whether the cache has all objects of that kind.
	Watched bool
	// Failing says that it has not, as the API server refuses to list or watch them.
	Failing bool
	// Active says whether the webhook judges by the policy: once a generation of
	// it was adopted.
	Active bool
	// Missing are the rights that the operator would need for it, and has not: it is not
	// active then, as it is not enforced by half.
	Missing []access.Need
	// Clashes are the kinds that it names in another version than policies that stand: it is not
	// active then.
	Clashes []policy.Clash
	// Adopted is the policy of the last adopted generation, and nil where this
	// process has not seen that generation.
	Adopted *policy.Policy

	// adoptedGeneration is the last adopted generation, 0 for none.
	adoptedGeneration int64
	// rank is how the policy stands among those that name other versions.
	rank policy.Rank
	// unreviewed says that it is not known yet what is missing.
	unreviewed bool
}

// MayRead reports whether the operator has the rights that it needs for the policy.
func (e *Entry) MayRead() bool { return !e.unreviewed && len(e.Missing) == 0 }

// Stands reports whether the policy names each kind in the version that counts.
func (e *Entry) Stands() bool { return len(e.Clashes) == 0 }

// derive brings the entry in line with adoptedGeneration, Served, Missing and Clashes.
func (e *Entry) derive() {
	e.Active = e.Served && e.MayRead() && e.Stands() && e.adoptedGeneration != 0
	if e.adoptedGeneration == e.Policy.Generation {
		e.Adopted = e.Policy
	}
}

// sameEntry reports whether nothing has become of a policy between the two.
func sameEntry(e, o Entry) bool {
	return e.UID == o.UID && e.Policy == o.Policy && e.Served == o.Served &&
		e.Unwatchable == o.Unwatchable && e.Watched == o.Watched && e.Failing == o.Failing && e.Active == o.Active && e.Adopted == o.Adopted &&
		e.unreviewed == o.unreviewed && slices.Equal(e.Missing, o.Missing) && slices.Equal(e.Clashes, o.Clashes)
}

// sameWeight reports whether the two are the same in what weigh goes by.
func sameWeight(e, o Entry) bool {
	return e.Policy == o.Policy && e.Served == o.Served && e.rank == o.rank && slices.Equal(e.Missing, o.Missing)
}

// usableAs reports whether the two are the same in what Usable returns.
func usableAs(e, o Entry) bool { return usable(e) == usable(o) }

// activeAs reports whether the two are the same among the active policies.
func activeAs(e, o Entry) bool { return active(e) == active(o) }

// Catalog is what the operator knows about all policies. Reconciler keeps it up
// to date on each replica: everybody else finds each policy compiled here, once
// per generation, and is told of changes. It sets the index of active policies
// that the webhook judges by.
type Catalog struct {
	active *policy.Active
	// begun is read for each request, and is not to wait for policies that are compiled.
	begun atomic.Bool

	// reviewed says that somebody finds out which rights are missing.
	reviewed bool

	mu      sync.Mutex
	known   bool
	entries map[string]Entry
	// usableIndex has what Usable returns: many ask between two changes of it.
	usableIndex *policy.Index
	changes     []chan event.GenericEvent
	subscribers []workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// New returns an empty Catalog that will set active.
func New(active *policy.Active) *Catalog {
	return &Catalog{active: active, entries: map[string]Entry{}}
}

// Get returns what is known of a policy.
func (c *Catalog) Get(policyName string) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[policyName]
	return entry, ok
}

// View is what is known of one policy and of all others in one moment: each policy is
// the same in all of its parts, also while others are being compiled.
type View struct {
	// Entry is that of the policy.
	Entry
	// Usable are as Catalog.Usable returns them, and InEffect as Catalog.Policies does.
	Usable, InEffect *policy.Index
}

// View returns what is known of a policy, and of those beside it, and false where it is
// not known.
func (c *Catalog) View(policyName string) (View, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.entries[policyName]
	if !ok {
		return View{}, false
	}
	return View{Entry: entry, Usable: c.usableIndexLocked(), InEffect: c.active.Index()}, true
}

// Policies returns the active policies, the oldest first: those whose requests have
// to reach the operator.
func (c *Catalog) Policies() []*policy.Policy {
	return c.active.Index().Policies()
}

// Known reports whether Policies are complete, and the API server has answered
// about all that the policies name: what they lack, and what is not found to be
// served, is gone and not just unknown.
func (c *Catalog) Known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return false
	}
	for _, e := range c.entries {
		if e.Served && e.unreviewed {
			return false // Whether it takes effect depends on rights that are still to be reviewed.
		}
	}
	return true
}

// Begun reports whether the policies that there were at the start have been indexed, and
// their objects cached, or have taken too long.
func (c *Catalog) Begun() bool { return c.begun.Load() }

// begin says so, and tells everybody the first time.
func (c *Catalog) begin() {
	if !c.begun.Swap(true) {
		c.NotifyAll()
	}
}

// Usable returns all policies whose kind is served and may be read, and that name it in the version that
// counts, active or about to be.
func (c *Catalog) Usable() []*policy.Policy {
	return c.collect(usable)
}

// usable returns the policy of an entry of which Usable is true, else nil.
func usable(e Entry) *policy.Policy {
	if !e.Served || !e.MayRead() || !e.Stands() {
		return nil
	}
	return e.Policy
}

// usableIndexLocked returns Usable as an index, which is made once between two changes of it.
func (c *Catalog) usableIndexLocked() *policy.Index {
	if c.usableIndex == nil {
		c.usableIndex = policy.NewIndex(c.collectLocked(usable))
	}
	return c.usableIndex
}

// active returns the policy of an entry that is active, else nil.
func active(e Entry) *policy.Policy {
	if !e.Active {
		return nil
	}
	return e.Policy
}

// Baseline returns the active policies, each as it was when last adopted: what a new
// policy or a new generation is compared with to find the holders for which
// policies first take effect (D20). Where that generation was never seen, because
// the policy changed while the operator was away, it is taken as it is now: what
// nobody can tell to be new does not open anything.
func (c *Catalog) Baseline() []*policy.Policy {
	return c.collect(func(e Entry) *policy.Policy {
		switch {
		case !e.Active:
			return nil
		case e.Adopted == nil:
			return e.Policy
		default:
			return e.Adopted
		}
	})
}

// collect returns what pick makes of each entry, nil apart.
func (c *Catalog) collect(pick func(Entry) *policy.Policy) []*policy.Policy {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.collectLocked(pick)
}

func (c *Catalog) collectLocked(pick func(Entry) *policy.Policy) []*policy.Policy {
	var policies []*policy.Policy
	for _, e := range c.entries {
		if p := pick(e); p != nil {
			policies = append(policies, p)
		}
	}
	return policies
}

// Watches reports whether the cache has all objects of a kind that policies are
// for.
func (c *Catalog) Watches(kind schema.GroupKind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.Watched && e.Policy.For.GroupKind() == kind {
			return true
		}
	}
	return false
}

// Fails reports whether the objects of a kind that policies are for cannot be read.
func (c *Catalog) Fails(kind schema.GroupKind) bool {
	return c.AnyFor(kind, func(e Entry) bool { return e.Failing })
}

// For returns the names of the policies for a kind.
func (c *Catalog) For(kind schema.GroupKind) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for name, e := range c.entries {
		if e.Policy.For.GroupKind() == kind {
			names = append(names, name)
		}
	}
	return names
}

// AnyFor reports whether the condition holds for any policy for a kind, active or not.
func (c *Catalog) AnyFor(kind schema.GroupKind, is func(Entry) bool) bool {
	return len(c.Which(func(e Entry) bool { return e.Policy.For.GroupKind() == kind && is(e) })) > 0
}

// Which returns the policies of which something is true, the oldest first, whatever has become of them.
func (c *Catalog) Which(is func(Entry) bool) []*policy.Policy {
	policies := c.collect(func(e Entry) *policy.Policy {
		if !is(e) {
			return nil
		}
		return e.Policy
	})
	slices.SortFunc(policies, policy.ByAge)
	return policies
}

// Changes returns a channel of the caller's own that has an event when the active
// policies, Known or what the API server serves of what policies name may have
// changed. An event that is not read yet stands for all that follow.
func (c *Catalog) Changes() <-chan event.GenericEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes := make(chan event.GenericEvent, 1)
	c.changes = append(c.changes, changes)
	return changes
}

// Source makes a controller reconcile each policy, now and whenever the catalog
// changes: what one policy can do depends on the others.
func (c *Catalog) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.subscribers = append(c.subscribers, queue)
		for name := range c.entries {
			queue.Add(RequestFor(name))
		}
		return nil
	})
}

// NotifyLater makes the controllers behind Source reconcile these policies after a
// while, once for all calls until then.
func (c *Catalog) NotifyLater(policyNames []string, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range policyNames {
		for _, queue := range c.subscribers {
			queue.AddAfter(RequestFor(name), after)
		}
	}
}

// RequestFor returns the request to reconcile a policy.
func RequestFor(policyName string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: policyName}}
}

// NotifyAll makes the controllers behind Source reconcile each policy.
func (c *Catalog) NotifyAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notifyLocked()
}

// compile takes over the policies that exist. A generation is compiled once, and
// again where recompile says that other kinds are served now, which so is a change.
func (c *Catalog) compile(policies []v1alpha1.AllowancePolicy, kinds Kinds, recompile bool) {
	c.update(func(entries map[string]Entry) {
		c.known = kinds.Known()
		before := maps.Clone(entries)
		clear(entries)
		for i := range policies {
			p := &policies[i]
			entry := before[p.Name]
			if entry.UID != p.UID {
				entry = Entry{UID: p.UID, unreviewed: c.reviewed}
			}
			if recompile || entry.Policy == nil || entry.Policy.Generation != p.Generation {
				previous := entry.Policy
				entry.Policy, entry.Errors = policy.Compile(p, kinds.KindFor)
				entry.Policy.Categorize(kinds.Categories)
				entry.Watched = entry.Watched && previous.For == entry.Policy.For
			}
			resource, served := kinds.ByKind(entry.Policy.For)
			entry.Served, entry.Unwatchable = served && !resource.Unwatchable, served && resource.Unwatchable
			entry.adoptedGeneration = max(entry.adoptedGeneration, p.Status.AdoptedGeneration)
			entry.rank = policy.RankOf(p, entry.adoptedGeneration)
			entries[p.Name] = entry
		}
	})
}

// servedPolicies returns all whose kind is served.
func (c *Catalog) servedPolicies() []*policy.Policy {
	return c.collect(func(e Entry) *policy.Policy {
		if !e.Served {
			return nil
		}
		return e.Policy
	})
}

// review takes over which rights are missing for policies, of all in one: each change is weighed
// against all policies.
func (c *Catalog) review(missing map[*policy.Policy][]access.Need) {
	c.update(func(entries map[string]Entry) {
		for p, needs := range missing {
			entry, ok := entries[p.Name]
			if !ok || entry.Policy != p {
				continue
			}
			entry.Missing, entry.unreviewed = needs, false
			entries[p.Name] = entry
		}
	})
}

// watched takes over which kinds the cache has all objects of, and which it cannot read.
func (c *Catalog) watched(holders HolderWatcher) {
	c.update(func(entries map[string]Entry) {
		for name, entry := range entries {
			kind := entry.Policy.For.GroupKind()
			entry.Watched = entry.Served && holders.Watches(kind)
			entry.Failing = entry.Served && !entry.Watched && holders.Failing(kind)
			entries[name] = entry
		}
	})
}

// MarkAdopted says that a generation of a policy was adopted, ahead of the watch
// that will tell so. No other policy stands otherwise for that.
func (c *Catalog) MarkAdopted(p *policy.Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, ok := c.entries[p.Name]
	if !ok || before.UID != p.UID {
		return
	}
	entry := before
	entry.adoptedGeneration = max(entry.adoptedGeneration, p.Generation)
	entry.derive()
	c.entries[p.Name] = entry
	if !sameEntry(before, entry) {
		c.tellLocked(!usableAs(before, entry), !activeAs(before, entry))
	}
}

// update changes the entries, and what else mu guards. Where that makes a
// difference, it sets the active index and tells everybody.
//
// It is called for each policy that changes. So what costs as much as there are policies is done
// where it can make a difference, and not each time.
func (c *Catalog) update(change func(map[string]Entry)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := maps.Clone(c.entries), c.known
	change(c.entries)
	if !maps.EqualFunc(before, c.entries, sameWeight) {
		weigh(c.entries)
	}
	for name, e := range c.entries {
		e.derive()
		if !sameEntry(c.entries[name], e) {
			c.entries[name] = e
		}
	}
	if c.known == known && maps.EqualFunc(before, c.entries, sameEntry) {
		return
	}
	c.tellLocked(!maps.EqualFunc(before, c.entries, usableAs), !maps.EqualFunc(before, c.entries, activeAs))
}

// tellLocked tells everybody of a change, after the indices that are others by it are set.
func (c *Catalog) tellLocked(ofUsable, ofActive bool) {
	if ofUsable {
		c.usableIndex = nil
	}
	if ofActive {
		c.active.Set(policy.NewIndex(c.collectLocked(active)))
	}
	for _, changes := range c.changes {
		select {
		case changes <- event.GenericEvent{}:
		default: // the one that is waiting says it
		}
	}
	c.notifyLocked()
}

// weigh finds out which policies stand. Those that cannot work whatever they name stand in nobody's way.
func weigh(entries map[string]Entry) {
	served := make([]*policy.Policy, 0, len(entries))
	for _, e := range entries {
		if e.Served && len(e.Missing) == 0 {
			served = append(served, e.Policy)
		}
	}
	clashes := policy.Clashes(served, func(p *policy.Policy) policy.Rank { return entries[p.Name].rank })
	for name, e := range entries {
		if found := clashes[e.Policy]; len(found) > 0 || len(e.Clashes) > 0 {
			e.Clashes = found
			entries[name] = e
		}
	}
}

func (c *Catalog) notifyLocked() {
	for _, name := range slices.Sorted(maps.Keys(c.entries)) {
		for _, queue := range c.subscribers {
			queue.Add(RequestFor(name))
		}
	}
}
