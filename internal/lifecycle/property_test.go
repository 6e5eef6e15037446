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

package lifecycle

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// holderKinds has a kind for each way of judging.
var holderKinds = []string{
	"apps/v1 DaemonSet", "apps/v1 Deployment", "apps/v1 ReplicaSet", "apps/v1 StatefulSet",
	"batch/v1 CronJob", "batch/v1 Job", "policy/v1 PodDisruptionBudget", "v1 ConfigMap", "v1 Service",
	"apiextensions.k8s.io/v1 CustomResourceDefinition", "example.org/v1 Widget",
}

// holder draws an object of any kind with a status that is complete, half-way or
// nonsense, and with any generations.
func holder(t *rapid.T) *unstructured.Unstructured {
	apiVersion, kind, _ := strings.Cut(rapid.SampledFrom(holderKinds).Draw(t, "kind"), " ")
	small := rapid.Int64Range(0, 3)

	spec, state, metadata := map[string]any{}, map[string]any{}, map[string]any{"name": "drawn"}
	maybe := func(fields map[string]any, name string, value func() any) {
		if rapid.IntRange(0, 4).Draw(t, "has "+name) > 0 {
			fields[name] = value()
		}
	}
	for _, name := range []string{"replicas", "parallelism"} {
		maybe(spec, name, func() any { return small.Draw(t, name) })
	}
	for _, name := range []string{"paused", "suspend"} {
		maybe(spec, name, func() any { return rapid.Bool().Draw(t, name) })
	}
	maybe(spec, "strategy", func() any {
		return map[string]any{"type": rapid.SampledFrom([]string{"Recreate", "RollingUpdate"}).Draw(t, "strategy")}
	})
	maybe(spec, "updateStrategy", func() any {
		return map[string]any{
			"type":          rapid.SampledFrom([]string{"OnDelete", "RollingUpdate"}).Draw(t, "update strategy"),
			"rollingUpdate": map[string]any{"partition": small.Draw(t, "partition")},
		}
	})
	maybe(spec, "crossplane", func() any { return map[string]any{} })
	for _, name := range []string{
		"replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas", "currentReplicas",
		"terminatingReplicas", "desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled",
		"numberReady", "numberAvailable", "numberMisscheduled", "active", "succeeded", "failed", "observedGeneration",
	} {
		maybe(state, name, func() any { return small.Draw(t, name) })
	}
	for _, name := range []string{"currentRevision", "updateRevision", "startTime"} {
		maybe(state, name, func() any { return rapid.SampledFrom([]string{"one", "two"}).Draw(t, name) })
	}
	maybe(state, "conditions", func() any { return drawConditions(t) })
	maybe(metadata, "generation", func() any { return small.Draw(t, "generation") })

	object := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata, "spec": spec}
	maybe(object, "status", func() any { return state })
	return &unstructured.Unstructured{Object: object}
}

func drawConditions(t *rapid.T) any {
	types := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"Ready", "Synced", "Reconciling", "Stalled", "Available", "Progressing",
		"Complete", "Failed", "Suspended", "Established", "Whatever",
	}), 0, 6, rapid.ID[string]).Draw(t, "condition types")
	list := make([]any, 0, len(types))
	for _, conditionType := range types {
		condition := map[string]any{
			"type":   conditionType,
			"status": rapid.SampledFrom([]string{"True", "True", "False", "Unknown"}).Draw(t, conditionType),
			"reason": rapid.SampledFrom([]string{"NewReplicaSetAvailable", "Other"}).Draw(t, conditionType+" reason"),
		}
		if rapid.Bool().Draw(t, conditionType+" says a generation") {
			condition["observedGeneration"] = rapid.Int64Range(0, 3).Draw(t, conditionType+" generation")
		}
		list = append(list, condition)
	}
	return list
}

func TestBehindIsNeverSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := holder(t)
		generation := rapid.Int64Range(2, 9).Draw(t, "metadata.generation")
		observed := rapid.Int64Range(0, generation-1).Draw(t, "status.observedGeneration")
		obj.SetGeneration(generation)
		state, _ := obj.Object["status"].(map[string]any)
		if state == nil {
			state = map[string]any{}
			obj.Object["status"] = state
		}
		state["observedGeneration"] = observed

		if got := Of(obj, nil); got.Settled || got.Timed {
			t.Fatalf("observed generation %d of %d: got %+v", observed, generation, got)
		}
		if Reached(obj, nil) {
			t.Fatalf("observed generation %d of %d, and yet all children are reached", observed, generation)
		}
	})
}

func TestConditionsBehindAreNeverSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := holder(t)
		obj.SetAPIVersion("example.org/v1")
		obj.SetKind("Widget")
		// Conditions are drawn at generations up to 3.
		obj.SetGeneration(rapid.Int64Range(4, 9).Draw(t, "metadata.generation"))
		if state, ok := obj.Object["status"].(map[string]any); ok {
			delete(state, "observedGeneration")
		}

		if got := Of(obj, nil); got.Settled {
			t.Fatalf("no part of the status is about the current generation: got %+v", got)
		}
	})
}

func TestNothingWithoutGenerationIsSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := holder(t)
		unstructured.RemoveNestedField(obj.Object, "metadata", "generation")

		// A finished Job is finished at any generation.
		if got := Of(obj, nil); got.Settled && obj.GetKind() != "Job" {
			t.Fatalf("the object has no generation: got %+v", got)
		}
	})
}

func TestAnswersAreConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := holder(t)

		got := Of(obj, nil)

		if got.Settled && got.Timed {
			t.Fatalf("settled and timed at once: %+v", got)
		}
		if got.Why == "" {
			t.Fatalf("no reason: %+v", got)
		}
		if Reached(obj, nil) && !got.Settled {
			t.Fatalf("all children reached, but not settled: %+v", got)
		}
		if Of(obj, nil) != got {
			t.Fatalf("a second look gave another answer than %+v", got)
		}
	})
}
