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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// parentage is what facts have of the parent of an object, beside what a decision depends on.
type parentage struct {
	// goneParent and goneName are the kind and the name of the parent that the object
	// names and that does not exist.
	goneParent, goneName string
	// parent is where the child's parent is recorded.
	parent v1alpha1.TargetReference
	// parentRecordKey is the name of its AllowanceRecord.
	parentRecordKey types.NamespacedName
	// parentObject is the parent itself, nil where there is none.
	parentObject *unstructured.Unstructured
	// parentRecord is the parent's record, nil where it has none.
	parentRecord *v1alpha1.AllowanceRecord
	// strays are the children that the parent adopted without a cause.
	strays []v1alpha1.StrayChild
	// lettingGo are changes of the object's labels for which the controller of its
	// parent would release it, or adopt it.
	lettingGo []change.Change
	// behind is the reference to the parent that an update puts behind that to another one which the object has
	// already; nil where it does not.
	behind *lineage.Ref
	// claimed is true where the parent is the claim of a composite resource.
	claimed bool
	// taken is true where the request gives the object, which was free, to a parent that is
	// named by labels.
	taken bool
	// adopter is where the parent is recorded that adopts the child, and adopterInitiators
	// are who may initiate on it, or above it, where there is one.
	adopter           v1alpha1.TargetReference
	adopterInitiators []string
	// adopterSince and since are when that parent and the object were created.
	adopterSince, since metav1.Time
	// parentApproveKey is the annotation to approve changes of the parent with.
	parentApproveKey string
}

// parentFacts is what is known of the parent that bounds a request: the first stage of the
// facts, on which all others depend.
type parentFacts struct {
	parentage
	// state says what is known of the parent, and bounds is the parent where it was found.
	state  decision.ParentState
	bounds decision.Parent
	// chain are the holders that bound the request, from the parent upwards.
	chain []policy.Holder
	// adoption is what an update does that gives the object another parent.
	adoption *decision.Adoption
	// deletion is that of a parent that is going or gone.
	deletion *v1alpha1.Deletion
}

// gatherParent gathers what there is to know about the parent that bounds a request.
func (g *Gatherer) gatherParent(ctx context.Context, r *request, index *policy.Index, why doubt) (parentFacts, error) {
	if r.madeFor != nil {
		owner, err := g.gatherMaker(ctx, r, index, why)
		if err != nil || r.by != nil {
			return owner, err
		}
		return g.gatherAdopter(ctx, r, index, &owner, why)
	}
	if r.by != nil {
		return g.gatherOwner(ctx, r, index, *r.by, false, why)
	}
	if ref, ok := g.adopter(ctx, r, index); ok {
		return g.gatherOwner(ctx, r, index, ref, true, why)
	}
	ref, ok := g.parentRef(ctx, r, index)
	if !ok {
		return parentFacts{state: decision.NoParent}, nil
	}
	owner, err := g.gatherOwner(ctx, r, index, ref, false, why)
	if err != nil {
		return parentFacts{}, err
	}
	return g.gatherAdopter(ctx, r, index, &owner, why)
}

// lettingGo returns the changes of the object's labels for which the controller of its parent, or of what would adopt it,
// lets go of it, or takes it.
func (r *request) lettingGo(parent *unstructured.Unstructured, ref lineage.Ref, policies []*policy.Policy, adopts bool) []change.Change {
	known := policy.Known(parent.GroupVersionKind().GroupKind(), policies)
	switch {
	case r.operation != decision.Update, ref.Generator != "":
		return nil
	case adopts:
		return lineage.Joining(known, parent, r.old, r.new)
	default:
		return lineage.LettingGo(known, parent, r.old, r.new)
	}
}

// gatherOwner gathers what there is to know about the object that a reference names as
// the parent, or that would adopt the object.
func (g *Gatherer) gatherOwner(
	ctx context.Context, r *request, index *policy.Index, ref lineage.Ref, adopts bool, why doubt,
) (p parentFacts, err error) {
	policies := index.For(ref.GVK.GroupKind())
	if len(policies) == 0 {
		return parentFacts{state: decision.ParentUngoverned}, nil
	}
	if why == doubtNone && g.Objects.Behind(policies[0].For) {
		why = doubtBehind
	}
	parent, overtaken, err := g.readParent(ctx, ref, policies[0].For, why)
	if err != nil {
		return parentFacts{}, err
	}
	if parent == nil && adopts {
		return parentFacts{state: decision.NoParent}, nil
	}
	if parent == nil {
		p.state = decision.ParentGone
		p.goneParent, p.goneName = ref.GVK.Kind, ref.Name
		if (r.operation == decision.Delete || r.asksToOrphan()) && !ref.IsByName() {
			p.deletion = g.deletionOf(ctx, r, v1alpha1.TargetReference{
				Group: ref.GVK.Group, Version: ref.GVK.Version, Kind: ref.GVK.Kind,
				Namespace: g.namespaceOf(ref, policies[0].For), Name: ref.Name, UID: ref.UID,
			})
			if r.driver != nil {
				p.bounds.Strays, err = g.straysOfGone(ctx, ref.UID)
			}
		}
		return p, err
	}
	p.chain = ancestry.Chain(ctx, g.Objects, g.Namespaces, index, parent)
	p.parent = record.TargetOf(parent)
	p.parentRecordKey = types.NamespacedName{Namespace: record.Namespace(p.parent, g.OperatorNamespace), Name: record.Name(p.parent)}
	p.parentApproveKey = ledger.AnnotationKey(parent, ledger.NameApprove)
	p.claimed = ref.Mutual
	p.state = decision.ParentFound
	p.bounds = decision.Parent{
		GVK:        parent.GroupVersionKind(),
		Namespace:  parent.GetNamespace(),
		Name:       parent.GetName(),
		UID:        string(parent.GetUID()),
		Generation: parent.GetGeneration(),
		Deleting:   parent.GetDeletionTimestamp() != nil,
		OneSided:   !ref.PointsBack(parent, r.current()),
		Policies:   index.InEffect(p.chain),
	}
	p.lettingGo = r.lettingGo(parent, ref, p.bounds.Policies, adopts)
	// A ledger that cannot be read allows nothing; its holder's own admission
	// says so.
	stored, _ := g.ledgers.of(parent)
	recordWhy := why
	if overtaken {
		recordWhy = doubtOvertaken // What is withheld may be in its record alone.
	}
	rec, err := g.readLedgerRecord(ctx, p.parent, recordWhy, stored)
	if err != nil {
		return parentFacts{}, err
	}
	p.parentRecord = rec
	p.strays = g.strays.with(rec, parent.GetUID(), why)
	p.bounds.Strays = uidsOf(p.strays)
	effective := unspent(ctx, rec, parent, stored, p.bounds.Policies)
	p.bounds.Ledger = effective.Without(ledger.Entry.IsWithheld)
	p.bounds.Standing = g.parentStanding(ctx, parent, p.bounds.Policies, effective, rec)
	p.bounds.Returning = p.bounds.Standing.Returns() // It has not settled since: standing says so.
	p.bounds.Adopting = g.adopting(ctx, parent, p.bounds.Policies, rec)
	p.bounds.Blind = p.bounds.Phase() == v1alpha1.PhaseInitializing && lifecycle.Blind(parent, p.bounds.Policies, g.now())
	if p.bounds.Deleting {
		p.deletion = g.deletionOf(ctx, r, p.parent)
	}
	p.parentObject = parent
	p.gatherRevisions(r)
	return p, nil
}

// adopting reports whether an object may finish what was under way when its policy first took
// effect. Its record may say so for some time after it has settled: *observed* of a StatefulSet that
// was changed several times a second, which no reconcile found settled for eight seconds.
func (g *Gatherer) adopting(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy, rec *v1alpha1.AllowanceRecord) bool {
	if rec == nil || !rec.Status.Adopting {
		return false
	}
	since := g.now()
	if rec.Status.AdoptingSince != nil {
		since = rec.Status.AdoptingSince.Time
	}
	goes, _ := lifecycle.Adopting(ctx, obj, policies, since, g.now())
	return goes
}

// gatherRevisions fills in of which revisions a parent makes children.
func (p *parentFacts) gatherRevisions(r *request) {
	if child, _ := p.bounds.Known().Child(r.gvk.GroupKind()); child.Ordinals != nil {
		p.bounds.CurrentRevision = textAt(child.Ordinals.CurrentRevision, p.parentObject)
		p.bounds.UpdateRevision = textAt(child.Ordinals.UpdateRevision, p.parentObject)
	}
}

// parentRef returns the parent that bounds the request: that of the object as it was,
// or, where it had none, as it will be.
func (g *Gatherer) parentRef(ctx context.Context, r *request, index *policy.Index) (lineage.Ref, bool) {
	if r.old != nil {
		if ref, ok := ancestry.Ref(ctx, g.Objects, index, r.old); ok {
			return ref, true
		}
	}
	if r.new != nil {
		return ancestry.Ref(ctx, g.Objects, index, r.new)
	}
	return lineage.Ref{}, false
}

// textAt returns the text that an object has in a field, empty where it has none.
func textAt(at change.Path, obj *unstructured.Unstructured) string {
	value, _ := at.Value(obj.Object)
	text, _ := value.(string)
	return text
}

// readParent returns the parent, or nil where it does not exist: where the cache
// does not have the very object that the child names, the API server decides. overtaken is true
// where it was read there as the cache lacks a change that has just been withheld.
func (g *Gatherer) readParent(
	ctx context.Context, ref lineage.Ref, gvk schema.GroupVersionKind, why doubt,
) (parent *unstructured.Unstructured, overtaken bool, err error) {
	key := types.NamespacedName{Namespace: g.namespaceOf(ref, gvk), Name: ref.Name}
	if why == doubtNone || why == doubtBlind {
		parent, err := g.Objects.Get(ctx, gvk, key)
		known := err == nil && ref.Names(parent)
		switch {
		case known && (why == doubtBlind || !g.overtaken.has(parent)):
			return parent, false, nil
		case known:
			why = doubtOvertaken
		case why == doubtBlind:
			return nil, false, fmt.Errorf("the parent %s %s is not known", gvk.Kind, key)
		default:
			why = doubtUncached
		}
	}
	why.read()
	parent, err = g.Objects.Live(ctx, gvk, key)
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading the parent %s %s: %w", gvk.Kind, key, err)
	case !ref.Names(parent):
		return nil, false, nil
	}
	return parent, why == doubtOvertaken, nil
}

// namespaceOf returns the namespace of a parent of the kind.
func (g *Gatherer) namespaceOf(ref lineage.Ref, gvk schema.GroupVersionKind) string {
	if !g.Kinds.Namespaced(gvk) {
		return ""
	}
	return ref.Namespace
}
