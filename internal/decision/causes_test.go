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

	"kausality.io/operator/internal/policy"
)

// TestCausesOfOneWrite has one write of a child carry what several changes of its parent allow: each of them is a cause.
func TestCausesOfOneWrite(t *testing.T) {
	silent := compile(t, "silent", shopSpec)
	size, tier := shopEntry("alice", "spec.size", mayChange("spec.size")), shopEntry("bob", "spec.tier", mayChange("spec.tier"))
	zone := shopEntry("alice", "spec.size", mayChange("spec.zone"))
	in := &aRequest(composing, Update, bucketGVK, "b").changing(t, "1", "2", "spec.size", "spec.tier", "spec.zone").
		of(shopGVK, "web", []*policy.Policy{silent}, size, tier, zone).Input
	v := Decide(t.Context(), in)
	type cause struct {
		Initiator, Field string
		Acts             []string
	}
	var got []cause
	for _, c := range v.Causes {
		one := cause{Initiator: c.Initiator, Field: c.Trace[len(c.Trace)-1].Field}
		for _, act := range c.Acts {
			one.Acts = append(one.Acts, act.String())
		}
		got = append(got, one)
	}
	want := []cause{{"alice", "spec.size", []string{"spec.size", "spec.zone"}}, {"bob", "spec.tier", []string{"spec.tier"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, caused by (-want +got):\n%s", v.Reason, diff)
	}
	if v.Exercised == nil || v.Exercised.Initiator != "alice" {
		t.Errorf("exercised %v", v.Exercised)
	}
}
