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

package policy

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// doubts are what notesOn goes by.
type doubts struct {
	// unserved are the targets that the API server does not serve.
	unserved []schema.GroupVersionResource
	// unmatched are the parts of the policy that can never match.
	unmatched []string
	// misjudged are the expressions that compare in vain, by what is declared of kinds or
	// is there of objects.
	misjudged []string
	// uncovered are the kinds of owners that no policy is for.
	uncovered []schema.GroupKind
}

// notesOn says what the author of a policy should know although it works.
func notesOn(index *policy.Index, p *policy.Policy, subjects []v1alpha1.PolicySubject, d doubts) []string {
	unserved, uncovered := d.unserved, d.uncovered
	var notes []string
	if len(d.unmatched) > 0 {
		notes = append(notes, fmt.Sprintf("Some of it never matches anything: %s.", listing.Join(d.unmatched, "; ")))
	}
	if len(d.misjudged) > 0 {
		notes = append(notes, fmt.Sprintf("Some of its expressions do not fit the objects that they are about: %s.", listing.Join(d.misjudged, "; ")))
	}
	if len(unserved) > 0 {
		names := make([]string, 0, len(unserved))
		for _, resource := range unserved {
			names = append(names, resource.GroupResource().String()+" in "+resource.GroupVersion().String())
		}
		notes = append(notes, fmt.Sprintf("The API server does not serve %s; what the policy says of it counts when it does.", listing.Join(names, ", ")))
	}
	if stops := p.Unmaintained(); len(stops) > 0 {
		notes = append(notes, fmt.Sprintf("Some of what needs no change of a %s is denied: %s.", p.For.Kind, listing.Join(stops, "; ")))
	}
	if idle := p.Unexercised(besides(index, p)); len(idle) > 0 {
		notes = append(notes, fmt.Sprintf("Some of what it allows nobody can carry out: %s.", listing.Join(idle, "; ")))
	}
	if lost := p.Contradicted(index.For(p.For.GroupKind())); len(lost) > 0 {
		notes = append(notes, fmt.Sprintf("Of what it says of the kind %s, these do not count for objects that an older policy is in effect for, too: %s.",
			p.For.Kind, listing.Join(lost, "; ")))
	}
	if unbounded := unboundedReaders(index, p); len(unbounded) > 0 {
		notes = append(notes, fmt.Sprintf("Nothing is allowed or withheld through %s, as no policy for them names what they make.", listing.Join(unbounded, ", ")))
	}
	for _, subject := range subjects {
		if parent, ok := carriesOut(index, p, subject); ok {
			notes = append(notes, fmt.Sprintf("ServiceAccount %s/%s may initiate here, and is a subject of policy %s for %s: "+
				"it will carry out anybody's change of a %s as its own. Remove its mayInitiate.",
				subject.Namespace, subject.Name, parent.Name, parent.For.Kind, parent.For.Kind))
		}
	}
	if len(uncovered) > 0 {
		names := make([]string, 0, len(uncovered))
		for _, kind := range uncovered {
			names = append(names, kind.String())
		}
		notes = append(notes, fmt.Sprintf("Some %s objects are owned by %s, for which there is no policy: "+
			"what its controller changes in them is withheld.", p.For.Kind, listing.Join(names, ", ")))
	}
	return notes
}

// besides returns the other policies of an index.
func besides(index *policy.Index, p *policy.Policy) []*policy.Policy {
	return slices.DeleteFunc(slices.Clone(index.Policies()), func(q *policy.Policy) bool { return q.Name == p.Name })
}

// unboundedReaders returns the kinds of readers of which p has a bearing on children that no
// policy bounds, or on readers that no policy is for.
func unboundedReaders(index *policy.Index, p *policy.Policy) []string {
	var out []string
	for _, e := range p.Throughs() {
		if e.Readers.Kind.Empty() || e.Kind.Empty() {
			continue
		}
		governed := index.For(e.Readers.Kind)
		bounds := slices.ContainsFunc(governed, func(q *policy.Policy) bool { return q.Bounds(e.Kind) })
		if kind := e.Readers.Kind.String(); !bounds && (e.Kind != e.Readers.Kind || len(governed) == 0) && !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}

// declaredKinds are Kinds as policy.Unmatched asks about them.
type declaredKinds struct{ catalog.Kinds }

// Namespaced implements policy.Declared.
func (k declaredKinds) Namespaced(kind schema.GroupVersionKind) (namespaced, known bool) {
	resource, ok := k.ByKind(kind)
	return resource.Namespaced, ok
}

// overdueNotes name the objects whose allowances have been open for longer than
// maxOpen, those apart that have never settled.
func overdueNotes(p *policy.Policy, overdue []v1alpha1.AllowanceRecord) []string {
	var open, initializing []string
	for _, rec := range overdue {
		name := record.Key(rec.Spec.TargetRef).String()
		if rec.Status.Phase == v1alpha1.PhaseInitializing {
			initializing = append(initializing, name)
		} else {
			open = append(open, name)
		}
	}
	var notes []string
	note := func(what string, names []string) {
		if len(names) > 0 {
			slices.Sort(names)
			notes = append(notes, fmt.Sprintf("%s for longer than %s (maxOpen): %s. Their AllowanceRecords have the condition %s.",
				what, p.Consumption.MaxOpen, listing.Join(names, ", "), v1alpha1.ConditionOverdue))
		}
	}
	note("Initializing", initializing)
	note("With allowances that are open", open)
	return notes
}

// carriesOut returns the policy that makes an initiating service account the
// controller of the parent: what it writes is what somebody else made of that
// (D2).
func carriesOut(index *policy.Index, p *policy.Policy, subject v1alpha1.PolicySubject) (*policy.Policy, bool) {
	if subject.Kind != v1alpha1.SubjectServiceAccount || !subject.MayInitiate {
		return nil, false
	}
	controller := policy.Requester{Username: serviceaccount.MakeUsername(subject.Namespace, subject.Name)}
	for _, parent := range index.Policies() {
		if parent.Bounds(p.For.GroupKind()) && parent.Names(controller) && !parent.MayInitiate(controller) {
			return parent, true
		}
	}
	return nil, false
}

// withUncoveredOwner adds to kinds the one that owns an object which p selects, where index
// has no policy for it. It matters where chains begin. What the object calls its owner says nothing
// where the one with that UID has a policy: that bounds it.
func (a *Adoption) withUncoveredOwner(ctx context.Context, kinds []schema.GroupKind, index *policy.Index, p *policy.Policy, obj *unstructured.Unstructured) []schema.GroupKind {
	parent, ok := lineage.Parent(index, obj)
	if !ok || !p.HasInitiator() {
		return kinds
	}
	kind := parent.GVK.GroupKind()
	if len(index.For(kind)) > 0 || slices.Contains(kinds, kind) ||
		slices.ContainsFunc(ancestry.Refs(ctx, a.Holders, index, obj), parent.SameParent) {
		return kinds
	}
	if holder := ancestry.Holder(ctx, a.Namespaces, obj); p.Selects(holder.Labels, holder.NamespaceLabels) {
		kinds = append(kinds, kind)
	}
	return kinds
}
