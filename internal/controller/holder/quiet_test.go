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

package holder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// composite makes the holder one of Crossplane's, at generation 5.
func (h testHolder) composite() testHolder {
	h.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "XDatabase"})
	h.Object["spec"] = map[string]any{"size": int64(2), "crossplane": map[string]any{}}
	condition := func(name string) map[string]any {
		return map[string]any{"type": name, "status": "True", "observedGeneration": int64(5)}
	}
	h.Object["status"] = map[string]any{"conditions": []any{condition("Synced"), condition("Ready")}}
	return h
}

// policyForComposites compiles one.
func policyForComposites(t *testing.T, consumption string) *policy.Policy {
	t.Helper()
	p := policyWhen(t, "", consumption)
	p.Categorize(func(schema.GroupKind) []string { return nil })
	p.Categories[schema.GroupKind{Group: "example.com", Kind: "XDatabase"}] = []string{lineage.CategoryComposite}
	return p
}

// TestQuietTime shows when a composite resource that says that it is Synced and Ready
// is believed.
func TestQuietTime(t *testing.T) {
	const quiet = 30 * time.Second
	resize := grantOf("spec.size", 5)
	seen := func(ago time.Duration) []v1alpha1.SeenAllowance {
		return []v1alpha1.SeenAllowance{{ID: idOf(resize), Time: controllertest.Before(ago)}}
	}
	decided := func(ago time.Duration) *v1alpha1.Decision {
		return &v1alpha1.Decision{Time: controllertest.Before(ago)}
	}
	tests := map[string]struct {
		holder  testHolder
		when    string
		changed time.Duration
		status  v1alpha1.AllowanceRecordStatus
		want    []v1alpha1.ConsumedAllowance
		// wantIn is how long until the next look, that for what is open apart.
		wantIn time.Duration
	}{
		"an allowance that is new": {
			holder: makeHolder().composite().holding(resize), changed: time.Hour, wantIn: quiet,
		},
		"all quiet": {
			holder: makeHolder().composite().holding(resize), changed: quiet,
			status: v1alpha1.AllowanceRecordStatus{FirstSeen: seen(quiet), LastDecision: decided(quiet)},
			want:   consumedIn(resize),
		},
		"the allowance is younger": {
			holder: makeHolder().composite().holding(resize), changed: quiet,
			status: v1alpha1.AllowanceRecordStatus{FirstSeen: seen(10 * time.Second), LastDecision: decided(quiet)}, wantIn: 20 * time.Second,
		},
		"it was used since": {
			holder: makeHolder().composite().holding(resize), changed: quiet,
			status: v1alpha1.AllowanceRecordStatus{FirstSeen: seen(quiet), LastDecision: decided(5 * time.Second)}, wantIn: 25 * time.Second,
		},
		"the spec changed since": {
			holder: makeHolder().composite().holding(resize), changed: time.Second,
			status: v1alpha1.AllowanceRecordStatus{FirstSeen: seen(quiet), LastDecision: decided(quiet)}, wantIn: 29 * time.Second,
		},
		"not settled, however quiet": {
			holder: makeHolder().composite().midway().holding(resize), changed: time.Hour,
			status: v1alpha1.AllowanceRecordStatus{FirstSeen: seen(time.Hour)},
		},
		"what is withheld, of which its status proves nothing": {
			holder: makeHolder().composite().holding(withheldChange("spec.size")), changed: time.Hour,
		},
		"a policy says when": {
			holder: makeHolder().composite().holding(resize), when: "object.spec.size == 2", want: consumedIn(resize),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := look(tc.holder.Unstructured, []*policy.Policy{policyForComposites(t, tc.when)}, controllertest.Noon)
			v.changed, v.quietTime = controllertest.Noon.Add(-tc.changed), quiet
			plan := v.advance(t.Context(), &tc.status)
			if diff := cmp.Diff(tc.want, tc.status.Consumed, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("consumed (-want +got):\n%s", diff)
			}
			var in time.Duration
			if plan.next.Before(controllertest.Noon.Add(time.Hour)) && !plan.next.IsZero() {
				in = plan.next.Sub(controllertest.Noon)
			}
			if in != tc.wantIn {
				t.Errorf("looks again in %s, want %s", in, tc.wantIn)
			}
			if plan.rewrite {
				t.Error("a composite resource is written to, which its circuit breaker counts")
			}
		})
	}
}

// midway has a status that is about the generation before.
func (h testHolder) midway() testHolder {
	h.SetGeneration(h.GetGeneration() + 1)
	return h
}

func TestSpecs(t *testing.T) {
	at := func(uid string, generation int64) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": uid}}}
		obj.SetGeneration(generation)
		return obj
	}
	var s specs
	later := controllertest.Noon.Add(time.Minute)
	muchLater := later.Add(time.Hour)
	for i, step := range []struct {
		obj       *unstructured.Unstructured
		told      bool
		now, want time.Time
	}{
		{at("a", 1), true, controllertest.Noon, controllertest.Noon},
		{at("a", 1), true, later, controllertest.Noon},
		{at("b", 1), false, later, later},
		{at("a", 2), false, later, later},
		// Its controller stood still: what it reports first may be about the spec before.
		{at("a", 2), true, muchLater, muchLater},
		// What it says later begins nothing anew.
		{at("a", 2), false, muchLater.Add(time.Minute), muchLater},
		{at("a", 2), true, muchLater.Add(time.Hour), muchLater},
	} {
		if got := s.since(step.obj, step.told, step.now); !got.Equal(step.want) {
			t.Errorf("step %d: since %s, want %s", i, got, step.want)
		}
	}
	s.forget("a")
	if again := metav1.NewTime(later.Add(time.Minute)); !s.since(at("a", 2), true, again.Time).Equal(again.Time) {
		t.Error("a holder that is gone is remembered")
	}
}
