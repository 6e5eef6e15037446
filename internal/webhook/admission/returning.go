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
	"fmt"
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
)

// takenBack returns what somebody is told who takes back what was withheld, where a child was let through meanwhile
// although nothing covered it, and nobody can tell what leads it back: by itself it stays as it is.
func (o *outcome) takenBack(r *request) []string {
	before, after := o.Child.Standing, o.grant.Standing
	if r.operation != decision.Update || o.Operator || before == nil || after == nil || len(before.Withheld()) == 0 || len(after.Withheld()) > 0 ||
		len(o.grant.Allowances)+len(o.Approved) > 0 || after.Returns() || !isCarriedOutInPart(o.record) {
		return nil
	}
	who := anyOf(slices.Clone(o.initiators))
	if who == "" {
		who = "who may initiate"
	}
	return []string{fmt.Sprintf("kausality: nothing of %s is withheld any more, but some of what was has been carried out meanwhile, and is not led back by itself; "+
		"%s may have it made as the object is now: %s", objectText(o.Child.GVK.Kind, o.Child.Name), who,
		o.approveCommand(o.Child.GVK.Group, o.Child.GVK.Kind, o.Child.Namespace, o.approveKey, []string{v1alpha1.Any}, o.Child.Name))}
}

// isCarriedOutInPart reports whether a child was let through without a cause since the first of what is withheld
// was: policies only warned, or audited. The latest comes first in a history.
func isCarriedOutInPart(rec *v1alpha1.AllowanceRecord) bool {
	if rec == nil {
		return false
	}
	through := false
	for _, e := range rec.Status.History {
		switch e.Event {
		case v1alpha1.EventWarned, v1alpha1.EventAudited:
			through = true
		case v1alpha1.EventWithheld:
			if through {
				return true
			}
		case v1alpha1.EventReleased:
			return false
		default:
		}
	}
	return false
}
