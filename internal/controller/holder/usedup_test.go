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

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
)

// What is used up of a custom resource is taken out by one write, after a rest.
func TestUsedUpGoes(t *testing.T) {
	const rest = 10 * time.Minute
	widget := func() view {
		h := makeHolder().holding(grantOf("spec.size", 5))
		h.SetAPIVersion("example.org/v1")
		h.SetKind("Widget")
		v := look(h.Unstructured, nil, controllertest.Noon)
		v.progress.Settled, v.progress.Timed = true, false
		return v
	}
	consumed := []v1alpha1.ConsumedAllowance{{ID: "a"}}
	known := &usedUp{}
	steps := []struct {
		name    string
		at      time.Duration
		active  int
		settled bool
		want    bool
		next    time.Duration
	}{
		{"just used up", 0, 0, true, false, rest},
		{"a moment later", time.Minute, 0, true, false, rest},
		{"it allows something again", 2 * time.Minute, 1, true, false, 0},
		{"that is used up", 3 * time.Minute, 0, true, false, rest + 3*time.Minute},
		{"its controller is at work", 4 * time.Minute, 0, false, false, 0},
		{"it rests", 5 * time.Minute, 0, true, false, rest + 5*time.Minute},
		{"for long enough", rest + 5*time.Minute, 0, true, true, 0},
	}
	for _, step := range steps {
		v := widget()
		v.usedUp, v.restTime, v.now, v.progress.Settled = known, rest, controllertest.Noon.Add(step.at), step.settled
		status := &v1alpha1.AllowanceRecordStatus{Consumed: consumed, Active: make([]v1alpha1.Allowance, step.active)}
		var next requeue.Soonest
		if got := v.rewrite(false, map[string]bool{"a": true}, status, &next); got != step.want {
			t.Errorf("%s: writes: %v, want %v", step.name, got, step.want)
		}
		if got := next.Time; step.next == 0 != got.IsZero() || step.next > 0 && !got.Equal(controllertest.Noon.Add(step.next)) {
			t.Errorf("%s: looks again at %s, want after %s", step.name, got, step.next)
		}
	}
}
