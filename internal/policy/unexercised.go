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
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
)

// Unexercised names the controllers of Kubernetes that make children which the policy bounds, and that may not use its
// allowances, as subjects are named and they are none of them. others are the policies beside this one: a controller may
// be a subject of any of these that is for the parents or the children, and may be in effect where this one is.
func (p *Policy) Unexercised(others []*Policy) []string {
	account, known := knowledge.ControllerOf(p.For.GroupKind())
	if !known {
		return nil
	}
	children := knowledge.BuiltIn(p.For.GroupKind()).Children
	var out []string
	for i := range children {
		child := children[i].Kind
		if !p.Bounds(child) {
			continue
		}
		naming, exercisers := []*Policy{p}, p.NamesExercisers()
		for _, other := range others {
			if p.isApartFrom(other) {
				continue // It is in effect for none of the same objects.
			}
			switch other.For.GroupKind() {
			case child:
				naming, exercisers = append(naming, other), exercisers || other.NamesExercisers()
			case p.For.GroupKind():
				naming = append(naming, other)
			}
		}
		if exercisers && !slices.ContainsFunc(naming, func(q *Policy) bool { return q.namesController(account) }) {
			out = append(out, fmt.Sprintf("spec.subjects: %s makes the %s objects of a %s, and is no subject: what it does to them will be denied",
				subjectText(account), child.Kind, p.For.Kind))
		}
	}
	return out
}

// namesController reports whether a controller of Kubernetes is a subject: its account, or the one user as whom all of them
// run in some clusters.
func (p *Policy) namesController(account v1alpha1.Subject) bool {
	return p.Names(Requester{
		Username: serviceaccount.MakeUsername(account.Namespace, account.Name),
		Groups:   append(serviceaccount.MakeGroupNames(account.Namespace), user.AllAuthenticated),
	}) || p.Names(Requester{Username: user.KubeControllerManager, Groups: []string{user.AllAuthenticated}})
}
