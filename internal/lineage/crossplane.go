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

package lineage

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/change"
)

// fieldSpec is where an object says what is wanted.
const fieldSpec = "spec"

// The categories that Crossplane gives the kinds it defines.
const (
	// CategoryClaim is that of claims.
	CategoryClaim = "claim"
	// CategoryComposite is that of composite resources (XRs), with a claim or without.
	CategoryComposite = "composite"
)

// What Crossplane writes for itself in the spec of a claim, and of a composite
// resource: which objects belong together, which composition and which revision of it
// is used, and where the connection details go. Composite resources without claims
// have all of it under spec.crossplane.
var (
	compositionFields = sets.New("compositionRef", "compositionRevisionRef", "compositionSelector",
		"compositionRevisionSelector", "compositionUpdatePolicy", "writeConnectionSecretToRef")
	claimFields     = compositionFields.Union(sets.New(resourceRefField))
	compositeFields = compositionFields.Union(sets.New("resourceRefs", "crossplane"))
)

// BookkeepingField reports whether a change of an object of the kind is of a field in
// which its system keeps its books (D5): observed, refusing a composite resource its
// new revision wedges it. Setting the reference to a claim is, removing it never.
func BookkeepingField(kinds Kinds, kind schema.GroupKind, c change.Change) bool {
	if len(c.Path) < 2 || c.Path[0].Field != fieldSpec {
		return false
	}
	switch field := c.Path[1].Field; {
	case kinds.HasCategory(kind, CategoryComposite):
		return compositeFields.Has(field) || c.Path.String() == claimRefPath && c.Verb == change.Insert
	case kinds.HasCategory(kind, CategoryClaim):
		return claimFields.Has(field)
	default:
		return false
	}
}

// foundBy are the fields by which Crossplane finds what it has made for an object: which objects
// a composite resource is composed of, and which composite resource a claim has.
var foundBy = map[string][][]string{
	CategoryComposite: {{fieldSpec, "crossplane", "resourceRefs"}, {fieldSpec, "resourceRefs"}},
	CategoryClaim:     {{fieldSpec, resourceRefField}},
}

// FoundOtherwise returns the fields by which its system finds what it has made for an object of
// the kind and that an update changes: whoever writes them decides what the system takes for its
// own, and what it makes again, as it does not find that any more.
func FoundOtherwise(kinds Kinds, kind schema.GroupKind, before, after map[string]any) []string {
	var out []string
	for _, category := range []string{CategoryComposite, CategoryClaim} {
		if !kinds.HasCategory(kind, category) {
			continue
		}
		for _, field := range foundBy[category] {
			// No field that cannot be read is there, and none says where to find anything while it is empty.
			was, _, _ := unstructured.NestedFieldNoCopy(before, field...)
			is, _, _ := unstructured.NestedFieldNoCopy(after, field...)
			if (!isEmpty(was) || !isEmpty(is)) && !equality.Semantic.DeepEqual(was, is) {
				out = append(out, strings.Join(field, "."))
			}
		}
	}
	return out
}

// isEmpty reports whether a reference, or a list of them, names nothing.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

// books are all of these fields, and the reference to a claim.
var books = claimFields.Union(compositeFields).Insert(claimRefField)

// WithoutBooks returns an object without the fields in which Crossplane keeps its books,
// whatever its kind: what it writes into an object right after that was created does
// not make another one of it. The object itself stays as it is.
func WithoutBooks(obj map[string]any) map[string]any {
	spec, ok := obj[fieldSpec].(map[string]any)
	if !ok || !slices.ContainsFunc(slices.Collect(maps.Keys(spec)), books.Has) {
		return obj
	}
	spec = maps.Clone(spec)
	maps.DeleteFunc(spec, func(field string, _ any) bool { return books.Has(field) })
	obj = maps.Clone(obj)
	obj[fieldSpec] = spec
	return obj
}

// The fields by which a composite resource names its claim, and the claim points back.
const (
	claimRefField    = "claimRef"
	claimRefPath     = "spec." + claimRefField
	resourceRefField = "resourceRef"

	// ResourceRefPath is the path of the field of a claim that points back.
	ResourceRefPath = "spec." + resourceRefField
)

// boundClaim knows the claim of a composite resource of Crossplane: the composite
// resource names it in spec.claimRef, without a UID and without an owner reference,
// and the claim points back by spec.resourceRef.
type boundClaim struct{}

func (boundClaim) Parents(kinds Kinds, obj *unstructured.Unstructured) []Ref {
	ref := specField(obj, claimRefField)
	if len(ref) == 0 || !kinds.HasCategory(obj.GroupVersionKind().GroupKind(), CategoryComposite) {
		return nil
	}
	gv, err := schema.ParseGroupVersion(text(ref, "apiVersion"))
	if err != nil || text(ref, "kind") == "" || text(ref, "name") == "" {
		return nil
	}
	claim := Ref{
		GVK:       gv.WithKind(text(ref, "kind")),
		Namespace: text(ref, "namespace"),
		Name:      text(ref, "name"),
		Path:      claimRefPath,
		Mutual:    true,
	}
	if !kinds.HasCategory(claim.GVK.GroupKind(), CategoryClaim) {
		return nil // A claim of a kind that is none is nobody's.
	}
	return []Ref{claim}
}

// PointsBack reports whether the parent that the Ref names knows the child, as far as
// its system asks for that. Crossplane writes the reference of the claim before it
// creates the composite resource; a claim that was deleted and created again under
// its name has none.
func (r Ref) PointsBack(parent, child *unstructured.Unstructured) bool {
	if !r.Mutual {
		return true
	}
	ref := specField(parent, resourceRefField)
	gv, err := schema.ParseGroupVersion(text(ref, "apiVersion"))
	kind := child.GroupVersionKind().GroupKind()
	return err == nil && gv.WithKind(text(ref, "kind")).GroupKind() == kind && text(ref, "name") == child.GetName()
}

// ClaimFinalizer is the finalizer by which Crossplane deletes the composite resource of a claim before that is gone.
const ClaimFinalizer = "finalizer.apiextensions.crossplane.io"

// Claimed returns the composite resource that a claim names as its own, and false where it names none.
func Claimed(claim *unstructured.Unstructured) (kind schema.GroupVersionKind, name string, ok bool) {
	ref := specField(claim, resourceRefField)
	gv, err := schema.ParseGroupVersion(text(ref, "apiVersion"))
	kind, name = gv.WithKind(text(ref, "kind")), text(ref, "name")
	return kind, name, err == nil && kind.Kind != "" && name != ""
}

// IsClaimOf reports whether a composite resource names the object as its claim.
func IsClaimOf(claim, composite *unstructured.Unstructured) bool {
	ref := specField(composite, claimRefField)
	gv, err := schema.ParseGroupVersion(text(ref, "apiVersion"))
	return err == nil && gv.WithKind(text(ref, "kind")).GroupKind() == claim.GroupVersionKind().GroupKind() &&
		text(ref, "namespace") == claim.GetNamespace() && text(ref, "name") == claim.GetName()
}

// specField returns a map in the spec of an object, nil where there is none.
func specField(obj *unstructured.Unstructured, name string) map[string]any {
	spec, _ := obj.Object[fieldSpec].(map[string]any)
	field, _ := spec[name].(map[string]any)
	return field
}

// text returns a string, empty where there is none.
func text(fields map[string]any, name string) string {
	s, _ := fields[name].(string)
	return s
}
