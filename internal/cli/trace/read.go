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
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// maxPolicies bounds how many GeneratingPolicies are followed from a generated object upwards.
// The operator makes no longer chains.
const maxPolicies = 8

// tell says what there is to know about an object.
func tell(ctx context.Context, c *cluster.Cluster, target cluster.Target) (*Report, error) {
	seen, err := read(ctx, c, target)
	if err != nil {
		return nil, err
	}
	report, err := build(seen)
	if err != nil {
		return nil, err
	}
	report.SwitchedOff, report.Unenforced = c.Off(ctx), seen.unenforced
	if seen.object == nil {
		return report, nil
	}
	report.Origin = steps{cluster: c, depth: maxPolicies}.originOf(ctx, seen.object)
	if report.Made, err = madeBecauseOf(ctx, c, target); err != nil {
		report.Notes = append(report.Notes, fmt.Sprintf("What GeneratingPolicies made because of it cannot be told: %v", err))
	}
	return report, nil
}

// read reads an object, who changed it, and what followed.
func read(ctx context.Context, c *cluster.Cluster, target cluster.Target) (*sight, error) {
	obj, err := c.Read(ctx, target)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s: %w", target, err)
	}
	return readCauses(ctx, c, target, obj)
}

// readCauses reads who changed an object, which is nil where it is gone, and what followed.
func readCauses(ctx context.Context, c *cluster.Cluster, target cluster.Target, obj *unstructured.Unstructured) (*sight, error) {
	s := &sight{target: target, gone: obj == nil}
	policies, unread := c.Policies(ctx)
	around, err := c.Around(ctx, policies, target, obj)
	switch {
	case apierrors.IsForbidden(err) && !s.gone:
		s.unread = true
		s.notes = append(s.notes, fmt.Sprintf("What caused it, but for what its ledger says, cannot be told: %v", err))
	case err != nil:
		return nil, err
	}
	if around.Elsewhere != nil {
		s.notes = append(s.notes, fmt.Sprintf("What cluster-scoped objects have to do with it cannot be told: %v", around.Elsewhere))
	}
	if s.records = around.Records; s.gone {
		return s, nil
	}
	s.object, s.uid = obj, obj.GetUID()
	s.unenforced = c.UnenforcedFor(ctx, policies, obj)
	if held := held(obj, s.records); held != nil {
		s.records = append(s.records, *held)
	}
	if unread != nil {
		s.notes = append(s.notes, fmt.Sprintf("Which objects below exist cannot be told: %v", unread))
		return s, nil
	}
	if s.unread {
		return s, nil // What is below needs the records, to be told of.
	}
	s.parent = c.ParentUID(ctx, policies, obj)
	s.listBelow(ctx, c, policies, obj)
	return s, nil
}

// held returns the ledger of an object, as a record would mirror it in a moment. What is over stays in the
// annotation until somebody writes the object: its record tells that.
func held(obj *unstructured.Unstructured, records []v1alpha1.AllowanceRecord) *v1alpha1.AllowanceRecord {
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	stored, err := ledger.Decode(obj.GetAnnotations()[key])
	if err != nil {
		return nil // The operator reports a ledger that cannot be read.
	}
	if rec := byUID(records)[obj.GetUID()]; record.KnowsLedger(rec) {
		stored = record.Effective(rec, obj, stored)
	}
	if len(stored) == 0 {
		return nil
	}
	return &v1alpha1.AllowanceRecord{
		Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(obj)},
		Status: v1alpha1.AllowanceRecordStatus{Active: stored.Allowances()},
	}
}

// listBelow finds the objects below another, of the kinds that policies name. A kind may be below
// itself: its objects are listed once, and looked through for the children of each generation.
func (s *sight) listBelow(ctx context.Context, c *cluster.Cluster, policies cluster.Policies, obj *unstructured.Unstructured) {
	s.listedIn = s.target.Namespace
	if policies.Naming(obj.GroupVersionKind().GroupKind()) != nil {
		s.listedIn = metav1.NamespaceAll
	}
	found := &family{index: policies.Index, known: map[types.UID]bool{obj.GetUID(): true}}
	parents, kinds := []*unstructured.Unstructured{obj}, childKinds(policies, obj.GroupVersionKind().GroupKind())
	for range maxDepth {
		var next []*unstructured.Unstructured
		var nextKinds []schema.GroupVersionKind
		for _, kind := range kinds {
			if !found.has(kind) && !slices.Contains(s.unlisted, kind) {
				objects, err := list(ctx, c, kind, s.listedIn)
				if err != nil {
					s.notes = append(s.notes, fmt.Sprintf("Which objects of kind %s exist cannot be told: %v", kind.Kind, err))
					s.unlisted = append(s.unlisted, kind)
					continue
				}
				s.listed = append(s.listed, kind.Kind)
				found.add(kind, objects)
			}
			if below := found.childrenOf(kind, parents); len(below) > 0 {
				next = append(next, below...)
				nextKinds = append(nextKinds, childKinds(policies, kind.GroupKind())...)
			}
		}
		for _, child := range next {
			s.below = append(s.below, childOf(child))
		}
		if parents, kinds = next, nextKinds; len(parents) == 0 {
			break
		}
	}
	s.others = found.others()
}

// family is the objects of some kinds, of which some are below another.
type family struct {
	index *policy.Index
	// objects that were listed, by kind: two groups may have one of the same name. known has those found below, and the object itself.
	objects map[schema.GroupVersionKind][]unstructured.Unstructured
	known   map[types.UID]bool
}

func (f *family) add(kind schema.GroupVersionKind, objects []unstructured.Unstructured) {
	if f.objects == nil {
		f.objects = map[schema.GroupVersionKind][]unstructured.Unstructured{}
	}
	f.objects[kind] = objects
}

// has reports whether a kind was listed.
func (f *family) has(kind schema.GroupVersionKind) bool {
	_, ok := f.objects[kind]
	return ok
}

// childrenOf returns the objects of a kind of which one of the parents is the parent, each once.
func (f *family) childrenOf(kind schema.GroupVersionKind, parents []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for i := range f.objects[kind] {
		obj := &f.objects[kind][i]
		ref, ok := lineage.Parent(f.index, obj)
		if !ok || f.known[obj.GetUID()] || !slices.ContainsFunc(parents, ref.Names) {
			continue
		}
		f.known[obj.GetUID()] = true
		out = append(out, obj)
	}
	return out
}

func childOf(obj *unstructured.Unstructured) Child {
	return Child{Kind: obj.GetKind(), Name: obj.GetName(), Namespace: obj.GetNamespace()}
}

// others returns the objects that are not below.
func (f *family) others() []Child {
	var out []Child
	for _, objects := range f.objects {
		for i := range objects {
			if !f.known[objects[i].GetUID()] {
				out = append(out, childOf(&objects[i]))
			}
		}
	}
	return out
}

// childKinds returns the kinds of children that policies for a kind name.
func childKinds(policies cluster.Policies, parent schema.GroupKind) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, p := range policies.For(parent) {
		for _, e := range p.Entries() {
			kind := e.Resource.GroupVersion().WithKind(e.Kind.Kind)
			if !e.Kind.Empty() && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

func list(ctx context.Context, c *cluster.Cluster, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	objects := &unstructured.UnstructuredList{}
	objects.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, objects, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	return objects.Items, nil
}
