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

package explain

import (
	"context"
	"fmt"

	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
)

// when asks the condition of a policy that ends an allowance whether it holds now; nil
// where the status decides, or nothing can before another generation.
func (h *holder) when(e ledger.Entry) *When {
	if e.IsGate() || e.Generation > h.Generation {
		return nil
	}
	initializing, settled := lifecycle.Conditions(h.Policies)
	if e.IsCreation() && !e.IsForReaders() && initializing != nil {
		if w := h.asked(initializing, policy.FieldInitializingWhen, e); w.Problem == "" || settled == nil {
			return w
		}
	}
	if settled == nil {
		return nil
	}
	return h.asked(settled, policy.FieldConsumptionWhen, e)
}

func (h *holder) asked(c *policy.Condition, f policy.DecidingField, e ledger.Entry) *When {
	w := &When{Policy: policy.Deciding(h.Policies, f).Name, Field: string(f)}
	holds, err := lifecycle.Holds(context.Background(), c, h.obj, e, policy.NewBudget())
	if err != nil {
		w.Problem = err.Error()
	}
	if vain := c.Misjudges(h.obj.Object); len(vain) > 0 {
		w.Problem = vain[0]
	}
	w.Holds = holds
	return w
}

// told says when the allowance ends.
func (w *When) told() text.Cell {
	name := fmt.Sprintf("%s of AllowancePolicy %s", w.Field, w.Policy)
	switch {
	case w.Problem != "":
		return text.Cell{Text: fmt.Sprintf("%s does not hold: %s", name, w.Problem), Style: text.Bad}
	case w.Field == string(policy.FieldInitializingWhen) && w.Holds:
		return text.Cell{Text: "until " + name + " does not hold any more; it holds"}
	case w.Field == string(policy.FieldInitializingWhen):
		return text.Cell{Text: name + " does not hold any more: it is about to end"}
	case w.Holds:
		return text.Cell{Text: name + " holds: it is about to end"}
	default:
		return text.Cell{Text: "until " + name + " holds; it does not"}
	}
}
