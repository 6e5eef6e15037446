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
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// wantsFewerPods reports whether a change leaves a holder with a smaller number of Pods than is approved, where its
// own controller makes them by that number. It cannot wait: Pods end without the controller, as they are evicted,
// lost with a node, or done, and of those that are too many none comes back. *Observed* of a StatefulSet: two
// evictions, which anybody may ask for, carried out a number that was withheld. More Pods are made by the controller
// alone, which is asked for each, so that a larger number waits.
//
// The difference is what there is between the approved content and the object after the change. Where it does
// not tell what was approved, the change does.
func wantsFewerPods(known *knowledge.Kind, c, difference change.Change) bool {
	made, _ := known.Child(podKind)
	for _, field := range made.Counts {
		fewer, isKnown := lowers(difference, field)
		if !isKnown {
			fewer, _ = lowers(c, field)
		}
		if fewer {
			return true
		}
	}
	return false
}

// lowers reports whether a change of a field, or of what is above it, lowers the number there. The second result is
// false where the change is none of it, or does not tell.
func lowers(c change.Change, field change.Path) (fewer, isKnown bool) {
	if !change.Pattern(c.Path).Covers(field) {
		return false, false
	}
	before, ok := number(valueBelow(c.Old, field[len(c.Path):]))
	after, alsoOK := number(valueBelow(c.New, field[len(c.Path):]))
	return ok && alsoOK && after < before, ok && alsoOK
}

// valueBelow returns what a value has in a field, nil for nothing.
func valueBelow(value any, field change.Path) any {
	if len(field) == 0 {
		return value
	}
	held, _ := value.(map[string]any)
	found, _ := field.Value(held)
	return found
}
