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
	"fmt"

	krorevisions "github.com/kubernetes-sigs/kro/api/internal.kro.run/v1alpha1"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=internal.kro.run,resources=graphrevisions,verbs=list

// revisionOf is the field of a revision that names its graph, by which the API server selects.
const revisionOf = "spec.snapshot.name"

// served returns the graph that kro serves: the newest of its revisions that kro has verified.
// An invalid edit leaves the one before it serving. It is nil where there is none yet; pending
// says that kro is about to decide on a newer one.
//
// Revisions are of an API that kro calls its own. Where that is not served, it is the graph as
// it is, if kro has accepted it so.
func (r *Reconciler) served(ctx context.Context, graph *krov1alpha1.ResourceGraphDefinition) (_ *krov1alpha1.ResourceGraphDefinition, pending bool, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(krorevisions.GroupVersion.WithKind("GraphRevisionList"))
	err = r.Live.List(ctx, list, client.MatchingFields{revisionOf: graph.Name})
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return accepted(graph), false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the revisions of graph %s: %w", graph.Name, err)
	}
	revisions := make([]krorevisions.GraphRevision, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &revisions[i]); err != nil {
			return nil, false, fmt.Errorf("decoding revision %s of graph %s: %w", list.Items[i].GetName(), graph.Name, err)
		}
	}
	out, pending := newest(graph, revisions)
	return out, pending, nil
}

// newest is a graph as the newest of its revisions has it that is verified, nil where none is.
func newest(graph *krov1alpha1.ResourceGraphDefinition, revisions []krorevisions.GraphRevision) (_ *krov1alpha1.ResourceGraphDefinition, pending bool) {
	var serving, undecided *krorevisions.GraphRevision
	for i := range revisions {
		revision := &revisions[i]
		if revision.Spec.Snapshot.Name != graph.Name || revision.DeletionTimestamp != nil {
			continue
		}
		of := &serving
		switch statusOf(revision.Status.Conditions, krorevisions.GraphRevisionConditionTypeGraphVerified) {
		case metav1.ConditionTrue:
		case metav1.ConditionFalse:
			continue
		default:
			of = &undecided
		}
		if *of == nil || (*of).Spec.Revision < revision.Spec.Revision {
			*of = revision
		}
	}
	pending = undecided != nil && (serving == nil || serving.Spec.Revision < undecided.Spec.Revision)
	if serving == nil {
		return nil, pending
	}
	out := graph.DeepCopy()
	out.Spec = *serving.Spec.Snapshot.Spec.DeepCopy()
	return out, pending
}

// accepted is a graph that kro has accepted as it is, nil where it has not.
func accepted(graph *krov1alpha1.ResourceGraphDefinition) *krov1alpha1.ResourceGraphDefinition {
	for _, c := range graph.Status.Conditions {
		if c.Type == krov1alpha1.RGDConditionTypeGraphAccepted && c.Status == metav1.ConditionTrue && c.ObservedGeneration == graph.Generation {
			return graph
		}
	}
	return nil
}

func statusOf(conditions krov1alpha1.Conditions, kind krov1alpha1.ConditionType) metav1.ConditionStatus {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return metav1.ConditionUnknown
}
