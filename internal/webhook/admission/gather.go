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

package admission

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

// Objects reads holders.
type Objects interface {
	// Get returns a holder from the cache, and a NotFound error where the cache
	// has none. The result is shared and must not be modified.
	Get(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
	// ByUID returns the holder of any kind that has the UID, as Get does.
	ByUID(ctx context.Context, uid types.UID) (*unstructured.Unstructured, error)
	// Ignores reports whether a parent that an object names is none for it.
	Ignores(ctx context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool
	// Names lists the cached holders of a kind in a namespace.
	Names(gvk schema.GroupVersionKind, namespace string) iter.Seq[string]
	// Live reads any object from the API server.
	Live(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
	// LiveIn reads one in the very version of the kind.
	LiveIn(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
	// List goes through the cached holders of a kind, which are not modified.
	List(ctx context.Context, gvk schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error]
	// ListLive reads the objects of a kind from the API server, those of all namespaces where
	// none is given.
	ListLive(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error)
	// Behind reports whether the cache may have an older view of a kind's holders than
	// those who act on them, because it cannot watch them.
	Behind(gvk schema.GroupVersionKind) bool
}

// Records reads AllowanceRecords, and writes what an answer depends on.
type Records interface {
	// Get returns the record of an object from the cache, or nil.
	Get(ctx context.Context, target v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error)
	// Live reads it from the API server.
	Live(ctx context.Context, target v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error)
	// KeepLedger makes sure, before the request is answered, that an object that gets
	// allowances has a record that knows its ledger; void are the entries from before that
	// did not count.
	KeepLedger(ctx context.Context, target v1alpha1.TargetReference, parent types.UID, void ledger.Ledger) error
	// KeepCreation makes sure, before the request is answered, that an object that is being
	// created has a record that says so and knows its ledger; pending are the grants that
	// it is about to be stored without.
	KeepCreation(ctx context.Context, target v1alpha1.TargetReference, parent types.UID, pending ...v1alpha1.PendingGrant) error
	// Behind reports whether the cache may have older records than those who write them.
	Behind() bool
	// AddPending records a grant before the request is answered (D11).
	AddPending(ctx context.Context, target v1alpha1.TargetReference, grant v1alpha1.PendingGrant, found *unstructured.Unstructured) error
	// BreakGlass notes in a parent's record that a request for a child breaks the
	// glass, before the request is answered (D13).
	BreakGlass(ctx context.Context, parent v1alpha1.TargetReference, b v1alpha1.BrokenGlass) error
	// TakeBrokenGlass takes such a note for a request, and returns its reason.
	TakeBrokenGlass(ctx context.Context, parent v1alpha1.TargetReference, request v1alpha1.BrokenGlass) (reason string, ok bool, err error)
	// AddStray notes that a parent adopts a child without a cause, before the request is
	// answered (D5).
	AddStray(ctx context.Context, parent v1alpha1.TargetReference, child v1alpha1.StrayChild) error
	// AcceptParents notes that the parents of an object are its own, which were ignored.
	AcceptParents(ctx context.Context, target v1alpha1.TargetReference) error
	// RemoveStray notes that it has a cause after all.
	RemoveStray(ctx context.Context, parent v1alpha1.TargetReference, child types.UID) error
	// SetAside notes what a child is like that a parent releases, or that somebody made for it,
	// before the request is answered (D5).
	SetAside(ctx context.Context, parent v1alpha1.TargetReference, child v1alpha1.SetAsideChild) error
	// Return notes that an initiator had a parent adopt what was set aside.
	Return(ctx context.Context, parent v1alpha1.TargetReference, child types.UID, returned v1alpha1.ReturnedChild) error
	// RememberVersion has a parent remember the version of a controller that an upgrade lets
	// through, before the request is answered (D12). note is asked for it with what the
	// parent remembers by then, maybe several times, and nil is nothing to remember.
	RememberVersion(ctx context.Context, parent v1alpha1.TargetReference, note func([]v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion) error
	// LiveDeletion returns who deleted an object, as the API server has it; nil where its records
	// do not say.
	LiveDeletion(ctx context.Context, target v1alpha1.TargetReference) (*v1alpha1.Deletion, error)
	// SetDeletion records who deletes an object before the request is answered.
	SetDeletion(ctx context.Context, target v1alpha1.TargetReference, deletion v1alpha1.Deletion) error
	// KeepDeletion records the same where an object may go with its namespace.
	KeepDeletion(ctx context.Context, target v1alpha1.TargetReference, deletion v1alpha1.Deletion) error
	// DeletionOf returns who deleted the object with a uid, or nil.
	DeletionOf(ctx context.Context, uid types.UID) (*v1alpha1.Deletion, error)
	// StraysOf returns the strays of an object that may be gone.
	StraysOf(ctx context.Context, uid types.UID) ([]v1alpha1.StrayChild, error)
	// Observe takes note of a decision, some time later.
	Observe(outcome record.Outcome)
}

// Generators know GeneratingPolicies.
type Generators interface {
	// Account returns the user name of the account as which the GeneratingPolicy of a name writes, and
	// whether there is such a policy.
	Account(ctx context.Context, policy string) (user string, is PolicyState, err error)
}

// Notices are for people.
type Notices interface {
	// Post makes Events of a notice, some time later.
	Post(n eventrecorder.Notice)
}

// Kinds knows the kinds that the API server serves.
type Kinds interface {
	// KindFor returns the kind of a resource.
	KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool)
	// ResourceFor returns the resource of a kind.
	ResourceFor(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool)
	// Namespaced reports whether objects of the kind live in namespaces.
	Namespaced(kind schema.GroupVersionKind) bool
	// GroupKindFor returns the kind of a resource, in whichever of its versions.
	GroupKindFor(resource schema.GroupVersionResource) (schema.GroupKind, bool)
	// ReplicasPath is the path in objects of the resource that its scale sets, requested in a version;
	// without one, in any that has a scale.
	ReplicasPath(resource schema.GroupVersionResource, requested string) string
	// VersionToName returns the version that a command about an object of the kind has to name, empty where kubectl
	// takes it by itself.
	VersionToName(kind schema.GroupKind) string
	// Losing returns how objects of the resource lose fields that are written in a version, nil where
	// nothing is lost.
	Losing(resource schema.GroupVersionResource, requested string) *discovery.Losing
	// Storing returns what is stored of objects of the resource that are written in a version, nil where that is
	// all, or nothing tells.
	Storing(resource schema.GroupVersionResource, requested string) *discovery.Storing
	// Schema is what is declared about the fields of the kind, nil where nothing is
	// known of it.
	Schema(kind schema.GroupVersionKind) change.Schema
}

// Gatherer gathers what a decision depends on.
type Gatherer struct {
	// Policies are the policies that are active now.
	Policies *policy.Active
	// Objects are the holders.
	Objects Objects
	// Namespaces knows the labels of namespaces.
	Namespaces ancestry.Namespaces
	// Records are the AllowanceRecords.
	Records Records
	// Notices tell people what was decided.
	Notices Notices
	// Kinds are those that are served.
	Kinds Kinds
	// Pods knows those that are alive.
	Pods Pods
	// Access tells who may break the glass.
	Access Access
	// Generators know GeneratingPolicies; nil where there are none.
	Generators Generators
	// Upgrades are the UpgradeAllowances that let something through; nil where there are none.
	Upgrades *upgrade.Active
	// Unserved knows which kinds are not served; nil where nobody does.
	Unserved Unserved
	// Versions know which versions make a request, by what an upgrade is of; nil where nobody
	// does.
	Versions upgrade.Sources
	// Gates are the kinds whose objects have one.
	Gates Gates
	// Holds holds deletions back.
	Holds Holds
	// OperatorNamespace has the records of cluster-scoped objects.
	OperatorNamespace string
	// OperatorUser is the name under which Kausality makes its own requests.
	OperatorUser string
	// Platform are who keep the cluster alive.
	Platform decision.Platform
	// Baseline is what objects were like before this operator; nil where there was none.
	Baseline Baseline
	// Current makes sure that the policies are those of the API server, and returns an error
	// where nobody can say; nil where they always are.
	Current func(ctx context.Context) error
	// Clock tells the time of the API server, by which objects say when they were made; the
	// machine's own if nil.
	Clock clock.PassiveClock
	// DigestKey keys the digests that tell of values to those who may not read them.
	DigestKey string

	replacements replacements
	strays       recentStrays
	withdrawn    withdrawn
	bare         bare
	admitted     admitted
	overtaken    overtaken
	ledgers      ledgers
	rounds       rounds
}

// now returns the time as the API server has it.
func (g *Gatherer) now() time.Time {
	if g.Clock == nil {
		return time.Now()
	}
	return g.Clock.Now()
}

// facts are what is known about one request.
type facts struct {
	decision.Input
	parentage
	// index is the one snapshot of the policies that the request is judged by.
	index *policy.Index
	// versionToName returns the version that a command about an object of a kind has to name; nil for none.
	versionToName func(schema.GroupKind) string
	// ledgerError is set where the object's stored ledger cannot be read.
	ledgerError error
	// unserved are the owners that the request gives the object whose kind is not served.
	unserved []lineage.Ref
	// hasMissed is true where the object was changed while no operator looked.
	hasMissed bool
	// record is the object's own, nil where it has none.
	record *v1alpha1.AllowanceRecord
	// recordError is set where that cannot be read.
	recordError error
	// gate is what is known of the object's gate, nil where its kind has none.
	gate *gated
	// stored is the object's ledger as its annotation had it.
	stored ledger.Ledger
	// policiesBefore are the policies in effect for the object before the request. OwnPolicies also has those under
	// which the request brings it.
	policiesBefore []*policy.Policy
	// left are the policies that the object would leave by this request, and leaving those of them that
	// it must not.
	left, leaving []*policy.Policy
	// entering is true where it must not come under another one by this request.
	entering bool
	// claim is the one that the request gives a composite resource that was free.
	claim *lineage.Ref
	// abandoned says what becomes of the composite resource of a claim that is let go by the request without it;
	// empty where nothing is.
	abandoned string
	// approve is what the request says about approving.
	approve approval
	// outsideNote says what a stray stands for outside, where the request makes it one or approves it; empty elsewhere.
	outsideNote string
	// approvedBefore are the fields that the mutating webhook has seen approved.
	approvedBefore []change.Change
	// glass is what the request says about breaking the glass, and brokenFor is what it is broken for.
	glass     glass
	brokenFor []decision.Act
	// withheldOfParent is how the parent was seen to compare with its approved content, where
	// something of it was withheld that the child may be made of.
	withheldOfParent []*approved.Standing
	// alive are the Pods of the parent, and places is for how many of them it has room, where a
	// change of their number is withheld.
	alive  sets.Set[string]
	places int64
	// versions are what makes the request, where that was asked, and upgrades are what the
	// UpgradeAllowances for it say.
	versions []upgrade.Version
	upgrades []upgradeAsked
	// noUpgrade is true where none of them could let it through, as something else is in the way.
	noUpgrade bool
	// carriesNoReason is true where a request of this sort cannot break the glass, nor another one
	// that does the same.
	carriesNoReason bool
	// initiators are who may initiate on the object, or above it, for messages;
	// parentInitiators the same for its parent.
	initiators, parentInitiators []string
	// initiatorsAbove are who may initiate above the object; initiatorsAboveParent the same for its parent.
	initiatorsAbove, initiatorsAboveParent []string
	// approveKey is the annotation to approve changes of the object with.
	approveKey string
}

// gather gathers the facts. Where there is a doubt, the parent and its record are read
// from the API server: the cache may be behind the requester's (D5).
func (g *Gatherer) gather(ctx context.Context, r *request, why doubt, before []*approved.Standing) (*facts, error) {
	index := g.Policies.Index()
	above, err := g.gatherParent(ctx, r, index, why)
	if err != nil {
		return nil, err
	}
	f := g.factsBelow(r, index, &above)
	g.gatherTakenBack(r, f, before)
	own := append(make([]policy.Holder, 0, 1+len(above.chain)), ancestry.Holder(ctx, g.Namespaces, r.current()))
	own = append(own, above.chain...)
	f.policiesBefore = f.index.InEffect(own)
	f.OwnPolicies, f.initiators = g.own(ctx, r, f, own)
	f.initiatorsAbove = f.index.InitiatorsAbove(own)
	f.parentInitiators, f.initiatorsAboveParent = f.index.InitiatorsOf(above.chain), f.index.InitiatorsAbove(above.chain)
	f.approveKey = ledger.AnnotationKey(r.current(), ledger.NameApprove)
	f.AncestorInitiator = !f.Parent.OneSided && f.index.MayInitiateAbove(own, r.requester)
	if f.parentObject != nil && !f.MayExercise() {
		f.Parent.Ledger = ceased(ctx, f.parentObject, f.Parent.Policies, f.Parent.Ledger)
	}

	f.Groups = r.groupsBelow(f.index)
	f.claim = r.newClaim(f.index)
	f.leaving, f.entering = g.leaving(ctx, r, f), g.entering(ctx, r, f)
	if err := g.gatherReferents(ctx, r, f, why); err != nil {
		return nil, err
	}
	g.gatherGate(ctx, r, f, above.chain)
	g.gatherChild(ctx, r, f, why)
	if f.Readers, err = g.readers(ctx, r, f); err != nil {
		return nil, err
	}
	if err := g.healing(ctx, r, f); err != nil {
		return nil, err
	}
	if err := g.gatherSurplus(ctx, r, f); err != nil {
		return nil, err
	}
	f.Uncreated = f.isUncreated(r)
	f.approve = r.approval(f)
	f.Approved = f.approve.changes
	g.noteStray(ctx, r, f)
	if r.beyondGenerations(ctx, f) || r.mayMoveSwitch(f) {
		f.Child.Generation++
	}
	g.gatherUnserved(ctx, r, f)
	f.glass = g.glass(ctx, r, f)
	if f.glass.breaks(r) {
		f.BreakGlass = f.glass.reason
	}
	return f, nil
}

// factsBelow returns the facts about a request as far as they are known with the parent.
func (g *Gatherer) factsBelow(r *request, index *policy.Index, above *parentFacts) *facts {
	f := &facts{index: index, parentage: above.parentage, versionToName: g.Kinds.VersionToName}
	f.Requester = r.requester
	f.Operator = r.requester.Username == g.OperatorUser
	f.Platform = g.Platform
	f.Operation = r.operation
	f.Eviction = r.subresource == subresourceEviction
	f.carriesNoReason = r.carriesNoReason()
	f.ParentState, f.Parent = above.state, above.bounds
	f.Adoption, f.Deletion = above.adoption, above.deletion
	return f
}

// gatherChild fills in what there is to know about the object itself.
func (g *Gatherer) gatherChild(ctx context.Context, r *request, f *facts, why doubt) {
	declared := g.Kinds.Schema(r.gvk)
	// In the mutating hook, what a status update says of anything else may yet be
	// ignored.
	if r.operation == decision.Update && (r.validating || r.subresource != subresourceStatus) {
		g.findChanges(r, f, declared)
		f.Release, f.Leaves = isRelease(r, f), leavesParent(r, f)
		f.gatherStatus(r)
		f.gatherCommand(r)
	}
	ownChanges := f.OwnChanges
	f.OwnChanges, f.Changes = f.withoutSwitch(f.OwnChanges), f.withoutSwitch(f.Changes)
	f.LateInitialization = f.isLateInitialization(r)
	f.setRenames(r, declared)
	f.setBooksAside(r)
	f.setOwnAnnotationsAside(r)
	f.Bookkeeping = f.Bookkeeping || policy.Known(r.gvk.GroupKind(), f.OwnPolicies).IsBookkeeping(string(r.operation), r.current().Object)
	current := r.current()
	f.Child = decision.Child{
		GVK:        r.gvk,
		Resource:   r.resource.GroupResource(),
		Namespace:  r.namespace,
		Name:       r.objectName(),
		UID:        string(current.GetUID()),
		Generation: r.generation(f.OwnPolicies, ownChanges),
		Deleting:   r.old != nil && r.old.GetDeletionTimestamp() != nil,
		Schema:     declared,
	}
	switch {
	case r.new == nil:
	case r.old != nil && r.subresource == subresourceStatus && !r.validating:
		f.Child.New = r.seen().Object // as above
	default:
		f.Child.New = r.new.Object
	}
	if r.old == nil {
		return
	}
	f.Child.Old = r.old.Object
	f.stored, f.ledgerError = r.ledgerBefore(f)
	if why != doubtLedger && why != doubtBlind {
		why = doubtNone // What is not known of the object itself makes no other verdict.
	}
	rec, err := g.readOwnRecord(ctx, r, f, why)
	// A record that cannot be read only means that nothing pending is known, or nothing else
	// than before, and nothing of what the ledger has is given up for it.
	effective := f.stored
	if err == nil {
		effective = record.Effective(rec, r.old, f.stored)
	}
	if err == nil {
		if marks := g.missed(ctx, r, f, rec, effective); len(marks) > 0 {
			effective, f.hasMissed = effective.Merge(marks...), true
		}
	}
	f.Child.Ledger = r.ceasedFor(ctx, f.OwnPolicies, effective.Without(ledger.Entry.IsWithheld))
	f.Child.Blind = f.Child.Phase() == v1alpha1.PhaseInitializing && lifecycle.Blind(r.old, f.OwnPolicies, g.now())
	if len(f.OwnPolicies) > 0 {
		f.Child.Standing = g.standing(ctx, r.old, f.OwnPolicies, effective, rec)
	}
	f.record, f.recordError = rec, err
}

// readOwnRecord reads the record of the object itself.
func (g *Gatherer) readOwnRecord(ctx context.Context, r *request, f *facts, why doubt) (*v1alpha1.AllowanceRecord, error) {
	rec, err := g.readRecord(ctx, r.target(), why)
	if err != nil {
		rec, err = g.Records.Get(ctx, r.target())
	}
	if err == nil && holdsAllowances(f.stored) && !record.KnowsLedger(rec) && why == doubtNone {
		// What does not count is about to leave the ledger.
		rec, err = g.readRecord(ctx, r.target(), doubtUnrecorded)
	}
	return rec, err
}

// gatherTakenBack fills in what was withheld of the parent some moments ago. What was seen of
// that while the request was decided before counts as well.
func (g *Gatherer) gatherTakenBack(r *request, f *facts, before []*approved.Standing) {
	if r.operation == decision.Delete || f.ParentState != decision.ParentFound {
		return
	}
	f.withheldOfParent = before
	if st := withheldOf(f.Parent.Standing); st != nil {
		f.withheldOfParent = withStanding(before, st)
	}
	f.Parent.TakenBack, f.Parent.Fields = g.withdrawn.with(f.parent.UID, f.withheldOfParent), f.parentObject.Object
}

// holdsAllowances reports whether a ledger has more than withheld changes.
func holdsAllowances(l ledger.Ledger) bool {
	return slices.ContainsFunc(l, func(e ledger.Entry) bool { return !e.IsWithheld() })
}

// readLedgerRecord reads the record of a parent with a ledger. Where the cache has none that
// knows the ledger, the API server may have: it is made as the ledger is.
func (g *Gatherer) readLedgerRecord(ctx context.Context, target v1alpha1.TargetReference, why doubt, stored ledger.Ledger) (*v1alpha1.AllowanceRecord, error) {
	rec, err := g.readRecord(ctx, target, why)
	if err != nil || why != doubtNone || !holdsAllowances(stored) || record.KnowsLedger(rec) {
		return rec, err
	}
	if live, err := g.readRecord(ctx, target, doubtUnrecorded); err == nil {
		return live, nil
	}
	return rec, nil // Nothing of the ledger counts, as far as the cache knows.
}

func (g *Gatherer) readRecord(ctx context.Context, target v1alpha1.TargetReference, why doubt) (*v1alpha1.AllowanceRecord, error) {
	if why == doubtNone && g.Records.Behind() {
		why = doubtBehind
	}
	if why == doubtNone || why == doubtBlind {
		return g.Records.Get(ctx, target)
	}
	why.read()
	rec, err := g.Records.Live(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("reading the allowance record of %s %s/%s: %w", target.Kind, target.Namespace, target.Name, err)
	}
	return rec, nil
}

// findChanges finds the changes of an update that count (D7). Metadata counts
// where a policy names it: as a trigger for the object itself, as a bound for
// the child that it is. Who its parent is always counts.
func (g *Gatherer) findChanges(r *request, f *facts, declared change.Schema) {
	var triggers []change.Pattern // Hardly any policy names metadata.
	for _, p := range f.OwnPolicies {
		triggers = append(triggers, p.TriggerMetadata()...)
	}
	bounds := f.identity(r)
	for _, p := range f.Parent.Policies {
		bounds = append(bounds, p.ChildMetadata(r.gvk.GroupKind())...)
	}
	toleratesEmpty := f.toleratesEmpty(r.gvk)
	found := change.Find(r.old.Object, r.new.Object, change.Options{
		Metadata:      slices.Concat(triggers, bounds),
		Schema:        declared,
		TolerateEmpty: toleratesEmpty,
	})
	if toleratesEmpty {
		found = slices.DeleteFunc(found, change.Change.IsBlank)
	}
	f.OwnChanges = named(found, triggers, declared)
	f.Changes = named(found, bounds, declared)
	for i := range f.Changes {
		f.Changes[i] = policy.AsField(r.gvk, f.Changes[i])
	}
	f.findCarried(r)
	above := r.ownReferences(f, r.marksOfOthers(lineage.Changes(f.index, r.old, r.new, g.counting(r, f))))
	for _, c := range slices.Concat(f.withBehind(above), f.lettingGo) {
		same := func(d change.Change) bool { return d.Verb == c.Verb && d.Path.String() == c.Path.String() }
		if !slices.ContainsFunc(f.Changes, same) {
			f.Changes = append(f.Changes, c)
		}
	}
}

// shownMetadata is what controllers show of a parent in its children.
var shownMetadata = []change.Pattern{
	change.Pattern(change.Path{}.Field(fieldMetadata).Field("annotations")),
	change.Pattern(change.Path{}.Field(fieldMetadata).Field("labels")),
}

// findCarried adds the changes of labels and annotations that would show what is withheld of
// the parent.
func (f *facts) findCarried(r *request) {
	if !f.CarriesMetadata() {
		return
	}
	found := change.Find(metadataOf(r.old), metadataOf(r.new), change.Options{Metadata: shownMetadata})
	found = slices.DeleteFunc(found, func(c change.Change) bool { return len(c.Path) > 2 && ledger.IsOurs(c.Path[2].Field) })
	for _, c := range f.Carried(found) {
		if !slices.ContainsFunc(f.Changes, func(d change.Change) bool { return d.Path.String() == c.Path.String() }) {
			f.Changes = append(f.Changes, c)
		}
	}
}

// metadataOf returns an object with nothing but its metadata.
func metadataOf(obj *unstructured.Unstructured) map[string]any {
	return map[string]any{fieldMetadata: obj.Object[fieldMetadata]}
}

// isParent reports whether a reference is to the parent that bounds the request.
func (f *facts) isParent(ref lineage.Ref) bool {
	return f.ParentState == decision.ParentFound && !ref.IsByName() && string(ref.UID) == f.Parent.UID
}

// toleratesEmpty reports whether an update of an object of the kind may add and drop
// empty values without a cause. The clients of custom resources write them as their own
// Go types know them, with empty structs that were not there: where that comes from a
// service account that acts for the system, nobody wanted it. The API server applies
// the defaults of its own kinds to the old object as well as to the new one, so that an
// empty value in one of them is somebody's, whoever writes it.
func (f *facts) toleratesEmpty(kind schema.GroupVersionKind) bool {
	return !clientgoscheme.Scheme.Recognizes(kind) && f.KeepsBooks()
}

// copied reports whether the annotations of the request are copies: Crossplane puts
// those of a claim on its composite resource, the ledger included, on each sync. They
// are the claim's, ask for nothing, and nobody has to be told of it.
func (f *facts) copied() bool { return f.claimed && f.KeepsBooks() }

// setBooksAside leaves out the changes in which the system of the object keeps its
// books, where the requester may: these need no cause, and trigger nothing (D5). What its
// system takes over from a claim of which that very field is withheld is no such change.
func (f *facts) setBooksAside(r *request) {
	if !f.KeepsBooks() {
		return
	}
	isBookkeeping := func(c change.Change) bool {
		return lineage.BookkeepingField(f.index, r.gvk.GroupKind(), c) && (!f.claimed || !f.Parent.Withholds(c.Path))
	}
	if !slices.ContainsFunc(f.Changes, isBookkeeping) {
		return
	}
	for _, c := range f.OwnChanges {
		if isBookkeeping(c) {
			f.Books = append(f.Books, c)
		}
	}
	f.OwnChanges = slices.DeleteFunc(slices.Clone(f.OwnChanges), isBookkeeping)
	rest := slices.DeleteFunc(slices.Clone(f.Changes), isBookkeeping)
	if f.Bookkeeping = len(rest)+len(f.OwnChanges) == 0; !f.Bookkeeping {
		f.Changes = rest
	}
}

// setOwnAnnotationsAside leaves out the changes of annotations in which the controllers of the object
// keep their books, where it may be one of these that makes them. Observed without that: the revision
// that the Deployment controller counts was withheld, and each rollout with it, where a policy names
// the annotations of Deployments. What the controller of the parent tells its children apart by is a
// part of its books, and counts like a field when anybody else writes it.
func (f *facts) setOwnAnnotationsAside(r *request) {
	if len(f.Changes)+len(f.OwnChanges) == 0 || !f.Requester.IsController() {
		return
	}
	kind := policy.Known(r.gvk.GroupKind(), f.OwnPolicies)
	isOwn := func(c change.Change) bool { return kind.IsOwnAnnotation(c.Path) }
	if !slices.ContainsFunc(f.OwnChanges, isOwn) && !slices.ContainsFunc(f.Changes, isOwn) {
		return
	}
	marks := f.marks(r.gvk.GroupKind())
	keepsOwn, keepsMarks := policy.MayExercise(f.Requester, f.OwnPolicies, nil), f.KeepsBooks()
	isBookkeeping := func(c change.Change) bool {
		if slices.ContainsFunc(marks, func(mark change.Pattern) bool { return mark.Covers(c.Path) }) {
			return keepsMarks && isOwn(c)
		}
		return keepsOwn && isOwn(c)
	}
	f.OwnChanges = slices.DeleteFunc(slices.Clone(f.OwnChanges), isBookkeeping)
	f.Changes = slices.DeleteFunc(slices.Clone(f.Changes), isBookkeeping)
}

// marks are the metadata by which the controller of the parent tells what a child of a kind is.
func (f *facts) marks(kind schema.GroupKind) []change.Pattern {
	if f.ParentState != decision.ParentFound {
		return nil
	}
	child, _ := f.Parent.Known().Child(kind)
	return child.AllMarks()
}

// named returns the changes outside metadata, and those that the patterns name.
func named(changes []change.Change, patterns []change.Pattern, declared change.Schema) []change.Change {
	isNamed := func(c change.Change) bool {
		return slices.ContainsFunc(patterns, func(p change.Pattern) bool { _, ok := p.Matches(c, declared); return ok })
	}
	out := make([]change.Change, 0, len(changes))
	for _, c := range changes {
		if !c.Path.IsMetadata() || isNamed(c) {
			out = append(out, c)
		}
	}
	return out
}

// isRelease reports whether the update takes the parent's own reference off the
// object, or puts it on one that has none, or makes the parent's controller do so,
// and touches no other lineage. Another parent from before that bounds nothing is none.
func isRelease(r *request, f *facts) bool {
	before, _ := lineage.Parent(f.index, r.old)
	after, _ := lineage.Parent(f.index, r.new)
	// Nobody but those who may change it takes the reference to a claim away.
	if f.ParentState != decision.ParentFound || before.Mutual || after.Mutual {
		return false
	}
	release := len(f.lettingGo) > 0
	for _, c := range f.Changes {
		uid, ok := lineage.IsOwner(c)
		switch {
		case !ok:
		case uid == f.Parent.UID && lineage.Forsakes(f.Parent.Known(), f.parentObject, r.new):
			return false // Its controller would not do that.
		case uid == f.Parent.UID:
			release = true
		case c.Verb == change.Delete && len(lineage.Parents(f.index, r.new)) > 0:
			// It is replaced by the parent, and bounded nothing.
		default:
			return false
		}
	}
	return release
}

// leavesParent reports whether the update takes the object away from the parent that bounds it: by
// its references, or by labels for which the parent's controller lets go of it, and does not adopt it.
func leavesParent(r *request, f *facts) bool {
	if f.ParentState != decision.ParentFound {
		return false
	}
	if len(f.lettingGo) > 0 && !lineage.WouldAdopt(f.Parent.Known(), f.parentObject, r.new) {
		return true
	}
	return slices.ContainsFunc(f.Changes, func(c change.Change) bool { return lineage.Leaves(c, f.parentObject, r.new) })
}
