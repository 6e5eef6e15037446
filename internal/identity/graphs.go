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

package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	krorevisions "github.com/kubernetes-sigs/kro/api/internal.kro.run/v1alpha1"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/graphrevision"
	"kausality.io/operator/internal/sharedread"
	"kausality.io/operator/internal/upgrade"
)

// graphLabel is the label by which kro says which graph an instance is of. kro sets it before it
// makes a child, and puts it back.
const graphLabel = "kro.run/resource-graph-definition-name"

// Graphs know which revision of its graph kro makes the children of an instance from. No
// request names it: it is the one that kro serves, which it has persisted before it uses it.
// They are safe for concurrent use.
type Graphs struct {
	live client.Reader
	// lists have denials at the same time share the list of the revisions of a graph.
	lists *sharedread.Group[[]krorevisions.GraphRevision]
}

// NewGraphs returns Graphs that are read from the API server by live: a revision that is a moment
// old makes requests.
func NewGraphs(live client.Reader) Graphs {
	return Graphs{live: live, lists: &sharedread.Group[[]krorevisions.GraphRevision]{}}
}

var _ upgrade.Source = Graphs{}

// Of implements upgrade.Source. What is no instance of a graph has none.
func (g Graphs) Of(ctx context.Context, r upgrade.Request) ([]upgrade.Version, error) {
	name := r.Parent.GetLabels()[graphLabel]
	if name == "" {
		return nil, nil
	}
	v, err := g.served(ctx, name, r)
	if err != nil {
		return nil, err
	}
	return []upgrade.Version{v}, nil
}

// served returns the revision that kro serves of a graph.
func (g Graphs) served(ctx context.Context, name string, r upgrade.Request) (upgrade.Version, error) {
	none := upgrade.Version{Trigger: v1alpha1.UpgradeOfResourceGraph}
	revisions, err := g.lists.Do(ctx, name, func(ctx context.Context) ([]krorevisions.GraphRevision, error) {
		return graphrevision.List(ctx, g.live, name)
	})
	switch {
	case errors.Is(err, graphrevision.ErrNotServed):
		none.Unknown = err.Error()
		return none, nil
	case apierrors.IsForbidden(err):
		none.Unknown = "Kausality may not list the GraphRevisions of kro"
		return none, nil
	case err != nil:
		return none, err
	}
	serving, _ := graphrevision.Served(name, revisions, r.At)
	if serving == nil || !isOf(serving, r.Parent) {
		none.Unknown = fmt.Sprintf("kro serves no graph %s for kind %s", name, r.Parent.GetKind())
		return none, nil
	}
	return upgrade.Version{
		Trigger: v1alpha1.UpgradeOfResourceGraph, Revision: serving.Name, Digest: upgrade.Digest(serving.Spec.Snapshot.Spec),
		Created: serving.CreationTimestamp.Time,
	}, nil
}

// isOf reports whether an object is of the kind that a revision defines: who may change an
// instance can give it the label of any graph.
func isOf(revision *krorevisions.GraphRevision, obj *unstructured.Unstructured) bool {
	s := revision.Spec.Snapshot.Spec.Schema
	return s != nil && obj.GroupVersionKind().GroupKind() == schema.GroupKind{Group: cmp.Or(s.Group, krov1alpha1.KRODomainName), Kind: s.Kind}
}
