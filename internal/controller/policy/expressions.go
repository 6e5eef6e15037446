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
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
)

// askAgain is after how long a policy's expressions are asked again where no object has a
// status yet.
const askAgain = 10 * time.Second

// mostAsked is of how many objects a policy's expressions are asked, to find out whether
// they can be answered at all.
const mostAsked = 100

// asked is what became of an expression that was asked of objects.
type asked struct {
	objects, failed int
	// misjudges are what it compared in vain in some of them.
	misjudges []string
}

// answers are what became of the expressions of a policy, by their fields.
type answers map[policy.DecidingField]*asked

// ask asks the expressions of p that decide when obj has settled. An object without a
// status has yet to be looked at by its controller.
func (a answers) ask(ctx context.Context, p *policy.Policy, policies []*policy.Policy, obj *unstructured.Unstructured) {
	initializing, settled := lifecycle.Conditions(policies)
	for f, c := range map[policy.DecidingField]*policy.Condition{
		policy.FieldInitializingWhen: initializing, policy.FieldConsumptionWhen: settled,
	} {
		if c == nil || policy.Deciding(policies, f) != p {
			continue
		}
		if a[f] == nil {
			a[f] = &asked{}
		}
		if status, _ := obj.Object["status"].(map[string]any); len(status) > 0 {
			a[f].of(ctx, c, obj)
		}
	}
}

func (a *asked) of(ctx context.Context, c *policy.Condition, obj *unstructured.Unstructured) {
	if a.objects == mostAsked {
		return
	}
	a.objects++
	if _, err := lifecycle.Holds(ctx, c, obj, lifecycle.Granted(obj), policy.NewBudget()); err != nil {
		a.failed++
	}
	a.misjudges = withMore(a.misjudges, c.Misjudges(obj.Object))
}

// misjudged says which expressions do not fit the objects. That one cannot be evaluated of
// some of them is nothing: controllers leave out what is 0, and what they have not found out.
func (a answers) misjudged() []string {
	var out []string
	for _, f := range slices.Sorted(maps.Keys(a)) {
		of := a[f]
		for _, why := range of.misjudges {
			out = append(out, fmt.Sprintf("%s: %s", f, why))
		}
		if of.failed > 0 && of.failed == of.objects && len(of.misjudges) == 0 {
			out = append(out, fmt.Sprintf("%s: it cannot be evaluated for any of the objects that there are, so that it does not hold: "+
				"a field that it needs is absent or of another type", f))
		}
	}
	return out
}

// awaited reports whether an expression was not asked of any object yet, although it
// decides for some: no controller has looked at these.
func (a answers) awaited() bool {
	for _, of := range a {
		if of.objects == 0 {
			return true
		}
	}
	return false
}

// withMore returns texts, each once, in their order.
func withMore(texts, more []string) []string {
	for _, text := range more {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
