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

package decision

import (
	"context"

	"kausality.io/operator/internal/policy"
)

// conditions evaluates the conditions of policies for a request, each once: they are
// about the whole object, of which thousands of fields may have changed.
type conditions struct {
	activation policy.Activation
	known      map[*policy.Condition]*unmet
}

// unmet is a condition that does not hold.
type unmet struct {
	expression string
	err        error
}

func (in *Input) conditions() *conditions {
	return &conditions{
		activation: policy.Activation{
			Object:    in.Child.New,
			OldObject: in.Child.Old,
			Request: policy.RequestVars{
				Username:  in.Requester.Username,
				Groups:    in.Requester.Groups,
				Operation: string(in.Operation),
				Namespace: in.Child.Namespace,
				Name:      in.Child.Name,
			},
			Budget: policy.NewBudget(),
		},
		known: map[*policy.Condition]*unmet{},
	}
}

// hold returns nil where all conditions hold, else the first that does not. One
// that cannot be evaluated does not hold.
func (c *conditions) hold(ctx context.Context, all []*policy.Condition) *unmet {
	for _, condition := range all {
		if problem := c.holds(ctx, condition); problem != nil {
			return problem
		}
	}
	return nil
}

func (c *conditions) holds(ctx context.Context, condition *policy.Condition) *unmet {
	problem, ok := c.known[condition]
	if ok {
		return problem
	}
	if holds, err := condition.Eval(ctx, c.activation); err != nil || !holds {
		problem = &unmet{expression: condition.Source(), err: err}
	}
	c.known[condition] = problem
	return problem
}
