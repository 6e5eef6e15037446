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

package generating

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// request is one trigger of one policy.
type request struct {
	policy  string
	trigger generate.ID
}

// entry holds what is known of an accepted policy. Fields that stay as they are until it is set up
// again are read without the lock of the book.
type entry struct {
	plan.Policy
	generation int64
	// ledger and withheld are annotations of the policy as they were when it was last reconciled: what
	// it allows, and what waits for approval.
	ledger, withheld string
	// begun is the time when it was set up.
	begun    time.Time
	compiled *generate.Policy
	account  string
	// resources lists the resources of triggers. more is true where some may not be served yet.
	resources []resource
	more      bool
	since     map[string]v1alpha1.GeneratingSince

	// pending holds the triggers that nobody has looked at since the policy was set up.
	pending map[generate.ID]bool
	// deferred holds the triggers that must wait until nothing is pending.
	deferred map[generate.ID]bool
	triggers map[generate.ID]*outcome
	// readers has the triggers by what was read for them.
	readers readers
	// underway has the changes during each look that has not ended: what a look reads is in readers at its end only.
	underway map[*changes]bool
	// wants has the triggers that want an object, wantedBy the objects that a trigger wants.
	wants, wantedBy map[generate.ID]map[generate.ID]bool
	// readKinds holds the kinds that its expressions read.
	readKinds map[schema.GroupVersionKind]bool
	// kinds holds the kinds of generated objects that the status names; toMake holds further kinds,
	// which the status must name before an object of them is made.
	kinds, toMake map[schema.GroupVersionKind]bool
}

// outcome is the result of one look at a trigger.
type outcome struct {
	matched bool
	// failure is why it could not be evaluated.
	failure *v1alpha1.GeneratingFailure
	reads   []generate.Read
	// objects has the state of each object that the trigger wants, or for which it was made.
	objects map[generate.ID]*objectOutcome
	// unserved are the kinds of which something is wanted, and that are not served.
	unserved []schema.GroupVersionKind
	// elsewhere are the objects that are applied to another namespace than the one that they name.
	elsewhere []generate.Elsewhere
	// later is true where a request is looked at again once what it reads is there.
	later bool
}

// state of an object that a policy wants or made.
type state string

const (
	made        state = "made"
	waiting     state = "waiting"
	refused     state = "refused"
	conflicting state = "conflicting"
	failed      state = "failed"
)

type objectOutcome struct {
	state   state
	failure *v1alpha1.GeneratingFailure
	// uncaused is true where AllowancePolicies do not let the object be written.
	uncaused bool
}

// book holds what is known of all policies.
type book struct {
	mu       sync.Mutex
	policies map[string]*entry
	// setUp holds the policies that were looked at since the start, accepted or not.
	setUp map[string]bool
	// madeBy has the objects that exist, by policy and trigger; marked has the marks of each.
	madeBy map[request]map[generate.ID]bool
	marked map[generate.ID]*plan.Marks
	kindOf map[generate.ID]schema.GroupVersionKind
	// ending has, by name, the policies that are being deleted: each with what it still has to delete, and
	// with what that was made from.
	ending map[string]map[generate.ID]bool
	// looks counts the looks at triggers that go on, by the UID of the policy.
	looks map[types.UID]int
}

func newBook() *book {
	return &book{
		policies: map[string]*entry{}, setUp: map[string]bool{},
		madeBy: map[request]map[generate.ID]bool{}, marked: map[generate.ID]*plan.Marks{}, kindOf: map[generate.ID]schema.GroupVersionKind{},
		ending: map[string]map[generate.ID]bool{}, looks: map[types.UID]int{},
	}
}

// endsWith notes what a policy that is being deleted waits for; nil where it waits no more.
func (b *book) endsWith(policy string, waits map[generate.ID]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ending[policy] = waits; waits == nil {
		delete(b.ending, policy)
	}
}

// endingWith returns the policies that are being deleted and wait for an object.
func (b *book) endingWith(id generate.ID) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for policy, waits := range b.ending {
		if waits[id] {
			out = append(out, policy)
		}
	}
	return out
}

// begin returns the policy for a look at a trigger, nil where it is not accepted, and collects what changes during the
// look. Whoever looks calls end.
func (b *book) begin(name string) (*entry, *changes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, during := b.policies[name], &changes{}
	if e != nil {
		b.looks[e.UID]++
		if e.underway == nil {
			e.underway = map[*changes]bool{}
		}
		e.underway[during] = true
	}
	return e, during
}

// end notes that a look at a trigger has ended.
func (b *book) end(e *entry, during *changes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(e.underway, during)
	b.looks[e.UID]--
	if b.looks[e.UID] == 0 {
		delete(b.looks, e.UID)
	}
}

// isLooking reports whether a look at a trigger of a policy goes on, which may write. Once the policy is
// dropped none begins.
func (b *book) isLooking(policy types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks[policy] > 0
}

// get returns the policy, nil where it is not accepted.
func (b *book) get(name string) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.policies[name]
}

// all returns the accepted policies.
func (b *book) all() []*entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.policies))
}

// accounts returns as whom the policies write, and a further one.
func (b *book) accounts(of string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []string{of}
	for _, e := range b.policies {
		if !slices.Contains(out, e.account) {
			out = append(out, e.account)
		}
	}
	return out
}

// kindsRead returns the kinds that the expressions of a policy read.
func (b *book) kindsRead(e *entry) []schema.GroupVersionKind {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(e.readKinds))
}

// noteMade remembers what an object says of how it came to be; nil where it is gone, or says nothing.
// It returns what it said before.
func (b *book) noteMade(id generate.ID, kind schema.GroupVersionKind, marks *plan.Marks) *plan.Marks {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.marked[id]
	b.unmark(id)
	if marks == nil {
		return before
	}
	b.marked[id], b.kindOf[id] = marks, kind
	for _, trigger := range marks.Triggers {
		of := request{marks.Policy.Name, trigger}
		if b.madeBy[of] == nil {
			b.madeBy[of] = map[generate.ID]bool{}
		}
		b.madeBy[of][id] = true
	}
	return before
}

// forgetKind forgets the objects of a kind that is not watched any more.
func (b *book) forgetKind(kind schema.GroupVersionKind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, of := range b.kindOf {
		if of == kind {
			b.unmark(id)
		}
	}
}

// unmark forgets what an object says.
func (b *book) unmark(id generate.ID) {
	if marks := b.marked[id]; marks != nil {
		for _, trigger := range marks.Triggers {
			of := request{marks.Policy.Name, trigger}
			delete(b.madeBy[of], id)
			if len(b.madeBy[of]) == 0 {
				delete(b.madeBy, of)
			}
		}
	}
	delete(b.marked, id)
	delete(b.kindOf, id)
}

// madeFor returns the objects that a policy made for a trigger.
func (b *book) madeFor(req request) []generate.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.madeBy[req]))
}

// isMadeBy reports whether an object is there that a policy made. The caller has the lock.
func (b *book) isMadeBy(e *entry, id generate.ID) bool {
	marks := b.marked[id]
	return marks != nil && marks.Policy.Name == e.Name
}

// kind returns the version of a kind in which an object is watched.
func (b *book) kind(id generate.ID) (schema.GroupVersionKind, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kind, ok := b.kindOf[id]
	return kind, ok
}

// known says who wants an object, and who made it.
type known struct {
	// wants holds the triggers of the policy that want it.
	wants map[generate.ID]bool
	marks *plan.Marks
	// rivals lists the other policies that want it.
	rivals []plan.PolicyRef
	before *objectOutcome
}

// hasRivals reports whether these are the policies that were known to want the object.
func (k known) hasRivals(rivals []plan.PolicyRef) bool {
	return len(rivals) == len(k.rivals) && !slices.ContainsFunc(rivals, func(p plan.PolicyRef) bool { return !slices.Contains(k.rivals, p) })
}

// of returns what is known of an object.
func (b *book) of(req request, id generate.ID) known {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := known{marks: b.marked[id]}
	for name, e := range b.policies {
		switch {
		case len(e.wants[id]) == 0:
		case name == req.policy:
			out.wants = maps.Clone(e.wants[id])
		default:
			out.rivals = append(out.rivals, e.PolicyRef)
		}
	}
	if e := b.policies[req.policy]; e != nil && e.triggers[req.trigger] != nil {
		out.before = e.triggers[req.trigger].objects[id]
	}
	return out
}

// wanted notes what a trigger wants now, and returns what else has to be looked at: where another
// policy wants what this one began or ceased to want.
func (b *book) wanted(e *entry, trigger generate.ID, objects []generate.Wanted) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := map[generate.ID]bool{}
	for i := range objects {
		now[objects[i].ID] = true
	}
	var changed []generate.ID
	for id := range e.wantedBy[trigger] {
		if now[id] {
			continue
		}
		delete(e.wants[id], trigger)
		if len(e.wants[id]) == 0 {
			delete(e.wants, id)
		}
		changed = append(changed, id)
	}
	if e.wantedBy[trigger] = now; len(now) == 0 {
		delete(e.wantedBy, trigger)
	}
	for id := range now {
		if e.wants[id] == nil {
			e.wants[id] = map[generate.ID]bool{}
		}
		if !e.wants[id][trigger] {
			e.wants[id][trigger] = true
			changed = append(changed, id)
		}
	}
	return b.rivalsFor(e.Name, changed)
}

// wantedFor returns the objects that a trigger wants, as far as is known.
func (b *book) wantedFor(e *entry, trigger generate.ID) []generate.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(e.wantedBy[trigger]))
}

// rivalsFor returns triggers of other policies that want objects, one for each, and those of another
// policy for which one was made: it has left that to the one that wanted it, and may have to delete it.
func (b *book) rivalsFor(policy string, ids []generate.ID) []request {
	var out []request
	for _, id := range ids {
		for name, other := range b.policies {
			if name == policy {
				continue
			}
			for trigger := range other.wants[id] {
				out = append(out, request{name, trigger})
				break
			}
		}
		if marks := b.marked[id]; marks != nil && marks.Policy.Name != policy {
			for _, trigger := range marks.Triggers[:min(len(marks.Triggers), maxSharers)] {
				out = append(out, request{marks.Policy.Name, trigger})
			}
		}
	}
	return out
}

// wanting returns a trigger of each policy that wants an object.
func (b *book) wanting(id generate.ID) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rivalsFor("", []generate.ID{id})
}

// looked notes what came of looking at a trigger, and returns those that waited for the last one, and the trigger
// itself where something that was read for it has changed during the look.
func (b *book) looked(e *entry, trigger generate.ID, out *outcome, during *changes) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var next []request
	if out != nil && during.concern(out.reads) {
		next = append(next, request{e.Name, trigger})
	}
	if before := e.triggers[trigger]; before != nil {
		e.readers.remove(trigger, before.reads)
	}
	if out == nil || !out.matched && out.failure == nil && len(out.objects) == 0 && len(out.reads) == 0 {
		delete(e.triggers, trigger)
	} else {
		e.triggers[trigger] = out
		e.readers.add(trigger, out.reads)
	}
	if !e.pending[trigger] {
		return next
	}
	delete(e.pending, trigger)
	return append(next, b.released()...)
}

// released returns what was deferred, where nothing is pending any more.
func (b *book) released() []request {
	if !b.settled() {
		return nil
	}
	var next []request
	for name, e := range b.policies {
		for trigger := range e.deferred {
			next = append(next, request{name, trigger})
		}
		clear(e.deferred)
	}
	return next
}

// releasedNow calls released with the lock. Whoever has set a policy up calls it.
func (b *book) releasedNow() []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.released()
}

// pendingOf returns the triggers that are still to be looked at.
func (b *book) pendingOf(e *entry) []generate.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(e.pending))
}

// isSetUp reports whether a policy was looked at since the start, and all of its triggers were.
func (b *book) isSetUp(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.isSettled(name)
}

func (b *book) isSettled(name string) bool {
	e := b.policies[name]
	return b.setUp[name] && (e == nil || len(e.pending) == 0)
}

// settled reports whether each trigger of each policy was looked at: only then is known who wants
// an object.
func (b *book) settled() bool {
	for _, e := range b.policies {
		if len(e.pending) > 0 {
			return false
		}
	}
	return true
}

// mayTake reports whether everything is known that says who of some policies wants an object. Where it is not,
// the trigger is looked at again once it is.
func (b *book) mayTake(e *entry, trigger generate.ID, policies []string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(policies, func(name string) bool { return !b.isSettled(name) }) {
		return true
	}
	e.deferred[trigger] = true
	return false
}

// put sets a policy up. It is looked at anew with all of its triggers.
func (b *book) put(e *entry, pending map[generate.ID]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before := b.policies[e.Name]; before != nil && before.UID == e.UID {
		e.wants, e.wantedBy, e.triggers, e.readers, e.toMake, e.deferred = before.wants, before.wantedBy, before.triggers, before.readers, before.toMake, before.deferred
		maps.Copy(e.kinds, before.kinds)
	}
	for trigger := range e.triggers {
		pending[trigger] = true
	}
	for trigger := range e.wantedBy {
		pending[trigger] = true
	}
	e.pending = pending
	b.policies[e.Name], b.setUp[e.Name] = e, true
}

// drop forgets a policy, and returns what others have to look at. exists is true where it is there
// and cannot be accepted.
func (b *book) drop(name string, exists bool) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.policies[name]
	delete(b.policies, name)
	if b.setUp[name] = exists; !exists {
		delete(b.setUp, name)
	}
	next := b.released()
	if e != nil {
		next = append(next, b.rivalsFor(name, slices.Collect(maps.Keys(e.wants)))...)
	}
	return next
}

// readersOf returns the triggers whose evaluation read an object, as it is or as it was.
func (b *book) readersOf(of schema.GroupVersionResource, namespace, name string, sets ...labels.Set) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []request
	for policy, e := range b.policies {
		for _, trigger := range e.readers.of(of, namespace, name, sets...) {
			out = append(out, request{policy, trigger})
		}
		for during := range e.underway {
			during.add(of, namespace, name, sets...)
		}
	}
	return out
}

// outcomes returns the objects whose state is known for a trigger.
func (b *book) outcomes(e *entry, trigger generate.ID) []generate.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.triggers[trigger] == nil {
		return nil
	}
	return slices.Collect(maps.Keys(e.triggers[trigger].objects))
}

// uncausedOf returns the triggers with an object that AllowancePolicies do not let be written.
func (b *book) uncausedOf(e *entry) []request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []request
	for trigger, known := range e.triggers {
		for _, object := range known.objects {
			if object.uncaused {
				out = append(out, request{e.Name, trigger})
				break
			}
		}
	}
	return out
}

// allUncaused returns the triggers of all policies with an object that AllowancePolicies do not let be
// written.
func (b *book) allUncaused() []request {
	all := b.all()
	each := make([][]request, 0, len(all))
	for _, e := range all {
		each = append(each, b.uncausedOf(e))
	}
	return slices.Concat(each...)
}

// isEvaluated reports whether it is known what a trigger wants.
func (b *book) isEvaluated(e *entry, trigger generate.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !e.pending[trigger] && (e.triggers[trigger] == nil || e.triggers[trigger].failure == nil)
}

// noteRead notes that a policy reads a kind.
func (b *book) noteRead(e *entry, kind schema.GroupVersionKind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.readKinds[kind] = true
}

// needs returns a function that reports whether a policy needs the watch of a kind, and false while
// that is not known, as triggers are pending.
func (b *book) needs(e *entry) (func(schema.GroupVersionKind) bool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kinds := maps.Clone(e.readKinds)
	if e.compiled.KeepsRequests() {
		kinds[namespaceKind] = true
	}
	for _, of := range e.resources {
		kinds[of.gvk] = true
		if of.namespaced {
			kinds[namespaceKind] = true
		}
	}
	return func(kind schema.GroupVersionKind) bool { return kinds[kind] }, len(e.pending) == 0
}

// wantsKind reports whether the status of the policy names a kind. If not, it is noted, for the
// status to name it before an object of the kind is made.
func (b *book) wantsKind(e *entry, kind schema.GroupVersionKind) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.kinds[kind] {
		return true
	}
	e.toMake[kind] = true
	return false
}

// kindsOf returns the kinds of which a policy made objects, or is about to.
func (b *book) kindsOf(e *entry) map[schema.GroupVersionKind]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := maps.Clone(e.kinds)
	maps.Copy(out, e.toMake)
	return out
}

// storedKinds notes that the status has these kinds.
func (b *book) storedKinds(e *entry, kinds map[schema.GroupVersionKind]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for kind := range kinds {
		e.kinds[kind] = true
		delete(e.toMake, kind)
	}
}

func sinceOf(status *v1alpha1.GeneratingPolicyStatus, uid types.UID) map[string]v1alpha1.GeneratingSince {
	out := map[string]v1alpha1.GeneratingSince{}
	for _, since := range status.Since {
		if since.PolicyUID == uid {
			out[since.Resource] = since
		}
	}
	return out
}
