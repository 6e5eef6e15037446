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

	"kausality.io/operator/api/v1alpha1"
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
