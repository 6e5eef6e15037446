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
	"testing"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// What others act upon only those report who are known to.
func TestReports(t *testing.T) {
	const initiators = "subjects: [{kind: Group, name: platform-team, mayInitiate: true}]\n"
	flux := policy.Requester{Username: "system:serviceaccount:flux-system:kustomize-controller", Groups: []string{"system:serviceaccounts"}}
	const fluxInitiates = "subjects: [{kind: ServiceAccount, namespace: flux-system, name: kustomize-controller, mayInitiate: true}]\n"
	tests := map[string]struct {
		spec      string
		requester policy.Requester
		above     bool
		glass     string
		refused   bool
	}{
		"a stranger":                                       {requester: mallory, refused: true},
		"an initiator":                                     {requester: alice},
		"an initiator above":                               {requester: mallory, above: true},
		"who breaks the glass":                             {requester: mallory, glass: "it burns"},
		"who is named":                                     {requester: deployer},
		"a service account that is not":                    {requester: robot, refused: true},
		"where none is named":                              {spec: initiators, requester: robot},
		"a person, where none is named":                    {spec: initiators, requester: mallory, refused: true},
		"one that may initiate":                            {spec: fluxInitiates, requester: flux},
		"another one, where only initiators are named":     {spec: fluxInitiates, requester: robot},
		"all controllers as one user":                      {requester: policy.Requester{Username: controllerManager}},
		"a stranger, where nobody is refused":              {spec: "validationActions: [Warn]\n" + initiators, requester: mallory},
		"a stranger, where changes are withheld otherwise": {spec: "uncausedChanges: Hold\n" + initiators, requester: mallory, refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			spec := actedSpec + "rules: []"
			if tc.spec != "" {
				spec = "for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\n" + tc.spec + "rules: []"
			}
			r := aRequest(tc.requester, Update, deploymentGVK, "web").governed(compile(t, "web", spec))
			r.AncestorInitiator, r.BreakGlass = tc.above, tc.glass
			if !r.MayReport() {
				r.Reports = []change.Change{{Path: mustPath(t, "status.artifact"), Verb: change.Mutate}}
			}
			grant := Grants(t.Context(), &r.Input, Decide(t.Context(), &r.Input))
			if grant.Refuse != tc.refused || len(grant.Withheld) > 0 != tc.refused {
				t.Errorf("refused: %v (%v), want %v", grant.Refuse, grant.Withheld, tc.refused)
			}
			if len(grant.Allowances) > 0 {
				t.Errorf("a report allows something: %v", grant.Allowances)
			}
		})
	}
}
