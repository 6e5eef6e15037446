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

// Package composition finds out from what Crossplane composes the children of a composite
// resource: the CompositionRevision that the composite resource names, and the active revisions
// of the Functions in its pipeline (D12). Both are read from the API server, and only before
// something would be denied, or where a composite resource goes over to another revision.
package composition

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/sharedread"
	"kausality.io/operator/internal/upgrade"
)

// +kubebuilder:rbac:groups=apiextensions.crossplane.io,resources=compositionrevisions,verbs=get
// +kubebuilder:rbac:groups=pkg.crossplane.io,resources=functionrevisions,verbs=list

const (
	// maxRevisions is how many CompositionRevisions are remembered.
	maxRevisions = 512
	// remembered is for how long: but for its number, the spec of a revision never changes.
	remembered = 10 * time.Minute
)

var compositionRevision = schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "CompositionRevision"}

// Kinds knows to which categories kinds belong. *policy.Index is one.
type Kinds interface {
	// HasCategory reports whether the objects of a kind belong to a category.
	HasCategory(kind schema.GroupKind, category string) bool
}

// Revisions knows CompositionRevisions. It is safe for concurrent use.
type Revisions struct {
	reader client.Reader
	kinds  func() Kinds
	known  *utilcache.LRUExpireCache
	// lists have denials at the same time share the list of the revisions of a Function.
	lists sharedread.Group[[]unstructured.Unstructured]
}

// NewRevisions returns Revisions that are read from the API server: no cache is kept of those
// of others.
func NewRevisions(live client.Reader, kinds func() Kinds, now clock.PassiveClock) *Revisions {
	return &Revisions{reader: live, kinds: kinds, known: utilcache.NewLRUExpireCacheWithClock(maxRevisions, now)}
}

// revision is what there is to know of a CompositionRevision.
type revision struct {
	digest    string
	functions []string
	created   time.Time
}

// get reads a CompositionRevision. Where it cannot be known, why says so.
func (r *Revisions) get(ctx context.Context, name string) (found revision, why string, err error) {
	if known, ok := r.known.Get(name); ok {
		if found, ok := known.(revision); ok {
			return found, "", nil
		}
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(compositionRevision)
	err = r.reader.Get(ctx, types.NamespacedName{Name: name}, obj)
	switch {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err):
		return revision{}, fmt.Sprintf("CompositionRevision %s does not exist", name), nil
	case apierrors.IsForbidden(err):
		return revision{}, "Kausality may not read CompositionRevisions", nil
	case err != nil:
		return revision{}, "", fmt.Errorf("reading CompositionRevision %s: %w", name, err)
	}
	found = revision{digest: digest(obj), functions: functions(obj), created: obj.GetCreationTimestamp().Time}
	r.known.Add(name, found, remembered)
	return found, "", nil
}

// named returns the CompositionRevision that a composite resource names, by its own write and
// before it is composed: empty where it names none yet, or is no composite resource. A claim has
// the same field, and nothing is composed of it.
func (r *Revisions) named(obj *unstructured.Unstructured) string {
	if obj == nil || !r.kinds().HasCategory(obj.GroupVersionKind().GroupKind(), lineage.CategoryComposite) {
		return ""
	}
	for _, path := range [][]string{{"spec", "crossplane", "compositionRevisionRef", "name"}, {"spec", "compositionRevisionRef", "name"}} {
		if name, ok, err := unstructured.NestedString(obj.Object, path...); ok && err == nil {
			return name
		}
	}
	return ""
}

// digest identifies what a CompositionRevision composes. Its number is none of that: it changes
// where a Composition is put back. Labels and annotations make another revision, which composes
// the same.
func digest(obj *unstructured.Unstructured) string {
	spec, _, _ := unstructured.NestedMap(obj.Object, "spec")
	spec = maps.Clone(spec)
	delete(spec, "revision")
	return upgrade.Digest(spec)
}

// functions returns the names of the Functions in the pipeline of a CompositionRevision, each once
// and in order.
func functions(obj *unstructured.Unstructured) []string {
	pipeline, _, _ := unstructured.NestedSlice(obj.Object, "spec", "pipeline")
	var out []string
	for _, each := range pipeline {
		step, _ := each.(map[string]any)
		if name, _, _ := unstructured.NestedString(step, "functionRef", "name"); name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
