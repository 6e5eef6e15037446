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

// waiting returns what the requester is told whose change is not carried out as long as
// another one is withheld.
func (f *facts) waiting(grant decision.Grant, told ...string) []string {
	held := slices.DeleteFunc(f.otherWithheld(grant), func(a v1alpha1.Allowance) bool { return slices.Contains(told, a.Mutation) })
	if len(held) == 0 || len(grant.Allowances) == 0 {
		return nil
	}
	what := "approve that or take it back"
	if len(f.mayApproveOf(held)) == len(held) {
		what = "take that back or approve it: " + f.approving(held)
	}
	return []string{fmt.Sprintf("kausality: nothing follows from this change of %s while %s; %s",
		objectText(f.Child.GVK.Kind, f.Child.Name), withheldText(held), what)}
}

// leftWithheld returns what a requester is told who could approve something that stays withheld, of a write that
// earns nothing, such as one of the value that the object has already: nothing follows from that either. To scale it to
// the number that it has is such a write.
func (o *outcome) leftWithheld(r *request) []string {
	isWrite := r.subresource == "" || r.subresource == subresourceScale
	if r.operation != decision.Update || !isWrite || r.new.GetDeletionTimestamp() != nil || o.Operator || len(o.grant.Allowances) > 0 {
		return nil
	}
	return o.staysWithheld(o.otherWithheld(o.grant), "to write the same value")
}

// leftWithheld is the same of what the object would scale, of which something other than the number is withheld: for
// that, nobody makes an autoscaler.
func (d *delegation) leftWithheld() []string {
	if d == nil || !d.exists {
		return nil
	}
	return d.facts.staysWithheld(decision.Withheld(d.facts.Child.Standing).Allowances(), "to have it scaled")
}

// staysWithheld says that some of the withheld changes, which the requester may approve, stay so whatever else is done.
func (f *facts) staysWithheld(withheld []v1alpha1.Allowance, whatever string) []string {
	held := f.mayApproveOf(withheld)
	if len(held) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("kausality: "+decision.StaysWithheld+"%s: %s, and %s does not approve it; %s may approve it: %s",
		objectText(f.Child.GVK.Kind, f.Child.Name), withheldText(held), whatever, anyOf(f.approversOf(withheldPaths(held))), f.approving(held))}
}

// mayApproveOf returns those of the withheld changes that the requester may approve.
func (f *facts) mayApproveOf(held []v1alpha1.Allowance) []v1alpha1.Allowance {
	return slices.DeleteFunc(slices.Clone(held), func(a v1alpha1.Allowance) bool {
		if f.AncestorInitiator || f.isAct([]string{a.Mutation}) {
			return !f.mayApprove()
		}
		return !decision.MayApprove(f.OwnPolicies, f.Requester, a.Mutation)
	})
}

// approving returns the command that approves withheld changes of the object.
func (f *facts) approving(withheld []v1alpha1.Allowance) string {
	return f.approveCommand(f.Child.GVK.Group, f.Child.GVK.Kind, f.Child.Namespace, f.approveKey, decision.Approvals(withheld), f.Child.Name)
}

// otherWithheld returns the changes of the object that were withheld before and stay
// so.
func (f *facts) otherWithheld(grant decision.Grant) []v1alpha1.Allowance {
	fresh := withheldPaths(grant.Withheld)
	var out []v1alpha1.Allowance
	for _, e := range decision.Withheld(grant.Standing) {
		if !slices.Contains(fresh, e.Mutation) {
			out = append(out, e.Allowance)
		}
	}
	return out
}
