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

import "testing"

// TestCopies has initiators of Jobs run a CronJob by hand.
func TestCopies(t *testing.T) {
	const image = "spec.jobTemplate.spec.template.spec.containers[0].image"
	jobs := `
for: {apiGroup: batch, apiVersion: v1, kind: Job}
subjects: [{kind: User, name: alice, mayInitiate: true}]
`
	evil := map[string]any{image: "evil"}
	tests := map[string]struct {
		birth birth
		glass string
		want  Reason
	}{
		"nothing is withheld":                    {want: ReasonOrigin},
		"what is withheld":                       {birth: birth{changed: evil, ofPresent: true}, want: ReasonDenied},
		"what is withheld, with the glass":       {birth: birth{changed: evil, ofPresent: true}, glass: "outage", want: ReasonBreakGlass},
		"what is approved":                       {birth: birth{changed: evil}, want: ReasonOrigin},
		"something of one's own in its place":    {birth: birth{changed: evil, edit: map[string]any{"spec.template.spec.containers[0].image": "mine"}}, want: ReasonOrigin},
		"a number that is withheld":              {birth: birth{changed: map[string]any{"spec.jobTemplate.spec.backoffLimit": int64(99)}, ofPresent: true}, want: ReasonDenied},
		"while something else is withheld of it": {birth: birth{changed: map[string]any{"spec.schedule": "* * * * *"}, ofPresent: true}, want: ReasonOrigin},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.birth.parent = cronJobGVK
			r := tc.birth.request(t).governed(compile(t, "jobs", jobs))
			r.Requester, r.BreakGlass = alice, tc.glass
			if v := Decide(t.Context(), &r.Input); v.Reason != tc.want {
				t.Errorf("%s, want %s", v.Reason, tc.want)
			}
		})
	}
}
