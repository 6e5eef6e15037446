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

// Package ancestry finds out where an object stands: who its ancestors are, as far
// as policies are about them. The webhook and the controllers both ask it, so
// that they never disagree about which policies are in effect (D2).
package ancestry

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// maxDepth bounds how many objects a chain has. Real hierarchies have four or
// five; where one is cut off, the next parent counts as unknown.
const maxDepth = 16

// Getter reads holders from a cache.
type Getter interface {
	// Get returns the holder, which the caller does not modify, or a NotFound
	// error where the cache has none. The version of gvk does not matter.
	Get(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error)
	// ByUID returns the holder of any kind that has the UID, which the caller does not
	// modify, or a NotFound error where the cache has none.
	ByUID(ctx context.Context, uid types.UID) (*unstructured.Unstructured, error)
	// Ignores reports whether a parent that an object names is none for it: nobody gave it
	// to the object who may (D5).
	Ignores(ctx context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool
}

// Chain returns obj, its parent, and so on up to the root, for
// policy.Index.InEffect. It ends early at a parent whose kind has no policy in
// index, or that holders does not know: what lies behind such a parent is in
// nobody's scope.
func Chain(ctx context.Context, holders Getter, namespaces Namespaces, index *policy.Index, obj *unstructured.Unstructured) []policy.Holder {
	chain := make([]policy.Holder, 0, 2)
	seen := make([]types.UID, 0, 2)
	for obj != nil && len(chain) < maxDepth && !slices.Contains(seen, obj.GetUID()) {
		chain = append(chain, Holder(ctx, namespaces, obj))
		seen = append(seen, obj.GetUID())
		obj = parent(ctx, holders, index, obj)
	}
	return chain
}

// IsWhole reports whether nobody is missing in the chain of obj: holders knows each object
// that is named as a parent and whose kind has a policy in index. While somebody is,
// policies further down that only continue chains are not in effect, and nothing follows
// from that: what is missing may have been deleted, with the rest to follow.
func IsWhole(ctx context.Context, holders Getter, index *policy.Index, obj *unstructured.Unstructured) bool {
	for range maxDepth {
		ref, ok := Ref(ctx, holders, index, obj)
		if !ok || len(index.For(ref.GVK.GroupKind())) == 0 {
			return true
		}
		if obj = parent(ctx, holders, index, obj); obj == nil {
			return false
		}
	}
	return true
}

// Holder returns what a policy's selectors ask of one object.
func Holder(ctx context.Context, namespaces Namespaces, obj *unstructured.Unstructured) policy.Holder {
	holder := policy.Holder{Kind: obj.GroupVersionKind().GroupKind(), Labels: obj.GetLabels()}
	switch namespace := obj.GetNamespace(); {
	case holder.Kind == schema.GroupKind{Group: corev1.GroupName, Kind: "Namespace"}:
		// As in admission: a selector of namespaces looks at a namespace itself.
		holder.NamespaceLabels = holder.Labels
	case namespace != corev1.NamespaceAll:
		holder.NamespaceLabels = namespaces.Labels(ctx, namespace)
	}
	return holder
}

// Ref returns the parent of obj by which its chain goes on: the first of those it names
// that policies in index may be about, with the coordinates that the parent really has, or
// else just the first. It returns false where obj is a root.
//
// An owner is who has the UID. That its name, kind or group are wrong hides it from most
// tools, and from the policies for its kind if these went by them; its controller knows
// the child all the same.
func Ref(ctx context.Context, holders Getter, index *policy.Index, obj *unstructured.Unstructured) (lineage.Ref, bool) {
	refs := named(ctx, holders, index, obj)
	var absent *lineage.Ref
	for _, ref := range refs {
		located, ok := locate(ctx, holders, index, ref)
		switch {
		case !ok:
		case ref.Generator != "" && Parent(ctx, holders, located) == nil:
			// Because of any of several a GeneratingPolicy keeps the object, as long as that is there.
			if absent == nil {
				absent = &located
			}
		default:
			return located, true
		}
	}
	if absent != nil {
		return *absent, true
	}
	if len(refs) == 0 {
		return lineage.Ref{}, false
	}
	return refs[0], true
}

// Refs returns all parents of obj that policies in index may be about, with the coordinates
// that they really have: each of them bounds it.
func Refs(ctx context.Context, holders Getter, index *policy.Index, obj *unstructured.Unstructured) []lineage.Ref {
	var out []lineage.Ref
	for _, ref := range named(ctx, holders, index, obj) {
		if located, ok := locate(ctx, holders, index, ref); ok {
			out = append(out, located)
		}
	}
	return out
}

// named returns the parents that obj names, but for those that are none for it.
func named(ctx context.Context, holders Getter, index *policy.Index, obj *unstructured.Unstructured) []lineage.Ref {
	return slices.DeleteFunc(lineage.Parents(index, obj), func(ref lineage.Ref) bool { return holders.Ignores(ctx, obj, ref) })
}

// locate reports whether a reference is to an object of a kind that has policies, and
// returns it with the coordinates of that object. What nobody knows under the UID is taken
// to be what the reference says: it may be too new for the cache.
func locate(ctx context.Context, holders Getter, index *policy.Index, ref lineage.Ref) (lineage.Ref, bool) {
	governs := func(kind schema.GroupKind) bool { return len(index.For(kind)) > 0 && ref.IsOf(index, kind) }
	governed := governs(ref.GVK.GroupKind())
	if ref.IsByName() || ref.UID == "" {
		return ref, governed
	}
	if governed {
		if found, err := get(ctx, holders, ref); err == nil && ref.Names(found) {
			return ref, true
		}
	}
	found, err := holders.ByUID(ctx, ref.UID)
	if err != nil || !governs(found.GroupVersionKind().GroupKind()) {
		return ref, governed
	}
	ref.GVK, ref.Namespace, ref.Name = found.GroupVersionKind(), found.GetNamespace(), found.GetName()
	return ref, true
}

// get returns what the cache has under the coordinates of a reference.
func get(ctx context.Context, holders Getter, ref lineage.Ref) (*unstructured.Unstructured, error) {
	found, err := holders.Get(ctx, ref.GVK, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if apierrors.IsNotFound(err) && ref.Namespace != corev1.NamespaceAll {
		// An owner reference does not say whether the owner is namespaced.
		found, err = holders.Get(ctx, ref.GVK, types.NamespacedName{Name: ref.Name})
	}
	return found, err
}

// parent returns the parent of obj, and nil where there is none, its kind has no
// policy, or holders does not know the very object that obj names.
func parent(ctx context.Context, holders Getter, index *policy.Index, obj *unstructured.Unstructured) *unstructured.Unstructured {
	ref, ok := Ref(ctx, holders, index, obj)
	if !ok || len(index.For(ref.GVK.GroupKind())) == 0 {
		return nil
	}
	return Parent(ctx, holders, ref)
}

// Parent returns the object that a reference names, nil where holders does not know it.
func Parent(ctx context.Context, holders Getter, ref lineage.Ref) *unstructured.Unstructured {
	found, err := get(ctx, holders, ref)
	if err != nil || !ref.Names(found) {
		return nil
	}
	return found
}

// ParentUID returns the UID of the parent of obj, empty where it has none. known is
// false where obj does not say it, and holders does not know the parent either.
func ParentUID(ctx context.Context, holders Getter, index *policy.Index, obj *unstructured.Unstructured) (uid types.UID, known bool) {
	ref, ok := Ref(ctx, holders, index, obj)
	if !ok || !ref.IsByName() {
		return ref.UID, true
	}
	if found := parent(ctx, holders, index, obj); found != nil {
		return found.GetUID(), true
	}
	return "", false
}
