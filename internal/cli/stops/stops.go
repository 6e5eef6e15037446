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

// Package stops finds what keeps a change from going on that no policy does: a system was told not to look at an
// object on the way, or something above is gone, without which policies are not in effect. Nothing is refused then,
// and nothing withheld, and yet nothing follows.
package stops

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

const (
	// deepest is how many objects are looked at above one, and how far down below it.
	deepest = 8
	// mostBelow is how many objects below one are looked at: what many are paused of, one tells.
	mostBelow = 100
)

// Around finds what is above an object, and below it. *cluster.Cluster is the one.
type Around interface {
	// Parent returns the parent of an object, and false where it has none.
	Parent(ctx context.Context, policies cluster.Policies, obj *unstructured.Unstructured) (lineage.Ref, bool, error)
	// Referred returns the object that a reference names, nil where it does not exist.
	Referred(ctx context.Context, ref lineage.Ref) (*unstructured.Unstructured, error)
	// Children returns the objects of a kind of which an object is the parent.
	Children(ctx context.Context, policies cluster.Policies, kind schema.GroupKind, parent *unstructured.Unstructured) ([]*unstructured.Unstructured, error)
}

var _ Around = (*cluster.Cluster)(nil)

// On says what stops changes on the way to an object, at it and below it. What cannot be read is left out.
func On(ctx context.Context, around Around, policies cluster.Policies, obj *unstructured.Unstructured) []string {
	var out []string
	if why := Paused(obj, policies); why != "" {
		out = append(out, fmt.Sprintf("%s is paused: %s.", target(obj), why))
	}
	out = append(out, above(ctx, around, policies, obj)...)
	return append(out, below(ctx, around, policies, obj)...)
}

// above says what stops above an object.
func above(ctx context.Context, around Around, policies cluster.Policies, obj *unstructured.Unstructured) []string {
	var out []string
	for range deepest {
		ref, ok, unread := around.Parent(ctx, policies, obj)
		if !ok || unread != nil || len(policies.For(ref.GVK.GroupKind())) == 0 {
			return out
		}
		parent, err := around.Referred(ctx, ref)
		switch {
		case err != nil:
			return out
		case parent == nil:
			return append(out, gone(policies, ref, obj))
		}
		if why := Paused(parent, policies); why != "" {
			out = append(out, fmt.Sprintf("Above it %s is paused: %s.", target(parent), why))
		}
		obj = parent
	}
	return out
}

// gone says that what an object names as its parent does not exist, and what to do.
func gone(policies cluster.Policies, ref lineage.Ref, obj *unstructured.Unstructured) string {
	text := fmt.Sprintf("%s, the parent that %s names, does not exist: what it allowed is over, and policies for %s that name nobody who may initiate are not in effect.",
		phrase.Object(ref.GVK.Kind, ref.Name)+phrase.In(ref.Namespace), target(obj), obj.GetKind())
	if !ref.Mutual {
		return text
	}
	if obj.GetDeletionTimestamp() != nil {
		return text + fmt.Sprintf(" %s is being deleted as well: see what keeps it, such as a pause or its finalizers. "+
			"Whoever wants %s back makes it anew once that is gone: it would lose what it names.", target(obj), ref.GVK.Kind+" "+ref.Name)
	}
	return text + fmt.Sprintf(" %s may create it again, with %s naming %s; or delete %s if it is not needed.",
		capital(phrase.Who(policy.InitiatorsIn(policies.For(ref.GVK.GroupKind())))), lineage.ResourceRefPath, target(obj), target(obj))
}

func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// below says what stops below an object, of the kinds that policies name.
func below(ctx context.Context, around Around, policies cluster.Policies, obj *unstructured.Unstructured) []string {
	var out []string
	looked := 0
	level := []*unstructured.Unstructured{obj}
	for range deepest {
		var next []*unstructured.Unstructured
		for _, parent := range level {
			for _, child := range children(ctx, around, policies, parent) {
				looked++
				if looked > mostBelow {
					return out
				}
				if why := Paused(child, policies); why != "" {
					out = append(out, fmt.Sprintf("Below it %s is paused: %s.", target(child), why))
				}
				next = append(next, child)
			}
		}
		level = next
	}
	return out
}

// children returns the children of an object, of the kinds that policies for it name.
func children(ctx context.Context, around Around, policies cluster.Policies, parent *unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	seen := map[schema.GroupKind]bool{}
	for _, p := range policies.For(parent.GroupVersionKind().GroupKind()) {
		for _, e := range p.Entries() {
			if e.IsExternal() || e.Kind.Empty() || seen[e.Kind] {
				continue
			}
			seen[e.Kind] = true
			if found, err := around.Children(ctx, policies, e.Kind, parent); err == nil {
				out = append(out, found...)
			}
		}
	}
	return out
}

// Paused says by what a system was told not to look at an object, and until when; empty where it was not. What
// Kausality itself has paused, to hold a deletion back, is not.
func Paused(obj *unstructured.Unstructured, policies cluster.Policies) string {
	annotations, kind := obj.GetAnnotations(), obj.GroupVersionKind().GroupKind()
	held := gate.ReadState(annotations).Held
	if annotations[crossplane.PausedAnnotation] == "true" && isCustom(kind) && (held == nil || held.Paused) {
		return fmt.Sprintf("its annotation %s has Crossplane, or its provider, do nothing with it, and nothing follows from what is changed, until that is taken away", crossplane.PausedAnnotation)
	}
	for _, child := range policy.Known(kind, policies.For(kind)).Children {
		value, _ := child.Suspend.Value(obj.Object)
		if suspended, _ := value.(bool); len(child.Suspend) > 0 && suspended {
			return fmt.Sprintf("by %s its controller makes no %s until that is false", child.Suspend, child.Kind.Kind)
		}
	}
	return ""
}

// isCustom reports whether a kind may be one of Crossplane's: the annotation says nothing to others.
func isCustom(kind schema.GroupKind) bool {
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

func target(obj *unstructured.Unstructured) string { return phrase.Target(record.TargetOf(obj)) }
