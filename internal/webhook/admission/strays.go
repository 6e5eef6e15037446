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
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// gatherAdopter adds what there is to know about the parent that an update gives the
// object. What bounds the request is the parent from before, or, where that bounds nothing,
// the adopter. Else an owner that nobody governs, that does not exist, or whose policies are
// not in effect, would hide the adoption: observed, a stranger gave a Pod of a ReplicaSet that
// was nobody's to somebody's StatefulSet.
func (g *Gatherer) gatherAdopter(ctx context.Context, r *request, index *policy.Index, owner *parentFacts, why doubt) (parentFacts, error) {
	if r.operation != decision.Update || !r.validating && r.subresource == subresourceStatus {
		return *owner, nil
	}
	before, hadBefore := ancestry.Ref(ctx, g.Objects, index, r.old)
	ref, ok := ancestry.Ref(ctx, g.Objects, index, r.new)
	// Whom the object named before adopts nothing, in whichever order it names its parents now.
	if ok && slices.ContainsFunc(lineage.Parents(index, r.old), ref.SameParent) {
		if hadBefore && !before.SameParent(ref) {
			owner.noteBehind(before, lineage.Parents(index, r.new))
		}
		ref, ok = g.joining(ctx, r, index)
	}
	// A parent that has to point back gives nothing before it does, and because of which the object is
	// made it says by its marks.
	if !ok || ref.IsByName() || owner.state != decision.ParentFound && before.Mutual {
		return *owner, nil
	}
	adopter := *owner
	if owner.state != decision.ParentFound || owner.bounds.UID != string(ref.UID) {
		var err error
		if adopter, err = g.gatherOwner(ctx, r, index, ref, false, why); err != nil {
			return parentFacts{}, err
		}
	}
	p := *owner
	if p.state != decision.ParentFound || adopter.boundsKind(r.gvk.GroupKind()) && !p.boundsKind(r.gvk.GroupKind()) {
		p = adopter
	}
	if adopter.state == decision.ParentFound {
		p.adopterSince, p.since = adopter.parentObject.GetCreationTimestamp(), r.old.GetCreationTimestamp()
		p.adoption = &decision.Adoption{
			Parent: adopter.bounds, Initiator: mayInitiateOn(index, adopter.chain, r.requester),
			Returned: record.Returned(adopter.parentRecord, r.old, g.DigestKey, g.now()),
			Younger:  p.since.After(p.adopterSince.Time),
		}
		p.taken = r.takes(ref)
		p.adopter, p.adopterInitiators = adopter.parent, index.InitiatorsOf(adopter.chain)
	}
	return p, nil
}

// noteBehind notes where the parent is among those that the object names after an update, which puts another one
// that it named before in front: causes go on from that one then, and who may initiate above it may above the object.
func (p *parentFacts) noteBehind(ref lineage.Ref, after []lineage.Ref) {
	at := slices.IndexFunc(after, ref.SameParent)
	if at >= 0 && p.state == decision.ParentFound && !ref.IsByName() && string(ref.UID) == p.bounds.UID {
		p.behind = &after[at]
	}
}

// boundsKind reports whether the parent was found, and bounds children of a kind now.
func (p *parentFacts) boundsKind(kind schema.GroupKind) bool {
	return p.state == decision.ParentFound && p.bounds.Bounds(kind)
}

// mayInitiateOn reports whether somebody may initiate on the first of a chain of holders,
// or on what is above it.
func mayInitiateOn(index *policy.Index, chain []policy.Holder, who policy.Requester) bool {
	return policy.MayInitiate(who, policy.Strictest(index.InEffect(chain))) || index.MayInitiateAbove(chain, who)
}

// gatherSurplus finds out, where a child is deleted whose parent has strays of the same
// kind, which of them are alive: while any is, the deletion would make room for it. What
// the record says may be over, and costs a call for each; where there are no strays it
// costs nothing.
func (g *Gatherer) gatherSurplus(ctx context.Context, r *request, f *facts) error {
	if r.operation != decision.Delete || f.Eviction || len(f.strays) == 0 || f.IsStray() {
		return nil
	}
	for _, s := range f.strays {
		gvk := r.gvk
		if s.Kind != gvk.Kind || s.APIVersion != gvk.GroupVersion().String() {
			continue
		}
		if g.strays.isRecent(f.parent.UID, s.UID) {
			f.Parent.Surplus = append(f.Parent.Surplus, s.Name)
			continue
		}
		doubtStray.read()
		obj, err := g.Objects.Live(ctx, gvk, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading %s %s: %w", s.Kind, s.Name, err)
		}
		if err == nil && obj.GetUID() == s.UID && isActive(obj) && f.isParentOf(obj) {
			f.Parent.Surplus = append(f.Parent.Surplus, s.Name)
		}
	}
	return nil
}

// straysOfGone returns the UIDs of the strays of a parent that does not exist any more: what they stand for outside
// does not go with it (D16).
func (g *Gatherer) straysOfGone(ctx context.Context, parent types.UID) (sets.Set[string], error) {
	noted, err := g.Records.StraysOf(ctx, parent)
	if err != nil {
		return nil, err
	}
	return uidsOf(append(noted, g.strays.with(nil, parent, doubtNone)...)), nil
}

// isParentOf reports whether the object names the parent of the request's child as one of its
// own.
func (f *facts) isParentOf(obj *unstructured.Unstructured) bool {
	return lineage.IsChildOf(f.index, obj, f.parent.UID)
}

// isActive reports whether the object counts as one of its parent's: it is not being
// deleted, and no Pod that has ended.
func isActive(obj *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return obj.GetDeletionTimestamp() == nil && (obj.GetKind() != "Pod" || phase != "Succeeded" && phase != "Failed")
}

// keepStray writes down, before the answer is given, whether what the request adopts is
// a stray. Whether it was one before does not matter any more.
func (v *Validator) keepStray(ctx context.Context, r *request, f *facts) error {
	switch {
	case f.Adoption == nil:
		return v.approveStray(ctx, r, f)
	case f.AdoptsWithoutCause():
		child := v1alpha1.StrayChild{
			UID: r.new.GetUID(), APIVersion: r.new.GetAPIVersion(), Kind: r.gvk.Kind, Namespace: r.namespace, Name: r.objectName(),
		}
		if err := v.Records.AddStray(ctx, f.adopter, child); err != nil {
			return err
		}
		v.strays.add(f.adopter.UID, child)
		v.announceStray(r, f)
	case f.Adoption.Parent.Strays.Has(f.Child.UID):
		return v.removeStray(ctx, f.adopter, r.new.GetUID())
	}
	return nil
}

// approveStray ends that the object is a stray, or that parents of it are ignored, where the
// request approves it. The hook
// that sees the annotation calls it: the mutating one, or, for kinds that hold no
// ledger, the validating one.
func (g *Gatherer) approveStray(ctx context.Context, r *request, f *facts) error {
	if r.dryRun || !f.approve.allowed || !f.approve.adoption || !f.mayApproveAdoption() {
		return nil
	}
	if f.record != nil && len(f.record.Status.IgnoredParents) > 0 {
		if err := g.Records.AcceptParents(ctx, r.target()); err != nil {
			return err
		}
	}
	if !f.IsStray() {
		return nil
	}
	return g.removeStray(ctx, f.parent, r.current().GetUID())
}

func (g *Gatherer) removeStray(ctx context.Context, parent v1alpha1.TargetReference, child types.UID) error {
	if err := g.Records.RemoveStray(ctx, parent, child); err != nil {
		return err
	}
	g.strays.remove(parent.UID, child)
	return nil
}

// hasRoomForStray reports whether the adopter's record can note one stray more.
func (f *facts) hasRoomForStray() bool {
	strays := f.Adoption.Parent.Strays
	return strays.Has(f.Child.UID) || strays.Len() < v1alpha1.MaxStrays
}

// refusedStray answers an adoption that the parent's record has no room for. That ends
// the sync of the parent's controller, until some of the strays are gone.
func refusedStray(r *request, f *facts) admission.Response {
	resp := admission.Denied(f.strayText(r) + ", and so many others that no more can be noted; delete them")
	resp.AuditAnnotations = map[string]string{auditReason: string(decision.ReasonStray)}
	return resp
}

// noteStray finds out what a stray stands for outside, where somebody is about to be told of it, or approves it:
// whose name it has there, whoever made it has said.
func (g *Gatherer) noteStray(ctx context.Context, r *request, f *facts) {
	if f.gate == nil || r.new == nil || !f.AdoptsWithoutCause() && (!f.approve.adoption || !f.IsStray()) {
		return
	}
	f.outsideNote = gate.DescribeStray(f.gate, r.new, gate.Sharing(f.gate, r.new, g.Objects.List(ctx, r.gvk)))
}

// strayText says that an object was adopted without a cause.
func (f *facts) strayText(r *request) string {
	return fmt.Sprintf("%s adopts %s without a cause", objectText(f.adopter.Kind, f.adopter.Name), objectText(r.gvk.Kind, r.objectName()))
}

// announceStray tells people of the parent, and of the object, that it was adopted
// without a cause.
func (v *Validator) announceStray(r *request, f *facts) {
	child := r.target()
	v.Notices.Post(eventrecorder.Notice{
		Reason: eventrecorder.Stray, Action: operationText(r), About: f.adopter, Child: &child, Text: f.strayNotice(r),
	})
}

// strayNotice says what being a stray means, and how it ends.
func (f *facts) strayNotice(r *request) string {
	return fmt.Sprintf("%s: no allowance covers a change of it, and no healing makes room for it.%s %s", f.strayText(r), f.outsideNote,
		f.strayRemedy(f.adopterInitiators, ledger.AnnotationKey(r.new, ledger.NameApprove), r.objectName()))
}

// strayRemedy says how objects of the child's kind cease to be strays. The command approves the adoption,
// and nothing that is withheld of the object.
func (f *facts) strayRemedy(initiators []string, key string, strays ...string) string {
	kind := f.Child.GVK
	remedy := fmt.Sprintf("Delete %s %s", kind.Kind, strings.Join(strays, ", "))
	if f.Operation == decision.Delete && f.IsStray() {
		remedy = "It is for its controller, and for who may initiate, to delete it"
	}
	if len(initiators) == 0 {
		return remedy + "."
	}
	return fmt.Sprintf("%s, or %s may approve it: %s.", remedy, anyOf(initiators),
		f.approveCommand(kind.Group, kind.Kind, f.Child.Namespace, key, []string{lineage.OwnersPath}, strays...))
}

// remembered is how long a stray is known that was noted here: the cache of records has
// it long before.
const remembered = 30 * time.Second

// recentStrays are strays that were noted a moment ago. The controller goes on with what
// it has just adopted within milliseconds, before the cache of records has them. Another
// replica of the operator does not know them. The zero value can be used.
type recentStrays struct {
	mu sync.Mutex
	of map[types.UID][]v1alpha1.StrayChild
	// deleted has when the deletion of a stray was admitted.
	deleted map[types.UID]time.Time
}

// outlived is how long a stray counts as alive after it was adopted, and after its deletion
// was admitted. Observed: a ReplicaSet controller that was trying to delete another Pod for it
// does so once more before it sees that the stray is gone, and has one too few then; so it does
// where the stray was deleted in the very moment of its adoption, when it was nobody's yet.
const outlived = 3 * time.Second

func (s *recentStrays) noteDeletion(child types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted == nil {
		s.deleted = map[types.UID]time.Time{}
	}
	maps.DeleteFunc(s.deleted, func(_ types.UID, at time.Time) bool { return time.Since(at) > outlived })
	s.deleted[child] = time.Now()
}

// isRecent reports whether the parent's controller may not have seen yet what became of a stray.
func (s *recentStrays) isRecent(parent, child types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.deleted[child]; ok && time.Since(at) <= outlived {
		return true
	}
	return slices.ContainsFunc(s.of[parent], func(c v1alpha1.StrayChild) bool {
		return c.UID == child && time.Since(c.Time.Time) <= outlived
	})
}

func (s *recentStrays) add(parent types.UID, child v1alpha1.StrayChild) {
	s.mu.Lock()
	defer s.mu.Unlock()
	child.Time = metav1.Now()
	if s.of == nil {
		s.of = map[types.UID][]v1alpha1.StrayChild{}
	}
	for uid, children := range s.of {
		s.of[uid] = slices.DeleteFunc(children, func(c v1alpha1.StrayChild) bool {
			return time.Since(c.Time.Time) > remembered || c.UID == child.UID
		})
		if len(s.of[uid]) == 0 {
			delete(s.of, uid)
		}
	}
	s.of[parent] = append(s.of[parent], child)
}

func (s *recentStrays) remove(parent, child types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if children := slices.DeleteFunc(s.of[parent], func(c v1alpha1.StrayChild) bool { return c.UID == child }); len(children) > 0 {
		s.of[parent] = children
	} else {
		delete(s.of, parent)
	}
}

// with returns the strays of a parent by its record, and, where that comes from the cache,
// those that it may not have yet.
func (s *recentStrays) with(rec *v1alpha1.AllowanceRecord, parent types.UID, why doubt) []v1alpha1.StrayChild {
	var out []v1alpha1.StrayChild
	if rec != nil && rec.Spec.TargetRef.UID == parent {
		out = slices.Clone(rec.Status.Strays)
	}
	if why != doubtNone && why != doubtBlind {
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.of[parent] {
		if time.Since(c.Time.Time) <= remembered && !slices.ContainsFunc(out, func(o v1alpha1.StrayChild) bool { return o.UID == c.UID }) {
			out = append(out, c)
		}
	}
	return out
}

// uidsOf returns the UIDs of children, nil where there are none.
func uidsOf(children []v1alpha1.StrayChild) sets.Set[string] {
	if len(children) == 0 {
		return nil
	}
	out := sets.New[string]()
	for _, c := range children {
		out.Insert(string(c.UID))
	}
	return out
}
