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
	"cmp"
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Idle is a policy by which the operator judges nothing, whatever object is asked about.
type Idle struct {
	// Policy that is left out.
	Policy *policy.Policy
	// Why it is.
	Why string
}

// IdleFor returns the policies for a kind, in any version, that are in effect for no object.
func (p Policies) IdleFor(kind schema.GroupKind) []Idle {
	var out []Idle
	for _, idle := range p.Idle {
		if idle.Policy.For.GroupKind() == kind {
			out = append(out, idle)
		}
	}
	return out
}

// unservedText says that the kind of a policy is not served, as its condition does.
func unservedText(p *policy.Policy) string {
	return fmt.Sprintf("the API server does not serve kind %s in %s", p.For.Kind, p.For.GroupVersion())
}

// isUnserved reports whether the kind of a policy is not served: by what the API server says, or as the operator
// found it.
func (c *Cluster) isUnserved(p *policy.Policy, stored *v1alpha1.AllowancePolicy) bool {
	if _, err := c.mapper.RESTMapping(p.For.GroupKind(), p.For.Version); apimeta.IsNoMatchError(err) {
		return true
	}
	accepted := current(stored, v1alpha1.ConditionAccepted)
	return accepted != nil && accepted.Status == metav1.ConditionFalse && accepted.Reason == v1alpha1.ReasonTargetNotFound
}

// withheldBy says why the operator does not judge by a policy of a served kind, as the policy's status tells of
// the generation that it has; empty where it does, or nothing tells.
func withheldBy(stored *v1alpha1.AllowancePolicy) string {
	enforced := current(stored, v1alpha1.ConditionEnforced)
	if enforced == nil || enforced.Status == metav1.ConditionTrue {
		return ""
	}
	// One that was adopted once goes on counting while a new generation of it is.
	isNew := (enforced.Reason == v1alpha1.ReasonPending || enforced.Reason == v1alpha1.ReasonImpaired) && stored.Status.AdoptedGeneration == 0
	isUnasked := enforced.Reason == v1alpha1.ReasonNotIntercepted
	if enforced.Reason != v1alpha1.ReasonForbidden && !isUnasked && !isNew {
		return ""
	}
	return cmp.Or(strings.TrimSuffix(enforced.Message, "."), enforced.Reason)
}

// current returns a condition of a policy that is about the generation it has, nil where there is none.
func current(p *v1alpha1.AllowancePolicy, conditionType string) *metav1.Condition {
	c := apimeta.FindStatusCondition(p.Status.Conditions, conditionType)
	if c == nil || c.ObservedGeneration != p.Generation {
		return nil
	}
	return c
}
