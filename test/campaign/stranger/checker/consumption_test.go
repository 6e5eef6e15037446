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

package checker

import (
	"fmt"
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// A Deployment that is paused without replicas has made no ReplicaSet, whatever its counts say: its allowances wait for that.
func TestPausedWithoutReplicas(t *testing.T) {
	for paused, want := range map[bool][]Promise{true: nil, false: {Outlived}} {
		s := begin(t)
		s.start(-2 * time.Hour)
		const text = `[{"kind":"ReplicaSet","mutation":"create","generation":1,"initiator":"alice","trace":[{"kind":"Deployment","name":"none","generation":1,"field":"(created)"}]}]`
		s.write("alice", audit.VerbCreate, deployments, "none", map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"kausality.io/allowances": text}},
			"spec":     map[string]any{"replicas": 0, "paused": paused, "template": template("none:1")},
		})
		s.write(deploymentController, audit.VerbUpdate, "deployments/status", "none", map[string]any{"status": map[string]any{"observedGeneration": 1}})
		s.later(time.Minute)
		s.write("alice", audit.VerbCreate, configMaps, "last", map[string]any{})
		s.finds(want)
	}
}

// An allowance goes when its object has settled: by the policy as it is written, and by what its controller reports.
func TestConsumption(t *testing.T) {
	// allows has the ledger of a set allow something for a generation.
	allows := func(generation int) map[string]any {
		text := fmt.Sprintf(`[{"kind":"Pod","mutation":"create","generation":%d,"initiator":"alice","trace":[{"kind":"StatefulSet","name":"db","generation":2,"field":"spec.replicas"}]}]`, generation)
		return map[string]any{"annotations": map[string]any{"kausality.io/allowances": text}}
	}
	// scaled is a set that alice scales down to none, and that says so, and what a policy says of that.
	scaled := func(s *story, when string, generation int, status map[string]any) {
		s.govern("sets", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
			"for": map[string]any{"kind": "StatefulSet"}, "consumption": map[string]any{"when": when},
			"subjects": []any{map[string]any{"kind": "User", "name": "alice", "mayInitiate": true}},
		}})
		s.later(time.Minute)
		s.write("alice", audit.VerbCreate, statefulSets, "db", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"replicas": 1, "template": template("db:1")}})
		s.write("alice", audit.VerbPatch, statefulSets, "db", merged(spec(map[string]any{"replicas": 0}), map[string]any{"metadata": allows(generation)}))
		s.write(controllers[kinds[statefulSets]], audit.VerbUpdate, "statefulsets/status", "db", map[string]any{"status": status})
	}
	done := map[string]any{"observedGeneration": 2, "replicas": 0}
	ends := func(s *story) {
		s.write(operatorUser, audit.VerbPatch, "statefulsets/status", "db", map[string]any{"metadata": map[string]any{"annotations": nil}})
	}
	const (
		strict  = "object.status.observedGeneration >= allowance.generation && object.status.updatedReplicas == object.spec.replicas"
		lenient = "object.status.observedGeneration >= allowance.generation && object.status.?updatedReplicas.orValue(0) == object.spec.replicas"
		sooner  = "object.status.observedGeneration >= allowance.generation"
	)
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"it ends":                 {tell: func(s *story) { scaled(s, lenient, 2, done); ends(s) }},
		"it does not":             {tell: func(s *story) { scaled(s, lenient, 2, done) }, want: []Promise{Outlived}},
		"the policy says nothing": {tell: func(s *story) { scaled(s, "", 2, done) }, want: []Promise{Outlived}},
		"somebody else says so, and no policy": {tell: func(s *story) {
			scaled(s, "", 2, map[string]any{"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1})
			s.write("mallory", audit.VerbUpdate, "statefulsets/status", "db", map[string]any{"status": map[string]any{"replicas": 0, "updatedReplicas": 0}})
		}},
		"the policy does not say what it means": {tell: func(s *story) { scaled(s, strict, 2, done) }, want: []Promise{Outlived}},
		"it is done by the policy alone": {tell: func(s *story) {
			scaled(s, sooner, 2, map[string]any{"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1})
		}, want: []Promise{Outlived}},
		"it has not settled": {tell: func(s *story) {
			scaled(s, lenient, 2, map[string]any{"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1})
		}},
		"it is for what is to come": {tell: func(s *story) { scaled(s, lenient, 3, done) }, want: []Promise{Forged}}, // Of that the log has nothing.
		"it goes": {tell: func(s *story) {
			scaled(s, lenient, 2, done)
			s.later(-9 * time.Second)
			s.write("alice", audit.VerbDelete, statefulSets, "db", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a/b"}}})
		}},
		"an operator has just begun": {tell: func(s *story) {
			scaled(s, lenient, 2, done)
			s.start(0)
			s.later(10 * time.Second)
			ends(s)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-2 * time.Hour)
			tc.tell(s)
			s.later(time.Minute)
			s.write("alice", audit.VerbCreate, configMaps, "last", map[string]any{})
			s.finds(tc.want)
		})
	}
}
