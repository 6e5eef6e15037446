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
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// attaches reports whether the request gives an object a parent whose policies name it,
// although those of the object itself say who may initiate on it, and that is not the
// requester: a parent of one's own making, or one on which one may initiate, would have
// its phase, its ledger and its approvals count for what is somebody else's (D5).
//
// Controllers adopt what they select, which has rules of its own (decision.IsStray, maySelect). kro does
// not select: whom it is asked to take something for is for who may initiate on that.
func (f *facts) attaches() bool {
	if f.Operator || f.BreakGlass != "" {
		return false
	}
	if f.claim != nil {
		return record.SaysWhoAttaches(f.OwnPolicies) && !f.mayAttach()
	}
	if f.Adoption == nil {
		return false
	}
	if !f.adopterCounts() {
		return false
	}
	return !f.mayAttach() && (f.taken || !f.adoptsForParent() || !f.mayTake())
}

// adopterCounts reports whether the policies of the parent that the request gives the object
// name it. A composite resource bounds by entries about the outside as well, which do not say
// of which objects they are in the cluster.
func (f *facts) adopterCounts() bool {
	kind := f.Child.GVK.GroupKind()
	return slices.ContainsFunc(f.Adoption.Parent.Policies, func(p *policy.Policy) bool {
		return p.Bounds(kind) || f.composes() && slices.ContainsFunc(p.Entries(), policy.Entry.IsExternal)
	})
}

// composes reports whether the parent that the request gives the object is a composite
// resource. Crossplane takes what has the name that a Composition makes of what somebody wrote
// into that, by one account for everybody, and writes into it what that says.
func (f *facts) composes() bool {
	return f.index.HasCategory(f.Adoption.Parent.GVK.GroupKind(), lineage.CategoryComposite)
}

// mayTake reports whether a controller may take the object for a parent, which it acts for.
func (f *facts) mayTake() bool {
	if f.composes() {
		return f.mayCompose()
	}
	return f.maySelect()
}

// maySelect reports whether a controller may take what its parent selects: so it may if what has it do so was
// begun by somebody who may initiate on the object, or who began the object itself; or if the object
// was of a parent of that name before, which may have been deleted without its children and made again, by whomever. What
// becomes a stray may not be scaled up, and refusing it would let somebody hold up a parent that is there.
//
// *Observed* without this rule: a stranger made a Deployment whose selector has somebody's ReplicaSet, which had
// initiators of its own. Being older than the Deployment it was taken for one that was left behind for it, and
// scaled to nothing.
func (f *facts) maySelect() bool {
	if f.Adoption.Parent.Known().Selector == "" || f.Adoption.Initiator || f.Adoption.Returned != nil || f.AdoptsWithoutCause() {
		return true
	}
	known := f.knownChains()
	return f.Adoption.Parent.Adopting || slices.ContainsFunc(known, f.isThroughItsName) || f.isTakenByWhoMay(known)
}

// isTakenByWhoMay reports whether what has the object taken was begun by somebody who may initiate on it, or who
// began it, by the chains that came to it.
func (f *facts) isTakenByWhoMay(known []knownChain) bool {
	return slices.ContainsFunc(f.Adopters(), func(who policy.Requester) bool {
		return f.allowsAttaching(who) || slices.ContainsFunc(known, func(c knownChain) bool {
			return c.trace[len(c.trace)-1].Field == v1alpha1.FieldCreated && c.initiator == who.Username
		})
	})
}

// mayCompose reports whether Crossplane may take the object for the composite resource: what
// has it do so was begun by somebody who may initiate on the object, or who began the object
// itself; or the object was of that composite resource before. What one was doing when its
// policy first took effect it finishes (D20).
func (f *facts) mayCompose() bool {
	known := f.knownChains()
	if f.Adoption.Parent.Adopting || slices.ContainsFunc(known, f.isThroughAdopter) {
		return true
	}
	return f.isTakenByWhoMay(known)
}

// knownChain is one that came to an object: who began it, the way from there, and when that was.
type knownChain struct {
	initiator string
	trace     []v1alpha1.TraceHop
	at        metav1.Time
}

// knownChains returns the chains that came to the object, from the ledger that it has since its
// creation and from the history in its record, as far as that goes back.
func (f *facts) knownChains() []knownChain {
	var out []knownChain
	for _, e := range f.Child.Ledger {
		if e.IsCreation() {
			out = append(out, knownChain{e.Initiator, e.Trace, f.since})
		}
	}
	if f.record == nil || string(f.record.Spec.TargetRef.UID) != f.Child.UID {
		return out
	}
	for _, e := range f.record.Status.History {
		if len(e.Trace) > 0 && (e.Event == v1alpha1.EventGranted || e.Event == v1alpha1.EventConsumed) {
			out = append(out, knownChain{e.Initiator, e.Trace, e.Time})
		}
	}
	return out
}

// isThroughAdopter reports whether a chain came to the object through the parent that the
// request gives it. A trace tells parents by their names: it is that one if it was there then.
func (f *facts) isThroughAdopter(c knownChain) bool {
	return !f.adopterSince.After(c.at.Time) && f.isThroughItsName(c)
}

// isThroughItsName reports whether a chain came to the object through a parent of the kind and the name of
// that which the request gives it.
func (f *facts) isThroughItsName(c knownChain) bool {
	parent, last := f.Adoption.Parent, len(c.trace)-1
	if last < 1 {
		return false
	}
	hop := c.trace[last-1]
	return hop.Kind == parent.GVK.Kind && hop.Name == parent.Name && (hop.Namespace == parent.Namespace ||
		hop.Namespace == "" && parent.Namespace == f.Child.Namespace)
}

// adoptsForParent reports whether the requester acts for the parent that it gives the object:
// a service account that its policies, or the object's, name. Where these leave it open who acts
// for them, that is believed of a parent whose controller adopts what it selects, and of no
// other: any service account could be somebody's own.
func (f *facts) adoptsForParent() bool {
	parent := f.Adoption.Parent
	if !f.Requester.IsServiceAccount() || !policy.MayExercise(f.Requester, parent.Policies, f.OwnPolicies) {
		return false
	}
	names := func(p *policy.Policy) bool { return p.Names(f.Requester) }
	return parent.Known().Selector != "" || slices.ContainsFunc(slices.Concat(parent.Policies, f.OwnPolicies), names)
}

// takes reports whether an update gives an object that was free to a parent which is named by
// labels. kro takes what has the name that its graph says, for whoever made the instance, and
// writes into it what that says; what it made before has the UID already.
func (r *request) takes(ref lineage.Ref) bool {
	naming := knowledge.NamingOf(ref.Category)
	return naming != nil && r.old != nil && r.old.GetLabels()[naming.UID] != string(ref.UID)
}

// mayAttach reports whether each of the object's policies that say who may initiate lets
// the requester.
func (f *facts) mayAttach() bool { return f.allowsAttaching(f.Requester) }

// allowsAttaching reports whether each of them lets somebody.
func (f *facts) allowsAttaching(who policy.Requester) bool {
	return !slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool {
		return p.Action == v1alpha1.ActionDeny && p.HasInitiator() && !p.MayInitiate(who)
	})
}

// groupsBelow returns the groups of the requester that a chain attests which begins with the
// object, where that is a claim or a composite resource, or has what it selects taken.
func (r *request) groupsBelow(index *policy.Index) []string {
	kind := r.gvk.GroupKind()
	takes := index.HasCategory(kind, lineage.CategoryClaim) || index.HasCategory(kind, lineage.CategoryComposite) || index.Known(kind).Selector != ""
	if r.operation == decision.Delete || !takes {
		return nil
	}
	return index.GroupsBelow(kind, r.requester)
}

// newClaim returns the claim that an update gives a composite resource that was free, where
// policies for claims of its kind name the resource; nil otherwise. Crossplane does so for
// whatever claim names the resource, whoever wrote that, and writes into the resource what
// the claim says; what it makes for a claim has it from its creation on.
func (r *request) newClaim(index *policy.Index) *lineage.Ref {
	if r.operation != decision.Update {
		return nil
	}
	kind := r.gvk.GroupKind()
	if !index.HasCategory(kind, lineage.CategoryComposite) {
		return nil
	}
	before := lineage.Parents(index, r.old)
	for _, ref := range lineage.Parents(index, r.new) {
		if ref.Mutual && !slices.ContainsFunc(before, ref.SameParent) &&
			slices.ContainsFunc(index.For(ref.GVK.GroupKind()), func(p *policy.Policy) bool { return p.Bounds(kind) }) {
			return &ref
		}
	}
	return nil
}

// refusedAttaching answers such a request.
func refusedAttaching(f *facts) admission.Response {
	parent := objectText(f.adopter.Kind, f.adopter.Name)
	if f.claim != nil {
		parent = objectText(f.claim.GVK.Kind, f.claim.Name)
	}
	return refusedParent(f, fmt.Sprintf("%s: %s; nothing of a parent counts that somebody else attaches",
		decision.GivesParent(objectText(f.Child.GVK.Kind, f.Child.Name), parent), f.ownInitiators()))
}

// refusedForging answers a request that makes an object claim that a GeneratingPolicy made it.
func refusedForging(f *facts) admission.Response {
	return refusedParent(f, fmt.Sprintf("the annotation %s is for the account of the GeneratingPolicy that makes an object, and on %s for who may initiate on it: %s",
		v1alpha1.AnnotationGeneratedFrom, objectText(f.Child.GVK.Kind, f.Child.Name), f.ownInitiators()))
}

// ownInitiators names who may initiate on the object by its own policies.
func (f *facts) ownInitiators() string {
	var who []string
	for _, p := range f.OwnPolicies {
		who = append(who, p.Initiators()...)
	}
	return anyOf(who)
}

// refusedParent denies a request that gives the object a parent.
func refusedParent(f *facts, message string) admission.Response {
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Attaching", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}
