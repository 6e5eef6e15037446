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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// Upgrade is an UpgradeAllowance as it is stored, and compiled.
type Upgrade struct {
	*v1alpha1.UpgradeAllowance

	// Allowance lacks what is wrong in it.
	Allowance *upgrade.Allowance
}

// Upgrades reads and compiles the UpgradeAllowances, by name.
func (c *Cluster) Upgrades(ctx context.Context) ([]Upgrade, error) {
	var list v1alpha1.UpgradeAllowanceList
	if err := c.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("reading the UpgradeAllowances: %w", err)
	}
	out := make([]Upgrade, 0, len(list.Items))
	for i := range list.Items {
		a, _ := upgrade.Compile(&list.Items[i], c.KindOf)
		out = append(out, Upgrade{UpgradeAllowance: &list.Items[i], Allowance: a})
	}
	return out, nil
}
