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

package record

import (
	"testing"

	"kausality.io/operator/api/v1alpha1"
)

// TestIsPending shows which digests approve what a pending grant withholds.
func TestIsPending(t *testing.T) {
	withheld := []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.template"}, {Mutation: "spec.replicas"}}
	p := NewPending(nil, holder(3), withheld, nil)
	digest := p.Allowances[0].Content
	if len(digest) != 12 || p.Allowances[1].Content != "" || withheld[0].Content != "" {
		t.Fatalf("content: %+v of %+v", p.Allowances, withheld)
	}
	rec := &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{p}}}
	for name, tc := range map[string]struct {
		rec          *v1alpha1.AllowanceRecord
		replicas     int64
		path, digest string
		want         bool
	}{
		"what was shown":               {rec, 3, "spec.template", digest, true},
		"another digest":               {rec, 3, "spec.template", "000000000000", false},
		"another field":                {rec, 3, "spec.replicas", digest, false},
		"the holder was changed since": {rec, 4, "spec.template", digest, false},
		"no record":                    {nil, 3, "spec.template", digest, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsPending(tc.rec, holder(tc.replicas), tc.path, tc.digest); got != tc.want {
				t.Errorf("IsPending() = %t", got)
			}
		})
	}
}
