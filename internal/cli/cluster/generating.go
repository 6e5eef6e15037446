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

package cluster

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// GeneratingPolicies reads the GeneratingPolicies, of which there are none where an older operator is
// installed.
func (c *Cluster) GeneratingPolicies(ctx context.Context) ([]v1alpha1.GeneratingPolicy, error) {
	var list v1alpha1.GeneratingPolicyList
	if err := c.List(ctx, &list); err != nil && !apimeta.IsNoMatchError(err) {
		return nil, fmt.Errorf("reading the GeneratingPolicies: %w", err)
	}
	return list.Items, nil
}

// MadeBy returns what the objects of a kind that a GeneratingPolicy made say of how they came to be.
func (c *Cluster) MadeBy(ctx context.Context, policy string, kind schema.GroupVersionKind) (map[generate.ID]*plan.Marks, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, client.MatchingLabels{v1alpha1.LabelGeneratedBy: plan.LabelOf(policy)}); err != nil {
		return nil, fmt.Errorf("listing what GeneratingPolicy %s made of kind %s: %w", policy, kind.Kind, err)
	}
	out := map[generate.ID]*plan.Marks{}
	for i := range list.Items {
		item := &list.Items[i]
		id := generate.ID{Group: kind.Group, Kind: kind.Kind, Namespace: item.Namespace, Name: item.Name}
		object := &unstructured.Unstructured{}
		object.SetAnnotations(item.Annotations)
		if marks, _ := plan.MarksOf(id, object.Object); marks != nil && marks.Policy.Name == policy {
			out[id] = marks
		}
	}
	return out, nil
}
