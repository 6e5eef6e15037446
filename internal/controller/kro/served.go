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
	"context"
	"errors"
	"time"

	krorevisions "github.com/kubernetes-sigs/kro/api/internal.kro.run/v1alpha1"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/internal/graphrevision"
)

// served returns the graph that kro serves: the newest of its revisions that kro has verified.
// It is nil where there is none yet; pending says that kro is about to decide on a newer one. all are
// its revisions, as far as kro keeps them.
//
// Revisions are of an API that kro calls its own. Where that is not served, it is the graph as
// it is, if kro has accepted it so.
func (r *Reconciler) served(ctx context.Context, graph *krov1alpha1.ResourceGraphDefinition) (
	_ *krov1alpha1.ResourceGraphDefinition, all []krorevisions.GraphRevision, pending bool, err error,
) {
	revisions, err := graphrevision.List(ctx, r.Live, graph.Name)
	if errors.Is(err, graphrevision.ErrNotServed) {
		return accepted(graph), nil, false, nil
	}
	if err != nil {
		return nil, nil, false, err
	}
	serving, pending := graphrevision.Served(graph.Name, revisions, time.Time{})
	if serving == nil {
		return nil, revisions, pending, nil
	}
	out := graph.DeepCopy()
	out.Spec = *serving.Spec.Snapshot.Spec.DeepCopy()
	return out, revisions, pending, nil
}

// accepted returns a graph that kro has accepted as it is, nil where it has not.
func accepted(graph *krov1alpha1.ResourceGraphDefinition) *krov1alpha1.ResourceGraphDefinition {
	for _, c := range graph.Status.Conditions {
		if c.Type == krov1alpha1.RGDConditionTypeGraphAccepted && c.Status == metav1.ConditionTrue && c.ObservedGeneration == graph.Generation {
			return graph
		}
	}
	return nil
}
