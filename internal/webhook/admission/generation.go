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

package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
)

// generation returns the generation that the object has after the request. In the
// mutating hook it is predicted from the old object, since the client's own is
// noise there (D6).
func (r *request) generation(policies []*policy.Policy, changes []change.Change) int64 {
	switch {
	case r.new == nil:
		return r.old.GetGeneration()
	case r.validating:
		return r.new.GetGeneration()
	case r.operation == decision.Create:
		return 1
	case r.subresource == subresourceStatus:
		return r.old.GetGeneration() // It changes nothing that counts one up, entries of a ledger included.
	case r.countedAnyway && r.old.GetGeneration() > 0:
		return r.old.GetGeneration() + 1
	case r.uncounted:
		return nextGeneration(r.old, policies, nil)
	default:
		return nextGeneration(r.old, policies, changes)
	}
}

// nextGeneration returns the generation that an update with these changes gives. An
// entry of a ledger is a change of an annotation, which counts up the generation
// of a Deployment, and of nothing else that is built in. policies are those in effect.
func nextGeneration(old *unstructured.Unstructured, policies []*policy.Policy, changes []change.Change) int64 {
	generation := old.GetGeneration()
	switch {
	case generation == 0:
		return 0 // A kind that has none.
	case policy.Known(old.GroupVersionKind().GroupKind(), policies).AnnotationsCount:
		return generation + 1
	}
	for _, c := range changes {
		if !c.Path.IsMetadata() {
			return generation + 1
		}
	}
	return generation
}

// mayMoveSwitch reports whether an update counts up the generation by the switch of its
// gate alone, as far as the mutating hook can tell: it changes the name of what the object
// stands for, and nothing of the spec.
func (r *request) mayMoveSwitch(f *facts) bool {
	return !r.validating && r.old != nil && (len(f.Renames) > 0 || f.Uncreated) && f.Child.Generation == r.old.GetGeneration()
}

// beyondGenerations reports whether no generation tells of what an update triggers:
// it counts none up, and changes metadata, or approves something of an object, or acts through
// the status of one, that has settled, by its status or by the condition of a policy in its place. What is there
// would end what it grants at once, before any controller could act; so that is granted
// for the next generation, and time ends it where none comes (D8).
func (r *request) beyondGenerations(ctx context.Context, f *facts) bool {
	if r.old == nil || r.new == nil || f.Child.Generation == 0 || f.Child.Generation != r.old.GetGeneration() {
		return false
	}
	return len(f.OwnChanges) > 0 || len(f.Approved)+len(f.Actions) > 0 &&
		lifecycle.SettledAt(ctx, r.old, f.OwnPolicies, f.Child.Generation)
}
