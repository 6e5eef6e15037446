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

package policy

import (
	"github.com/google/cel-go/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Budget is what the expressions about one object may cost together. Each has a limit
// of its own; a hundred that come near it would take longer than the API server waits
// for a webhook. The zero value has nothing left.
type Budget struct {
	left uint64
}

// NewBudget returns what the API server grants the match conditions of webhooks about one
// object: as a rule they take a quarter of a second.
func NewBudget() *Budget { return &Budget{left: celconfig.RuntimeCELCostBudgetMatchConditions} }

// spent reports whether nothing is left. What has no budget has enough.
func (b *Budget) spent() bool { return b != nil && b.left == 0 }

// spend takes what an evaluation has cost. One that has exceeded its limit does not say.
func (b *Budget) spend(details *cel.EvalDetails) {
	if b == nil {
		return
	}
	cost := uint64(celconfig.PerCallLimit)
	if actual := details.ActualCost(); actual != nil {
		cost = *actual
	}
	b.left -= min(cost, b.left)
}
