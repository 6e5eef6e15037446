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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/record"
)

// TestGlassIsBrokenForWhatIsOutside checks that a deletion for which the glass is broken takes along what is outside
// whatever lets the object itself go, also where it is held already, and that this is told like any broken glass.
func TestGlassIsBrokenForWhatIsOutside(t *testing.T) {
	going := func(obj *unstructured.Unstructured) {
		now := metav1.Unix(1_700_000_000, 0)
		obj.SetDeletionTimestamp(&now)
		annotate(obj, v1alpha1.AnnotationGateHeld, gate.State{Held: &gate.Hold{User: "mallory"}}.Annotations()[v1alpha1.AnnotationGateHeld])
		annotate(obj, pausedKey, "true")
	}
	goesOn := func(obj *unstructured.Unstructured) {
		annotate(obj, v1alpha1.AnnotationGateHeld, gate.State{Held: &gate.Hold{User: "alice", Allowed: true}}.Annotations()[v1alpha1.AnnotationGateHeld])
	}
	free := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
	asks := func(obj *unstructured.Unstructured) {
		key := glassKey
		if len(obj.GetOwnerReferences()) > 0 {
			key = "bucket.kausality.io/break-glass"
		}
		annotate(obj, key, "delete: "+reason)
	}
	bucketOf := func(edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
		return bucket(t, "size: 1", gateClosed, append([]func(*unstructured.Unstructured){under(t, "size: 1")}, edits...)...)
	}
	const broke, none = "the glass is broken: deletion of Bucket b", "no glass had to be broken"
	tests := map[string]struct {
		user    string
		groups  []string
		object  *unstructured.Unstructured
		reason  string
		warns   string
		allowed bool
		// about is the object of the Event, and of what its record tells.
		about string
	}{
		"of what nobody composes": {
			user: "bob", groups: glassBreakers, object: bucketOf(free, asks), reason: "BreakGlass", warns: broke, allowed: true, about: "Bucket",
		},
		"of what nobody composes, held already": {
			user: "bob", groups: glassBreakers, object: bucketOf(free, asks, going), reason: "BreakGlass", warns: broke, allowed: true, about: "Bucket",
		},
		"of what is composed": {
			user: "bob", groups: glassBreakers, object: bucketOf(asks), reason: "BreakGlass", warns: broke, allowed: true, about: "Shop",
		},
		"of what is composed, held already": {
			user: "bob", groups: glassBreakers, object: bucketOf(asks, going), reason: "BreakGlass", warns: broke, allowed: true, about: "Shop",
		},
		"by who may not": {
			user: "bob", object: bucketOf(free, asks), reason: "Root", warns: "bob may not break the glass of Bucket b: that takes the verb breakglass on AllowancePolicies bucket",
		},
		"by who may not, held already": {
			user: "bob", object: bucketOf(free, asks, going), reason: "Finishing", warns: "bob may not break the glass",
		},
		"without a reason": {user: "bob", groups: glassBreakers, object: bucketOf(free), reason: "Root"},
		"by who needs none": {
			user: "alice", groups: append([]string{"platform-team"}, glassBreakers...), object: bucketOf(free, asks), reason: "Origin", warns: none, allowed: true,
		},
		"of what goes already": {
			user: "bob", groups: glassBreakers, object: bucketOf(free, asks, going, goesOn), reason: "Finishing", warns: none,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{"Shop/web": shop(t)}, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			w.live = w.cached
			_, validator := w.hooks(t, shopPolicy, ownBucketPolicy)
			resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, tt.object, nil))
			if !resp.Allowed {
				t.Fatalf("refused: %v", resp.Result)
			}
			if got := resp.AuditAnnotations[auditReason]; got != tt.reason {
				t.Errorf("reason %q, want %q", got, tt.reason)
			}
			if warned := strings.Join(resp.Warnings, "\n"); !strings.Contains(warned, tt.warns) || (tt.warns == "") != (warned == "") {
				t.Errorf("warnings %q do not say %q", warned, tt.warns)
			}
			allowed := false
			if len(w.holds) > 0 {
				allowed = gate.ReadState(w.holds[0]).Held.Allowed
			}
			if allowed != tt.allowed {
				t.Errorf("what is outside goes along: %t, want %t", allowed, tt.allowed)
			}
			var told []string
			for _, n := range w.notices {
				if n.Reason == eventrecorder.BreakGlass {
					told = append(told, n.About.Kind)
				}
			}
			var recorded []string
			for i := range w.observed {
				if tellsOfGlass(&w.observed[i]) {
					recorded = append(recorded, w.observed[i].Target.Kind)
				}
			}
			var want []string
			if tt.about != "" {
				want = []string{tt.about}
			}
			if diff := cmp.Diff([][]string{want, want}, [][]string{told, recorded}); diff != "" {
				t.Errorf("Events and records (-want +got):\n%s", diff)
			}
		})
	}
}

// tellsOfGlass reports whether the history of an object has broken glass from an outcome.
func tellsOfGlass(o *record.Outcome) bool {
	for _, e := range o.History {
		if e.Event == v1alpha1.EventBreakGlass && strings.Contains(e.Message, reason) {
			return true
		}
	}
	return o.Decision != nil && o.Decision.Result == record.ResultBrokeGlass && strings.Contains(o.Decision.Message, reason)
}
