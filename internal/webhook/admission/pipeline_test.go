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

package admission

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
)

// race has somebody else be faster than the request, as often as it says, in taking the
// notes of broken glass.
type race struct {
	store
	lost *int
}

func (s race) TakeBrokenGlass(ctx context.Context, parent v1alpha1.TargetReference, request v1alpha1.BrokenGlass) (string, bool, error) {
	if *s.lost > 0 {
		*s.lost--
		return "", false, nil
	}
	return s.store.TakeBrokenGlass(ctx, parent, request)
}

// What only one request can have is taken when it is decided that the request passes. Who
// comes too late is decided again, without it.
func TestNoteOfBrokenGlassServesOneRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		lost   int
		reason decision.Reason
	}{
		"the first":               {reason: decision.ReasonBreakGlass},
		"who comes after another": {lost: 1, reason: decision.ReasonDenied},
	} {
		t.Run(name, func(t *testing.T) {
			parent := map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)}
			w := &world{cached: parent, live: parent, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			mutator, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			after := annotate(replicaSet(5), replicaSetGlassKey, reason)
			stored := after.DeepCopy()
			stored.SetAnnotations(patched(t, after, mutator.Handle(t.Context(), asking(t, "bob", glassBreakers, replicaSet(3), after))))

			validator.Records = race{store{w}, &tc.lost}
			verdict := validator.Handle(t.Context(), asking(t, "bob", nil, replicaSet(3), counted(stored)))
			if got := verdict.AuditAnnotations[auditReason]; got != string(tc.reason) {
				t.Errorf("decided as %s, want %s: %v", got, tc.reason, verdict.Result)
			}
			var results []string
			for _, o := range w.observed {
				if o.Decision != nil {
					results = append(results, o.Decision.Reason)
				}
			}
			if diff := cmp.Diff([]string{string(tc.reason)}, results); diff != "" {
				t.Errorf("noted decisions (-want +got):\n%s", diff)
			}
		})
	}
}

// Gathering and deciding write nothing, however often they are done.
func TestDecidingWritesNothing(t *testing.T) {
	parent := map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)}
	w := &world{cached: parent, live: parent, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
	mutator, validator := w.hooks(t, deploymentPolicy, replicaSetPolicy)
	after := annotate(replicaSet(5), replicaSetGlassKey, reason)
	stored := after.DeepCopy()
	stored.SetAnnotations(patched(t, after, mutator.Handle(t.Context(), asking(t, "bob", glassBreakers, replicaSet(3), after))))
	r, err := validator.receive(t.Context(), asking(t, "bob", glassBreakers, replicaSet(3), counted(stored)))
	if err != nil {
		t.Fatal(err)
	}
	before := w.records[deployment(3).GetUID()].DeepCopy()
	for range 2 {
		o, err := validator.decide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		ru, err := validator.rule(t.Context(), r, o)
		if err != nil || ru.refusal != nil || ru.verdict.Reason != decision.ReasonBreakGlass {
			t.Fatalf("decided as %s (%v), refused with %v", ru.verdict.Reason, err, ru.refusal)
		}
	}
	if diff := cmp.Diff(before, w.records[deployment(3).GetUID()]); diff != "" || len(w.observed)+len(w.notices)+len(w.pending) > 0 {
		t.Errorf("wrote %v, %v, %v, and the record (-before +after):\n%s", w.observed, w.notices, w.pending, diff)
	}
}
