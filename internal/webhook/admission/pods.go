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

package admission

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/selector"
)

// PodReader reads Pods from the API server.
type PodReader struct {
	// Reader is not a cache: what was created a moment ago counts.
	Reader client.Reader
}

// Alive implements Pods.
func (p PodReader) Alive(ctx context.Context, holder *unstructured.Unstructured) (sets.Set[string], error) {
	selects, err := podSelector(holder)
	if err != nil {
		return nil, fmt.Errorf("selector of %s %s: %w", holder.GetKind(), client.ObjectKeyFromObject(holder), err)
	}
	var pods corev1.PodList
	err = p.Reader.List(ctx, &pods, client.InNamespace(holder.GetNamespace()), client.MatchingLabelsSelector{Selector: selects})
	if err != nil {
		return nil, fmt.Errorf("listing the Pods of %s %s: %w", holder.GetKind(), client.ObjectKeyFromObject(holder), err)
	}
	alive := sets.New[string]()
	for i := range pods.Items {
		if pod := &pods.Items[i]; metav1.IsControlledBy(pod, holder) && !ended(pod) {
			alive.Insert(pod.Name)
		}
	}
	return alive, nil
}

func ended(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podSelector returns what the holder selects Pods by; without a selector, any are looked at.
func podSelector(holder *unstructured.Unstructured) (labels.Selector, error) {
	value, found, err := unstructured.NestedFieldNoCopy(holder.Object, "spec", "selector")
	if err != nil || !found {
		return labels.Everything(), err
	}
	selects, ok := selector.Parse(value)
	if !ok {
		return nil, errors.New("spec.selector is no label selector")
	}
	return selects, nil
}
