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

package decision

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Referent is a holder that others read without being its children, such as a
// ServiceMonitor that a Prometheus selects: what changes of it has a bearing on the
// children of its readers, or on these.
type Referent struct {
	// GVK, Namespace and Name of the holder.
	GVK             schema.GroupVersionKind
	Namespace, Name string
	// Generation of the holder.
	Generation int64
	// ResourceVersion of the holder, which says what was written last.
	ResourceVersion string
	// ApproveKey is the annotation to approve with what is withheld of it.
	ApproveKey string
	// Initiators are who may initiate on it, for messages.
	Initiators []string
	// Policies in effect for it, for messages.
	Policies []*policy.Policy
	// Ledger is what counts of its ledger, without what it tells of withheld changes.
	Ledger ledger.Ledger
	// Standing is how it compares with its approved content, nil where nothing can be
	// withheld.
	Standing *approved.Standing
}

// Reader is an object that reads the child of a request.
type Reader struct {
	// Object is the reader.
	Object *unstructured.Unstructured
	// Lost is true where it does so no more after the request: nothing in the ledger of
	// the child can allow it anything then.
	Lost bool
}

// IsWithheld reports whether something of the referent is withheld. Its readers make what
// they make of all that they read, so that none of it goes on.
func (r *Referent) IsWithheld() bool {
	return r.Standing != nil && slices.ContainsFunc(r.Standing.Differences, func(d approved.Difference) bool { return d.Counts })
}

func isWithheldOf(referents []Referent) bool {
	return slices.ContainsFunc(referents, func(r Referent) bool { return r.IsWithheld() })
}

// HoldingBack returns the objects that the parent reads while something of them is withheld.
func (in *Input) HoldingBack() []Referent {
	return slices.DeleteFunc(slices.Clone(in.Referents), func(r Referent) bool { return !r.IsWithheld() })
}

// referred returns the entries of what the parent reads that the requester may exercise on the
// child.
func (in *Input) referred() []permit {
	if len(in.Referents) == 0 || !in.parentAllows() {
		return nil
	}
	out := permitsThrough(in.Referents, in.Parent.GVK.GroupKind(), in.Child.GVK.GroupKind(), in.Parent.Namespace)
	for i := range out {
		out[i].Trace = append(slices.Clone(out[i].Trace), in.parentHop(v1alpha1.FieldReads))
	}
	return out
}

// ownReferred returns the entries of what the child itself reads that cause what the requester
// changes of the child as a holder.
func (in *Input) ownReferred() []permit {
	if len(in.OwnReferents) == 0 || isWithheldOf(in.OwnReferents) || !policy.MayExercise(in.Requester, in.OwnPolicies, nil) {
		return nil
	}
	kind := in.Child.GVK.GroupKind()
	return permitsThrough(in.OwnReferents, kind, kind, in.Child.Namespace)
}

// permitsThrough returns the entries about objects of a kind through readers of a kind in a namespace.
func permitsThrough(referents []Referent, reader, kind schema.GroupKind, namespace string) []permit {
	out := make([]permit, 0, len(referents))
	for i, r := range slices.SortedStableFunc(slices.Values(referents), lastWritten) {
		for _, p := range permits(r.Ledger.Without(func(e ledger.Entry) bool {
			return e.IsWithheld() || e.Through != reader.String() || !namesKind(e, kind)
		})) {
			p.rank, p.Trace = i+1, ledger.Across(p.Trace, r.Namespace, namespace)
			out = append(out, p)
		}
	}
	return out
}

// lastWritten orders referents by when they were written, the last first: what a reader may
// do because of one of them it may do for a while, so that it is most likely what was
// changed last that it follows.
func lastWritten(a, b Referent) int {
	order, err := resourceversion.CompareResourceVersion(b.ResourceVersion, a.ResourceVersion)
	if err != nil {
		return 0
	}
	return order
}

// throughEntries turns entries about readers into allowances. Those of a kind that is not
// served allow nothing.
func (in *Input) throughEntries(entries []policy.ThroughEntry, initiator string, trace []v1alpha1.TraceHop) []v1alpha1.Allowance {
	var out []v1alpha1.Allowance
	for _, e := range entries {
		if e.Readers.Kind.Empty() {
			continue
		}
		for _, a := range in.entries(e.Entry, initiator, trace) {
			a.Through = e.Readers.Kind.String()
			out = append(out, a)
		}
	}
	return out
}

// toReaders returns what the rules allow readers of the child altogether: its creation, or its
// deletion, is a change of all that they are about. Who is no cause of it by the policy of
// a rule allows nothing by that.
func (in *Input) toReaders(initiator string, trace []v1alpha1.TraceHop, v Verdict) []v1alpha1.Allowance {
	var out []v1alpha1.Allowance
	for _, p := range in.OwnPolicies {
		if in.isCauseFor(p, v) {
			out = append(out, in.throughEntries(p.Throughs(), initiator, trace)...)
		}
	}
	return out
}

// isCauseFor reports whether the creation or deletion of the child has a cause by the
// policy: an initiator, an allowance of the parent, or what else can go on further down.
func (in *Input) isCauseFor(p *policy.Policy, v Verdict) bool {
	if p.MayInitiate(in.Requester) || in.AncestorInitiator || carries(v.Reason) {
		return true
	}
	_, covered := justification(in.usable(), Act{Operation: in.Operation})
	return covered
}

// Disturbs reports whether the request creates or deletes what somebody reads, and has no
// cause for that by a policy that withholds what has none: it would be carried out with
// whatever else the readers do, as nothing is left on which it could wait.
func (in *Input) Disturbs(v Verdict) bool {
	if in.Operation == Update || len(in.Readers) == 0 || in.BreakGlass != "" || in.CausedByDeletion(v) != nil {
		return false
	}
	switch v.Reason {
	case ReasonOwn, ReasonFinishing, ReasonPlatform, ReasonBookkeeping:
		return false
	default:
	}
	return slices.ContainsFunc(in.OwnPolicies, func(p *policy.Policy) bool {
		return p.Action == v1alpha1.ActionDeny && len(p.Throughs()) > 0 && !in.isCauseFor(p, v)
	})
}

// ForReader returns what the request allows somebody who reads the child no more, as entries of
// the ledger of that reader: the deletion of the child, or an update by which it is read no
// more, changes what the reader is made of, and leaves no ledger of the child to say so. No
// generation of the reader tells of it, so that time ends it (D8).
func (in *Input) ForReader(r Reader, v Verdict, grant Grant) []v1alpha1.Allowance {
	allowances := grant.Allowances
	if in.Operation == Delete {
		initiator, trace := DeletionTrace(in, v)
		allowances = in.toReaders(initiator, trace, v)
	}
	kind := r.Object.GroupVersionKind().GroupKind()
	var out []v1alpha1.Allowance
	for _, a := range allowances {
		if a.Through != kind.String() {
			continue
		}
		a.Through, a.Generation = "", r.Object.GetGeneration()+1
		trace := ledger.Across(a.Trace, in.Child.Namespace, r.Object.GetNamespace())
		a.Trace = append(slices.Clone(trace), v1alpha1.TraceHop{
			Kind: kind.Kind, Name: r.Object.GetName(), Generation: a.Generation, Field: v1alpha1.FieldReads,
		})
		out = append(out, a)
	}
	return out
}
