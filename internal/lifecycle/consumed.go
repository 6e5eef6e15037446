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

package lifecycle

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Consumed tells which entries of an object's ledger are consumed, now that the
// object is as it is: those for a generation at which it has settled, creation
// entries whose initializing.when has become false, and withheld changes that
// have reached all children (D2, D8, D9). policies are those in effect for the
// object, the oldest first; where two say when, the oldest counts (D19).
//
// It says nothing of kinds whose status tells nothing: only time ends theirs. An
// entry found consumed once stays so: the caller has it pruned.
func Consumed(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy) func(ledger.Entry) bool {
	progress, reached := assess(obj)
	generation := obj.GetGeneration()
	settledWhen := firstCondition(policies, func(p *policy.Policy) *policy.Condition { return p.Consumption.When })
	initializingWhen := firstCondition(policies, func(p *policy.Policy) *policy.Condition { return p.InitializingWhen })
	return func(e ledger.Entry) bool {
		switch {
		case e.IsWithheld():
			return reached && e.Generation <= generation
		case e.IsCreation() && initializingWhen != nil:
			return !holds(ctx, initializingWhen, obj, e.Allowance, true)
		case e.Generation > generation:
			return false
		case settledWhen != nil:
			return holds(ctx, settledWhen, obj, e.Allowance, false)
		default:
			return progress.Settled
		}
	}
}

func firstCondition(policies []*policy.Policy, of func(*policy.Policy) *policy.Condition) *policy.Condition {
	for _, p := range policies {
		if c := of(p); c != nil {
			return c
		}
	}
	return nil
}

// holds evaluates a condition; one that cannot be evaluated is what otherwise
// says, so that a mistake in it consumes nothing.
func holds(ctx context.Context, c *policy.Condition, obj *unstructured.Unstructured, a v1alpha1.Allowance, otherwise bool) bool {
	allowance := map[string]any{}
	if text, err := json.Marshal(a); err == nil {
		// What was just written can be read.
		_ = json.Unmarshal(text, &allowance)
	}
	ok, err := c.Eval(ctx, policy.Activation{Object: obj.Object, Allowance: allowance})
	if err != nil {
		return otherwise
	}
	return ok
}
