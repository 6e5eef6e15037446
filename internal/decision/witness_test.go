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

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

func TestUnwitnessed(t *testing.T) {
	deployment := compile(t, "deployment", deploymentSpec)
	template, err := change.ParsePattern("spec.template")
	if err != nil {
		t.Fatal(err)
	}
	done := []change.Pattern{template}
	image := []string{"spec.template.image"}
	tests := map[string]struct {
		who            policy.Requester
		before, proven []change.Pattern
		withheld       string
		want           []string
	}{
		"a stranger says that it is done":              {who: mallory, proven: done, withheld: image[0], want: image},
		"a stranger says something else":               {who: mallory, withheld: image[0]},
		"a stranger says what was said before":         {who: mallory, before: done, proven: done, withheld: image[0]},
		"of another field":                             {who: mallory, proven: done, withheld: "spec.replicas"},
		"nothing is withheld":                          {who: mallory, proven: done},
		"its controller":                               {who: deployer, proven: done, withheld: image[0]},
		"an initiator":                                 {who: alice, proven: done, withheld: image[0]},
		"the controller of something else":             {who: replicaer, proven: done, withheld: image[0], want: image},
		"all controllers as one user":                  {who: policy.Requester{Username: controllerManager}, proven: done, withheld: image[0]},
		"a platform actor, which nothing is caused by": {who: collector, proven: done, withheld: image[0]},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := aRequest(tc.who, Update, deploymentGVK, "web").with(func(in *Input) { in.OwnPolicies = []*policy.Policy{deployment} })
			if tc.withheld != "" {
				r.withheld(t, tc.withheld, "ours")
			}
			if diff := cmp.Diff(tc.want, r.Unwitnessed(tc.before, tc.proven)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
