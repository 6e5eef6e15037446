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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// Quiet reports whether, for the quiet time, neither anything happened to the holder of
// an entry nor the entry was used (D8).
type Quiet func(ledger.Entry) bool

// Unknown is for who has no clock: nothing is quiet.
func Unknown(ledger.Entry) bool { return false }

func always(ledger.Entry) bool { return true }

// Doubt says how far the status of an object can be about an older spec than it says, and so
// for how long it has to be quiet before the status is believed.
type Doubt int

const (
	// NoDoubt is of a status that the loop writes which does what the spec says.
	NoDoubt Doubt = iota
	// LooseStatus is of one that may be written by another loop, with the generation that the
	// object has by then. Observed, the Prometheus operator's Reconciled is about the last time
	// that it did, and cert-manager's Ready comes before its other controllers have looked. Of
	// a kind that is not known nobody knows.
	LooseStatus
	// LooseComposition is of one that is late by as much as a whole run of functions. The status
	// of Crossplane's composite resources is applied without a resourceVersion, so that a
	// reconcile of the spec before reports success at the newer generation. Observed without a
	// quiet time, 3 of 12 approved changes were lost.
	//
	// An instance of kro is another such where the author of its graph has replaced kro's
	// conditions: its state is ACTIVE after the pass that wrote a child, before kro has looked
	// what follows from that in the next.
	LooseComposition
)

// DoubtOf returns how far the status of an object can be about an older spec than it says.
// policies are those in effect for the object.
func DoubtOf(obj *unstructured.Unstructured, policies []*policy.Policy) Doubt {
	switch {
	case len(policies) > 0 && policies[0].HasCategory(obj.GroupVersionKind().GroupKind(), lineage.CategoryComposite),
		authored(obj, policies):
		return LooseComposition
	case knownOf(obj, policies).Settled.Quiet && !composed(obj):
		return LooseStatus
	default:
		return NoDoubt // Claims, which look composed, are written with their resourceVersion.
	}
}

// conditionResourcesReady is one that kro always has, unless the author of a graph replaces
// its conditions.
const conditionResourcesReady = "ResourcesReady"

// authored reports whether the conditions of an instance of kro are those of its author.
func authored(obj *unstructured.Unstructured, policies []*policy.Policy) bool {
	if len(policies) == 0 || policies[0].Naming() == nil {
		return false
	}
	list := conditionsOf(obj)
	return len(list) > 0 && list.find(conditionResourcesReady) == nil
}
