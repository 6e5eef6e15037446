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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A status that only another version has reaches the webhook in that.
func TestStatusOfAnotherVersion(t *testing.T) {
	const reported = claimPolicy + "  knowledge: {reported: [status.ready]}\n"
	const robot = "system:serviceaccount:default:default"
	database := func(version string, generation int64, ready, other any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/" + version, "kind": "Database",
			"metadata": map[string]any{"name": "orders", "namespace": "default", "uid": "uid-orders", "generation": generation},
			// What v2 calls capacity is the size in v1.
			"spec":   map[string]any{map[string]string{"v1": "size", "v2": "capacity"}[version]: int64(5)},
			"status": map[string]any{"ready": ready, "other": other},
		}}
	}
	for name, tc := range map[string]struct {
		user      string
		groups    []string
		after     *unstructured.Unstructured
		behind    int64 // the generation that the cache has
		denied    bool
		liveReads int64
	}{
		"a stranger reports":                    {user: "mallory", after: database("v2", 4, true, "a"), behind: 4, denied: true},
		"a stranger says what nobody acts upon": {user: "mallory", after: database("v2", 4, false, "b"), behind: 4},
		"another service account":               {user: robot, after: database("v2", 4, true, "a"), behind: 4, denied: true},
		"who reports":                           {user: crossplane, after: database("v2", 4, true, "b"), behind: 4},
		"who may initiate":                      {user: "alice", groups: platformTeam, after: database("v2", 4, true, "b"), behind: 4},
		"a stranger, where the cache is behind": {user: "mallory", after: database("v2", 4, true, "a"), behind: 3, denied: true, liveReads: 1},
		"who reports, where it is behind":       {user: crossplane, after: database("v2", 4, true, "b"), behind: 3, liveReads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Database", "orders"): database("v1", tc.behind, false, "a")},
				live:   map[string]*unstructured.Unstructured{key("Database", "orders"): database("v1", 4, false, "a")},
			}
			mutator, validator := w.hooks(t, reported)
			req := asking(t, tc.user, tc.groups, database("v2", 4, false, "a"), tc.after)
			req.SubResource = subresourceStatus
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed == tc.denied {
				t.Errorf("allowed %t, want %t: %+v", resp.Allowed, !tc.denied, resp.Result)
			}
			if got := w.liveReads.Load(); got != tc.liveReads {
				t.Errorf("%d objects read live, want %d", got, tc.liveReads)
			}
			resp = mutator.Handle(t.Context(), req)
			if !resp.Allowed || len(resp.Patches) > 0 || len(resp.Warnings) > 0 {
				t.Errorf("the mutating hook answers %+v", resp)
			}
		})
	}
}
