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
	"slices"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Some of a status is no word on what was done, but what others act upon: the artifact of a
// source is applied from where the status says, and what an inventory has is pruned. Who
// writes it has that done in the name of whoever acts. So it is for those to write who report
// it, and for who may initiate. Observed: Flux, which may initiate, applies what the status of a
// GitRepository has as its artifact, whoever wrote that.

// MayReport reports whether the requester writes what is reported in the status of the object.
func (in *Input) MayReport() bool { return in.reports() || in.AncestorInitiator }

// judgeReports has an update refused that writes what is somebody else's to report.
func (g *granter) judgeReports() {
	denies := func(p *policy.Policy) bool { return p.Action == v1alpha1.ActionDeny }
	if len(g.Reports) == 0 || g.BreakGlass != "" || !slices.ContainsFunc(g.OwnPolicies, denies) {
		return
	}
	g.grant.Refuse = true
	for _, c := range g.Reports {
		g.grant.Withheld = append(g.grant.Withheld, v1alpha1.Allowance{
			Relation: v1alpha1.RelationWithheld, Mutation: c.Path.String(),
			Generation: g.Child.Generation, Initiator: g.Requester.Username,
		})
	}
}
