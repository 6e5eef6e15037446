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

package why

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/denial"
)

// TestUnrecorded tells of what only a controller's own words tell: what was refused with an error.
func TestUnrecorded(t *testing.T) {
	const (
		by      = `admission webhook "verdict.kausality.io" denied the request: `
		quota   = ": cannot create AllowanceRecord w1/x: exceeded quota"
		another = ": reading its parent: too many requests"
	)
	said := func(where, what string) string {
		return where + " of Deployment/web tells of a refusal that no AllowanceRecord tells of. Unless it has got through since, " +
			"its controller tries again, and goes on once this is mended: " + what
	}
	event := func(reason, message string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{"reason": reason, "message": message, "lastTimestamp": "2026-11-30T17:00:00Z"}}
	}
	for name, tc := range map[string]struct {
		conditions []any
		events     []unstructured.Unstructured
		want       []string
	}{
		"nothing":                 {},
		"a condition":             {conditions: []any{map[string]any{"type": "Progressing", "message": by + denial.Unwritten + quota}}, want: []string{said("The condition Progressing", denial.Unwritten+quota)}},
		"an Event":                {events: []unstructured.Unstructured{event("FailedCreate", by+denial.Unjudged+another)}, want: []string{said("An Event FailedCreate, last seen at 2026-11-30T17:00:00Z,", denial.Unjudged+another)}},
		"both, once":              {conditions: []any{map[string]any{"type": "Progressing", "message": by + denial.Unwritten + quota}}, events: []unstructured.Unstructured{event("FailedCreate", by+denial.Unwritten+quota)}, want: []string{said("The condition Progressing", denial.Unwritten+quota)}},
		"what a record tells":     {events: []unstructured.Unstructured{event("FailedCreate", by+"Create of Pod web-1 is not allowed by its parent")}},
		"what is no condition":    {conditions: []any{"Progressing", map[string]any{"type": int64(1), "message": int64(2)}}},
		"what others have denied": {events: []unstructured.Unstructured{event("FailedCreate", "exceeded quota")}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
				"status": map[string]any{"conditions": tc.conditions},
			}}
			if diff := cmp.Diff(tc.want, unrecorded(obj, tc.events)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := unrecorded(nil, nil); got != nil {
		t.Errorf("of nothing it says %q", got)
	}
}
