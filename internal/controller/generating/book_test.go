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

package generating

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

func TestWhoIsLookedAtOnceAnObjectIsNotWanted(t *testing.T) {
	object := generate.ID{Kind: "ConfigMap", Namespace: "ns", Name: "made"}
	trigger := generate.ID{Kind: "Namespace", Name: "ns"}
	for _, tc := range []struct {
		name string
		// maker made the object, and others want it beside heir, who ceases to.
		maker  string
		others []string
		want   []request
	}{
		{"nobody else is concerned", "", nil, nil},
		{"it is the heir's own", "heir", nil, nil},
		{"another policy wants it", "", []string{"other"}, []request{{"other", trigger}}},
		{"another policy made it, and left it to the heir", "maker", nil, []request{{"maker", trigger}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBook()
			entryOf := func(name string) *entry {
				return &entry{
					Policy: plan.Policy{PolicyRef: plan.PolicyRef{Name: name}},
					wants:  map[generate.ID]map[generate.ID]bool{}, wantedBy: map[generate.ID]map[generate.ID]bool{},
				}
			}
			heir := entryOf("heir")
			b.put(heir, nil)
			b.wanted(heir, trigger, []generate.Wanted{{ID: object}})
			for _, name := range tc.others {
				other := entryOf(name)
				b.put(other, nil)
				b.wanted(other, trigger, []generate.Wanted{{ID: object}})
			}
			if tc.maker != "" {
				b.noteMade(object, namespaceKind, &plan.Marks{Policy: plan.PolicyRef{Name: tc.maker}, Triggers: []generate.ID{trigger}})
			}
			if diff := cmp.Diff(tc.want, b.wanted(heir, trigger, nil), cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("looked at again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextLook(t *testing.T) {
	refusedFor := func(uncaused bool) *objectOutcome { return &objectOutcome{state: refused, uncaused: uncaused} }
	a, b := generate.ID{Kind: "ConfigMap", Name: "a"}, generate.ID{Kind: "ConfigMap", Name: "b"}
	for name, tc := range map[string]struct {
		of   outcome
		want time.Duration
	}{
		"all is made":                               {of: outcome{objects: map[generate.ID]*objectOutcome{a: {state: made}}}},
		"it could not be evaluated":                 {of: outcome{failure: &v1alpha1.GeneratingFailure{}}, want: time.Second},
		"a kind is not served":                      {of: outcome{waits: 1}, want: time.Second},
		"a right is missing":                        {of: outcome{objects: map[generate.ID]*objectOutcome{a: refusedFor(false), b: {state: made}}}, want: time.Second},
		"a cause is missing":                        {of: outcome{objects: map[generate.ID]*objectOutcome{a: refusedFor(true), b: {state: made}}}, want: seldom * time.Second},
		"a cause is missing, and elsewhere a right": {of: outcome{objects: map[generate.ID]*objectOutcome{a: refusedFor(true), b: refusedFor(false)}}, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.of.nextLook(time.Second); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
