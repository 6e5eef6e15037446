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

package can

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
)

func TestRender(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	xr := v1alpha1.TargetReference{Group: "example.com", Kind: "XDatabase", Name: "db"}
	var parts []*Node
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		parts = append(parts, &Node{Kind: "Part", Name: name, What: []string{"delete"}, Possible: true})
	}
	tests := map[string]struct {
		report Report
		wide   bool
		want   string
	}{
		"a gate, conditions, and many alike": {
			report: Report{
				Object: xr, User: "alice", Paths: []string{"spec.size"}, Outcome: Initiates,
				Granted: []v1alpha1.Allowance{{Kind: "Instance", Mutation: "spec.size"}},
				Follows: []*Node{
					{Kind: "External", External: true, What: []string{"Update of provider aws"}},
					{Kind: "Instance", Name: "i", What: []string{"change spec.size"}, Next: append([]*Node{
						{Kind: "External", External: true, What: []string{"Delete of provider aws"}, Possible: true, Conditions: []string{"object.spec.x"}},
					}, parts...)},
				},
			},
			want: `Yes: alice may change spec.size of XDatabase/db. What follows is below.

alice
└── XDatabase/db  spec.size
    ├── gate  Update of provider aws
    └── Instance/i  change spec.size
        ├── gate  Delete of provider aws (possible, if object.spec.x)
        ├── Part/a  delete (possible)
        ├── Part/b  delete (possible)
        ├── Part/c  delete (possible)
        ├── Part/d  delete (possible)
        └── and 2 more of kind Part (-o wide lists them)
`,
		},
		"children of what reads it": {
			report: Report{
				Object: v1alpha1.TargetReference{Kind: "ConfigMap", Name: "src"}, User: "alice", Paths: []string{"data[a]"}, Outcome: Initiates,
				Granted: []v1alpha1.Allowance{{Kind: "Kid", Mutation: "spec.config", Through: "Wid.example.com"}},
				Follows: []*Node{{Kind: "ConfigMap", Readers: true, What: []string{"change spec.config of Kid of each Wid that reads it"}}},
			},
			want: `Yes: alice may change data[a] of ConfigMap/src. What follows is below.

alice
└── ConfigMap/src  data[a]
    └── what reads it  change spec.config of Kid of each Wid that reads it
`,
		},
		"nothing below yet": {
			report: Report{
				Object: xr, User: "alice", Paths: []string{"spec.size"}, Outcome: Initiates,
				Granted: []v1alpha1.Allowance{{Kind: "Instance", Mutation: "spec.size"}},
			},
			want: `Yes: alice may change spec.size of XDatabase/db. What follows is below.

alice
└── XDatabase/db  spec.size: it has no children of the kinds that it may change
`,
		},
		"waits for something else": {
			report: Report{
				Object: xr, User: "alice", Paths: []string{"spec.size"}, Outcome: Waits,
				Held:    []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.tags", Initiator: "mallory"}},
				Granted: []v1alpha1.Allowance{{Kind: "Instance", Mutation: "spec.size"}},
			},
			want: `Waits: alice may change spec.size of XDatabase/db, but nothing follows from it while the change of
spec.tags by mallory is withheld of the same object. What follows once that is approved or taken
back is below.

alice
└── XDatabase/db  spec.size: it has no children of the kinds that it may change
`,
		},
		"withheld": {
			report: Report{
				Object: xr, User: "mallory", Paths: []string{"spec.size", "spec.tags"}, Outcome: Withheld, Withheld: []string{"spec.size"},
				Warnings: []string{"it waits"}, Notes: []string{"Not all could be read."},
			},
			want: `Withheld: mallory may change spec.size, spec.tags of XDatabase/db, but nothing follows from that of
spec.size.

Who may initiate changes of it: whoever may initiate on what owns it

Warning: it waits

Not all could be read.
`,
		},
		"refused": {
			report: Report{Object: xr, User: "mallory", Paths: []string{"spec.size"}, Outcome: Refused, Message: "no", Initiators: []string{"User alice"}},
			want: `Refused: mallory may not change spec.size of XDatabase/db.

  no

Who may initiate changes of it: User alice
`,
		},
		"a value of another type": {
			report: Report{Object: xr, User: "alice", Paths: []string{"spec.size"}, Outcome: Invalid, Message: "spec.size: Invalid value", Initiators: []string{"User alice"}},
			want: `Invalid: nobody may change spec.size of XDatabase/db like that. The API server does not take it,
whoever asks:

  spec.size: Invalid value
`,
		},
		"a status": {
			report: Report{Object: xr, User: "alice", Outcome: Unchanged, Status: []string{"status.replicas"}},
			want: `No: status.replicas of XDatabase/db is not written like that: a change of an object leaves its
status as it is. Controllers write it by a sub-resource, and no policy is about it.
`,
		},
		"the switch of a gate": {
			report: Report{Object: xr, User: "alice", Outcome: Unchanged, Gated: true, Dropped: []string{"spec.managementPolicies[0]"}},
			want: `No: Kausality sets spec.managementPolicies[0] of XDatabase/db itself, by what is allowed: it is the
switch of its gate. What is written there is at most a limit to what it lets through: "What becomes
of spec.managementPolicies" in docs/crossplane.md says more.
`,
		},
		"creation that triggers nothing": {
			report: Report{Object: xr, User: "alice", Paths: []string{v1alpha1.FieldCreated}, Outcome: Passes},
			want: `Yes: alice may create XDatabase/db. It triggers no rule, so that it allows nothing below.
`,
		},
		"a change that a policy names": {
			report: Report{Object: xr, User: "alice", Paths: []string{"spec.size"}, Outcome: Passes, Named: []string{"databases"}},
			want: `Yes: alice may change spec.size of XDatabase/db. It allows nothing below, although AllowancePolicy
databases names it: its conditions do not hold, it would withhold that and only warns or audits, or
the API server did not ask, as where the operator is down.
`,
		},
		"while everything is switched off": {
			report: Report{Object: xr, User: "alice", Paths: []string{"spec.size"}, Outcome: Passes, SwitchedOff: &cluster.Off{Since: metav1.NewTime(now.Add(-time.Hour))}},
			want: `Everything is switched off, as the operator has found since 2026-01-01T11:00:00Z (60m ago): the API
server asks about nothing, so that nothing is granted, withheld or denied. To switch it on, apply
the installation again, its ValidatingWebhookConfiguration first of all: "Switch everything off" in
docs/troubleshooting.md says more.

Yes: alice may change spec.size of XDatabase/db. Nobody is asked about it now, and no policy counts:
nothing of what follows is bounded.
`,
		},
		"no change": {
			report: Report{Object: xr, User: "alice", Outcome: Unchanged},
			want: `XDatabase/db is like that already: nothing would change.
`,
		},
		"what the API server does not take": {
			report: Report{Object: xr, User: "alice", Outcome: Unchanged, Dropped: []string{"spec.nope"}, Warnings: []string{`unknown field "spec.nope"`}},
			want: `No: the API server does not take spec.nope of XDatabase/db: nothing would change.

Warning: unknown field "spec.nope"
`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, render(&tc.report, text.Terminal{Width: text.DefaultWidth}, tc.wide, now)); diff != "" {
				t.Errorf("the text differs (-want +got):\n%s", diff)
			}
		})
	}
}
