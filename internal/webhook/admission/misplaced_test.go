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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

func TestMisplaced(t *testing.T) {
	tests := map[string]struct {
		user          string
		subresource   string
		before, after *unstructured.Unstructured
		want          []string
	}{
		"approving on a ReplicaSet of a Deployment": {
			user: "alice", before: replicaSet(3), after: annotate(replicaSet(3), "kausality.io/approve", "*"),
			want: []string{"kausality: kausality.io/approve has no effect on ReplicaSet web-1; the key is replicaset.kausality.io/approve there"},
		},
		"breaking its glass": {
			user: "alice", before: replicaSet(3), after: annotate(replicaSet(3), "kausality.io/break-glass", "fire"),
			want: []string{"kausality: kausality.io/break-glass has no effect on ReplicaSet web-1; the key is replicaset.kausality.io/break-glass there"},
		},
		"creating one with it": {
			user: "alice", after: annotate(replicaSet(3), "kausality.io/break-glass", "fire"),
			want: []string{"kausality: kausality.io/break-glass has no effect on ReplicaSet web-1; the key is replicaset.kausality.io/break-glass there"},
		},
		"the key of a ReplicaSet on a Deployment": {
			user: "alice", before: deployment(3), after: annotate(deployment(3), "replicaset.kausality.io/approve", "*"),
			want: []string{"kausality: replicaset.kausality.io/approve has no effect on Deployment web; the key is kausality.io/approve there"},
		},
		"approving in a write of the status": {
			user: "alice", subresource: subresourceStatus, before: deployment(3), after: annotate(deployment(3), "kausality.io/approve", "*"),
			want: []string{"kausality: kausality.io/approve has no effect in a write of the status of Deployment web; set it on the object itself"},
		},
		"a status of what has the annotation already": {
			user: "alice", subresource: subresourceStatus,
			before: annotate(deployment(3), "kausality.io/approve", "*"), after: annotate(deployment(3), "kausality.io/approve", "*"),
		},
		"what was there before": {
			user: "alice", before: annotate(replicaSet(3), "kausality.io/break-glass", "delete: fire"),
			after: annotate(annotate(replicaSet(3), "kausality.io/break-glass", "delete: fire"), "jira", "x"),
		},
		"the copy that the Deployment controller makes": {
			user: deployer, before: replicaSet(3), after: annotate(replicaSet(3), "kausality.io/break-glass", "delete: fire"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)}, live: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)},
				records: map[types.UID]*v1alpha1.AllowanceRecord{},
			}
			mutator, _ := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			req := asking(t, tc.user, platformTeam, tc.before, tc.after)
			req.SubResource = tc.subresource
			resp := mutator.Handle(t.Context(), req)
			if diff := cmp.Diff(tc.want, resp.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
