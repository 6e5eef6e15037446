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

// Package graphrevision reads which revision of a graph kro serves. Revisions are of an API that
// kro calls its own, and this is the only place that knows it.
package graphrevision

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// graphField is the field of a revision that names its graph, by which the API server selects.
const graphField = "spec.snapshot.name"

// ErrNotServed says that the API of revisions is not served, or not so that they can be selected.
var ErrNotServed = errors.New("the API server does not serve GraphRevisions of internal.kro.run")

// List returns the revisions of a graph.
func List(ctx context.Context, live client.Reader, graph string) ([]krorevisions.GraphRevision, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(krorevisions.GroupVersion.WithKind("GraphRevisionList"))
	err := live.List(ctx, list, client.MatchingFields{graphField: graph})
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil, ErrNotServed
	}
	if err != nil {
		return nil, fmt.Errorf("reading the revisions of graph %s: %w", graph, err)
	}
	revisions := make([]krorevisions.GraphRevision, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &revisions[i]); err != nil {
			return nil, fmt.Errorf("decoding revision %s of graph %s: %w", list.Items[i].GetName(), graph, err)
		}
	}
	return revisions, nil
}

// Served returns the revision of a graph that kro serves, or served at a time that is not zero:
// the highest that it has verified, nil where there is none. An invalid edit leaves the one
// before it serving. pending says that kro is about to decide on a higher one.
func Served(graph string, revisions []krorevisions.GraphRevision, at time.Time) (_ *krorevisions.GraphRevision, pending bool) {
	var serving, undecided *krorevisions.GraphRevision
	for i := range revisions {
		revision := &revisions[i]
		if revision.Spec.Snapshot.Name != graph || revision.DeletionTimestamp != nil || !at.IsZero() && revision.CreationTimestamp.After(at) {
			continue
		}
		of := &serving
		switch verified(revision.Status.Conditions) {
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
	return serving, undecided != nil && (serving == nil || serving.Spec.Revision < undecided.Spec.Revision)
}

func verified(conditions krov1alpha1.Conditions) metav1.ConditionStatus {
	for _, c := range conditions {
		if c.Type == krorevisions.GraphRevisionConditionTypeGraphVerified {
			return c.Status
		}
	}
	return metav1.ConditionUnknown
}
