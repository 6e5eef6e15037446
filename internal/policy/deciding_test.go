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

package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// aged returns a policy for Deployments, made on a day, with this in its spec.
func aged(tb testing.TB, name string, day int, spec ...string) *Policy {
	tb.Helper()
	return compile(tb, fmt.Sprintf("metadata: {name: %s, creationTimestamp: \"2026-01-%02dT00:00:00Z\"}\n%s",
		name, day, strings.TrimPrefix(forDeployments(strings.Join(spec, "")), "metadata: {name: test}\n")))
}

const (
	startedBy   = "  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]\n"
	oneRule     = "  rules: [{trigger: spec}]\n"
	whenReady   = "  consumption: {when: object.status.readyReplicas > 0}\n"
	whenDone    = "  consumption: {when: object.status.replicas > 0, ttl: 5m}\n"
	hour        = "  consumption: {ttl: 1h, maxOpen: 2h}\n"
	untilReady  = "  initializing: {when: object.status.readyReplicas < 1}\n"
	untilStored = "  initializing: {when: object.status.replicas < 1}\n"
	asDefault   = "  initializing: {when: '!has(object.status.observedGeneration)'}\n"
	elsewhere   = "  objectSelector: {matchLabels: {a: b}}\n"
	failing     = "  failurePolicy: Fail\n"
)

func TestDeciding(t *testing.T) {
	silent := func() *Policy { return aged(t, "silent", 1, startedBy) }
	tests := map[string]struct {
		policies []*Policy
		// want are the fields that are superseded, of which policy and by which.
		want []string
		void []string
		// ttl and maxOpen count.
		ttl, maxOpen time.Duration
	}{
		"nothing":                     {ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"one":                         {policies: []*Policy{aged(t, "a", 1, whenDone)}, ttl: 5 * time.Minute, maxOpen: DefaultMaxOpen},
		"the older one":               {policies: []*Policy{aged(t, "b", 1, startedBy, whenReady), aged(t, "a", 2, startedBy, oneRule, whenDone)}, want: []string{"a: spec.consumption.when by b"}, ttl: 5 * time.Minute, maxOpen: DefaultMaxOpen},
		"of one age the first name":   {policies: []*Policy{aged(t, "b", 1, oneRule, untilReady), aged(t, "a", 1, oneRule, untilStored)}, want: []string{"b: spec.initializing.when by a"}, void: []string{"b"}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"the same is no conflict":     {policies: []*Policy{aged(t, "a", 1, oneRule, whenReady), aged(t, "b", 2, oneRule, whenReady)}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"who says nothing is silent":  {policies: []*Policy{silent(), aged(t, "a", 2, hour)}, ttl: time.Hour, maxOpen: 2 * time.Hour},
		"the default is not said":     {policies: []*Policy{aged(t, "a", 1, oneRule, asDefault), aged(t, "b", 2, oneRule, untilReady)}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"each field by itself":        {policies: []*Policy{aged(t, "a", 1, whenDone), aged(t, "b", 2, oneRule, hour)}, want: []string{"b: spec.consumption.ttl by a"}, ttl: 5 * time.Minute, maxOpen: 2 * time.Hour},
		"two at a time":               {policies: []*Policy{aged(t, "a", 1, untilReady), aged(t, "b", 2, whenReady), aged(t, "c", 3, oneRule, untilStored, whenDone)}, want: []string{"c: spec.consumption.when by b", "c: spec.initializing.when by a"}, ttl: 5 * time.Minute, maxOpen: DefaultMaxOpen},
		"void: it says nothing else":  {policies: []*Policy{aged(t, "a", 1, oneRule, whenReady), aged(t, "b", 2, elsewhere, "  consumption: {when: 'true'}\n")}, want: []string{"b: spec.consumption.when by a"}, void: []string{"b"}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"void: nothing that is new":   {policies: []*Policy{aged(t, "a", 1, startedBy, oneRule, untilReady), aged(t, "b", 2, startedBy, elsewhere, oneRule, untilStored)}, want: []string{"b: spec.initializing.when by a"}, void: []string{"b"}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"void only behind it":         {policies: []*Policy{aged(t, "a", 1, whenReady), aged(t, "b", 2, oneRule, "  consumption: {when: 'true'}\n"), aged(t, "c", 3, oneRule)}, want: []string{"b: spec.consumption.when by a"}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"its failure policy is said":  {policies: []*Policy{aged(t, "a", 1, oneRule, whenReady), aged(t, "b", 2, failing, "  consumption: {when: 'true'}\n")}, want: []string{"b: spec.consumption.when by a"}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
		"a copy without a difference": {policies: []*Policy{aged(t, "a", 1, oneRule, whenReady), aged(t, "b", 2, oneRule, whenReady)}, ttl: DefaultTTL, maxOpen: DefaultMaxOpen},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			policies := NewIndex(tt.policies).Policies()
			var got, void []string
			for _, p := range policies {
				for _, s := range p.Superseded(policies) {
					got = append(got, fmt.Sprintf("%s: %s by %s", p.Name, s.Field, s.By.Name))
				}
				if p.Void(policies) {
					void = append(void, p.Name)
				}
			}
			if diff := cmp.Diff([][]string{tt.want, tt.void}, [][]string{got, void}); diff != "" {
				t.Errorf("superseded, void (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]time.Duration{tt.ttl, tt.maxOpen}, []time.Duration{TTL(policies), MaxOpen(policies)}); diff != "" {
				t.Errorf("ttl, maxOpen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecidingFieldThatDoesNotCompile(t *testing.T) {
	broken, errs := Compile(parse(t, forDeployments("  consumption: {when: 'object.', ttl: -1m, maxOpen: -1m}\n")), servedKinds)
	if len(errs) != 3 {
		t.Fatalf("errors = %v, want one for each field", errs)
	}
	policies := []*Policy{broken, aged(t, "other", 1, hour, untilReady)}
	if got := TTL(policies); got != time.Hour {
		t.Errorf("TTL() = %s, want that of the policy whose field compiles", got)
	}
	if got := policies[1].Superseded(policies); len(got) != 0 {
		t.Errorf("a field that does not compile supersedes %v", got)
	}
}
