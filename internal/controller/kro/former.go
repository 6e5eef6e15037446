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

package kro

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	krorevisions "github.com/kubernetes-sigs/kro/api/internal.kro.run/v1alpha1"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/derive/kro"
	"kausality.io/operator/internal/policy"
)

// The labels by which kro says of which kind the instance is that an object is a child of.
const (
	labelInstanceGroup = "kro.run/instance-group"
	labelInstanceKind  = "kro.run/instance-kind"
)

// former returns the resources of children that the graph has no more, and that instances may have: those
// of other revisions, which kro keeps to go back to, and of what the policy named so far those of which
// there are children. Nobody has agreed yet that these go.
func (r *Reconciler) former(
	ctx context.Context, served *krov1alpha1.ResourceGraphDefinition, revisions []krorevisions.GraphRevision, there *v1alpha1.AllowancePolicy,
) ([]schema.GroupVersionResource, error) {
	now := kro.Kinds(&served.Spec)
	known := make([]schema.GroupKind, 0, len(now))
	for _, kind := range now {
		known = append(known, kind.GroupKind())
	}
	var out []schema.GroupVersionResource
	for _, kind := range revised(served.Name, revisions) {
		if resource, isServed := r.resourceFor(kind); isServed && !slices.Contains(known, kind.GroupKind()) {
			known, out = append(known, kind.GroupKind()), append(out, resource)
		}
	}
	if there == nil {
		return out, nil
	}
	for _, resource := range policy.NamedResources(&there.Spec) {
		kind, err := r.Mapper.KindFor(resource)
		switch {
		case apimeta.IsNoMatchError(err):
			continue // What is not served has no objects.
		case err != nil:
			return nil, fmt.Errorf("looking up resource %s: %w", resource.GroupResource(), err)
		case slices.Contains(known, kind.GroupKind()):
			continue
		}
		known = append(known, kind.GroupKind())
		has, err := r.hasChildren(ctx, served, kind)
		if err != nil {
			return nil, err
		}
		if has {
			out = append(out, resource)
		}
	}
	return out, nil
}

// revised returns the kinds of children that the revisions of a graph make, the newest first.
func revised(graph string, revisions []krorevisions.GraphRevision) []schema.GroupVersionKind {
	revisions = slices.Clone(revisions)
	slices.SortFunc(revisions, func(a, b krorevisions.GraphRevision) int { return int(b.Spec.Revision - a.Spec.Revision) })
	var out []schema.GroupVersionKind
	for i := range revisions {
		if revisions[i].Spec.Snapshot.Name == graph {
			out = append(out, kro.Kinds(&revisions[i].Spec.Snapshot.Spec)...)
		}
	}
	return out
}

// hasChildren reports whether instances of a graph have children of a kind. Where the operator may not
// look they may.
func (r *Reconciler) hasChildren(ctx context.Context, served *krov1alpha1.ResourceGraphDefinition, kind schema.GroupVersionKind) (bool, error) {
	declared := served.Spec.Schema
	if declared == nil {
		return false, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := r.Live.List(ctx, list, client.Limit(1), client.MatchingLabels{
		labelInstanceKind: declared.Kind, labelInstanceGroup: cmp.Or(declared.Group, krov1alpha1.GroupVersion.Group),
	})
	switch {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking whether instances of graph %s have children of kind %s: %w", served.Name, kind.GroupKind(), err)
	}
	return len(list.Items) > 0, nil
}
