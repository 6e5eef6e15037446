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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/policy"
)

func TestMayWrite(t *testing.T) {
	late := controllertest.Noon.Truncate(time.Minute).Add(57900 * time.Millisecond)
	clock := clocktesting.NewFakePassiveClock(late)
	r := &Reconciler{Policies: &policy.Active{}, Clock: clock}
	cron := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "CronJob", "metadata": map[string]any{"namespace": "shop", "name": "tick", "resourceVersion": "1"},
	}}
	var next requeue.Soonest
	if r.mayWrite(cron, &next) {
		t.Error("a CronJob is written shortly before a full minute")
	}
	if want := late.Add(32100 * time.Millisecond); !next.Time.Equal(want) {
		t.Errorf("it is looked at again at %s, want %s", next.Time, want)
	}
	clock.SetTime(next.Time)
	if next = (requeue.Soonest{}); !r.mayWrite(cron, &next) || !next.Time.IsZero() {
		t.Errorf("it is not written when it may be, and looked at again at %s", next.Time)
	}
	clock.SetTime(late)
	if !r.mayWrite(controllertest.Workload("Deployment", "web"), &next) {
		t.Error("a Deployment is not written at any time")
	}
}
