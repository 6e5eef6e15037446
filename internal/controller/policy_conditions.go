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

package controller

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// maxListed is how many of a kind a condition's message lists; the rest is
// counted.
const maxListed = 8

// accepted is the Accepted condition of a policy. notes are what its author
// should know although it works (policyNotes).
func accepted(p *policy.Policy, errs field.ErrorList, served bool, notes []string) metav1.Condition {
	condition := metav1.Condition{
		Type:               v1alpha1.ConditionAccepted,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: p.Generation,
	}
	switch {
	case len(errs) > 0:
		problems := make([]string, 0, len(errs))
		for _, err := range errs {
			problems = append(problems, err.Error())
		}
		condition.Reason = v1alpha1.ReasonInvalid
		condition.Message = "Correct these; the policy works without them: " + list(problems, "; ")
	case !served:
		condition.Reason = v1alpha1.ReasonTargetNotFound
		condition.Message = fmt.Sprintf("The API server does not serve kind %s in %s. The policy takes effect when it does.",
			p.For.Kind, p.For.GroupVersion())
	default:
		condition.Status = metav1.ConditionTrue
		condition.Reason = v1alpha1.ReasonAccepted
		condition.Message = strings.Join(append([]string{"The policy can work."}, notes...), " ")
	}
	return condition
}

// enforcement is what the Enforced condition of a policy depends on.
type enforcement struct {
	// served says that the kind that the policy is for is served.
	served bool
	// unwatched are the kinds whose objects are still being read.
	unwatched []schema.GroupKind
	// active says that the webhook judges by the policy, and by those through
	// which chains come to it; adopted that the holders that were midway are
	// recorded for this generation of it.
	active, adopted bool
	// waiting says that nobody can start the chains that it continues.
	waiting bool
	// parents are the policies that name its kind; all of them wait themselves.
	parents []string
	// rendered says that the API server asks about what this generation names.
	rendered bool
}

// enforced is the Enforced condition of a policy.
func enforced(p *policy.Policy, e enforcement) metav1.Condition {
	condition := metav1.Condition{
		Type:               v1alpha1.ConditionEnforced,
		Status:             metav1.ConditionFalse,
		Reason:             v1alpha1.ReasonPending,
		ObservedGeneration: p.Generation,
	}
	switch {
	case !e.served:
		condition.Message = fmt.Sprintf("Waits until kind %s is served in %s.", p.For.Kind, p.For.GroupVersion())
	case len(e.unwatched) > 0:
		names := make([]string, 0, len(e.unwatched))
		for _, kind := range e.unwatched {
			names = append(names, kind.String())
		}
		slices.Sort(names)
		condition.Message = "The existing objects of these kinds are being read: " + list(names, ", ") +
			". If this lasts, the operator's log says why."
	case !e.active || !e.adopted:
		condition.Message = "Objects that are in the middle of something are being recorded, so that they can finish it."
	case e.waiting:
		condition.Reason = v1alpha1.ReasonWaiting
		condition.Message = waitingMessage(p, e.parents)
	case !e.rendered:
		condition.Message = "The API server is being told to ask about what the policy names."
	default:
		condition.Status = metav1.ConditionTrue
		condition.Reason = v1alpha1.ReasonEnforced
		condition.Message = "Requests for what the policy names are judged by it."
	}
	return condition
}

func waitingMessage(p *policy.Policy, parents []string) string {
	if len(parents) == 0 {
		return fmt.Sprintf("Nobody can start what the policy allows: no subject has mayInitiate: true, and no policy for an owner "+
			"of %s objects names their resource as a ControllerChild. Apply one, or add a subject that may initiate.", p.For.Kind)
	}
	return fmt.Sprintf("Nobody can start what the policy allows: no subject has mayInitiate: true, neither here nor in %s, "+
		"through which chains would come. Add a subject that may initiate.", list(parents, ", "))
}

// startable tells whether somebody can start the chains that p continues, and if
// not, which policies for parents name the kind of p.
func startable(index *policy.Index, p *policy.Policy) (bool, []string) {
	var parents []string
	seen := map[*policy.Policy]bool{p: true}
	for queue := []*policy.Policy{p}; len(queue) > 0; queue = queue[1:] {
		if queue[0].HasInitiator() {
			return true, nil
		}
		for _, parent := range index.Policies() {
			if seen[parent] || !parent.Bounds(queue[0].For.GroupKind()) {
				continue
			}
			seen[parent] = true
			queue = append(queue, parent)
			parents = append(parents, parent.Name)
		}
	}
	return false, parents
}

// list joins what a message lists, and cuts it where it gets too long to read.
func list(items []string, separator string) string {
	if rest := len(items) - maxListed; rest > 0 {
		items = append(slices.Clone(items[:maxListed]), fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(items, separator)
}
